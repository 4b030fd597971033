"""Values that grow by a fixed step from lane to lane, where lanes part."""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("step", [3, 0x123456789A, -0x123456789A, 1 << 32])
def test_wide_steps_survive_divergence(step, fast):
    source = f"""__global__ void k(long long* a, int* c) {{
        long long y = threadIdx.x * {step}LL, s = 0;
        for (int j = 0; j < c[threadIdx.x]; j++) s += y + j;
        a[threadIdx.x] = s;
    }}"""
    a, c = np.zeros(32, np.int64), np.array([0] * 8 + [1] * 24, np.int32)
    with gpu.use(VirtualDevice(vgpu.Options(fast=fast))):
        gpu.compile(source)["k"][1, 32](a, c)
    np.testing.assert_array_equal(a, np.where(c, np.arange(32) * step, 0))


def test_counting_bits_of_a_uniform_value_when_watched():
    a = np.zeros(32, np.int32)
    with gpu.trace():
        gpu.compile("__global__ void k(int* a, int n) { a[threadIdx.x] = __popc(n); }")["k"][1, 32](
            a, 7
        )
    assert (a == 3).all()
