"""Random programs whose lanes part, meet, vote and exchange, against NumPy, in every order."""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice

T = np.arange(64)
WARP = T // 32
WAYS = [
    {},
    {"fast": False},
    {"schedule": "greedy"},
    {"schedule": "random", "seed": 3},
    # turns so short that lanes run far ahead of each other
    {"slice": 64},
    {"slice": 64, "schedule": "reverse", "fast": False},
    {"races": True},
]


def u32(values):
    return np.asarray(values).astype(np.uint32)


def loop(x, a, m):
    """Loop as often as the lane's value says."""
    trips, y = x % m * 60, x.copy()
    for i in range(int(trips.max())):
        y = np.where(i < trips, y * np.uint32(5) + np.uint32(a), y)
    code = f"{{ unsigned end = x % {m} * 60; for (unsigned i = 0; i < end; i++) x = x * 5 + {a}; }}"
    return code, y


def branch(x, a, m):
    y = np.where(x % m == 0, x * np.uint32(3), x + np.uint32(a))
    return f"if (x % {m} == 0) x *= 3; else x += {a};", y


def shuffle(x, a, m):
    return f"x += __shfl_xor_sync(~0u, x, {a});", x + x[T ^ a]


def ballot(x, a, m):
    yes = (x % m == 0).reshape(2, 32)
    votes = u32((yes.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1))
    return f"x ^= __ballot_sync(~0u, x % {m} == 0);", x ^ votes[WARP]


def group(x, a, m):
    """Lanes of equal remainder form a group and add up among themselves."""
    alike = (x[:, None] % m == x[None, :] % m) & (WARP[:, None] == WARP[None, :])
    code = f"{{ unsigned g = __match_any_sync(~0u, x % {m}); x += __reduce_add_sync(g, x); }}"
    return code, x + (alike * x[None, :]).sum(1, dtype=np.uint32)


def reduction(x, a, m):
    return "x += __reduce_max_sync(~0u, x);", x + x.reshape(2, 32).max(1)[WARP]


def exchange(x, a, m):
    code = f"__syncthreads(); s[t] = x; __syncthreads(); x += s[(t + {a}) % 64];"
    return code, x + x[(T + a) % 64]


STEPS = [loop, branch, shuffle, ballot, group, reduction, exchange]


@pytest.mark.parametrize("seed", range(8))
def test_lanes_part_and_meet(seed):
    rng = np.random.default_rng(seed)
    x, lines = u32(7 * T + 3), []
    for step in rng.permutation([*STEPS, loop, branch]):
        code, x = step(x, int(rng.integers(1, 32)), int(rng.integers(2, 7)))
        x = u32(x)
        lines.append(code)
    body = "\n".join(lines)
    source = f"""__global__ void k(unsigned* out) {{
    __shared__ unsigned s[64];
    unsigned t = threadIdx.x, x = 7 * t + 3;
    {body}
    out[t] = x;
}}"""
    for way in WAYS:
        out = np.zeros(64, np.uint32)
        with gpu.use(VirtualDevice(vgpu.Options(**way))):
            gpu.compile(source)["k"][1, 64](out)
        np.testing.assert_array_equal(out, x, str(way))
