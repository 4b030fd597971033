"""Races are found where nothing orders two accesses, and nowhere else."""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu


def race(source, grid, block, *arguments, **options):
    """Run kernel `k` of `source` with the race detector; return the fault or None."""
    try:
        with gpu.trace(races=True, **options):
            gpu.compile(source)["k"][grid, block](*arguments)
    except gpu.KernelFault as error:
        assert error.fault.kind == "race", error
        return error
    return None


def ones(n, dtype=np.float32):
    return np.ones(n, dtype)


REVERSE = """__global__ void k(float* a) {
    __shared__ float s[128];
    int i = threadIdx.x;
    s[i] = a[i];
    BARRIER;
    a[i] = s[127 - i];
}"""


def test_reversing_needs_its_barrier():
    assert race(REVERSE.replace("BARRIER", "__syncthreads()"), 1, 128, ones(128)) is None


@pytest.mark.parametrize("schedule", ["reverse", "round-robin", "random"])
def test_a_missing_barrier_between_reading_and_writing_again(schedule):
    source = """__global__ void k(float* a, int n) {
        __shared__ float s[128];
        float total = 0;
        for (int t = 0; t < n; t++) {
            s[threadIdx.x] = a[t];
            __syncthreads();
            total += s[127 - threadIdx.x];
            BARRIER;
        }
        a[threadIdx.x] = total;
    }"""
    a = ones(128)
    assert race(source.replace("BARRIER", "__syncthreads()"), 1, 128, a, 3) is None
    error = race(source.replace("BARRIER", ""), 1, 128, ones(128), 3, schedule=schedule)
    assert error is not None
    assert {error.fault.place.line, error.fault.other.line} == {5, 7}
    assert "while another thread" in str(error) and "against thread" in str(error)


HISTOGRAM = """__global__ void k(int* h, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        UPDATE;
}"""


def test_a_histogram_needs_atomics():
    x = np.random.default_rng(0).integers(0, 8, 256).astype(np.int32)
    plain = race(HISTOGRAM.replace("UPDATE", "h[x[i]] += 1"), 4, 64, np.zeros(8, np.int32), x, 256)
    assert plain is not None and plain.fault.target.what.startswith("h[")
    h = np.zeros(8, np.int32)
    assert race(HISTOGRAM.replace("UPDATE", "atomicAdd(&h[x[i]], 1)"), 4, 64, h, x, 256) is None
    np.testing.assert_array_equal(h, np.bincount(x, minlength=8))


def test_blocks_are_not_ordered_without_atomics():
    source = "__global__ void k(int* a) { a[0] = blockIdx.x; }"
    error = race(source, 2, 1, np.zeros(1, np.int32))
    assert error is not None and "blocks run in any order" in str(error)


def test_lanes_of_a_warp_need_syncwarp():
    source = REVERSE.replace("127 - i", "31 - i")
    assert race(source.replace("BARRIER", "__syncwarp()"), 1, 32, ones(32)) is None
    error = race(source.replace("BARRIER;", ""), 1, 32, ones(32))
    assert error is not None and "__syncwarp()" in str(error)


def test_two_lanes_that_write_different_values_at_once():
    source = "__global__ void k(int* a) { a[threadIdx.x / 2] = VALUE; }"
    error = race(source.replace("VALUE", "threadIdx.x"), 1, 32, np.zeros(16, np.int32))
    assert error is not None and "two lanes of one warp" in str(error)
    assert race(source.replace("VALUE", "7"), 1, 32, np.zeros(16, np.int32)) is None


def test_named_barriers_order_those_who_use_them():
    source = """__global__ void k(float* a) {
        __shared__ float s[32];
        int lane = threadIdx.x % 32;
        if (threadIdx.x < 32) {
            s[lane] = a[lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync NUMBER, 64;" ::: "memory");
            a[32 + lane] = s[31 - lane];
        }
    }"""
    assert race(source.replace("NUMBER", "1"), 1, 64, ones(64)) is None


LAST_BLOCK = """__device__ unsigned count = 0;
__global__ void k(const float* x, float* part, float* total, int n) {
    __shared__ float s[128];
    __shared__ bool last;
    int i = blockIdx.x * 128 + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 64; d; d /= 2) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s[0];
        FENCE;
        last = atomicAdd(&count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += part[b];
        *total = sum;
        count = 0;
    }
}"""


def test_a_fence_before_an_atomic_publishes_what_was_written():
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    total = np.zeros(1, np.float32)
    good = LAST_BLOCK.replace("FENCE", "__threadfence()")
    assert race(good, 8, 128, x, np.zeros(8, np.float32), total, 1000) is None
    np.testing.assert_allclose(total[0], x.astype(np.float64).sum(), rtol=1e-4)
    bad = LAST_BLOCK.replace("FENCE;", "")
    error = race(bad, 8, 128, x, np.zeros(8, np.float32), total, 1000)
    assert error is not None and error.fault.target.what == "part[0]"


def test_bytes_beside_each_other_are_no_race():
    source = """__global__ void k(unsigned char* a) {
        __shared__ unsigned char s[64];
        s[threadIdx.x] = threadIdx.x;
        a[threadIdx.x] = s[threadIdx.x];
    }"""
    assert race(source, 1, 64, np.zeros(64, np.uint8)) is None


def test_an_in_place_scan_is_racy_and_a_double_buffered_one_is_not():
    bad = """__global__ void k(float* a) {
        __shared__ float s[128];
        int i = threadIdx.x;
        s[i] = a[i];
        __syncthreads();
        for (int d = 1; d < 128; d *= 2) {
            if (i >= d)
                s[i] += s[i - d];
            __syncthreads();
        }
        a[i] = s[i];
    }"""
    assert race(bad, 1, 128, ones(128)) is not None
    good = """__global__ void k(float* a) {
        __shared__ float s[2][128];
        int i = threadIdx.x, from = 0;
        s[0][i] = a[i];
        __syncthreads();
        for (int d = 1; d < 128; d *= 2) {
            s[1 - from][i] = s[from][i] + (i >= d ? s[from][i - d] : 0);
            from = 1 - from;
            __syncthreads();
        }
        a[i] = s[from][i];
    }"""
    a = ones(128)
    assert race(good, 1, 128, a) is None
    np.testing.assert_array_equal(a, np.arange(1, 129))


@pytest.mark.parametrize(("grid", "block"), [(32, 32), (4, 256), (1, 20)])
def test_threads_that_a_report_names_exist(grid, block):
    source = "__global__ void k(float* s, const float* a) {\n    s[0] += a[threadIdx.x];\n}"
    error = race(source, grid, block, ones(1), ones(256))
    fault = error.fault
    assert all(x[1:] == (0, 0) and 0 <= x[0] < block for x in (*fault.threads, fault.other_thread))
    assert fault.place.line == fault.other.line == 2
    assert "atomic" in fault.hint


@pytest.mark.parametrize(
    "source",
    [
        """__global__ void k(int* a) {
            int own[8];
            for (int i = 0; i < 8; i++) own[i] = a[i];
            a[32 + threadIdx.x] = own[a[threadIdx.x] & 7];
        }""",
        """__device__ __noinline__ int twice(int x) { return 2 * x; }
        __global__ void k(int* a) { a[32 + threadIdx.x] = twice(a[threadIdx.x]); }""",
        """__device__ __noinline__ int load(const int* p) { return *p; }
        __global__ void k(int* a) {
            __shared__ int s[32];
            int own = threadIdx.x;
            s[threadIdx.x] = a[threadIdx.x];
            const int* p = threadIdx.x % 3 == 0 ? &own : threadIdx.x % 3 == 1 ? &s[threadIdx.x] : a;
            a[32 + threadIdx.x] = load(p);
        }""",
    ],
)
def test_local_memory_races_with_nobody(source):
    assert race(source, 1, 32, np.zeros(64, np.int32)) is None
