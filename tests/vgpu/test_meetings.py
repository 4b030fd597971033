"""Lanes that come to a warp operation or a barrier late, from elsewhere, or not at all.

What is expected is what an H200 did with the same kernels, and what the PTX manual says.
"""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice

LANES = np.arange(32)
WAYS = [
    {},
    {"fast": False},
    {"schedule": "reverse"},
    {"schedule": "greedy"},
    {"schedule": "random", "seed": 1},
    {"schedule": "random", "seed": 2, "fast": False},
    {"races": True},
]


@pytest.fixture(params=WAYS, ids=str)
def way(request):
    return request.param


def run(body, way, threads=32, more=()):
    """Run the body of a kernel with `out`, thread number `t` and `FULL`; return what it leaves."""
    source = (
        "#define FULL 0xffffffffu\n"
        'extern "C" __global__ void k(unsigned* out, const unsigned* in) {\n'
        "unsigned t = threadIdx.x;\n" + body + "\n}"
    )
    out = np.zeros(threads, np.uint32)
    with gpu.use(VirtualDevice(vgpu.Options(**way))):
        gpu.compile(source)["k"][1, threads](out, np.array(more or [0], np.uint32))
    return out


def ballot(truth):
    return int((truth.astype(np.uint64) << LANES.astype(np.uint64)).sum())


ROUNDS = 1600
SLOW = f"""unsigned x = t;
#pragma unroll 1
for (unsigned i = 0; i < t * {ROUNDS}; i++) x = x * 1664525u + 1013904223u;
"""


def slow(threads):
    """Return what SLOW leaves in x."""
    t = np.arange(threads)
    x, found = t.astype(np.uint32), t.astype(np.uint32)
    for i in range(1, threads * ROUNDS):
        x = x * np.uint32(1664525) + np.uint32(1013904223)
        if i % ROUNDS == 0:
            found[i // ROUNDS] = x[i // ROUNDS]
    return found


SLOWED_64 = slow(64)
SLOWED = SLOWED_64[:32]


def test_lanes_that_come_late_from_a_long_loop(way):
    """The last lane jumps back 49,600 times: more than a warp's turn has."""
    out = run(SLOW + "out[t] = __ballot_sync(FULL, x >> 31);", way)
    assert (out == ballot(SLOWED >> np.uint32(31))).all()
    out = run(SLOW + "out[t] = __shfl_xor_sync(FULL, x, 21);", way)
    np.testing.assert_array_equal(out, SLOWED[LANES ^ 21])
    out = run(SLOW + "out[t] = __reduce_add_sync(FULL, x);", way)
    assert (out == SLOWED.sum(dtype=np.uint32)).all()
    out = run(SLOW + "out[t] = __match_any_sync(FULL, x & 1);", way)
    odd = SLOWED & np.uint32(1)
    np.testing.assert_array_equal(out, [ballot(odd == bit) for bit in odd])


@pytest.mark.parametrize("barrier", ["__syncthreads();", 'asm volatile("barrier.sync 0;");'])
def test_lanes_that_come_late_to_a_barrier(way, barrier):
    body = f"__shared__ unsigned s[64]; {SLOW} s[t] = x; {barrier} out[t] = s[63 - t];"
    out = run(body, way, 64)
    np.testing.assert_array_equal(out, SLOWED_64[::-1])


def test_lanes_that_come_late_to_syncwarp(way):
    out = run(f"__shared__ unsigned s[32]; {SLOW} s[t] = x; __syncwarp(); out[t] = s[t ^ 31];", way)
    np.testing.assert_array_equal(out, SLOWED[::-1])


def test_a_barrier_that_counts_predicates_of_late_lanes(way):
    body = SLOW + "out[t] = __syncthreads_count(x >> 31) + 100 * __syncthreads_and(t < 64);"
    out = run(body, way, 64)
    assert (out == 100 + (SLOWED_64 >> np.uint32(31)).sum()).all()


def test_ended_lanes_are_not_waited_for(way):
    out = run("if (t >= 16) return; __syncwarp(); out[t] = __ballot_sync(FULL, 1);", way)
    np.testing.assert_array_equal(out, np.where(LANES < 16, 0xFFFF, 0))
    # they may still be on their way to the end
    late = "if (t & 1) {" + SLOW + "out[t] = x | 1; return; } out[t] = __ballot_sync(FULL, 1);"
    out = run(late, way)
    np.testing.assert_array_equal(out, np.where(LANES % 2, SLOWED | np.uint32(1), 0x55555555))


def test_a_vote_counts_the_lanes_that_live(way):
    body = f"""if (t < 16) out[t] = __any_sync(FULL, t == 3) + 2 * __all_sync(FULL, t < 16);
    else {{ {SLOW} out[t] = x | 1; }}"""
    out = run(body, way)
    np.testing.assert_array_equal(out, np.where(LANES < 16, 3, SLOWED | np.uint32(1)))


def test_a_vote_in_a_loop_that_lanes_leave(way):
    body = """unsigned v = 0;
    for (unsigned i = 0; i <= t; i++) v = v * 2 + __popc(__ballot_sync(FULL, 1));
    out[t] = v;"""
    expected, total = [], 0
    for t in range(32):
        total = (2 * total + 32 - t) % 2**32
        expected.append(total)
    np.testing.assert_array_equal(run(body, way), expected)


BRANCHES = {
    "shfl": (
        "__shfl_xor_sync(FULL, 3 * t, 16) + 1000", "__shfl_xor_sync(FULL, 3 * t + 100, 16) * 7",
        np.where(LANES < 16, 3 * (LANES ^ 16) + 1100, 21 * (LANES ^ 16)),
    ),
    "vote": (
        "__ballot_sync(FULL, t & 1) ^ 1", "__ballot_sync(FULL, t % 3 == 0) ^ 2",
        ballot(np.where(LANES < 16, LANES % 2 == 1, LANES % 3 == 0)) ^ np.where(LANES < 16, 1, 2),
    ),
    "match": (
        "__match_any_sync(FULL, t & 3) ^ 1", "__match_any_sync(FULL, t & 7) ^ 2",
        [
            ballot(np.where(LANES < 16, LANES & 3, LANES & 7) == v) ^ (1 if t < 16 else 2)
            for t, v in enumerate(np.where(LANES < 16, LANES & 3, LANES & 7))
        ],
    ),
    "redux": (
        "__reduce_add_sync(FULL, t) ^ 1", "__reduce_add_sync(FULL, 100) ^ 2",
        (sum(range(16)) + 1600) ^ np.where(LANES < 16, 1, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_members_may_meet_in_different_branches(way, name):
    low, high, expected = BRANCHES[name]
    out = run(f"if (t < 16) out[t] = {low}; else out[t] = {high};", way)
    np.testing.assert_array_equal(out, expected)


def test_syncwarp_in_two_branches(way):
    body = """__shared__ volatile unsigned s[64];
    if (t % 32 < 16) { s[t] = t; __syncwarp(); out[t] = s[t ^ 31]; }
    else { s[t] = 2 * t; __syncwarp(); out[t] = s[t ^ 31] + 7; }"""
    t = np.arange(64)
    expected = np.where(t % 32 < 16, 2 * (t ^ 31), (t ^ 31) + 7)
    np.testing.assert_array_equal(run(body, way, 64), expected)


def test_the_mask_of_a_ballot_guards_a_reduction(way):
    """As NVIDIA's guide has it: some shuffles read lanes that are not there, and nobody cares."""
    body = """unsigned mask = __ballot_sync(FULL, t < in[0]);
    if (t < in[0]) {
        unsigned v = t + 1;
        for (int d = 16; d; d /= 2) v += __shfl_down_sync(mask, v, d);
        if (t == 0) out[0] = v;
    }"""
    assert run(body, way, more=[32])[0] == 33 * 16
    # 20 lanes: a tree over 32 reads what is undefined, and lane 0 comes to use it
    if not way.get("races"):
        with pytest.raises(gpu.KernelFault, match="a shuffle read from lane"):
            run(body, way, more=[20])
    body = body.replace("v += __shfl_down_sync(mask, v, d);", PAIRED)
    assert run(body, way, more=[20])[0] == 210


PAIRED = """{ unsigned w = __shfl_down_sync(mask, v, d);
    if (t + d < in[0]) v += w; }"""


def test_warps_that_leave_are_not_counted_at_a_barrier(way):
    out = run("if (t < 32) __syncthreads(); out[t] = t;", way, 64)
    np.testing.assert_array_equal(out, np.arange(64))
    body = "if (t % 32 < 16) __syncthreads(); else { " + SLOW + " out[t] = x | 1; } out[t] += t;"
    t = np.arange(64)
    expected = np.where(t % 32 < 16, t, (SLOWED_64 | np.uint32(1)) + t.astype(np.uint32))
    np.testing.assert_array_equal(run(body, way, 64), expected)


def test_a_barrier_with_a_count_takes_whole_warps(way):
    body = 'if (t % 32 >= 20) return; asm volatile("bar.sync 1, 64;"); out[t] = t;'
    t = np.arange(64)
    np.testing.assert_array_equal(run(body, way, 64), np.where(t % 32 < 20, t, 0))


def test_predicates_at_a_barrier_that_some_have_left(way):
    body = """if (t % 32 >= 20) return;
    out[t] = __syncthreads_count(t & 1) + 100 * __syncthreads_and(t < 64)
        + 1000 * __syncthreads_or(t == 3);"""
    t = np.arange(64)
    np.testing.assert_array_equal(run(body, way, 64), np.where(t % 32 < 20, 1120, 0))


def test_halves_of_a_warp_at_barriers_of_their_own(way):
    body = """__shared__ unsigned s[64];
    s[t] = t * t;
    if (t % 32 < 16) asm volatile("barrier.sync 1, 32;"); else asm volatile("barrier.sync 2, 32;");
    out[t] = s[t ^ 32];"""
    t = np.arange(64)
    np.testing.assert_array_equal(run(body, way, 64), (t ^ 32) ** 2)


@pytest.mark.parametrize(
    "body, kind",
    [
        # each of these hangs on an H200
        ('if (t >= 32) return; asm volatile("bar.sync 1, 64;"); out[t] = t;', "deadlock"),
        ("if (t < 16) out[t] = __ballot_sync(FULL, 1); else out[t] = __shfl_xor_sync(FULL, t, 1);",
         "inactive-lane"),
        ("if (t < 16) __syncthreads(); else __syncwarp(); out[t] = t;", "inactive-lane"),
        # and this one mixes up its two barriers
        ("if (t % 32 < 16) { __syncthreads(); out[t] = 1; } else { __syncthreads(); out[t] = 2; }",
         "divergent-barrier"),
    ],
)  # fmt: skip
def test_meetings_that_never_happen(way, body, kind):
    with pytest.raises(gpu.KernelFault) as caught:
        run(body, way, 64)
    assert caught.value.fault.kind == kind


def test_members_that_disagree_about_the_mask(way):
    with pytest.raises(gpu.KernelFault) as caught:
        run("out[t] = __ballot_sync(t < 16 ? FULL : 0xffff0001u, 1); __syncthreads();", way)
    assert caught.value.fault.kind == "bad-mask"
    assert caught.value.fault.lanes == tuple(range(16, 32))
