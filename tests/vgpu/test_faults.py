"""Each kind of fault: a small kernel that has it, and the report that names line and element."""

import pathlib

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice


def launch(source, grid, block, *arguments, fast=True, shared=0, **options):
    """Run kernel `k` of `source` on a virtual GPU and return the fault it raises, or None."""
    with gpu.use(VirtualDevice(vgpu.Options(fast=fast, patience=1, **options))):
        kernel = gpu.compile(source)["k"]
        try:
            kernel[grid, block, shared](*arguments)
        except gpu.KernelFault as error:
            return error
    return None


@pytest.fixture(params=[True, False], ids=["fast", "masked"])
def fast(request):
    return request.param


def zeros(n, dtype=np.float32):
    return np.zeros(n, dtype)


def test_a_store_past_the_end_names_element_line_and_thread(fast):
    source = """__global__ void k(float* a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i <= n)
            a[i] = 1;
    }"""
    error = launch(source, 4, 256, zeros(1000), 1000, fast=fast)
    fault = error.fault
    assert fault.kind == "out-of-bounds"
    assert (fault.place.line, fault.block, fault.warp, fault.lanes) == (4, (3, 0, 0), 7, (8,))
    assert fault.threads == ((232, 0, 0),)
    assert fault.target.what == "a[1000]" and fault.target.beyond == 4
    text = str(error)
    assert "k writes a[1000]; a has 1000 elements of float32 (4 bytes outside)" in text
    assert "line 4: a[i] = 1;" in text


def test_a_negative_index_does_not_wrap(fast):
    source = "__global__ void k(float* a, float* b) { int i = threadIdx.x; b[i] = a[i - 1]; }"
    error = launch(source, 1, 64, zeros(64), zeros(64), fast=fast)
    assert error.fault.kind == "out-of-bounds" and error.fault.target.what == "a[-1]"
    assert "reads a[-1]" in str(error) and "negative index" in str(error)


def test_an_unsigned_index_below_zero_is_a_large_one(fast):
    source = "__global__ void k(float* a, float* b) { b[threadIdx.x] = a[threadIdx.x - 1]; }"
    error = launch(source, 1, 64, zeros(64), zeros(64), fast=fast)
    assert error.fault.kind == "out-of-bounds" and error.fault.lanes == (0,)
    assert "a[4294967295]; as an unsigned 32-bit number, -1 is 4294967295" in str(error)


def test_elements_of_a_matrix_are_named_by_row_and_column(fast):
    source = "__global__ void k(const float* a, float* b) { b[0] = a[0]; b[threadIdx.x] = b[5]; }"
    # b is read before anything but b[0] is written, and is a matrix of the host: all defined
    assert launch(source, 1, 32, zeros((4, 8)), zeros((4, 8)), fast=fast) is None
    source = "__global__ void k(const float* a) { ((float*)a)[threadIdx.x] = 1; }"
    error = launch(source, 1, 32, zeros((4, 8)), fast=fast)
    assert error.fault.kind == "read-only" and error.fault.target.what == "a[0, 0]"


def test_a_null_pointer_is_called_so(fast):
    source = "__global__ void k(float* a, long long zero) { ((float*)zero)[threadIdx.x] = a[0]; }"
    error = launch(source, 1, 32, zeros(4), 0, fast=fast)
    assert error.fault.kind == "out-of-bounds" and "null pointer" in str(error)


def test_a_misaligned_vector_access(fast):
    source = """__global__ void k(float* a) {
        ((float4*)(a + 1))[threadIdx.x] = make_float4(1, 2, 3, 4);
    }"""
    error = launch(source, 1, 32, zeros(640), fast=fast)
    assert error.fault.kind == "misaligned" and len(error.fault.lanes) == 32
    assert "16 bytes at an address that is 4 bytes past a multiple of 16" in str(error)


UNWRITTEN = """__global__ void k(float* a) {
    __shared__ float s[64];
    int i = threadIdx.x;
    if (i < 40) s[i] = i;
    __syncthreads();
    float v = s[63 - i];
    a[i] = v * 2;
}"""


def test_using_shared_memory_that_nobody_wrote(fast):
    error = launch(UNWRITTEN, 1, 64, zeros(64), fast=fast)
    fault = error.fault
    assert fault.kind == "undefined" and fault.target.what == "shared s[63]"
    assert fault.place.line == 7 and fault.other.line == 6
    assert fault.lanes == tuple(range(24))


def test_reading_without_using_is_allowed(fast):
    source = UNWRITTEN.replace("a[i] = v * 2;", "if (i >= 24) a[i] = v * 2;")
    a = zeros(64)
    assert launch(source, 1, 64, a, fast=fast) is None
    np.testing.assert_array_equal(a[24:], 2.0 * np.arange(39, -1, -1))
    # and a choice that does not choose it
    source = UNWRITTEN.replace("a[i] = v * 2;", "a[i] = i >= 24 ? v * 2 : -1;")
    assert launch(source, 1, 64, a, fast=fast) is None
    assert (a[:24] == -1).all()


def test_deciding_by_and_indexing_with_an_undefined_value(fast):
    for use in ("if (v > 0) a[0] = 1;", "a[(int)v & 63] = 1;"):
        error = launch(UNWRITTEN.replace("a[i] = v * 2;", use), 1, 64, zeros(64), fast=fast)
        assert error.fault.kind == "undefined", use


def test_a_divergent_barrier(fast):
    source = (
        "__global__ void k(float* a) {\n if (threadIdx.x < 20)\n  __syncthreads();\n"
        " a[threadIdx.x] = 1;\n __syncthreads();\n a[0] = a[1];\n}"
    )
    error = launch(source, 1, 64, zeros(64), fast=fast)
    assert error.fault.kind == "divergent-barrier" and error.fault.place.line in (3, 5)
    assert "12 lanes" in str(error) and "20 others (lane 0 first)" in str(error)


def test_leaving_before_a_barrier_is_allowed(fast):
    source = """__global__ void k(float* a, int n) {
        __shared__ float s[96];
        int i = threadIdx.x;
        if (i >= n) return;
        s[i] = i;
        __syncthreads();
        a[i] = s[n - 1 - i];
    }"""
    a = zeros(96)
    assert launch(source, 1, 96, a, 50, fast=fast) is None
    np.testing.assert_array_equal(a[:50], np.arange(49, -1, -1))


def test_barriers_that_wait_for_each_other(fast):
    source = """__global__ void k(float* a) {
        if (threadIdx.x < 32)
            asm volatile("bar.sync 1, 64;");
        else
            asm volatile("bar.sync 2, 64;");
        a[threadIdx.x] = 1;
    }"""
    error = launch(source, 1, 64, zeros(64), fast=fast)
    assert error.fault.kind == "deadlock"
    assert "warp 0 waits at barrier 1, line 3: 32 of 64 threads are there" in str(error)
    assert "warp 1 waits at barrier 2, line 5: 32 of 64 threads are there" in str(error)


def test_a_barrier_with_an_odd_number_of_threads(fast):
    source = '__global__ void k(float* a) { asm volatile("bar.sync 1, 40;"); a[0] = 1; }'
    assert launch(source, 1, 64, zeros(64), fast=fast).fault.kind == "barrier-count"


def test_an_endless_loop_names_its_line(fast):
    source = (
        "__global__ void k(volatile float* a) {\n while (a[threadIdx.x] == 0) {}\n a[0] = 1;\n}"
    )
    error = launch(source, 1, 64, zeros(64), fast=fast)
    assert error.fault.kind == "endless-loop" and error.fault.place.line == 2


def test_a_shuffle_that_waits_for_lanes_at_a_barrier(fast):
    source = """__global__ void k(float* a) {
        float v = a[threadIdx.x];
        if (threadIdx.x < 16)
            v = __shfl_down_sync(0xffffffff, v, 1);
        __syncthreads();
        a[threadIdx.x] = v;
    }"""
    error = launch(source, 1, 32, zeros(32), fast=fast)
    assert error.fault.kind == "inactive-lane" and error.fault.lanes == tuple(range(16, 32))
    assert error.fault.place.line == 4


def test_using_what_a_shuffle_read_from_a_lane_that_has_ended(fast):
    source = """__global__ void k(float* a) {
        float v = a[threadIdx.x];
        if (threadIdx.x < 16)
            a[threadIdx.x] =
                __shfl_down_sync(0xffffffff, v, 1);
    }"""
    error = launch(source, 1, 32, zeros(32), fast=fast)
    assert error.fault.kind == "undefined" and error.fault.lanes == (15,)
    assert (error.fault.place.line, error.fault.other.line) == (4, 5)
    assert "a shuffle read from lane 16, which did not take part" in str(error)


def test_a_mask_without_the_caller(fast):
    source = """__global__ void k(float* a) {
        a[threadIdx.x] = __shfl_down_sync(0xffff, a[threadIdx.x], 1);
    }"""
    error = launch(source, 1, 32, zeros(32), fast=fast)
    assert error.fault.kind == "bad-mask" and error.fault.lanes == tuple(range(16, 32))


def test_trap_and_assert(fast):
    error = launch(
        "__global__ void k(int n) { if (threadIdx.x == 3) __trap(); }", 1, 32, 1, fast=fast
    )
    assert error.fault.kind == "trap" and error.fault.lanes == (3,)
    error = launch("__global__ void k(int n) {\n assert(threadIdx.x < n);\n}", 1, 32, 7, fast=fast)
    assert error.fault.kind == "assertion" and error.fault.lanes[0] == 7
    assert "k: threadIdx.x < n (cell.cu, line 2)" in str(error)


def test_printf_formats_as_c_does(capsys, fast):
    source = r"""__global__ void k(int n) {
        if (threadIdx.x == 33)
            printf("%d %5.2f|%s|%x %c %lld %%\n", n, 2.5, "text", 255, 'z', 1LL << 40);
    }"""
    assert launch(source, 1, 64, 7, fast=fast) is None
    assert capsys.readouterr().out == "7  2.50|text|ff z 1099511627776 %\n"


ALTERNATIVES = "[%#o|%#x|%#X|%#8o|%#-8x|%#08x|%#.5o|%#.5x|%#10.5x|%#.0o|%#.0x]"


@pytest.mark.parametrize(
    "value, expected",  # as glibc prints it
    [
        (0, "[0|0|0|       0|0       |00000000|00000|00000|     00000|0|]"),
        (8, "[010|0x8|0X8|     010|0x8     |0x000008|00010|0x00008|   0x00008|010|0x8]"),
        (255, "[0377|0xff|0XFF|    0377|0xff    |0x0000ff|00377|0x000ff|   0x000ff|0377|0xff]"),
    ],
)  # fmt: skip
def test_printf_of_octal_and_hexadecimal_numbers(capsys, value, expected):
    source = f'__global__ void k(int n) {{ printf("{ALTERNATIVES}"{", n" * 11}); }}'
    assert launch(source, 1, 1, value) is None
    assert capsys.readouterr().out == expected


def test_printf_of_short_numbers_and_exact_floats(capsys):
    source = r"""__global__ void k(int n) {
        printf("%hd|%hu|%hhx|%+d|% d|%05d|%a|%A|%10a|%#g\n",
               n, n, n, 5, 5, -42, 1.5, 1.5, 1.0, 1.0);
    }"""
    assert launch(source, 1, 1, 70000) is None
    expected = "4464|4464|70|+5| 5|-0042|0x1.8p+0|0X1.8P+0|    0x1p+0|1.00000\n"
    assert capsys.readouterr().out == expected


def test_shared_memory_out_of_bounds(fast):
    source = """__global__ void k(float* a, int n) {
        __shared__ float s[32];
        s[threadIdx.x] = 1;
        __syncthreads();
        a[threadIdx.x] = s[threadIdx.x + n];
    }"""
    error = launch(source, 1, 32, zeros(32), 8, fast=fast)
    assert error.fault.kind == "out-of-bounds" and error.fault.lanes == tuple(range(24, 32))
    assert "the block has 128 bytes" in str(error)


def test_limits_are_checked_before_anything_runs():
    kernel = gpu.compile("__global__ void __launch_bounds__(128) k(float* a) { a[0] = 1; }")["k"]
    with gpu.use(VirtualDevice()):
        with pytest.raises(gpu.LaunchError, match="128"):
            kernel[1, 256](zeros(4))
        with pytest.raises(gpu.LaunchError, match="shared"):
            kernel[1, 32, 300_000](zeros(4))


@pytest.mark.parametrize("arch, most", [("sm_80", 48), ("sm_90", 48), ("sm_90a", 227)])
def test_static_shared_memory_has_the_limit_of_ptxas(arch, most):
    source = """__global__ void k(float* a) {
        __shared__ float s[SIZE * 256];
        s[threadIdx.x] = a[threadIdx.x];
        __syncthreads();
        a[threadIdx.x] = s[threadIdx.x ^ 1];
    }"""
    with gpu.use(VirtualDevice()):
        a = np.arange(32, dtype=np.float32)
        gpu.compile(source.replace("SIZE", str(most)), arch=arch)["k"][1, 32](a)
        np.testing.assert_array_equal(a, np.arange(32) ^ 1)
        with pytest.raises(gpu.LaunchError, match="shared memory"):
            gpu.compile(source.replace("SIZE", str(most + 1)), arch=arch)["k"][1, 32](a)


def test_clusters_are_refused():
    source = "__global__ void __cluster_dims__(SIZE, 1, 1) k(int* a) { a[0] = 7; }"
    with gpu.use(VirtualDevice()):
        a = zeros(1, np.int32)
        gpu.compile(source.replace("SIZE", "1"))["k"][2, 1](a)
        assert a[0] == 7
        with pytest.raises(gpu.LaunchError, match=r"clusters of blocks .*2 x 1 x 1"):
            gpu.compile(source.replace("SIZE", "2"))["k"][2, 1](a)


def test_a_user_without_a_home_can_launch(monkeypatch):
    for name in ("COURSE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)

    def homeless(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(pathlib.Path, "home", homeless)
    monkeypatch.setattr(pathlib.Path, "expanduser", homeless)
    a = zeros(32, np.int32)
    assert launch("__global__ void k(int* a) { a[threadIdx.x] = 7; }", 1, 32, a) is None
    assert (a == 7).all()


def test_a_fault_leaves_the_device_usable():
    with gpu.use(VirtualDevice()):
        kernel = gpu.compile("__global__ void k(float* a, int i) { a[i] = 1; }")["k"]
        with pytest.raises(gpu.KernelFault):
            kernel[1, 1](zeros(4), 4)
        a = zeros(4)
        kernel[1, 1](a, 3)
        assert a[3] == 1


def test_lanes_may_come_to_a_barrier_one_after_the_other(fast):
    """No barrier stands in a branch here, but lane 0 is in its loop when the others arrive."""
    source = """__global__ void k(float* a) {
        __shared__ float s[64];
        int i = threadIdx.x;
        s[i] = a[i];
        __syncthreads();
        if (i % 32 == 0)
            for (int n = 1; n < 32; n++) s[i] += s[i + n];
        __syncthreads();
        if (i == 0) a[0] = s[0] + s[32];
    }"""
    a = np.arange(64, dtype=np.float32)
    assert launch(source, 1, 64, a, fast=fast) is None
    assert a[0] == 64 * 63 / 2


def test_two_barriers_in_two_branches(fast):
    source = """__global__ void k(float* a) {
        if (threadIdx.x < 7) {
            a[threadIdx.x] = 1;
            __syncthreads();
        } else {
            a[threadIdx.x] = 2;
            __syncthreads();
            a[threadIdx.x] = 3;
        }
    }"""
    error = launch(source, 1, 64, zeros(64), fast=fast)
    assert error.fault.kind == "divergent-barrier"


def test_syncwarp_does_not_wait_for_lanes_that_have_ended(fast):
    source = """__global__ void k(float* a) {
        if (threadIdx.x < 3) {
            a[threadIdx.x] = 1;
            __syncwarp();
            a[threadIdx.x] += 1;
        }
    }"""
    a = zeros(32)
    assert launch(source, 1, 32, a, fast=fast) is None
    assert a[:3].tolist() == [2, 2, 2]


BALLOT_MASK = """__global__ void k(const float* x, float* out, int n) {
    int i = threadIdx.x;
    unsigned mask = __ballot_sync(0xffffffff, i < n);
    if (i < n) {
        float v = x[i];
        for (int d = 16; d; d /= 2) {
            float other = __shfl_down_sync(mask, v, d);
            if (TAKEN) v += other;
        }
        if (i == 0) out[0] = v;
    }
}"""


@pytest.mark.parametrize("n", [1, 7, 16, 19, 32])
def test_what_a_shuffle_reads_from_a_lane_that_is_not_there_may_be_ignored(fast, n):
    x, out = np.arange(1, 33, dtype=np.float32), zeros(1)
    source = BALLOT_MASK.replace("TAKEN", "i + d < n")
    assert launch(source, 1, 32, x, out, n, fast=fast) is None
    assert out[0] == x[:n].sum()
    error = launch(BALLOT_MASK.replace("TAKEN", "true"), 1, 32, x, out, n, fast=fast)
    if n == 32:
        assert error is None and out[0] == x.sum()
    else:
        assert error.fault.kind == "undefined" and "a shuffle read from lane" in str(error)
        assert (error.fault.place.line, error.fault.other.line) == (10, 7)


def test_a_shuffle_may_read_from_threads_that_the_block_does_not_have(fast):
    source = """__global__ void k(float* out) {
        float v = threadIdx.x + 1;
        for (int d = 16; d; d /= 2)
            v += __shfl_down_sync(0xffffffff, v, d);
        if (threadIdx.x == FIRST) out[0] = v;
    }"""
    out = zeros(1)
    assert launch(source.replace("FIRST", "32"), 1, 80, out, fast=fast) is None
    assert out[0] == sum(range(33, 65))
    error = launch(source.replace("FIRST", "64"), 1, 80, out, fast=fast)
    assert error.fault.kind == "undefined" and error.fault.other.line == 4


def test_a_shuffle_across_groups_is_undefined_in_the_fast_version_too(fast):
    source = """__global__ void k(int* out, int n) {
        unsigned mask = threadIdx.x < 16 ? 0xffff : 0xffff0000;
        int v = __shfl_xor_sync(mask, (int)threadIdx.x, n);
        out[threadIdx.x] = v;
    }"""
    out = zeros(32, np.int32)
    assert launch(source, 1, 32, out, 8, fast=fast) is None
    np.testing.assert_array_equal(out, np.arange(32) ^ 8)
    error = launch(source, 1, 32, out, 16, fast=fast)
    assert error.fault.kind == "undefined" and error.fault.other.line == 3


# --- parts of a value that nobody has defined


PARTS = {
    "padding": """struct S { char a; int b; };
    __global__ void k(S* out, int n) {
        __shared__ S s[32];
        int t = threadIdx.x;
        s[t].a = t;
        s[t].b = t * 3;
        __syncthreads();
        out[t] = s[31 - t];
    }""",
    "padding of a vector": """struct alignas(16) S { float x, y, z; };
    __global__ void k(S* out, int n) {
        S own[4];
        for (int i = 0; i < 4; i++) own[i] = {threadIdx.x * 1.f, i * 2.f, 3.f};
        out[threadIdx.x] = own[(n + threadIdx.x) % 4];
    }""",
    "padding by bytes": """struct Q { double d; int i; short s; };
    __global__ void k(Q* out, int n) {
        __shared__ Q s[32];
        s[threadIdx.x].d = threadIdx.x;
        s[threadIdx.x].i = s[threadIdx.x].s = n;
        __syncthreads();
        out[threadIdx.x] = s[31 - threadIdx.x];
    }""",
    "padding behind a double": """struct P { double d; int i; };
    __global__ void k(P* out, int n) {
        __shared__ P s[32];
        s[threadIdx.x].d = threadIdx.x;
        s[threadIdx.x].i = n;
        __syncthreads();
        out[threadIdx.x] = s[31 - threadIdx.x];
    }""",
    "three bytes of four": """__global__ void k(unsigned char* out, int n) {
        __shared__ uchar4 s[32];
        int t = threadIdx.x;
        s[t].x = t; s[t].y = t + 1; s[t].z = t + 2;
        __syncthreads();
        uchar4 v = s[31 - t];
        out[3 * t] = v.x; out[3 * t + 1] = v.y; out[3 * t + 2] = v.z + (n > 100 ? v.w : 0);
    }""",
    "the low bytes of a word": """__global__ void k(unsigned* out, int n) {
        __shared__ unsigned char s[128];
        int t = threadIdx.x;
        s[4 * t] = t; s[4 * t + 1] = 2 * t; s[4 * t + 2] = 3 * t;
        __syncthreads();
        unsigned v = *(unsigned*)(s + 4 * (31 - t));
        if ((v & 0xff) < 40) out[t] = v & 0xffffff;
        out[t] = out[t] + (v << 8) + (v >> 8 & 0xff) + __byte_perm(v, 0, 0x4021);
    }""",
    "bit-fields": """struct B { unsigned a : 3, b : 7, c : 20; };
    __global__ void k(unsigned* out, int n) {
        __shared__ B s[32];
        int t = threadIdx.x;
        s[t].a = t; s[t].b = 2 * t;
        __syncthreads();
        B v = s[31 - t];
        out[t] = v.a + v.b;
    }""",
    "half of a half2": """#include <cuda_fp16.h>
    __global__ void k(__half* out, int n) {
        __shared__ __half2 s[32];
        int t = threadIdx.x;
        s[t].x = __int2half_rn(t);
        __syncthreads();
        __half2 v = __hadd2(s[31 - t], s[31 - t]);
        out[t] = __low2half(v);
    }""",
    "a loop over halves": """__global__ void k(unsigned* out, int n) {
        __shared__ unsigned short s[64];
        int t = threadIdx.x;
        s[2 * t] = t;
        __syncthreads();
        unsigned v = *(unsigned*)(s + 2 * t), sum = 0;
        for (int i = 0; i < n; i++) sum += (v & 0xffff) >> i;
        out[t] = sum;
    }""",
    "a signed half": """__global__ void k(unsigned* out, int n) {
        __shared__ char s[64];
        s[2 * threadIdx.x] = threadIdx.x;
        __syncthreads();
        int v = ((short*)s)[31 - threadIdx.x];
        out[threadIdx.x] = v & 255;
    }""",
    "half of 64 bits": """__global__ void k(unsigned* out, int n) {
        __shared__ unsigned s[64];
        s[2 * threadIdx.x] = threadIdx.x;
        __syncthreads();
        long long v = ((long long*)s)[31 - threadIdx.x];
        out[threadIdx.x] = v & 0xffffffff;
    }""",
    "a field that is inserted": """__global__ void k(unsigned* out, int n) {
        __shared__ unsigned s[64];
        unsigned v = s[threadIdx.x], w;
        asm("bfi.b32 %0, %1, %2, 8, 24;" : "=r"(w) : "r"(threadIdx.x), "r"(v));
        out[threadIdx.x] = w >> 8;
    }""",
}


def _with_output(source, fast, watched):
    kinds = {"unsigned char*": np.uint8, "unsigned*": np.uint32, "__half*": np.float16}
    kind = next((k for text, k in kinds.items() if f"k({text} out" in source), np.uint8)
    return launch(source, 1, 32, zeros(512, kind), 3, fast=fast, counters=watched)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("watched", [False, True])
def test_parts_that_nobody_uses_may_be_undefined(name, watched, fast):
    assert _with_output(PARTS[name], fast, watched) is None


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("padding", "out[t] = s[31 - t];", "if (((int*)s)[2 * t] > 9) out[t] = s[31 - t];"),
        ("padding", "s[t].b = t * 3;", ""),
        ("padding behind a double", "s[threadIdx.x].i = n;", ""),
        ("padding behind a double", "s[threadIdx.x].d = threadIdx.x;", ""),
        ("three bytes of four", "n > 100", "n < 100"),
        ("three bytes of four", "n > 100", "v.w > 100"),
        ("the low bytes of a word", "(v & 0xff) < 40", "(v & 0xffffffff) < 40"),
        ("the low bytes of a word", "0x4021", "0x4321"),
        ("the low bytes of a word", "v >> 8 & 0xff", "v >> 24"),
        ("bit-fields", "v.a + v.b", "v.a + v.c"),
        ("bit-fields", "s[t].a = t; s[t].b = 2 * t;", ""),
        ("half of a half2", "__low2half", "__high2half"),
        ("half of a half2", "__low2half(v)", "__hadd(__low2half(v), __high2half(v))"),
        ("a loop over halves", "(v & 0xffff)", "(v & 0x1ffff)"),
        ("a signed half", "v & 255", "v & 1 << 31"),
        ("a signed half", "v & 255", "(v & 255) + (v >> 16)"),
        ("half of 64 bits", "v & 0xffffffff", "v > 5"),
        ("half of 64 bits", "v & 0xffffffff", "v >> 32"),
        ("a field that is inserted", "w >> 8", "w & 255"),
        ("a field that is inserted", "w >> 8", "w & 7"),
    ],
)
def test_parts_that_somebody_uses_may_not(name, old, new, fast):
    assert old in PARTS[name]
    error = _with_output(PARTS[name].replace(old, new), fast, False)
    assert error is not None and error.fault.kind == "undefined"


def test_an_undefined_address_with_an_offset(fast):
    source = """__global__ void k(float* a) {
        __shared__ int s[32];
        a[threadIdx.x] = a[s[threadIdx.x] + 1];
    }"""
    error = launch(source, 1, 32, zeros(64), fast=fast)
    assert error.fault.kind == "undefined" and error.fault.place.line == 3


def test_a_byte_that_nobody_wrote_is_undefined_as_a_word_too(fast):
    source = """__global__ void k(unsigned* a) {
        __shared__ unsigned char s[32];
        a[threadIdx.x] = s[threadIdx.x];
    }"""
    assert launch(source, 1, 32, zeros(32, np.uint32), fast=fast).fault.kind == "undefined"


# --- accesses far outside, or inside another array


def test_far_outside_the_array_that_was_given_is_named(fast):
    source = """__global__ void k(const float* a, float* b, int far) {
        b[threadIdx.x] = a[(int)threadIdx.x + far];
    }"""
    for far in (10**6, -(10**6), 2**30, -(2**30)):
        error = launch(source, 1, 32, zeros(1000), zeros(32), far, fast=fast)
        assert error.fault.kind == "out-of-bounds" and error.fault.target.what == f"a[{far}]"
        assert "a has 1000 elements of float32" in str(error)


@pytest.mark.parametrize("form", ["a[i]", "*(a + i)", "p[i + 1]", "*q"])
def test_an_access_through_one_array_that_lands_in_another(form, fast):
    # a has 256 elements, and b begins 256 + 128 elements after it
    source = f"""__global__ void k(float* a, float* b, float* c, int n) {{
        int i = n + threadIdx.x;
        float* p = a - 1;
        float* q = a;
        for (int j = 0; j < n; j++) q++;
        q += threadIdx.x;
        c[threadIdx.x] = {form};
        {form} = 1;
    }}"""
    host = zeros(2000)  # arrays lie in device memory in the order in which they lie here
    arrays = host[:256], host[1000:1256], host[1500:1532]
    for n in (0, 224):
        assert launch(source, 1, 32, *arrays, n, fast=fast) is None
    for n in (225, 256 + 128, 256 + 130):
        error = launch(source, 1, 32, *arrays, n, fast=fast)
        assert error.fault.kind == "out-of-bounds" and error.fault.place.line == 7
        lane = error.fault.lanes[0]
        assert error.fault.target.what == f"a[{n + lane}]"
    assert "a has 256 elements of float32, and b[2] lies there" in str(error)


def test_a_store_and_an_atomic_that_land_in_another_array(fast):
    for update in ("a[n] = 1", "atomicAdd(&a[n], 1.f)"):
        source = f"__global__ void k(float* a, float* b, int n) {{ {update}; }}"
        host = zeros(2000)
        assert launch(source, 1, 1, host[:256], host[1000:1256], 255, fast=fast) is None
        error = launch(source, 1, 1, host[:256], host[1000:1256], 256 + 128, fast=fast)
        assert error.fault.kind == "out-of-bounds" and error.fault.target.what == "a[384]"


def test_pointers_of_many_origins_are_left_alone(fast):
    source = """struct Two { const float* a; const float* b; };
    __global__ void k(const float* a, const float* b, float* out, Two two, long long between,
                      long long one) {
        int i = threadIdx.x;
        const float* either = i % 2 ? a : b;
        const float* there = (const float*)((const char*)a + between);
        const float* again = a + (b - a) * one;
        __shared__ const float* kept[2];
        kept[0] = two.a; kept[1] = two.b;
        __syncthreads();
        out[i] = either[i] + there[i] + again[i] + kept[i % 2][i] + two.b[i];
    }"""
    machine = vgpu.Machine()
    a, b, out = (machine.arena.allocate(1024, name, np.float32) for name in ("a", "b", "out"))
    for address, value in ((a, 1), (b, 10)):
        machine.arena.write(address, np.full(256, value, np.float32))
    params = np.array([a, b, out, a, b, b - a, 1], np.uint64).tobytes()
    program = vgpu.Program(gpu.compile(source).ptx())
    options = vgpu.Options(fast=fast)
    machine.launch(program, program.entries[0], (1, 1, 1), (32, 1, 1), params, options=options)
    result = machine.arena.read(out, 128).view(np.float32)
    np.testing.assert_array_equal(result, np.where(np.arange(32) % 2, 1 + 10, 10 + 1) + 30)


def test_an_index_of_64_bits_that_was_loaded_keeps_to_its_array(fast):
    source = """__global__ void k(float* a, const long long* index, float* b) {
        b[threadIdx.x] = a[index[threadIdx.x]];
    }"""
    host, index = zeros(2000), np.arange(32)
    arrays = host[:256], index, host[1000:1256]
    assert launch(source, 1, 32, *arrays, fast=fast) is None
    index[3] = 256 + 128
    assert launch(source, 1, 32, *arrays, fast=fast).fault.target.what == "a[384]"


@pytest.mark.parametrize("kind", ["short", "int", "long long", "int4"])
def test_what_begins_inside_an_array_may_not_end_outside(kind, fast):
    size = {"short": 2, "int": 4, "long long": 8, "int4": 16}[kind]
    source = f"__global__ void k(char* a, int n) {{ *({kind}*)a = *({kind}*)(a + n); }}"
    for missing in range(1, size):
        n = 64 - size
        assert launch(source, 1, 1, zeros(64, np.int8), n, fast=fast) is None
        error = launch(source, 1, 1, zeros(64 - missing, np.int8), n, fast=fast)
        assert error.fault.kind == "out-of-bounds" and error.fault.target.beyond == missing


def test_choosing_by_an_undefined_condition(fast):
    source = """__global__ void k(unsigned* out, int n) {
        __shared__ int s[32];
        if (n) s[threadIdx.x] = threadIdx.x;
        out[threadIdx.x] = s[threadIdx.x] > 15 ? 7 : 9;
    }"""
    out = zeros(32, np.uint32)
    assert launch(source, 1, 32, out, 1, fast=fast) is None
    np.testing.assert_array_equal(out, [9] * 16 + [7] * 16)
    error = launch(source, 1, 32, out, 0, fast=fast)
    assert error.fault.kind == "undefined" and error.fault.place.line == 4


def test_blocks_have_a_limit_of_threads_beside_those_of_their_sides():
    machine, program = vgpu.Machine(), vgpu.Program(gpu.compile("__global__ void k() {}").ptx())
    for block in ((1024, 1, 1), (32, 32, 1), (4, 4, 64)):
        machine.launch(program, program.entries[0], (1, 1, 1), block)
    with pytest.raises(vgpu.LaunchRefused, match="1025 threads, and the limit is 1024"):
        machine.launch(program, program.entries[0], (1, 1, 1), (41, 25, 1))


def test_a_store_through_a_generic_pointer_is_looked_at_where_it_lands(fast):
    source = """__global__ void k(float* out, int n) {
        __shared__ float s[64];
        float* to = n ? out : s + 32;
        to[threadIdx.x] = s[threadIdx.x];
    }"""
    assert launch(source, 1, 32, zeros(32), 0, fast=fast) is None
    error = launch(source, 1, 32, zeros(32), 1, fast=fast)
    assert error.fault.kind == "undefined" and error.fault.place.line == 4
