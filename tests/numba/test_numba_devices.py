"""numba kernels follow the device that is in use: traces, devices with memory of their own."""

import numpy as np
import pytest

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice

cuda = pytest.importorskip("numba.cuda")
if cuda.implementation != "NVIDIA":
    pytest.skip("numba-cuda is not installed", allow_module_level=True)

from numba.types import float32  # noqa: E402

from course.gpu.numba import bridge  # noqa: E402


@cuda.jit
def scale(a, out, factor):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i < a.size:
        tile[t] = a[i]
    cuda.syncthreads()
    if i < out.size:
        out[i] = factor * tile[t]


LINE_OF_STORE = scale.py_func.__code__.co_firstlineno + 9


class Elsewhere(gpu.Device):
    """A device that is reached by plain data alone: another process, say."""

    kind = "remote"
    name = "elsewhere"
    arch = "sm_90a"
    image = "ptx"
    limits = VirtualDevice.limits

    def __init__(self):
        self.launches = []
        self.machine = VirtualDevice()

    def launch(self, image, entry, grid, block, shared, buffers, cooperative=False):
        assert isinstance(image, str) and all(type(n) is int for n in (*grid, *block, shared))
        for buffer in buffers:
            assert isinstance(buffer, gpu.devices.Scalar | gpu.devices.Array)
        self.launches.append([b.name for b in buffers if isinstance(b, gpu.devices.Array)])
        self.machine.launch(image, entry, grid, block, shared, buffers, cooperative)


def run(rng, size=100):
    """Launch `scale` on host arrays, device arrays and views; return what came and what should."""
    a = rng.standard_normal(size).astype(np.float32)
    host = np.zeros(size, np.float32)
    scale[2, 64](a, host, np.float32(3))
    d_a = cuda.to_device(np.tile(a, (3, 1)))
    d_out = cuda.to_device(np.zeros((4, size), np.float32))
    scale[2, 64](d_a[1], d_out[2], np.float32(2))
    scale[2, 64](d_out[2], d_out[3], np.float32(2))
    return [host, d_out.copy_to_host()], [3 * a, np.stack([0 * a, 0 * a, 2 * a, 4 * a])]


def check(found, wanted):
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-6)


def test_a_trace_counts_by_line_of_python(rng):
    check(*run(rng))  # compiled before, as it is in a notebook
    with gpu.trace() as t:
        found, wanted = run(rng)
    check(found, wanted)
    assert len(t.launches) == 3
    line = t.by_line()[__file__, LINE_OF_STORE]
    assert line.global_stores == 3 * 4  # the last four warps' requests: 100 threads in each launch
    assert "out[i] = factor * tile[t]" in str(t.table())
    check(*run(rng))
    assert len(t.launches) == 3


def test_a_trace_sees_device_arrays_from_before_it(rng):
    a = cuda.to_device(rng.standard_normal(64).astype(np.float32))
    out = cuda.device_array(64, np.float32)
    with gpu.trace():
        scale[1, 64](a, out, np.float32(2))
    np.testing.assert_allclose(out.copy_to_host(), 2 * a.copy_to_host())


def test_a_race_in_a_trace_names_both_lines():
    @cuda.jit
    def neighbours(out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        tile[t] = 0
        cuda.syncthreads()
        tile[t] = t
        out[t] = tile[(t + 1) % 64]

    with gpu.trace(races=True), pytest.raises(gpu.KernelFault) as caught:
        neighbours[1, 64](np.zeros(64, np.float32))
    text = str(caught.value)
    assert caught.value.fault.kind == "race"
    assert "neighbours" in text and "tile[t] = t" in text and "out[t] = tile[(t + 1) % 64]" in text


def test_devices_elsewhere_get_plain_data(rng):
    elsewhere = Elsewhere()
    with gpu.use(elsewhere):
        check(*run(rng))
    assert elsewhere.launches == [["a", "out"]] * 3


def test_faults_from_elsewhere_read_the_same():
    with gpu.use(Elsewhere()), pytest.raises(gpu.KernelFault) as caught:
        scale[3, 64](np.ones(100, np.float32), np.zeros(150, np.float32), np.float32(1))
    assert "scale stores the value of shared tile[36]" in str(caught.value)
    assert "out[i] = factor * tile[t]" in str(caught.value)


@pytest.mark.parametrize("device", [Elsewhere, VirtualDevice])
def test_the_bridge_from_a_gpu(rng, device):
    """What happens where numba has a real GPU; here its own virtual driver stands for it."""
    with bridge.follow(device()):
        check(*run(rng))
        with pytest.raises(gpu.KernelFault, match=r"undefined: scale .*\n.*out\[i\] = factor"):
            scale[3, 64](np.ones(100, np.float32), np.zeros(150, np.float32), np.float32(1))
    check(*run(rng))


def test_the_bridge_counts(rng):
    counted = []
    watching = VirtualDevice(vgpu.Options(counters=True), lambda _, result: counted.append(result))
    with bridge.follow(watching):
        check(*run(rng))
    assert [r.counts.total.global_stores for r in counted] == [4, 4, 4]
    assert (__file__, LINE_OF_STORE) in counted[0].counts.lines


def test_a_grid_waits_elsewhere_too():
    @cuda.jit
    def rotate(a):
        i = cuda.grid(1)
        value = a[(i + 1) % a.size]
        cuda.cg.this_grid().sync()
        a[i] = value

    for place in (gpu.use(Elsewhere()), bridge.follow(Elsewhere())):
        a = np.arange(32 * 5)
        with place:
            rotate[5, 32](a)
        assert np.array_equal(a, np.roll(np.arange(32 * 5), -1))
