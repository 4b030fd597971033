"""Cooperative groups: blocks that wait for each other, and tiles smaller than a warp."""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu
from course.gpu.virtual_device import VirtualDevice

SOURCE = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void reverse(float* a, float* b, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    a[i] = i;
    grid.sync();
    b[i] = a[n - 1 - i];
}

extern "C" __global__ void sums(const int* x, int* total, unsigned* votes) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int i = threadIdx.x, v = x[i];
    for (int d = 4; d; d /= 2) v += tile.shfl_down(v, d);
    votes[i] = tile.ballot(x[i] > 0);
    if (tile.thread_rank() == 0) total[i / 8] = v;
}
"""


@pytest.fixture(scope="module")
def module():
    return gpu.compile(SOURCE)


@pytest.mark.parametrize("schedule", ["round-robin", "reverse", "random", "greedy"])
def test_blocks_of_a_grid_meet(module, schedule):
    n = 7 * 96
    a, b = np.full((2, n), np.nan, np.float32)
    with gpu.trace(schedule=schedule):
        module["reverse"][7, 96](a, b, n)
    np.testing.assert_array_equal(b, np.arange(n - 1, -1, -1))


def test_a_grid_whose_blocks_do_not_fit_together_is_refused(module):
    a = np.zeros(265 * 1024, np.float32)
    with gpu.use(VirtualDevice()):
        module["reverse"][264, 1024](a, a.copy(), 264 * 1024)  # two on each multiprocessor
        with pytest.raises(gpu.LaunchError, match=r"265 blocks of a cooperative grid .* 264 fit"):
            module["reverse"][265, 1024](a, a.copy(), 265 * 1024)


def test_tiles_of_a_warp_are_worlds_of_their_own(module):
    x = np.random.default_rng(2).integers(-5, 6, 64).astype(np.int32)
    totals, votes = np.zeros(8, np.int32), np.zeros(64, np.uint32)
    with gpu.trace():
        module["sums"][1, 64](x, totals, votes)
    np.testing.assert_array_equal(totals, x.reshape(8, 8).sum(1))
    expected = [sum(int(v > 0) << k for k, v in enumerate(x[i // 8 * 8 :][:8])) for i in range(64)]
    np.testing.assert_array_equal(votes, expected)
