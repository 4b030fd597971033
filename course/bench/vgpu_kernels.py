"""The kernels of the ``vgpu`` benchmark in numba.cuda, and the process that runs them.

The same source runs on the virtual GPU and on numba-cuda's simulator, each in a process of its own:
``python -m course.bench.vgpu_kernels {virtual,simulator}`` prints what it measured as JSON.
"""

import json
import math
import os
import sys
import time
from collections.abc import Callable

import numpy as np

if "simulator" in sys.argv:  # numba reads this when it is imported
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

from numba import cuda


@cuda.jit
def vector_add(a, b, c):  # noqa: ANN001, ANN201, D103
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def naive(a, b, c):  # noqa: ANN001, ANN201, D103
    x, y = cuda.grid(2)
    if y < c.shape[0] and x < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[y, k] * b[k, x]
        c[y, x] = total


def tiled(width: int) -> Callable:
    """Return the kernel for tiles of `width` x `width`."""

    @cuda.jit
    def product(a, b, c):  # noqa: ANN001, ANN202
        tile_a = cuda.shared.array((width, width), np.float32)
        tile_b = cuda.shared.array((width, width), np.float32)
        x, y = cuda.grid(2)
        i = cuda.threadIdx.x
        j = cuda.threadIdx.y
        total = np.float32(0)
        for first in range(0, a.shape[1], width):
            tile_a[j, i] = a[y, first + i]
            tile_b[j, i] = b[first + j, x]
            cuda.syncthreads()
            for k in range(width):
                total += tile_a[j, k] * tile_b[k, i]
            cuda.syncthreads()
        c[y, x] = total

    return product


@cuda.jit
def reduction(x, total):  # noqa: ANN001, ANN201, D103
    part = cuda.shared.array(128, np.float32)
    i = cuda.threadIdx.x
    part[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 64
    while step > 0:
        if i < step:
            part[i] += part[i + step]
        cuda.syncthreads()
        step //= 2
    if i == 0:
        cuda.atomic.add(total, 0, part[0])


@cuda.jit
def softmax(x, y):  # noqa: ANN001, ANN201, D103
    part = cuda.shared.array(64, np.float32)
    i = cuda.threadIdx.x
    row = cuda.blockIdx.x
    largest = np.float32(-3e38)
    for k in range(i, x.shape[1], 64):
        largest = max(largest, x[row, k])
    part[i] = largest
    cuda.syncthreads()
    for k in range(64):
        largest = max(largest, part[k])
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(i, x.shape[1], 64):
        total += math.exp(x[row, k] - largest)
    part[i] = total
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(64):
        total += part[k]
    for k in range(i, x.shape[1], 64):
        y[row, k] = math.exp(x[row, k] - largest) / total


KERNELS = {
    "vector add 4096": vector_add,
    "naive matmul 64": naive,
    "tiled matmul 64, 16x16": tiled(16),
    "tiled matmul 64, 32x32": tiled(32),
    "reduction 4096": reduction,
    "softmax 16x200": softmax,
}


def cases() -> dict[str, tuple[tuple, list[np.ndarray], np.ndarray]]:
    """Return for each kernel its launch shape, its arguments (the result last), and the truth."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 4096), dtype=np.float32)
    m, n = rng.standard_normal((2, 64, 64), dtype=np.float32)
    x = rng.standard_normal((16, 200), dtype=np.float32)
    exact = m.astype(np.float64) @ n
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))

    def matmul(width: int) -> tuple:
        result = np.full((64, 64), np.nan, np.float32)
        return ((64 // width,) * 2, (width,) * 2), [m, n, result], exact

    return {
        "vector add 4096": ((32, 128), [a, b, np.full_like(a, np.nan)], a.astype(np.float64) + b),
        "naive matmul 64": matmul(16),
        "tiled matmul 64, 16x16": matmul(16),
        "tiled matmul 64, 32x32": matmul(32),
        "reduction 4096": ((32, 128), [a, np.zeros(1, np.float32)], a.sum(dtype=np.float64)),
        "softmax 16x200": ((16, 64), [x, np.full_like(x, np.nan)], e / e.sum(1, keepdims=True)),
    }


def _call(kernel: Callable, shape: tuple, arguments: list[np.ndarray], truth: np.ndarray) -> float:
    """Launch once from Python with host arrays; check the result; return seconds."""
    fresh = [*arguments[:-1], arguments[-1].copy()]
    start = time.perf_counter()
    kernel[shape](*fresh)
    seconds = time.perf_counter() - start
    np.testing.assert_allclose(np.squeeze(fresh[-1]), truth, rtol=1e-3, atol=1e-3)
    return seconds


def simulator() -> dict[str, dict[str, float]]:
    """Run on numba-cuda's simulator: the first call and the best of three."""
    result = {}
    for name, kernel in KERNELS.items():
        times = [_call(kernel, *cases()[name]) for _ in range(3)]
        result[name] = {"first": times[0], "best": min(times)}
    return result


def virtual() -> dict[str, dict[str, float]]:
    """Run on the virtual GPU: first call, best call, and the launch itself plain and watched."""
    from course import gpu, vgpu
    from course.gpu.virtual_device import VirtualDevice

    result = {}
    for name, kernel in KERNELS.items():
        shape, arguments, truth = cases()[name]
        first = _call(kernel, shape, arguments, truth)
        times = [_call(kernel, shape, arguments, truth) for _ in range(20)]
        result[name] = {"first": first, "best": min(times)}
        for variant, options in {
            "plain": vgpu.Options(),
            "counters": vgpu.Options(counters=True),
            "races": vgpu.Options(races=True),
        }.items():
            seconds: list[float] = []
            device = VirtualDevice(options, lambda _, r, to=seconds: to.append(r.seconds))
            with gpu.use(device):
                for _ in range(8):
                    _call(kernel, shape, arguments, truth)
            result[name][variant] = min(seconds)
    return result


if __name__ == "__main__":
    print(json.dumps({"simulator": simulator, "virtual": virtual}[sys.argv[1]]()))
