"""Tiers from a driver that only pretends, and the report before and after the set-up."""

import ctypes
import json
import shutil
import sys

import pytest
from fresh_course import Course, make_wheel

from course import doctor, tiers


class Driver:
    """Stands in for libcuda and libnvidia-ml: answers as the C functions do."""

    def __init__(
        self, name="NVIDIA H200", capability=(9, 0), cuda=13000, driver="580.65.06", init=0
    ):
        self.name = name
        self.capability = capability
        self.cuda = cuda
        self.driver = driver
        self.init = init

    def cuInit(self, flags):
        return self.init

    def cuDriverGetVersion(self, version):
        version._obj.value = self.cuda
        return 0

    def cuDeviceGet(self, device, ordinal):
        device._obj.value = 40 + ordinal
        return 0

    def cuDeviceGetName(self, buffer, size, device):
        assert size == ctypes.sizeof(buffer)
        buffer.value = self.name.encode()
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device):
        value._obj.value = self.capability[{75: 0, 76: 1}[attribute]]
        return 0 if device.value == 40 else 101

    def nvmlInit_v2(self):
        return 0

    def nvmlSystemGetDriverVersion(self, buffer, size):
        buffer.value = self.driver.encode()
        return 0

    def nvmlShutdown(self):
        return 0


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.delenv("COURSE_DEVICE", raising=False)
    tiers.detect.cache_clear()
    yield
    tiers.detect.cache_clear()


def detect(monkeypatch, driver, management=True):
    def load(names):
        return driver if names is tiers.DRIVER or management else None

    monkeypatch.setattr(tiers, "_load", load)
    return tiers.detect()


@pytest.mark.parametrize(
    ("name", "capability", "level"),
    [
        ("Tesla T4", (7, 5), 1),
        ("NVIDIA A100-SXM4-80GB", (8, 0), 2),
        ("NVIDIA GeForce RTX 4090", (8, 9), 2),
        ("NVIDIA H200", (9, 0), 3),
        ("NVIDIA B200", (10, 0), 2),  # sm_90a code runs on 9.0 alone
        ("NVIDIA GeForce RTX 5090", (12, 0), 2),
    ],
)
def test_levels(monkeypatch, name, capability, level):
    tier = detect(monkeypatch, Driver(name, capability))
    assert tier == tiers.Tier(level, name, capability, "580.65.06", "")
    sm = "".join(map(str, capability))
    said = tiers.describe(tier)
    assert said == f"T{level}: {name} (sm_{sm}, driver 580.65.06). Kernels run on it."


@pytest.mark.parametrize(
    ("driver", "note"),
    [
        (
            Driver(cuda=12080, driver="570.124.06"),
            "570.124.06 is too old for CUDA 13.0: install 580",
        ),
        (Driver("GeForce GTX 1080", (6, 1)), "capability 6.1 is older than 7.5"),
        (Driver("Tesla V100", (7, 0)), "capability 7.0 is older than 7.5"),
        (Driver(init=803), "does not start (cuInit: error 803)"),
    ],
)
def test_a_gpu_that_cannot_be_used_counts_as_t0_and_says_why(monkeypatch, driver, note):
    tier = detect(monkeypatch, driver)
    assert tier.level == 0
    assert note in tier.note
    assert tier.driver == driver.driver
    assert note in tiers.describe(tier)


def test_course_device_can_hide_the_gpu(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "virtual")
    tier = detect(monkeypatch, Driver())
    assert (tier.level, tier.gpu) == (0, "NVIDIA H200")
    assert "COURSE_DEVICE=virtual" in tier.note


@pytest.mark.parametrize("driver", [None, Driver(init=100)])
def test_no_gpu(monkeypatch, driver):
    assert detect(monkeypatch, driver) == tiers.Tier(0)


def test_no_management_library(monkeypatch):
    assert detect(monkeypatch, Driver(), management=False).driver is None


def test_libraries_that_do_not_load():
    assert tiers._load(("libnowhere.so.7", sys.executable)) is None
    assert tiers._load(("libnowhere.so.7", None)) is not None  # None: the process itself


@pytest.mark.parametrize("virtual", [True, False])
@pytest.mark.parametrize("compiler", [True, False])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_banner_is_one_honest_line(monkeypatch, capsys, virtual, compiler, platform):
    monkeypatch.setattr(tiers, "has_virtual_gpu", lambda: virtual)
    monkeypatch.setattr(tiers, "has_compiler", lambda: compiler)
    monkeypatch.setattr(tiers.sys, "platform", platform)
    detect(monkeypatch, None)
    tiers.banner()
    said = capsys.readouterr().out
    assert said.startswith("T0: no NVIDIA GPU here. ")
    assert said.count("\n") == 1
    assert ("run on the virtual GPU" in said) == (virtual and compiler)
    assert ("Kernels compile here" in said) == (not virtual and compiler)
    package = "ziglang" if platform == "darwin" else "nvidia-cuda-nvrtc"
    assert (package in said) == (not compiler)


def test_the_compiler_can_be_chosen(monkeypatch):
    monkeypatch.setattr(tiers.sys, "platform", "linux")
    monkeypatch.delenv("COURSE_COMPILER", raising=False)
    assert tiers.compiler() == "nvidia-cuda-nvrtc"
    monkeypatch.setenv("COURSE_COMPILER", "clang")
    assert tiers.compiler() == "ziglang"
    monkeypatch.setattr(tiers, "has_compiler", lambda: True)
    able, _ = abilities(0)
    assert "PTX" in "".join(able) and "SASS" not in "".join(able)


# --- the report --------------------------------------------------------------------------------


def test_this_machine():
    report = doctor.examine()
    assert json.loads(json.dumps(report)) | {"tier": None} == report | {"tier": None}
    assert report["packages"]["pytest"] == pytest.__version__
    assert report["free_disk_gb"] == pytest.approx(shutil.disk_usage(".").free / 1e9, rel=0.1)
    said = doctor.describe(report)
    assert said.startswith(f"T{report['tier']['level']}: ")
    assert report["python"] in said
    assert "What this machine can do:" in said


def test_what_differs_is_listed():
    report = doctor.examine()
    report["differences"] = [{"name": "numpy", "wanted": "2.4.6", "found": None}]
    said = doctor.describe(report)
    total = len(report["packages"])
    assert f"{total - 1} of {total} as pinned" in said
    assert "numpy: missing, the course pins 2.4.6" in said


def abilities(level, capability=(9, 0), jupyterlab="4", nvdisasm="13", device=None):
    report = {
        "packages": {"jupyterlab": jupyterlab},
        "tools": {"nvdisasm": nvdisasm},
        "course_device": device,
    }
    lines = doctor._abilities(tiers.Tier(level, "GPU", capability), report)
    return {line for line in lines if "+" in line}, {line for line in lines if "not:" in line}


def test_each_tier_can_do_what_those_below_can_and_more():
    able = [abilities(level)[0] for level in range(4)]
    assert able[1] < able[2] < able[3]
    assert able[0] - able[1] <= {line for line in able[0] if "virtual GPU" in line}
    assert ["Hopper" in "".join(lines) for lines in able] == [False, False, False, True]
    assert [len(abilities(level)[1]) for level in range(4)] == [1, 1, 1, 0]


def test_what_is_not_installed_is_not_promised(monkeypatch):
    monkeypatch.setattr(tiers, "has_compiler", lambda: True)
    able, unable = abilities(3, jupyterlab=None, nvdisasm=None)
    assert any("open every lecture" in line for line in unable)
    assert "SASS" not in "".join(able)
    assert "PTX" in "".join(able)
    monkeypatch.setattr(tiers, "has_compiler", lambda: False)
    assert "PTX" not in "".join(abilities(3)[0])


@pytest.mark.parametrize("level", range(4))
def test_an_unknown_course_device_runs_nothing(level):
    able, unable = abilities(level, device="gpu")
    assert not any("run" in line for line in able)
    (line,) = unable
    assert "COURSE_DEVICE is 'gpu': unset it, or say cuda or virtual" in line


def test_the_devices_are_those_of_course_gpu():
    from course.gpu import devices

    assert set(doctor.DEVICES) == set(devices._KINDS)


def test_before_and_after_the_set_up(tmp_path):
    make_wheel(tmp_path, "tiny", "1.0")
    course = Course(tmp_path / "course", tmp_path)
    code, lines, err = course.run("doctor")
    assert (code, err) == (0, "")
    assert lines[-1] == "Next: python3 -m course sets up what is missing."
    assert any("not set up (Setting the course up" in line for line in lines)
    code, lines, _ = course.run("doctor", "--json")
    report = json.loads("\n".join(lines))
    assert (code, report["environment"], report["packages"]) == (0, "none", {"tiny": None})
    assert report["differences"] == [{"name": "tiny", "wanted": "1.0", "found": None}]
    assert not course.venv.exists()

    assert course.run()[0] == 0
    code, lines, err = course.run("doctor", "--json")
    report = json.loads("\n".join(lines))
    assert (code, report["environment"], report["packages"]) == (0, ".venv", {"tiny": "1.0"})
    assert report["differences"] == []

    course.stamp(complete=False)
    code, lines, _ = course.run("doctor")
    assert any("The last set-up did not finish" in line for line in lines)
