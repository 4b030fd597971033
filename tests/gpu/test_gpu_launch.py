import numpy as np
import pytest
from recording_device import Recorder

from course import gpu
from course.gpu import devices

SOURCE = """
extern "C" __global__ void f(int n) {}
extern "C" __global__ void __launch_bounds__(128) bounded(int n) {}
"""


@pytest.fixture(scope="module")
def module():
    return gpu.compile(SOURCE)


def test_the_plain_data_of_a_launch(module, recorder):
    module["f"][3, 64](7)
    module["f"][(3, 2), (8, 4, 2), 1024](7)
    module["f"][np.int64(3), [16, np.int32(2)]](7)
    shapes = [call[2:5] for call in recorder.calls]
    assert shapes == [
        ((3, 1, 1), (64, 1, 1), 0),
        ((3, 2, 1), (8, 4, 2), 1024),
        ((3, 1, 1), (16, 2, 1), 0),
    ]
    image, entry = recorder.calls[0][:2]
    assert image == module.ptx() and entry == "f"


def test_a_device_may_want_machine_code(module, recorder):
    recorder.image = "cubin"
    module["f"][1, 1](7)
    assert recorder.calls[0][0] == module.cubin()


def test_machine_code_for_another_gpu_is_refused(recorder):
    recorder.image = "cubin"
    for arch, target, fits in [
        ("sm_80", "sm_86", True),
        ("sm_80", "sm_90a", False),
        ("sm_90a", "sm_90a", True),
        ("sm_90", "sm_90a", True),
        ("sm_89", "sm_86", False),
        ("sm_120a", "sm_121a", False),
        ("sm_120", "sm_121a", True),
    ]:
        recorder.arch = target
        kernel = gpu.compile(SOURCE, arch=arch)["f"]
        if fits:
            kernel[1, 1](7)
        else:
            with pytest.raises(gpu.LaunchError, match=f"was compiled for {arch}"):
                kernel[1, 1](7)


def test_the_default_architecture_is_the_devices(recorder):
    recorder.arch = "sm_80"
    assert gpu.compile(SOURCE).arch == "sm_80"
    assert gpu.compile(SOURCE, arch="sm_75").arch == "sm_75"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (3, r"expected f\[grid, block\] or f\[grid, block, shared_bytes\], and \[3\] came"),
        ((1, 2, 3, 4), r"expected f\[grid, block\]"),
        (
            (0, 32),
            r"the grid is \(0, 1, 1\), and each size must be at least 1. Is an array empty\?",
        ),
        ((1, 0), r"the block is \(0, 1, 1\)"),
        ((1, -1), "cannot be negative"),
        ((1.5, 32), r"whole numbers, and 1.5 came. To round up, write \(n \+ 255\) // 256"),
        (("1", 32), "whole numbers, and '1' came"),
        ((1, (1, 2, 3, 4)), "the block has one to three sizes"),
        (((), 1), "the grid has one to three sizes"),
        ((1, 1025), "the block is|has 1,025 threads"),
        ((1, (32, 33)), r"a block of \(32, 33, 1\) has 1,056 threads, and the limit is 1,024"),
        ((1, (1, 1, 65)), r"the block is \(1, 1, 65\), and the limit is \(1024, 1024, 64\)"),
        (((1, 65536), 1), r"the grid is \(1, 65536, 1\), and the limit is"),
        ((1, 1, 232_449), "232,449 bytes of dynamic shared memory were asked for"),
        ((1, 1, 1.5), "shared_bytes is made of whole numbers"),
    ],
)
def test_shapes_that_are_refused(module, recorder, shape, message):
    with pytest.raises(gpu.LaunchError, match=message):
        module["f"][shape](7)
    assert recorder.calls == []


def test_a_block_larger_than_promised(module, recorder):
    module["bounded"][1, 128](7)
    with pytest.raises(gpu.LaunchError, match=r"129 threads, and the kernel was .* at most 128"):
        module["bounded"][1, 129](7)


def test_a_call_without_a_grid_is_explained(module):
    with pytest.raises(gpu.LaunchError, match=r"Write f\[grid, block\]\(...\)"):
        module["f"](7)


def test_without_a_gpu_a_launch_explains_itself(module, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cuda")
    with pytest.raises(gpu.NoDevice) as error:
        module["f"][1, 1](7)
    text = str(error.value)
    assert "\n" not in text
    for part in ("no NVIDIA driver", "module.ptx()", "module.sass()", "driver 580"):
        assert part in text
    with pytest.raises(gpu.NoDevice):
        gpu.device()


def test_course_device_chooses(monkeypatch):
    virtual = Recorder()
    monkeypatch.setitem(devices._KINDS, "virtual", lambda: virtual)
    assert gpu.device() is virtual  # no real one here
    monkeypatch.setitem(devices._KINDS, "cuda", lambda: "the real one")
    assert gpu.device() == "the real one"
    monkeypatch.setenv("COURSE_DEVICE", "virtual")
    assert gpu.device() is virtual
    monkeypatch.setenv("COURSE_DEVICE", "quantum")
    with pytest.raises(gpu.NoDevice, match="'quantum'; this version of the course has: cuda or vi"):
        gpu.device()


def test_use_ends_with_its_block(recorder):
    other = Recorder()
    with gpu.use(other):
        assert gpu.device() is other
    assert gpu.device() is recorder


def test_a_kernel_introduces_itself(module, recorder):
    assert repr(module["f"]) == "<Kernel f(int n)>"
    assert module["f"].module.source == SOURCE
    assert str(recorder) == "Recorder (sm_90a)"
