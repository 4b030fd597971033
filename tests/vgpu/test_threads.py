"""Launches from several Python threads at once."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu
from course.gpu.virtual_device import VirtualDevice

SOURCE = """__global__ void scale(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}"""


def test_threads_share_a_device():
    kernel = gpu.compile(SOURCE)["scale"]
    rng = np.random.default_rng(0)
    # sizes that make memory grow while others run
    arrays = [rng.standard_normal(int(n)).astype(np.float32) for n in 10 ** rng.uniform(1, 6, 24)]

    def work(x):
        result = x.copy()
        kernel[(len(x) + 255) // 256, 256](result, 3.0, len(x))
        return result

    with gpu.use(VirtualDevice()), ThreadPoolExecutor(6) as pool:
        results = list(pool.map(work, arrays))
    for x, result in zip(arrays, results, strict=True):
        np.testing.assert_array_equal(result, 3 * x)
