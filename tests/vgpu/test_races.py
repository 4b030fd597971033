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


LOCK = """__device__ void lock(int* l) {
    while (atomicCAS(l, 0, 1) != 0) {}
    __threadfence();
}
__device__ void unlock(int* l) {
    UNLOCK
    atomicExch(l, 0);
}
"""
UNLOCK = LOCK.replace("UNLOCK", "__threadfence();")
SCHEDULES = ["round-robin", "reverse", "random", "greedy"]

LANES_TAKE_TURNS = """__global__ void k(int* l, int* count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(l, 0, 1) == 0) {
            __threadfence();
            count[0] = count[0] + 1;
            UNLOCK
            atomicExch(l, 0);
            done = true;
        }
    }
}"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_lock_orders_the_lanes_of_a_warp(schedule):
    count = np.zeros(1, np.int32)
    good = LANES_TAKE_TURNS.replace("UNLOCK", "__threadfence();")
    assert race(good, 3, 70, np.zeros(1, np.int32), count, schedule=schedule) is None
    assert count[0] == 210
    bad = LANES_TAKE_TURNS.replace("UNLOCK", "")
    error = race(bad, 1, 32, np.zeros(1, np.int32), count, schedule=schedule)
    assert error is not None and error.fault.target.what == "count[0]"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_lock_that_blocks_share_orders_the_warps_of_each(schedule):
    source = """__global__ void k(int* l, int* total, int* own) {
        if (threadIdx.x % 32 == 0) {
            for (int r = 0; r < 3; r++) {
                lock(l);
                total[0] += 1;
                own[blockIdx.x] += 1;
                unlock(l);
            }
        }
    }"""
    total, own = np.zeros(1, np.int32), np.zeros(5, np.int32)
    arguments = np.zeros(1, np.int32), total, own
    assert race(UNLOCK + source, 5, 96, *arguments, schedule=schedule) is None
    assert total[0] == 45 and (own == 9).all()
    bad = LOCK.replace("UNLOCK", "") + source
    assert race(bad, 5, 96, *arguments, schedule=schedule) is not None


def test_knowledge_travels_through_another_block():
    # warp 0 of block 0 writes, block 1 passes it on through another flag, warp 1 of block 0 reads
    source = """__device__ void wait(int* f) { while (*(volatile int*)f == 0) {} __threadfence(); }
    __global__ void k(int* data, int* f, int* out) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            data[0] = 7;
            FENCE
            atomicExch(&f[0], 1);
        } else if (blockIdx.x == 1 && threadIdx.x == 0) {
            wait(&f[0]);
            atomicExch(&f[1], 1);
        } else if (blockIdx.x == 0 && threadIdx.x == 32) {
            wait(&f[1]);
            out[0] = data[0];
        }
    }"""
    out = np.zeros(1, np.int32)
    arguments = np.zeros(1, np.int32), np.zeros(2, np.int32), out
    assert race(source.replace("FENCE", "__threadfence();"), 2, 64, *arguments) is None
    assert out[0] == 7
    arguments[1][:] = 0
    assert race(source.replace("FENCE", ""), 2, 64, *arguments) is not None


def test_thousands_of_flags():
    source = """__global__ void k(int* data, int* flag) {
        int b = blockIdx.x;
        if (threadIdx.x == 0) {
            int before = 0;
            if (b > 0) {
                while (((volatile int*)flag)[b - 1] == 0) {}
                __threadfence();
                before = data[b - 1];
            }
            data[b] = before + 1;
            __threadfence();
            ((volatile int*)flag)[b] = 1;
        }
    }"""
    data = np.zeros(1500, np.int32)
    assert race(source, 1500, 32, data, np.zeros(1500, np.int32)) is None
    np.testing.assert_array_equal(data, np.arange(1, 1501))


PUBLISH = """#include <cuda/atomic>
__device__ void publish(int* flag) { PUBLISH }
__device__ void wait(int* flag) {
    cuda::atomic_ref<int, cuda::thread_scope_WAIT> f(*flag);
    while (f.load(cuda::memory_order_acquire) == 0) {}
}
__global__ void k(int* data, int* flag, int* out) {
    if (blockIdx.x == WRITER && threadIdx.x == 0) {
        data[0] = 42;
        publish(flag);
    } else if (blockIdx.x == READER && threadIdx.x == 32) {
        wait(flag);
        out[0] = data[0];
    }
}"""
STORE = """cuda::atomic_ref<int, cuda::thread_scope_%s> f(*flag);
    f.store(1, cuda::memory_order_%s);"""


@pytest.mark.parametrize(
    ("publish", "wait", "in_block", "in_grid"),
    [
        ("__threadfence(); atomicExch(flag, 1);", "device", True, True),
        ("__threadfence_block(); atomicExch(flag, 1);", "device", True, False),
        ("atomicExch(flag, 1);", "device", False, False),
        (STORE % ("device", "release"), "device", True, True),
        (STORE % ("block", "release"), "device", True, False),
        (STORE % ("device", "release"), "block", True, False),
        (STORE % ("system", "release"), "system", True, True),
        (STORE % ("device", "relaxed"), "device", False, False),
        ("__threadfence_system(); *(volatile int*)flag = 1;", "device", True, True),
    ],
)
def test_scopes_of_fences_and_atomics(publish, wait, in_block, in_grid):
    source = PUBLISH.replace("PUBLISH", publish).replace("WAIT", wait)
    for writer, reader, allowed in ((0, 0, in_block), (0, 1, in_grid), (1, 0, in_grid)):
        text = source.replace("WRITER", str(writer)).replace("READER", str(reader))
        out = np.zeros(1, np.int32)
        error = race(text, 2, 64, np.zeros(1, np.int32), np.zeros(1, np.int32), out)
        assert (error is None) == allowed, (writer, reader, error)
        if allowed:
            assert out[0] == 42


def test_atomics_of_block_scope_do_not_protect_against_other_blocks():
    source = "__global__ void k(int* a) { ATOMIC(a, 1); }"
    assert race(source.replace("ATOMIC", "atomicAdd"), 3, 32, np.zeros(1, np.int32)) is None
    assert race(source.replace("ATOMIC", "atomicAdd_block"), 1, 64, np.zeros(1, np.int32)) is None
    assert race(source.replace("ATOMIC", "atomicAdd_block"), 3, 32, np.zeros(1, np.int32))


def test_a_block_learns_nothing_from_the_shared_memory_of_the_one_before():
    # each block runs in the shared memory that the last one left
    source = """__global__ void k(int* a) {
        __shared__ int s;
        atomicExch(&s, 0);
        a[0] = blockIdx.x;
        __threadfence();
        atomicAdd(&s, 1);
    }"""
    error = race(source, 4, 1, np.zeros(1, np.int32))
    assert error is not None and error.fault.target.what == "a[0]"


def test_a_fence_covers_what_its_thread_knew_and_no_more():
    source = """__global__ void k(int* a, int* flag, int* out) {
        if (threadIdx.x == 32 && blockIdx.x == 0) {
            a[0] = 5;
            FENCE
        }
        BARRIER
        if (threadIdx.x == 0 && blockIdx.x == 0) {
            MORE
            atomicExch(flag, 1);
        } else if (threadIdx.x == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            out[0] = a[0];
        }
    }"""

    def found(fence, barrier, more):
        text = source.replace("FENCE", fence).replace("BARRIER", barrier).replace("MORE", more)
        arguments = (np.zeros(1, np.int32) for _ in range(3))
        return race(text, 2, 64, *arguments, schedule="reverse") is not None

    fence, barrier = "__threadfence();", "__syncthreads();"
    assert not found(fence, barrier, "")
    assert not found("", barrier, fence)
    assert found(fence, "", fence)  # nothing orders the writer before the other warp
    assert found("", barrier, "")
    assert found("__threadfence_block();", barrier, "")
    assert found("", barrier, "__threadfence_block();")


def test_a_fence_of_long_ago_does_not_publish_what_came_later():
    source = """__global__ void k(int* a, int* flag, int* out) {
        if (blockIdx.x == 0) {
            __threadfence();
            atomicExch(&flag[0], 1);
            a[0] = 5;
            FENCE
            atomicExch(&flag[1], 1);
        } else {
            while (atomicAdd(&flag[1], 0) == 0) {}
            out[0] = a[0];
        }
    }"""
    for fence, clean in (("__threadfence();", True), ("", False)):
        arguments = np.zeros(1, np.int32), np.zeros(2, np.int32), np.zeros(1, np.int32)
        assert (race(source.replace("FENCE", fence), 2, 1, *arguments) is None) == clean


def test_writes_of_one_value_are_no_race_but_reading_it_is():
    source = "__global__ void k(int* a, int* b) { a[0] = VALUE; }"
    arguments = np.zeros(1, np.int32), np.zeros(128, np.int32)
    assert race(source.replace("VALUE", "7"), 3, 64, *arguments) is None
    assert race(source.replace("VALUE", "7 + threadIdx.x / 32"), 1, 64, *arguments) is not None
    assert race(source.replace("VALUE", "7 + blockIdx.x"), 3, 64, *arguments) is not None
    reading = source.replace("a[0] = VALUE;", "if (threadIdx.x < 32) a[0] = 7; else b[0] = a[0];")
    assert race(reading, 1, 64, *arguments) is not None


@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("memory", ["shared", "global"])
def test_each_component_of_a_vector_can_race(component, memory):
    source = f"""__global__ void k(float* a, float* out) {{
        __shared__ float4 own[64];
        float4* s = {"own" if memory == "shared" else "(float4*)a"};
        int t = threadIdx.x;
        s[t] = make_float4(0, 0, 0, 0);
        __syncthreads();
        s[t] = make_float4(t, t, t, t);
        BARRIER
        out[t] = ((float*)s)[4 * ((t + 32) % 64) + {component}];
    }}"""
    out = ones(64)
    assert race(source.replace("BARRIER", "__syncthreads();"), 1, 64, ones(256), out) is None
    np.testing.assert_array_equal(out, (np.arange(64) + 32) % 64)
    error = race(source.replace("BARRIER", ""), 1, 64, ones(256), ones(64))
    assert error is not None and {error.fault.place.line, error.fault.other.line} == {9, 7}


def test_a_block_does_not_know_what_the_warps_of_the_one_before_knew():
    source = """__global__ void k(float* a, float* b) {
        int t = threadIdx.x;
        a += 64 * blockIdx.x;
        for (int i = 0; i < 9 - 8 * blockIdx.x; i++) __syncthreads();
        a[t] = t;
        if (blockIdx.x == 0) __syncthreads();
        b[64 * blockIdx.x + t] = a[63 - t];
    }"""
    error = race(source, 2, 64, ones(128), ones(128))
    assert error is not None and error.fault.block == (1, 0, 0)
    assert race(source, 1, 64, ones(128), ones(128)) is None


@pytest.mark.parametrize("lane", [0, 7, 31])
@pytest.mark.parametrize("memory", ["shared", "global"])
def test_lanes_that_read_together_and_one_that_then_writes(lane, memory):
    source = f"""__global__ void k(float* a, float* out) {{
        __shared__ float own[1];
        float* s = {"own" if memory == "shared" else "a"};
        if (threadIdx.x == {lane}) s[0] = 3;
        __syncwarp();
        out[threadIdx.x] = s[0];
        BARRIER
        if (threadIdx.x == {lane}) s[0] = 4;
    }}"""
    assert race(source.replace("BARRIER", "__syncwarp();"), 1, 32, ones(1), ones(32)) is None
    error = race(source.replace("BARRIER", ""), 1, 32, ones(1), ones(32))
    assert error is not None and error.fault.place.line == 8 and error.fault.other.line == 6


def test_a_report_names_both_threads():
    source = """__global__ void k(float* a) {
        int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
        if (blockIdx.x == 2 && blockIdx.y == 1 && x == 5 && y == 2 && z == 1) a[0] = 1;
        if (blockIdx.x == 1 && blockIdx.y == 0 && x == 3 && y == 4 && z == 2) a[0] = 2;
    }"""
    fault = race(source, (3, 2), (7, 5, 3), ones(1)).fault
    assert (fault.threads, fault.block) == (((5, 2, 1),), (2, 1, 0))
    assert (fault.other_thread, fault.other_block) == ((3, 4, 2), (1, 0, 0))


@pytest.mark.parametrize("memory", ["shared", "global"])
def test_a_race_between_lanes_names_both(memory):
    """Lane 1 reads what it writes, too: the other one is lane 2."""
    source = f"""__global__ void k(int* a) {{
        __shared__ int own[32];
        int* s = {"own" if memory == "shared" else "a"};
        int t = threadIdx.x;
        s[t] = t;
        __syncthreads();
        if (t >= 1) s[t] += s[t - 1];
    }}"""
    error = race(source, 1, 32, ones(32).astype(np.int32))
    assert error is not None
    assert (error.fault.threads[0], error.fault.other_thread) == ((1, 0, 0), (2, 0, 0))
    assert "read first, then a barrier, then write" in str(error)


def test_an_ordinary_read_beside_an_atomic_says_what_to_do():
    source = """__global__ void k(int* a, int* b) {
        if (threadIdx.x < 32) b[threadIdx.x] = a[0];
        else atomicMax(a, threadIdx.x);
    }"""
    error = race(source, 1, 64, np.ones(1, np.int32), np.ones(64, np.int32))
    assert error is not None
    assert "make it volatile, or atomic too" in str(error)


@pytest.mark.parametrize(
    ("sync", "other", "races"),
    [
        ("__syncwarp();", "31 - t", False),
        ("__syncwarp(t < 16 ? 0xffff : 0xffff0000);", "31 - t", True),
        ("__syncwarp(t < 16 ? 0xffff : 0xffff0000);", "t ^ 15", False),
        ("if (t < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);", "31 - t", True),
        ("if (t < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);", "t ^ 7", False),
        ("__syncwarp(1u << t);", "t ^ 1", True),
        ("__syncwarp(3u << (t & 30));", "t ^ 1", False),
        ("__syncwarp(3u << (t & 30)); __syncwarp(5u << (t & 29));", "t ^ 3", False),  # by two steps
        ("__syncwarp(3u << (t & 30)); __syncwarp(5u << (t & 29));", "t ^ 4", True),
        ("__syncwarp(0xffu << (t & 24));", "t ^ 8", True),
        ("__syncwarp(0xffu << (t & 24)); __syncwarp();", "t ^ 8", False),
    ],
)
@pytest.mark.parametrize("memory", ["shared", "global"])
def test_part_of_a_warp_orders_itself_only(memory, sync, other, races):
    source = f"""__global__ void k(int* a, int* out) {{
        __shared__ int own[32];
        int* s = {"own" if memory == "shared" else "a"};
        int t = threadIdx.x;
        s[t] = t;
        {sync}
        out[t] = s[{other}];
    }}"""
    error = race(source, 1, 32, np.zeros(32, np.int32), np.zeros(32, np.int32))
    assert (error is not None) == races
