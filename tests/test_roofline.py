import numpy as np
import pytest

from course import gpu, roofline, specs

SOURCE = """
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def test_attainable_is_the_lower_of_the_two_roofs():
    assert roofline.attainable(2.0, 10.0, 3.0) == 6.0
    assert roofline.attainable(5.0, 10.0, 3.0) == 10.0


def test_saxpy_is_bound_by_memory_and_takes_its_bytes_over_the_bandwidth():
    pytest.importorskip("cuda.bindings.nvrtc")
    n = 10_007
    x, y = np.random.default_rng(3).standard_normal((2, n), dtype=np.float32)
    with gpu.trace() as trace:
        gpu.compile(SOURCE)["saxpy"][(n + 255) // 256, 256](n, 0.5, x, y)
    h200 = specs.gpu("H200")
    prediction = roofline.predict(trace, h200)
    assert trace.total.flops == 2 * n
    assert prediction.bound == "memory"
    # x and y are read, y is written
    assert prediction.time == pytest.approx(3 * 4 * n / h200.memory_bandwidth)
    assert prediction.seconds["shared"] == 0
    assert "bound by memory" in str(prediction)
