"""The virtual GPU beside numba-cuda's own simulator, on the same kernels, in one run."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from tqdm import tqdm

from course.bench import Record

_SHUFFLE = """
__global__ void total(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, v);
}
"""

_MATMUL = """
template <int T> __global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float s[T][T], t[T][T];
    int i = threadIdx.x, j = threadIdx.y, x = blockIdx.x * T + i, y = blockIdx.y * T + j;
    float sum = 0;
    for (int first = 0; first < n; first += T) {
        s[j][i] = a[y * n + first + i];
        t[j][i] = b[(first + j) * n + x];
        __syncthreads();
        for (int k = 0; k < T; k++) sum += s[j][k] * t[k][i];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
__global__ void naive(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}
"""


def run() -> list[Record]:
    """Measure everything; the simulator takes a minute or two."""
    with tqdm(total=4, desc="bench vgpu", unit="part") as bar:
        with tempfile.TemporaryDirectory() as empty:
            cold = _process("virtual", COURSE_CACHE=empty)
            bar.update()
            warm = _process("virtual", COURSE_CACHE=empty)
            bar.update()
        peer = _process("simulator")
        bar.update()
        records = []
        for case, times in warm.items():
            for variant, value, other in (
                ("plain", times["plain"], peer[case]["best"]),
                ("counters", times["counters"], peer[case]["best"]),
                ("races", times["races"], peer[case]["best"]),
                ("end_to_end_cold", cold[case]["first"], peer[case]["first"]),
                ("end_to_end_warm", times["best"], peer[case]["best"]),
            ):
                records.append(Record(case, variant, value, "s", "numba-sim", other))
        records += _alone()
        bar.update()
    return records


def _process(which: str, **variables: str) -> dict[str, dict[str, float]]:
    """Run the kernels in a process of their own and return what it measured."""
    command = [sys.executable, "-m", "course.bench.vgpu_kernels", which]
    environment = os.environ | {"COURSE_DEVICE": "virtual"} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the {which} run of the benchmark failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def _alone() -> list[Record]:
    """Measure what the simulator cannot run, and large products in lane-instructions a second."""
    from course import gpu

    x = np.random.default_rng(0).standard_normal(4096, dtype=np.float32)
    module = gpu.compile(_SHUFFLE)
    seconds, _ = _launch(module["total"], (16, 256), x, np.zeros(1, np.float32), len(x))
    records = [Record("warp-shuffle reduction 4096", "plain", seconds, "s")]
    a, b = np.random.default_rng(1).standard_normal((2, 256, 256), dtype=np.float32)
    c = np.full_like(a, np.nan)
    module = gpu.compile(_MATMUL)
    for name, shape in {
        "naive": ((16, 16), (16, 16)),
        "naive 32x8": ((8, 32), (32, 8)),
        "tiled<16>": ((16, 16), (16, 16)),
        "tiled<32>": ((8, 8), (32, 32)),
    }.items():
        kernel = module[name.split()[0]]
        seconds, instructions = _launch(kernel, shape, a, b, c, 256)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-3)
        case = f"{name} matmul 256"
        records.append(Record(case, "plain", instructions / seconds, "lane-instructions/s"))
    return records


def _launch(kernel, shape: tuple, *arguments: object) -> tuple[float, int]:  # noqa: ANN001
    """Return the best time of a plain launch, and its lane-instructions."""
    from course import gpu, vgpu
    from course.gpu.virtual_device import VirtualDevice

    seconds: list[float] = []
    with gpu.use(VirtualDevice(vgpu.Options(), lambda _, r: seconds.append(r.seconds))):
        for _ in range(5):
            kernel[shape](*arguments)
    with gpu.trace() as trace:
        kernel[shape](*arguments)
    return min(seconds), trace.total.lanes
