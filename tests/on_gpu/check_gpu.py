"""What course.gpu does on a real GPU, each check with what a user would see.

python3 -m pytest -q tests/on_gpu            skipped, and said so, where there is no GPU
PYTHONPATH=. python3 tests/on_gpu/check_gpu.py       prints every message
"""

import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch

from course import ROOT, gpu

try:
    WHY_NOT = ""
    if gpu.device().kind != "cuda":
        WHY_NOT = f"these checks are for a real GPU, and kernels run on {gpu.device()} here"
except gpu.NoDevice as reason:
    WHY_NOT = str(reason)

if WHY_NOT and __name__ != "__main__":
    pytest.skip(WHY_NOT, allow_module_level=True)

SAXPY = """
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void triple(int n, const float* __restrict__ x, float* __restrict__ out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 3 * x[i];
}
"""
ODD_SIZES = [1, 31, 33, 1000, 1_000_003]
CANARY, MARGIN = 777.0, 64


def say(text: object) -> None:
    print("   ", str(text).replace("\n", "\n    "))


def blocks(n: int, size: int = 256) -> int:
    return (n + size - 1) // size


def refused(kind: type[Exception], launch, *values) -> str:
    with pytest.raises(kind) as error:
        launch(*values)
    say(f"{kind.__name__}: {error.value}")
    return str(error.value)


def guarded(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an output full of NaN between two margins of canaries, and all of it."""
    whole = torch.full((n + 2 * MARGIN,), CANARY, device="cuda")
    whole[MARGIN : MARGIN + n] = torch.nan
    return whole[MARGIN : MARGIN + n], whole


def intact(whole: torch.Tensor) -> bool:
    return bool((whole[:MARGIN] == CANARY).all() and (whole[-MARGIN:] == CANARY).all())


def in_its_own_process(script: str) -> str:
    """Run Python apart, for what ends a CUDA context; return what it printed."""
    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_the_machine():
    device = gpu.device()
    say(f"{device}, {device.limits}")
    say(f"NVRTC {gpu.nvrtc_version()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    assert gpu.compiler_problem() is None
    assert gpu.compile(SAXPY).arch == device.arch
    major, minor = torch.cuda.get_device_capability()
    assert device.arch.startswith(f"sm_{major}{minor}")
    assert torch.cuda.get_device_name() == device.name


@pytest.mark.parametrize("n", ODD_SIZES)
def test_cuda_tensors(n):
    kernel = gpu.compile(SAXPY)["triple"]
    x = torch.randn(n, device="cuda")
    out, whole = guarded(n)
    kernel[blocks(n), 256](n, x, out)
    torch.testing.assert_close(out, 3 * x, rtol=0, atol=0)
    assert intact(whole)


@pytest.mark.parametrize("n", ODD_SIZES)
def test_numpy_arrays(n):
    module = gpu.compile(SAXPY)
    draw = np.random.default_rng(n)
    x, y = draw.normal(size=(2, n)).astype(np.float32)
    out = np.full(n, np.nan, np.float32)
    before = x.copy(), y.copy()
    module["triple"][blocks(n), 256](n, x, out)
    np.testing.assert_array_equal(out, 3 * x)
    module["saxpy"][blocks(n), 256](n, 2.5, x, y)
    np.testing.assert_allclose(y, 2.5 * before[0] + before[1], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(x, before[0])


def test_numpy_margins():
    n = 1001
    whole = np.full(n + 2 * MARGIN, CANARY, np.float32)
    out = whole[MARGIN : MARGIN + n]
    out[:] = np.nan
    x = np.random.default_rng(0).normal(size=n).astype(np.float32)
    gpu.compile(SAXPY)["triple"][blocks(n), 256](n, x, out)
    np.testing.assert_array_equal(out, 3 * x)
    assert (whole[:MARGIN] == CANARY).all() and (whole[-MARGIN:] == CANARY).all()


def test_cpu_tensors_and_overlapping_arrays():
    kernel = gpu.compile(SAXPY)["saxpy"]
    x, y = torch.randn(2, 777)
    expected = 2 * x + y
    kernel[4, 256](777, 2.0, x.contiguous(), y)
    torch.testing.assert_close(y, expected)
    z = np.arange(10, dtype=np.float32)
    kernel[1, 32](10, 2.0, z, z)  # one array twice: in place
    np.testing.assert_array_equal(z, 3 * np.arange(10))
    z = np.arange(12, dtype=np.float32)
    kernel[1, 4](4, 1.0, z[:4], z[6:10])
    np.testing.assert_array_equal(z, [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 10, 11])


def test_mistakes_get_messages():
    kernel = gpu.compile(SAXPY)["saxpy"]
    x = torch.zeros(4, device="cuda")
    launch = kernel[1, 32]
    assert "Missing from the end: float* y" in refused(gpu.ArgumentError, launch, 4, 1.0, x)
    assert "needs float32" in refused(gpu.ArgumentError, launch, 4, 1.0, x.double(), x)
    assert "one place" in refused(gpu.ArgumentError, launch, 4, 1.0, x, np.zeros(4, np.float32))
    assert "one place" in refused(gpu.ArgumentError, launch, 4, 1.0, x.cpu(), x)
    assert "is an integer" in refused(gpu.ArgumentError, launch, 4.0, 1.0, x, x)
    assert "contiguous" in refused(gpu.ArgumentError, launch, 2, 1.0, x[::2], x)
    assert "1,056 threads" in refused(gpu.LaunchError, kernel[1, (32, 33)], 4, 1.0, x, x)
    refused(gpu.LaunchError, kernel[1, 32, 300_000], 4, 1.0, x, x)
    refused(gpu.LaunchError, kernel[(1, 65536), 32], 4, 1.0, x, x)
    refused(gpu.LaunchError, lambda: kernel[0, 32])


def test_a_compile_error():
    text = refused(gpu.CompileError, gpu.compile, SAXPY.replace("blockDim.x +", "blockdim.x +", 1))
    assert "line 3" in text and "Did you mean `blockDim`?" in text


def test_vectors_must_be_aligned():
    kernel = gpu.compile("__global__ void f(float4* x) { x[0].w = 1; }")["f"]
    x = torch.zeros(12, device="cuda")
    assert "no multiple of 16" in refused(gpu.ArgumentError, kernel[1, 1], x[1:9])
    kernel[1, 1](x[4:])
    assert x.cpu().tolist() == [0.0] * 7 + [1.0] + [0.0] * 4


def test_numbers_arrive_as_they_were_sent():
    kernel = gpu.compile("""
        #include <cuda_fp16.h>
        #include <cuda_bf16.h>
        struct Pair { short a; double b; };
        __global__ void f(bool a, char b, short c, unsigned d, long long e, float f, double g,
                          __half h, __nv_bfloat16 i, Pair p, float3 v, double* out) {
            double all[] = {double(a), double(b), double(c), double(d), double(e), f, g,
                            __half2float(h), __bfloat162float(i), double(p.a), p.b, v.x, v.y, v.z};
            for (int k = 0; k < 14; k++) out[k] = all[k];
        }
    """)["f"]
    pair = np.zeros(1, np.dtype([("a", "i2"), ("b", "f8")], align=True))
    pair[0] = (-7, 0.1)
    vector = np.array([1, 2, 3], np.float32).tobytes()
    out = np.full(14, np.nan)
    kernel[1, 1](True, -5, -300, 4_000_000_000, -(2**40), 0.1, 0.1, 1.5, 0.1, pair[0], vector, out)
    bf16 = torch.tensor(0.1).bfloat16().item()
    expected = [1, -5, -300, 4e9, -(2.0**40), np.float32(0.1), 0.1, 1.5, bf16, -7, 0.1, 1, 2, 3]
    np.testing.assert_array_equal(out, expected)


def test_bf16():
    source = """
        #include <cuda_bf16.h>
        __global__ void half_of(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) y[i] = __hmul(x[i], __float2bfloat16(0.3f));
        }
    """
    kernel = gpu.compile(source)["half_of"]
    x = torch.randn(1001, device="cuda", dtype=torch.bfloat16)
    y = torch.full_like(x, torch.nan)
    kernel[blocks(1001), 256](x, y, 1001)
    expected = x * torch.tensor(0.3, dtype=torch.bfloat16, device="cuda")
    torch.testing.assert_close(y, expected, rtol=0, atol=0)
    bits = x.view(torch.int16)
    kernel[blocks(1001), 256](bits, y.fill_(torch.nan), 1001)
    torch.testing.assert_close(y, expected, rtol=0, atol=0)
    host, result = bits.cpu().numpy(), np.zeros(1001, np.int16)
    kernel[blocks(1001), 256](host, result, 1001)
    np.testing.assert_array_equal(result, expected.view(torch.int16).cpu().numpy())
    cpu = torch.zeros(1001, dtype=torch.bfloat16)
    kernel[blocks(1001), 256](x.cpu(), cpu, 1001)
    torch.testing.assert_close(cpu, expected.cpu(), rtol=0, atol=0)


def test_templates():
    module = gpu.compile("""
        template <typename T, int N> __global__ void scale(T* x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[i] *= N;
        }
    """)
    for name, dtype in [("scale<float, 4>", np.float32), ("scale<long long, -3>", np.int64)]:
        x = np.arange(33, dtype=dtype)
        module[name][2, 32](x, 33)
        np.testing.assert_array_equal(x, np.arange(33) * int(name.split(",")[1].strip(" >")))


def test_three_dimensions():
    kernel = gpu.compile("""
        __global__ void where(int* out) {
            int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
            int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
            out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
        }
    """)["where"]
    out = np.full((30, 42), -1, np.int32)
    kernel[(5, 3, 2), (7, 2, 3)](out)
    np.testing.assert_array_equal(out, np.arange(30)[:, None] * 1000 + np.arange(42))


def test_much_shared_memory():
    kernel = gpu.compile("""
        __global__ void reverse(const float* x, float* y, int n) {
            extern __shared__ float tile[];
            for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
            __syncthreads();
            for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = tile[n - 1 - i];
        }
    """)["reverse"]
    most = gpu.device().limits.shared_per_block
    for size in (4_000, 48 * 1024, 48 * 1024 + 4, most, 60_000):
        n = size // 4
        x = torch.randn(n, device="cuda")
        y = torch.full_like(x, torch.nan)
        kernel[1, 256, size](x, y, n)
        torch.testing.assert_close(y, x.flip(0), rtol=0, atol=0)
    say(f"dynamic shared memory up to {most:,} bytes")


def test_much_static_shared_memory():
    source = """
        __global__ void reverse(const float* x, float* y) {
            __shared__ float tile[15000];
            for (int i = threadIdx.x; i < 15000; i += blockDim.x) tile[i] = x[i];
            __syncthreads();
            for (int i = threadIdx.x; i < 15000; i += blockDim.x) y[i] = tile[14999 - i];
        }
    """
    try:
        kernel = gpu.compile(source)["reverse"]
        usage = kernel.module.resources()["reverse"]
    except gpu.CompileError as error:
        say(error)  # before Hopper the limit for static shared memory is 48 KB
        assert "extern __shared__" in str(error)
        return
    x = np.random.default_rng(0).normal(size=15000).astype(np.float32)
    y = np.full_like(x, np.nan)
    kernel[1, 256](x, y)
    np.testing.assert_array_equal(y, x[::-1])
    say(f"static shared memory of {usage.shared:,} bytes")


SPIN = """
__global__ void spin(long long cycles, float* x) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
    x[0] += 1;
}
"""


def test_launches_are_asynchronous_and_follow_the_stream():
    kernel = gpu.compile(SPIN)["spin"]
    side = torch.cuda.Stream()
    x = torch.zeros(1, device="cuda")
    kernel[1, 1](1, x)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        kernel[1, 1](1_000_000_000, x)  # about half a second
        done = torch.cuda.Event()
        done.record()
        still_running = not done.query()
        x.mul_(10)  # behind the kernel, on the same stream
    free = torch.zeros(1, device="cuda")
    kernel[1, 1](1, free)
    torch.cuda.default_stream().synchronize()
    main_was_free = not done.query()
    side.synchronize()
    assert still_running, "the launch waited for its kernel"
    assert main_was_free, "the launch went to another stream than torch's current one"
    assert x.item() == 20 and free.item() == 1


def test_host_arrays_wait_also_on_a_side_stream():
    module = gpu.compile(SPIN + SAXPY)
    n = 3_000_001
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=(2, n)).astype(np.float32)
    expected = np.float32(2) * x + y
    with torch.cuda.stream(torch.cuda.Stream()):
        module["spin"][1, 1](200_000_000, torch.zeros(1, device="cuda"))
        module["saxpy"][blocks(n), 256](n, 2.0, x, y)
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)


def test_torch_and_its_allocator_live_on():
    kernel = gpu.compile(SAXPY)["saxpy"]
    a = torch.randn(300, 200, device="cuda")
    for _ in range(5):
        b = a @ a.T
        kernel[blocks(b.numel()), 256](b.numel(), 1.0, b, b)
        torch.testing.assert_close(b, 2 * (a @ a.T))
        kernel[1, 64](64, 2.0, np.zeros(64, np.float32), np.ones(64, np.float32))


def test_too_many_registers_for_a_block():
    body = "\n".join(f"float a{i} = x[{i} * n + threadIdx.x];" for i in range(120))
    ends = "\n".join(f"x[{i} * n + threadIdx.x] = a{i} * a{(i * 7 + 3) % 120};" for i in range(120))
    kernel = gpu.compile(f"__global__ void busy(float* x, int n) {{\n{body}\n{ends}\n}}")["busy"]
    say(kernel.module.resources())
    x = torch.zeros(120 * 1024, device="cuda")
    text = refused(gpu.LaunchError, kernel[1, 1024], x, 1024)
    assert text.startswith("busy: a block of 1024 threads does not fit")
    kernel[1, 128](x, 128)
    torch.cuda.synchronize()


def test_code_for_another_gpu():
    other = "sm_80" if gpu.device().arch != "sm_80" else "sm_90a"
    kernel = gpu.compile("__global__ void f(int n) {}", arch=other)["f"]
    assert f"was compiled for {other}" in refused(gpu.LaunchError, kernel[1, 1], 3)


def test_machine_code_and_resources():
    module = gpu.compile(SAXPY)
    say(module.resources())
    text = module.sass()
    assert "FFMA" in text and "cell.cu:4" in text
    assert module.resources()["saxpy"].registers > 0


FAULT = """
import numpy as np
from course import gpu
module = gpu.compile('''
    __global__ void past_the_end(float* x, long long i) { x[i] = 1; }
    __global__ void misaligned(float* x) { *(float4*)(x + 1) = make_float4(1, 2, 3, 4); }
    __global__ void asserts(float* x) { assert(x[0] > 5); }
    __global__ void traps(float* x) { __trap(); }
''')
x = np.zeros(64, np.float32)
for values in %s:
    try:
        module["%s"][1, 1](x, *values)
        print("no error")
    except gpu.LaunchError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("kernel", "values", "message"),
    [
        ("past_the_end", [(1 << 40,)], "CUDA_ERROR_ILLEGAL_ADDRESS: it read or wrote"),
        ("misaligned", [()], "CUDA_ERROR_MISALIGNED_ADDRESS"),
        ("asserts", [()], "CUDA_ERROR_ASSERT"),
        ("traps", [()], "failed with CUDA_ERROR_"),
    ],
)
def test_faults_are_told(kernel, values, message):
    printed = in_its_own_process(FAULT % (values, kernel))
    say(printed)
    assert message in printed and printed.splitlines()[-1].startswith(kernel)


def test_a_fault_of_an_asynchronous_launch():
    printed = in_its_own_process("""
import torch
from course import gpu
module = gpu.compile('''
    __global__ void bad(float* x, long long i) { x[i] = 1; }
    __global__ void good(float* x) { x[0] = 1; }
''')
x = torch.zeros(4, device="cuda")
module["bad"][1, 1](x, 1 << 40)
try:
    torch.cuda.synchronize()
except Exception as error:
    print("torch:", type(error).__name__)
try:
    module["good"][1, 1](x)
    print("no error")
except gpu.LaunchError as error:
    print(error)
""")
    say(printed)
    assert "good (or a kernel launched before it: bad) failed with CUDA_ERROR_ILLEGAL" in printed


def test_without_torch():
    printed = in_its_own_process("""
import sys
import numpy as np
from course import gpu
x = np.arange(1001, dtype=np.float32)
gpu.compile("__global__ void f(float* x, int n) { int i = threadIdx.x + blockIdx.x * 256;"
            " if (i < n) x[i] += 1; }")["f"][4, 256](x, 1001)
assert (x == np.arange(1, 1002)).all()
print("torch" in sys.modules, gpu.device())
""")
    say(printed)
    assert printed.startswith("False ")


def test_the_environment_decides():
    script = (
        "from course import gpu\ntry: print(gpu.device().kind)\nexcept Exception as e: print(e)"
    )
    for settings, message in [
        ({"COURSE_DEVICE": "cuda"}, "cuda"),
        ({"COURSE_DEVICE": "quantum"}, "COURSE_DEVICE is 'quantum'"),
        (
            {"COURSE_DEVICE": "cuda", "CUDA_VISIBLE_DEVICES": ""},
            "the NVIDIA driver finds no GPU (CUDA_ERROR_NO_DEVICE)",
        ),
    ]:
        printed = in_its_own_process(f"import os; os.environ |= {settings}\n{script}")
        say(printed)
        assert message in printed


def test_blocks_of_a_grid_meet():
    source = """#include <cooperative_groups.h>
    __global__ void reverse(float* a, float* b, int n) {
        auto grid = cooperative_groups::this_grid();
        int i = grid.thread_rank();
        a[i] = i;
        grid.sync();
        b[i] = a[n - 1 - i];
    }"""
    n = 100 * 128
    a, b = torch.full((2, n), torch.nan, device="cuda")
    kernel = gpu.compile(source)["reverse"]
    kernel[100, 128](a, b, n)
    torch.testing.assert_close(b, torch.arange(n - 1, -1, -1, device="cuda", dtype=b.dtype))
    refused(gpu.LaunchError, kernel[100_000, 1024], a, b, n)


def test_the_cost_of_a_launch():
    kernel = gpu.compile(SAXPY)["saxpy"]
    x, y = torch.zeros(2, 64, device="cuda")
    launch = kernel[1, 64]
    launch(64, 1.0, x, y)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(2000):
        launch(64, 1.0, x, y)
    torch.cuda.synchronize()
    say(f"{(time.perf_counter() - start) / 2000 * 1e6:.1f} microseconds a launch")


def main() -> int:
    """Run every check and print what it shows; the number of failures is the exit code."""
    if WHY_NOT:
        print(WHY_NOT)
        return 1
    failures = 0
    for name, check in list(globals().items()):
        if not name.startswith("test_"):
            continue
        marks = [m for m in getattr(check, "pytestmark", []) if m.name == "parametrize"]
        cases = marks[0].args[1] if marks else [()]
        for case in cases:
            print(f"{name.removeprefix('test_')} {case if marks else ''}")
            try:
                check(*(case if isinstance(case, tuple) else (case,)))
            except Exception:
                failures += 1
                traceback.print_exc()
    print(f"{failures} failed")
    return failures


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.exit(main())
