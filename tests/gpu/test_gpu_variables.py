"""Whose ``__device__`` variables a launch sees."""

import gc

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu
from course.gpu.virtual_device import VirtualDevice

SOURCE = """__device__ int count = 10;
__device__ int* where = &count;
__global__ void add(int n) { atomicAdd(&count, n); }
__global__ void read(int* out) { out[0] = *where; }
template <int N> __global__ void times() { count *= N; }
"""


@pytest.fixture(autouse=True)
def device():
    with gpu.use(VirtualDevice()) as device:
        yield device


def value(module):
    out = np.zeros(1, np.int32)
    module["read"][1, 1](out)
    return int(out[0])


def test_kernels_of_a_module_share_its_variables():
    module = gpu.compile(SOURCE)
    module["add"][1, 32](2)
    assert value(module) == 74
    module["times<3>"][1, 1]()  # compiled later, the same module
    assert value(module) == 222


def test_a_module_compiled_again_starts_afresh():
    first = gpu.compile(SOURCE)
    first["add"][1, 1](5)
    second = gpu.compile(SOURCE)
    assert value(second) == 10
    second["add"][1, 1](1)
    assert (value(first), value(second)) == (15, 11)


def test_a_trace_sees_the_same_variables():
    module = gpu.compile(SOURCE)
    module["add"][1, 1](5)
    with gpu.trace() as trace:
        module["add"][1, 2](3)
        assert value(module) == 21
    assert value(module) == 21
    assert len(trace.launches) == 2


def test_variables_go_with_their_module(device):
    allocations = device.machine.arena.allocations
    module = gpu.compile(SOURCE)
    value(module)
    before = len(allocations)
    other = gpu.compile(SOURCE)
    value(other)
    assert len(allocations) > before
    del other
    gc.collect()
    value(module)
    assert len(allocations) == before
