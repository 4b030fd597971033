"""The set-up, for real: venv and pip make a tiny course's environment, and mend what is broken.

Each set-up takes seconds, for venv and pip are the real ones; so most of these tests are slow ones.
"""

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from fresh_course import Course, make_wheel

from course import ROOT, Problem, environment, install, requirements, supported
from course.pip_progress import Progress


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    for name, version in [("tiny", "1.0"), ("tiny", "2.0"), ("nvidia_cudnn_tiny", "1.0")]:
        make_wheel(folder, name, version)
    return folder


@pytest.fixture
def fresh(tmp_path, wheels):
    """A course that nobody started yet, in a folder that is hard to spell."""
    return Course(tmp_path / "Mein Kurs für GPUs", wheels)


@pytest.fixture(scope="module")
def shared(tmp_path_factory, wheels):
    return Course(tmp_path_factory.mktemp("shared") / "Kurs Nr. 2 (übung)", wheels)


@pytest.fixture
def ready(shared):
    """A course that is set up; a test may break it, the next one gets it mended."""
    shared.require("tiny==1.0")
    code, out, _ = shared.run()
    assert (code, out) == (0, [str(shared.venv), "1.0"])
    return shared


def is_rebuilt(course, reason):
    """Start `course`; tell whether .venv was emptied for `reason` and works afterwards."""
    stray = course.venv / "stray"
    stray.touch()
    code, out, err = course.run()
    assert (code, out) == (0, [str(course.venv), "1.0"]), err
    assert reason in err
    return not stray.exists()


# --- the way it should go ----------------------------------------------------------------------


def test_first_start_sets_up_and_second_is_silent(fresh):
    # settings of pip that would install elsewhere are not followed
    code, out, err = fresh.run("--code", "7", PIP_USER="1", PIP_TARGET=str(fresh.wheels))
    assert (code, out) == (7, [str(fresh.venv), "1.0"])
    assert err.startswith("Setting the course up")
    assert "Set up in 0:" in err
    assert "Successfully installed tiny-1.0" in (fresh.venv / "install.log").read_text("utf-8")
    assert not (fresh.venv / "tmp").exists()

    assert fresh.run("lab", "--code", "3") == (3, out, "")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_course_can_be_imported_from_any_folder(ready, tmp_path, locale):
    python = ready.venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    legacy = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": locale}
    code = "import course, os, sys; sys.stdout.buffer.write(os.fsencode(course.ROOT))"
    result = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=os.environ | legacy, capture_output=True
    )
    assert result.stdout.decode("utf-8") == str(ready.root)


@pytest.mark.slow
def test_two_at_once_set_up_once(fresh):
    processes = [fresh.start(), fresh.start()]
    results = [process.communicate(timeout=120) for process in processes]
    assert [out.splitlines() for out, _ in results] == [[str(fresh.venv), "1.0"]] * 2
    said = sorted(err.splitlines()[0] for _, err in results)
    assert said[0].startswith("Another process is setting the course up")
    assert said[1].startswith("Setting the course up")


@pytest.mark.slow
def test_packages_on_pythonpath_do_not_pass_for_installed(fresh, tmp_path):
    (tmp_path / "tiny.py").write_text("VERSION = 'shadow'", "utf-8")
    code, out, _ = fresh.run(PYTHONPATH=str(tmp_path))
    assert (code, out) == (0, [str(fresh.venv), "1.0"])


# --- what can have happened to .venv -----------------------------------------------------------


def test_changed_requirements_are_added_in_place(ready):
    (ready.venv / "stray").touch()
    ready.require("tiny==2.0")
    code, out, err = ready.run()
    assert (code, out) == (0, [str(ready.venv), "2.0"])
    assert err.startswith("What the course needs has changed")
    assert (ready.venv / "stray").exists()


def test_a_venv_made_by_hand_is_kept_and_completed(ready):
    (ready.venv / "course.json").unlink()
    assert not is_rebuilt(ready, "There is a .venv already")


@pytest.mark.slow
def test_half_made_without_pip_is_rebuilt(ready):
    (ready.venv / "course.json").unlink()
    shutil.rmtree(install.site_packages(ready.venv) / "pip")
    assert is_rebuilt(ready, "The folder .venv is unfinished")


def test_unfinished_is_rebuilt(ready):
    ready.stamp(complete=False)
    assert is_rebuilt(ready, "The last set-up did not finish")


@pytest.mark.parametrize("text", ['{"complete": false}', "{", "[]", "", "\ufeff1"])
def test_damaged_stamp_counts_as_unfinished(tmp_path, monkeypatch, text):
    monkeypatch.setattr(environment, "VENV", tmp_path)
    monkeypatch.setattr(environment, "STAMP", tmp_path / "course.json")
    environment.STAMP.write_text(text, encoding="utf-8")
    assert environment.state().action == "build"
    assert "did not finish" in environment.state().reason


@pytest.mark.slow
def test_other_minor_version_is_rebuilt(ready):
    ready.stamp(python=[3, sys.version_info[1] - 1, 0])
    assert is_rebuilt(ready, "was replaced by another")


@pytest.mark.slow
def test_other_patch_version_is_mended(ready):
    ready.stamp(python=[*sys.version_info[:2], 99])
    assert not is_rebuilt(ready, "has changed")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="python.exe is no link on Windows")
def test_vanished_python_is_rebuilt(ready):
    link = ready.venv / "bin" / "python"
    link.unlink()
    link.symlink_to("/nowhere/python3")
    assert is_rebuilt(ready, "that .venv was made with is gone")


@pytest.mark.slow
def test_moved_folder_is_rebuilt(fresh, tmp_path):
    assert fresh.run()[0] == 0
    there = tmp_path / "elsewhere"
    fresh.root.rename(there)
    fresh.root, fresh.venv = there, there / ".venv"
    assert is_rebuilt(fresh, "moved to another folder")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to another process there")
def test_after_ctrl_c_the_next_start_goes_on(fresh):
    process = fresh.start()
    while not (fresh.venv / "course.json").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "Stopped."
    assert "Traceback" not in err
    assert is_rebuilt(fresh, "The last set-up did not finish")


# --- what can go wrong -------------------------------------------------------------------------


@pytest.mark.slow
def test_no_network(fresh):
    refused = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "1"}
    fresh.require("tiny==1.0", "absent==1.0")
    code, out, err = fresh.run(**refused)
    assert (code, out) == (1, [])
    assert "pip could not reach the package index" in err
    assert ".venv/install.log" in err
    assert "No matching distribution" in err.splitlines()[-1]

    fresh.require("tiny==1.0")  # the network is back
    assert is_rebuilt(fresh, "The last set-up did not finish")


@pytest.mark.slow
def test_proxy_that_refuses(fresh):
    fresh.require("absent==1.0")
    proxy = {"PIP_NO_INDEX": "0", "PIP_RETRIES": "1", "PIP_PROXY": "http://127.0.0.1:9"}
    code, _, err = fresh.run(PIP_INDEX_URL="https://course.invalid/simple", **proxy)
    assert code == 1
    assert "behind a proxy set HTTPS_PROXY" in err


@pytest.mark.slow
def test_no_such_package(fresh):
    fresh.require("absent==1.0")
    code, _, err = fresh.run()
    assert code == 1
    assert "pip found no wheel of absent==1.0" in err


@pytest.mark.slow
def test_missing_venv_module(fresh, tmp_path):
    # what Debian's Python without python3-venv does
    (tmp_path / "ensurepip.py").write_text(
        "raise ModuleNotFoundError('No module named ensurepip', name='ensurepip')", "utf-8"
    )
    code, _, err = fresh.run(PYTHONPATH=str(tmp_path))
    assert code == 1
    assert f"apt install python3.{sys.version_info[1]}-venv" in err
    assert is_rebuilt(fresh, "did not finish")


@pytest.mark.slow
def test_pip_that_installs_elsewhere_is_noticed(fresh, tmp_path):
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[install]\nprefix = {tmp_path / 'other'}\n", "utf-8")
    code, _, err = fresh.run(PIP_CONFIG_FILE=str(settings))
    assert code == 1
    assert "tiny: missing, the course pins 1.0" in err


@pytest.mark.slow
def test_no_room_for_cuda_stops_before_it_is_fetched(fresh):
    fresh.edit("SPACE_CUDA = 9.5e9", "SPACE_CUDA = 1e18")
    fresh.require("nvidia-cudnn-tiny==1.0")
    code, _, err = fresh.run()
    assert code == 1
    assert "because PyTorch comes with CUDA here" in err


def test_full_disk_before(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=3.4e9))
    with pytest.raises(Problem, match=r"3\.4 GB free; setting the course up takes about 3\.5 GB"):
        install.check_space(tmp_path)


@pytest.fixture
def small_disk(tmp_path, wheels):
    """A course on a disk of 20 MB."""
    place = tmp_path / "small disk"
    place.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(mounted, capture_output=True).returncode:
        pytest.skip("making a small disk takes root on Linux")
    yield Course(place / "Kurs", wheels)
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.slow
def test_full_disk_meanwhile(small_disk):
    code, _, err = small_disk.run()
    assert code == 1
    assert "The disk has 0.0 GB free" in err

    small_disk.edit("SPACE_CPU = 3.5e9", "SPACE_CPU = 1.0")
    (small_disk.root / "ballast").write_bytes(bytes(12_000_000))
    code, _, err = small_disk.run()
    assert code == 1
    assert "The disk became full" in err


def test_read_only_folder(small_disk):
    place = str(small_disk.root.parent)
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    code, _, err = small_disk.run()
    assert code == 1
    assert "cannot be written to" in err
    assert "COURSE_ENV=active" in err


def test_venv_that_is_a_file(fresh):
    fresh.venv.touch()
    code, _, err = fresh.run()
    assert code == 1
    assert ".venv cannot be made anew" in err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a colon cannot be in a name on Windows")
def test_folder_with_a_colon(tmp_path, wheels):
    code, _, err = Course(tmp_path / "a:b", wheels).run()
    assert code == 1
    assert "PATH separator" in err


def test_path_too_long_for_windows(monkeypatch):
    monkeypatch.setattr(environment, "VENV", Path("C:/" + "long/" * 20))
    monkeypatch.setattr(environment, "_windows_takes_long_paths", lambda: False)
    environment._check_path_length()  # no trouble where it is not Windows
    monkeypatch.setattr(environment.os, "name", "nt")
    with pytest.raises(Problem, match="characters too long for Windows"):
        environment._check_path_length()


# --- an environment that is there already ------------------------------------------------------


@pytest.fixture
def active(tmp_path, wheels):
    """PYTHONPATH of a Python that has tiny 1.0."""
    with zipfile.ZipFile(wheels / "tiny-1.0-py3-none-any.whl") as wheel:
        wheel.extractall(tmp_path / "packages")
    return {"PYTHONPATH": str(tmp_path / "packages")}


def test_a_python_that_has_everything_is_used_as_it_is(fresh, active):
    code, out, err = fresh.run(**active)
    assert (code, out[1], err) == (0, "1.0", "")
    assert not fresh.venv.exists()


def test_course_env_active_uses_what_is_there_and_says_what_differs(fresh, active):
    fresh.require("tiny==2.0", *[f"absent{i}==1" for i in range(9)])
    code, out, err = fresh.run(COURSE_ENV="active", **active)
    assert (code, out[1]) == (0, "1.0")
    lines = err.splitlines()
    assert "as it is" in lines[0]
    assert lines[1] == "  tiny: 1.0, the course pins 2.0"
    assert lines[2] == "  absent0: missing, the course pins 1"
    assert lines[-1].startswith("  and 5 more")
    assert len(lines) == 7
    assert not fresh.venv.exists()


def test_course_env_active_without_what_a_command_needs(fresh):
    code, out, err = fresh.run(COURSE_ENV="active")
    assert (code, out) == (1, [])
    assert "lacks tiny, which lab needs" in err.splitlines()[-1]


def test_unknown_course_env(fresh):
    code, _, err = fresh.run(COURSE_ENV="vevn")
    assert code == 1
    assert "COURSE_ENV is 'vevn'" in err


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to another process there")
def test_run_child_passes_ctrl_c_and_exit_code_through():
    """What Windows does in place of exec, which works everywhere."""
    child = (
        "import time\ntry:\n  print('up', flush=True); time.sleep(30)\n"
        "except KeyboardInterrupt: raise SystemExit(5)"
    )
    parent = (
        "import os, sys; from course import environment\n"
        f"sys.exit(environment.run_child([sys.executable, '-c', {child!r}], dict(os.environ)))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent], cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout.readline() == b"up\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 5


# --- which Python ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["__init__", "__main__", "supported"])
def test_old_pythons_can_read_what_speaks_to_them(name):
    source = (ROOT / "course" / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    later = (ast.NamedExpr, ast.Match)
    assert not [node for node in ast.walk(tree) if isinstance(node, later)]
    # annotations are evaluated: list[str] and X | Y fail before 3.9 and 3.10
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    annotations = [f.returns for f in functions] + [
        a.annotation for f in functions for a in f.args.args
    ]
    assert all(isinstance(annotation, ast.Name | None) for annotation in annotations)


@pytest.mark.parametrize("minor", range(6, 11))
def test_an_old_python_says_what_is_needed(minor):
    pyenv = Path.home() / ".pyenv" / "versions"
    candidates = [f"python3.{minor}", *pyenv.glob(f"3.{minor}.*/bin/python3")]
    old = next((c for c in candidates if supported._version_of([str(c)]) == (3, minor)), None)
    if old is None:
        pytest.skip(f"no Python 3.{minor} on this machine")
    result = subprocess.run(
        [str(old), "-m", "course", "test"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert result.returncode == 1
    assert result.stderr.startswith(
        f"The course needs Python 3.11 to 3.14; this is Python 3.{minor}."
    )
    assert "Traceback" not in result.stderr


def test_interpreters_that_only_pretend_are_not_named(tmp_path, monkeypatch):
    if os.name == "nt":
        pytest.skip("shell scripts stand in for interpreters")
    for name, body in [
        ("python3.14", "exit 127"),
        ("python3.12", "echo 3 12"),
        ("python3", "echo 3 12"),
        ("python3.11", "echo 3 9"),
        ("python", "echo 3 13"),
    ]:
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert supported.interpreters() == ["python3.12", "python"]


MACHINES = [
    ({}, ""),
    ({"platform.machine": "aarch64"}, ""),
    ({"platform.machine": "riscv64"}, "this is Linux on riscv64"),
    ({"platform.libc_ver": ("glibc", "2.17")}, "this Linux has glibc 2.17"),
    ({"platform.libc_ver": ("", "")}, "without glibc"),
    ({"platform.python_implementation": "PyPy"}, "this is PyPy"),
    ({"struct.calcsize": 4}, "32-bit"),
    ({"sysconfig.get_config_var": 1}, "free-threaded"),
    ({"sys.platform": "darwin", "platform.machine": "arm64"}, ""),
    ({"sys.platform": "darwin", "platform.machine": "x86_64"}, "Intel Macs"),
    (
        {"sys.platform": "darwin", "platform.machine": "arm64", "platform.mac_ver": ("13.6",)},
        "this is macOS 13.6",
    ),
    ({"os.name": "nt", "sys.platform": "win32", "sysconfig.get_platform": "win-amd64"}, ""),
    (
        {"os.name": "nt", "sys.platform": "win32", "sysconfig.get_platform": "win-arm64"},
        "on win-arm64",
    ),
]


@pytest.mark.parametrize(("machine", "fragment"), MACHINES)
def test_machines_without_pytorch(monkeypatch, machine, fragment):
    usual = {
        "os.name": "posix",
        "sys.platform": "linux",
        "platform.machine": "x86_64",
        "platform.system": "Linux",
        "platform.libc_ver": ("glibc", "2.36"),
        "platform.mac_ver": ("14.2",),
        "platform.python_implementation": "CPython",
        "struct.calcsize": 8,
        "sysconfig.get_config_var": 0,
    }
    for name, value in {**usual, **machine}.items():
        module, attribute = name.split(".")
        is_value = name in ("os.name", "sys.platform")
        fake = value if is_value else lambda *_, value=value: value
        monkeypatch.setattr(getattr(supported, module), attribute, fake)
    complaint = supported._no_wheels()
    assert fragment in complaint
    assert bool(complaint) == bool(fragment)


# --- requirements.txt --------------------------------------------------------------------------


def pins(tmp_path, text, version=(3, 11, 10)):
    file = tmp_path / "requirements.txt"
    file.write_text(text, encoding="utf-8")
    return [
        str(p.name + p.version) for p in requirements.read(file, requirements.markers_for(version))
    ]


def test_versions_in_markers_are_compared_as_numbers(tmp_path):
    text = 'old==1 ; python_full_version < "3.11.5"\nnew==2 ; python_full_version >= "3.11.5"'
    assert pins(tmp_path, text, (3, 11, 2)) == ["old1"]
    assert pins(tmp_path, text, (3, 11, 10)) == ["new2"]
    assert pins(tmp_path, 'a==1 ; python_full_version < "3.12"', (3, 12, 0)) == []


def test_markers_extras_comments_and_spellings(tmp_path):
    text = f"""
    # a comment
    Some_Package.Name[extra,other]==1.0.post1   # why
    here==1 ; sys_platform == "{sys.platform}" and python_full_version >= "3.11"
    not-here==1 ; sys_platform != '{sys.platform}'
    """
    assert pins(tmp_path, text) == ["some-package-name1.0.post1", "here1"]


@pytest.mark.parametrize(
    "line", ["numpy", "numpy>=2", "-r other.txt", "a==1 ; extra == 'x'", "a==1 ; 'x' in os_name"]
)
def test_what_is_not_a_pin_is_refused(tmp_path, line):
    with pytest.raises(ValueError, match=r"requirements\.txt"):
        pins(tmp_path, line)


@pytest.mark.parametrize("platform", ["linux", "win32", "darwin"])
def test_the_real_file_has_one_pin_a_package_on_every_platform(platform):
    for version in [(3, 11, 2), (3, 11, 9), (3, 12, 0), (3, 13, 1), (3, 14, 0)]:
        markers = requirements.markers_for(version) | {"sys_platform": platform}
        names = [pin.name for pin in requirements.read(markers=markers)]
        assert len(names) == len(set(names)) > 100
        assert "torch" in names
        assert ("nvidia-cuda-nvrtc" in names) == (platform != "darwin")
        assert ("ziglang" in names) == (platform == "darwin")


def test_differences_ignore_builds_and_trailing_zeros(tmp_path):
    for name, version in [("a", "2.0+cpu"), ("b", "1.10"), ("c", "3.0.0")]:
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n", encoding="utf-8")
    (tmp_path / "d-1.dist-info").mkdir()  # left behind by an interrupted installation
    wanted = [requirements.Pin(*pin) for pin in [("a", "2"), ("b", "1.1"), ("c", "3"), ("d", "1")]]
    found = requirements.differences(wanted, [str(tmp_path)])
    assert [(d.name, d.found) for d in found] == [("b", "1.10"), ("d", None)]


# --- progress ----------------------------------------------------------------------------------


def test_progress_tells_what_pip_does(tmp_path):
    progress = Progress(3, tmp_path, tmp_path)
    said = []
    for line in [
        "Looking in indexes: https://example.org/simple\n",
        "Collecting torch==2.13.0 (from -r requirements.txt (line 7))\n",
        "  Downloading torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl.metadata (31 kB)\n",
        "Requirement already satisfied: six==1.17.0 in ./lib (1.17.0)\n",
        "Downloading torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl (526.6 MB)\n",
        "Processing /opt/my wheels/tiny-1.0+cpu-py3-none-any.whl\n",
        "WARNING: Retrying (Retry(total=4, connect=None)) after connection broken by\n",
        "Installing collected packages: a, b, c, d\n",
    ]:
        progress.hear(line)
        said.append(progress.line().rsplit("   ", 1)[0].strip())
    assert said == [
        "starting pip",
        "looking up 1 of 3   torch",
        "looking up 1 of 3   torch",
        "looking up 2 of 3   six",
        "fetching 1 of 3   torch 2.13.0 (0 of 527 MB)",
        "fetching 2 of 3   tiny 1.0+cpu",
        "fetching 2 of 3   no answer from the network, trying again",
        "unpacking 0 of 4   a",
    ]
    (tmp_path / "a-1.dist-info").mkdir()
    assert progress.line().strip().startswith("unpacking 1 of 4   b")


def test_progress_shows_how_much_of_a_file_has_come(tmp_path):
    progress = Progress(1, tmp_path, tmp_path)
    progress.hear("  Downloading big-1-py3-none-any.whl (20.0 MB)\n")
    (tmp_path / "pip-unpack-x").mkdir()
    (tmp_path / "pip-unpack-x" / "big-1-py3-none-any.whl").write_bytes(bytes(7_000_000))
    assert "big 1 (7 of 20 MB)" in progress.line()
