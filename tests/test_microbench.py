"""The microbenchmarks' kernels do what they say; how fast is for a real GPU to tell."""

import numpy as np
import pytest

from course import Problem, bench, gpu
from course.bench import microbench


@pytest.fixture(autouse=True)
def virtual(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "virtual")


def walked(offsets, itemsize, steps):
    at = 0
    for _ in range(steps):
        at = int(offsets[at // itemsize])
    return at


@pytest.mark.parametrize(("places", "apart", "itemsize"), [(1, 1, 4), (37, 1, 4), (100, 16, 8)])
def test_a_chain_visits_every_place_once(places, apart, itemsize):
    offsets = microbench.chain(places, apart, itemsize, seed=3)
    visited = {walked(offsets, itemsize, n) for n in range(places)}
    assert visited == {n * apart * itemsize for n in range(places)}
    assert walked(offsets, itemsize, places) == 0
    if places > 2:
        steps = np.diff([walked(offsets, itemsize, n) for n in range(places)])
        assert len(set(steps)) > places // 2


@pytest.mark.parametrize("past_l1", ["true", "false"])
def test_the_chase_ends_where_it_should(past_l1):
    # addresses hold for one launch only here, so both kernels become one
    source = (
        (microbench.FOLDER / "latency.cu").read_text(encoding="utf-8")
        + """
    __global__ void both(Address* next, int n, int warm_up, int steps, Address* end,
                         long long* took) {
        for (int i = 0; i < n; i++) next[i] += (Address)next;
        walk<PAST_L1>(next, warm_up, steps, end, took);
        *end -= (Address)next;
    }"""
    )
    module = gpu.compile(source, options=[f"-DPAST_L1={past_l1}"])
    offsets = microbench.chain(50, 16, 8)
    places, end, took = offsets.copy(), np.zeros(1, np.uint64), np.full(2, -7, np.int64)
    with gpu.trace() as trace:
        module["both"][1, 1](places, len(places), 11, 29, end, took)
    assert int(end[0]) == walked(offsets, 8, 40)
    assert (took > 0).all()
    assert trace.total.global_loads == len(places) + 40
    assert all(module[f"chase<{b}>"].parameters for b in ("true", "false"))


def test_offsets_become_addresses():
    offsets = microbench.chain(50, 16, 8)
    places = offsets.copy()
    microbench.compiled("latency")["anchor"][3, 32](places, len(places))
    assert len(set(places - offsets)) == 1
    assert places[0] > offsets[0]


def test_the_chase_in_shared_memory():
    offsets = microbench.chain(64, 1, 4)
    end, took = np.zeros(1, np.uint32), np.zeros(1, np.int64)
    microbench.compiled("latency")["chase_shared"][1, 1, 256](offsets, 64, 37, end, took)
    assert int(end[0]) == walked(offsets, 4, 37)


def test_distances_are_written_by_one_multiprocessor_alone():
    kernel = microbench.compiled("l2_partitions")["distances"]
    zeros, cycles = np.zeros(5 * 32, np.uint32), np.full((2, 5), np.nan, np.float32)
    kernel[1, 1](zeros, 5, 4, 1, cycles)
    assert np.isnan(cycles).all()  # the virtual GPU has a multiprocessor 0 only
    kernel[1, 1](zeros, 5, 4, 0, cycles)
    assert (cycles[0] > 0).all()
    assert np.isnan(cycles[1]).all()


def test_halves_are_told_apart_by_what_is_near():
    rng = np.random.default_rng(0)
    sides, lines = rng.random(33) < 0.4, rng.random(70) < 0.5
    far = sides[:, None] != lines
    cycles = 260 + 40 * far + rng.normal(0, 3, (33, 1)) + rng.normal(0, 2, (33, 70))
    found_sides, found_lines = microbench.halves(cycles)
    flipped = found_sides[0] != sides[0]
    assert ((found_sides ^ flipped) == sides).all()
    assert ((found_lines ^ flipped) == lines).all()


def test_copies_and_reads():
    module = microbench.compiled("bandwidth")
    rng = np.random.default_rng(1)
    a = rng.standard_normal(4 * 77).astype(np.float32)
    b = np.full(4 * 77 + 8, np.nan, np.float32)
    module["copy"][2, 32](a, b[4:-4], 77)
    assert (b[4:-4] == a).all()
    assert np.isnan(b[[0, 1, 2, 3, -4, -3, -2, -1]]).all()
    total = np.zeros(1, np.float32)
    with gpu.trace() as trace:
        module["read_again"][2, 32](a, 77, 3, total)
        module["read_apart"][2, 32](a, 77, 4, total)
        module["read_one_at_a_time"][2, 32](np.zeros(999, np.uint32), 999, np.zeros(1, np.uint32))
    loaded = [launch.total.bytes_loaded for launch in trace.launches]
    assert loaded == [3 * 77 * 16, 77 * 4, 999 * 4]


@pytest.mark.parametrize(
    ("stride", "wavefronts"), [(0, 1), (1, 1), (2, 2), (3, 1), (8, 8), (16, 16), (32, 32), (33, 1)]
)
def test_strides_meet_the_banks_as_they_should(stride, wavefronts):
    kernel, loads = microbench.compiled("shared")["strided"], 20
    sums, cycles = np.zeros(64, np.uint32), np.zeros(1, np.int64)
    with gpu.trace() as trace:
        kernel[1, 64, 4 * 2048](stride, 2048, loads, sums, cycles)
    total = trace.total
    assert total.shared_loads == 2 * loads
    assert total.wavefronts - total.shared_stores == 2 * loads * wavefronts
    assert (sums == np.arange(64) % 32 * stride * loads).all()


def test_without_a_gpu_it_says_where_the_results_are():
    with pytest.raises(Problem, match=r"course/measured/nvidia-h200/microbench\.json"):
        bench.measure("microbench")


def test_sizes_too():
    with pytest.raises(Problem, match=r"course/measured/nvidia-h200/sizes\.json"):
        bench.measure("sizes")
