"""Blocks that wait for each other, loops that never end, and Ctrl-C."""

import _thread
import threading

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice

WAYS = [
    {},
    {"fast": False},
    {"schedule": "reverse"},
    {"schedule": "greedy"},
    {"schedule": "random", "seed": 5},
    {"races": True},
]


@pytest.fixture(params=WAYS, ids=str)
def way(request):
    return request.param


def launch(source, grid, block, *arguments, **options):
    """Run kernel `k` of `source`."""
    with gpu.use(VirtualDevice(vgpu.Options(**options))):
        gpu.compile(source)["k"][grid, block](*arguments)


def test_a_block_that_waits_for_a_later_one_by_atomics_alone(way):
    source = """__global__ void k(int* flag, int* out) {
        if (blockIdx.x == 0) {
            if (threadIdx.x == 0)
                while (atomicAdd(flag, 0) == 0) {}
            __syncthreads();
            __threadfence();
            out[threadIdx.x] = flag[1];
        } else if (threadIdx.x == 0) {
            flag[1] = 42;
            __threadfence();
            atomicExch(flag, 1);
        }
    }"""
    flag, out = np.zeros(2, np.int32), np.zeros(64, np.int32)
    launch(source, 2, 64, flag, out, **way)
    assert (out == 42).all()


GRID_BARRIER = """__global__ void k(volatile int* count, volatile int* out) {
    if (threadIdx.x == 0) {
        out[blockIdx.x] = 3 * blockIdx.x;
        __threadfence();
        atomicAdd((int*)count, 1);
        while (*count < gridDim.x) {}
        __threadfence();
        out[gridDim.x + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
    }
}"""


def test_blocks_that_all_wait_for_all(way):
    n = 301
    out = np.zeros(2 * n, np.int32)
    launch(GRID_BARRIER, n, 96, np.zeros(1, np.int32), out, **way)
    np.testing.assert_array_equal(out[n:], 3 * ((np.arange(n) + 1) % n))


def test_more_blocks_than_fit_on_a_gpu_wait_for_ever():
    with pytest.raises(gpu.KernelFault) as caught:
        out = np.zeros(600, np.int32)
        launch(GRID_BARRIER, 300, 1024, np.zeros(1, np.int32), out, patience=0.5)
    assert caught.value.fault.kind == "endless-loop" and caught.value.fault.place.line == 6
    assert "264 of 300 blocks have started" in str(caught.value)  # two on each multiprocessor
    assert "it reads count[0] in line 6" in str(caught.value)


@pytest.mark.parametrize("fast", [True, False])
def test_an_endless_loop_says_what_it_reads(fast):
    source = """__global__ void k(volatile int* a) {
        if (threadIdx.x < 40) a[threadIdx.x] = 7;
        __syncthreads();
        while (a[threadIdx.x / 32 + 39] == 7) {}
    }"""
    with pytest.raises(gpu.KernelFault) as caught:
        launch(source, 1, 64, np.zeros(64, np.int32), patience=0.3, fast=fast)
    fault = caught.value.fault
    assert (fault.kind, fault.place.line, fault.warp) == ("endless-loop", 4, 0)
    assert "it reads a[39] in line 4 again and again" in str(fault)


def test_an_endless_loop_says_who_waits_for_it():
    source = """__global__ void k(volatile int* a) {
        if (threadIdx.x < 32)
            while (a[0] == 0) {}
        __syncthreads();
        a[0] = 1;
    }"""
    with pytest.raises(gpu.KernelFault) as caught:
        launch(source, 1, 64, np.zeros(1, np.int32), patience=0.3)
    assert caught.value.fault.place.line == 3
    assert "warp 1 waits at barrier 0, line 4: 32 of 64 threads are there" in str(caught.value)


def test_a_loop_is_not_endless_while_other_warps_end():
    """Warp 0 waits for the others, which take longer in all than patience has it for each."""
    source = """__global__ void k(volatile int* done, float* out, int n) {
        int w = threadIdx.x / 32;
        if (w == 0) {
            while (*done < 7 * 32) {}
        } else {
            float x = threadIdx.x;
            for (int i = 0; i < n * w; i++) x = x * 0.5f + i;
            out[threadIdx.x] = x;
            atomicAdd((int*)done, 1);
        }
    }"""
    done, out = np.zeros(1, np.int32), np.zeros(256, np.float32)
    launch(source, 1, 256, done, out, 40_000, patience=1)
    assert done[0] == 224


def test_ctrl_c_is_heard_when_each_step_is_slow():
    source = """__global__ void k(volatile float* a, long long n) {
        for (long long i = 0; i < n; i++) {
            #pragma unroll
            for (int j = 0; j < 200; j++) a[256 * j + threadIdx.x] += 1;
        }
    }"""
    kernel = gpu.compile(source)["k"]
    a = np.zeros(256 * 200, np.float32)
    with gpu.use(VirtualDevice(vgpu.Options(races=True))):
        kernel[1, 256](a, 1)  # compiled before the clock runs
        timer = threading.Timer(0.2, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            kernel[1, 256](a, 1 << 40)
        assert a[0] == 1  # nothing comes back of a launch that was stopped


@pytest.mark.parametrize("blocks", [1, 64])
def test_ctrl_c_ends_a_launch(blocks):
    source = """__global__ void k(float* out, long long n) {
        float x = threadIdx.x;
        for (long long i = 0; i < n; i++) x = x * 0.5f + i;
        out[blockIdx.x * blockDim.x + threadIdx.x] = x;
    }"""
    kernel = gpu.compile(source)["k"]
    out = np.zeros(256 * blocks, np.float32)
    with gpu.use(VirtualDevice()):
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            kernel[blocks, 256](out, 1 << 50)
        timer.join()
        kernel[blocks, 256](out, 3)  # the device is as good as before
    assert out[2] == 2 / 8 + 0.5 + 2


def test_a_grid_of_two_to_the_32_blocks():
    source = "__global__ void k(int* a) { if (blockIdx.x == 1000) { a[0] = 7; __trap(); } }"
    with pytest.raises(gpu.KernelFault) as caught:
        launch(source, (1 << 20, 1 << 12), 32, np.zeros(1, np.int32))
    assert caught.value.fault.kind == "trap" and caught.value.fault.block == (1000, 0, 0)


@pytest.mark.parametrize("grid", [(1, 65536), (1, 1, 65536), (1 << 31,), (0,)])
def test_a_grid_beyond_the_limits_is_refused(grid):
    with pytest.raises(gpu.LaunchError, match="grid"):
        launch("__global__ void k(int* a) {}", grid, 32, np.zeros(1, np.int32))


def test_what_was_printed_before_a_fault_is_seen(capsys):
    source = r"""__global__ void k(int* a) {
        printf("thread %d\n", threadIdx.x);
        a[threadIdx.x] = 1;
    }"""
    with pytest.raises(gpu.KernelFault):
        launch(source, 1, 3, np.zeros(2, np.int32))
    assert capsys.readouterr().out == "thread 0\nthread 1\nthread 2\n"
