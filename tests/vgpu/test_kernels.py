"""Kernels as they occur in public: each is right and free of races in any order of warps.

One case a file in `kernels/`: it launches the file's kernels on random data of odd sizes and
compares with NumPy. Outputs start as NaN or -1, so that what nobody writes shows.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice

if problem := gpu.compiler_problem():
    pytest.skip(problem, allow_module_level=True)

FOLDER = Path(__file__).parent / "kernels"
VERSIONS = {
    "plain": {},
    "masked": {"fast": False},
    "watched": {"counters": True, "races": True},
}
SCHEDULES = [
    {"schedule": "round-robin"},
    {"schedule": "reverse"},
    {"schedule": "greedy"},
    {"schedule": "random", "seed": 1},
    {"schedule": "random", "seed": 2},
]
CASES: dict[str, Callable] = {}


def case(function: Callable) -> Callable:
    """Enter a case under its name, which is that of the file."""
    CASES[function.__name__] = function
    return function


def test_every_file_has_a_case():
    assert {p.stem for p in FOLDER.glob("*.cu")} == set(CASES)


@pytest.fixture(scope="module")
def compiled():
    modules = {}
    return lambda path: modules.setdefault(path, gpu.compile(path))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CASES)
def test_kernel(name, version, compiled):
    module = compiled(FOLDER / f"{name}.cu")
    for schedule in SCHEDULES:
        with gpu.use(VirtualDevice(vgpu.Options(**VERSIONS[version], **schedule))):
            CASES[name](module, np.random.default_rng(3))


BARRIER = re.compile(r"(__syncthreads|grid\.sync)\(\);")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.cu")), ids=lambda path: path.stem)
def test_every_barrier_is_missed(path):
    source = path.read_text(encoding="utf-8")
    for barrier in BARRIER.finditer(source):
        module = gpu.compile(source[: barrier.start()] + ";" + source[barrier.end() :])
        watched = VirtualDevice(vgpu.Options(races=True))
        with gpu.use(watched), pytest.raises(gpu.KernelFault) as caught:
            CASES[path.stem](module, np.random.default_rng(3))
        assert caught.value.fault.kind in ("race", "undefined")


def nan(*shape):
    return np.full(shape, np.nan, np.float32)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def close(got, wanted, rtol=1e-5, atol=1e-5):
    np.testing.assert_allclose(got, wanted, rtol, atol)


def equal(got, wanted):
    np.testing.assert_array_equal(got, wanted)


# --- reductions


def _block_sums(kernel, rng, elements, shared):
    """Compare the sums that each block of 128 threads makes of its `elements`."""
    x = normal(rng, 1000)
    sums = nan(-(-1000 // elements))
    kernel[len(sums), 128, shared](x, sums, 1000)
    padded = np.zeros(len(sums) * elements)
    padded[:1000] = x
    close(sums, padded.reshape(len(sums), -1).sum(1))


@case
def reduce_interleaved(k, rng):
    _block_sums(k["reduce"], rng, 128, 512)


@case
def reduce_strided(k, rng):
    _block_sums(k["reduce"], rng, 128, 512)


@case
def reduce_sequential(k, rng):
    _block_sums(k["reduce"], rng, 256, 512)


@case
def reduce_last_warp(k, rng):
    # the last warp reads up to 32 places beyond what it needs
    _block_sums(k["reduce"], rng, 128, 512)


@case
def reduce_unrolled(k, rng):
    x = normal(rng, 1237)
    for size in (32, 128, 512):
        sums = nan(3)
        k[f"reduce<{size}>"][3, size](x, sums, 1237)
        at = np.arange(1237) // size % 3
        close(sums, [x[at == b].astype(float).sum() for b in range(3)])


@case
def reduce_shuffle(k, rng):
    x, total = normal(rng, 1777), np.zeros(1, np.float32)
    k["reduce"][5, 96](x, total, 1777)
    close(total[0], x.astype(float).sum(), atol=1e-3)


@case
def reduce_last_block(k, rng):
    x = normal(rng, 1777)
    for _ in range(2):  # the counter is ready for the next launch
        partial, total = nan(11), nan(1)
        k["reduce"][11, 64, 256](x, partial, total, 1777)
        close(total[0], x.astype(float).sum(), atol=1e-3)


@case
def reduce_cooperative_groups(k, rng):
    x, total = rng.integers(-1000, 1000, 777).astype(np.int32), np.zeros(2, np.int32)
    k["reduce"][3, 80](x, total, 777)
    k["count_positive"][7, 112](x, total[1:], 777)
    equal(total, [x.sum(), (x > 0).sum()])


# --- prefix sums


@case
def scan_hillis_steele(k, rng):
    x, y = normal(rng, 117), nan(117)
    k["scan"][1, 128, 1024](x, y, 117)
    close(y, np.cumsum(x, dtype=float))


@case
def scan_blelloch(k, rng):
    x, y = rng.integers(0, 100, 237).astype(np.int32), np.full(237, -1, np.int32)
    k["scan"][1, 128, 4 * (256 + 8)](x, y, 237)
    equal(y, np.cumsum(x) - x)


@case
def scan_warps(k, rng):
    n, size = 3001, 160
    x, y = rng.integers(0, 100, n).astype(np.int32), np.full(n, -1, np.int32)
    sums, starts = np.full(19, -1, np.int32), np.full(19, -1, np.int32)
    k["scan_blocks"][19, size](x, y, sums, n)
    k["scan_blocks"][1, size](sums, starts, None, 19)
    k["add_sums"][19, size](y, starts, n)
    equal(y, np.cumsum(x))


@case
def scan_look_back(k, rng):
    n, blocks = 1500, 24
    x, y = rng.integers(0, 100, n).astype(np.int32), np.full(n, -1, np.int32)
    ticket, state = np.zeros(1, np.int32), np.zeros(blocks, np.int32)
    sums, prefixes = np.full(blocks, -1, np.int32), np.full(blocks, -1, np.int32)
    k["scan"][blocks, 64, 256](x, y, ticket, state, sums, prefixes, n)
    equal(y, np.cumsum(x))


# --- counting, sorting, selecting


@case
def histogram_shared(k, rng):
    x, counts = rng.integers(0, 256, 5003).astype(np.uint8), np.zeros(256, np.uint32)
    k["histogram"][3, 96](x, counts, 5003)
    equal(counts, np.bincount(x, minlength=256))


@case
def bitonic_sort(k, rng):
    x = rng.integers(-(2**31), 2**31, 1024).astype(np.int32)
    wanted = np.sort(x)
    k["sort_block"][8, 64, 512](x, 2, 128)
    for size in (256, 512, 1024):
        distance = size // 2
        while distance > 64:
            k["merge_step"][16, 32](x, size, distance)
            distance //= 2
        k["sort_block"][8, 64, 512](x, size, size)
    equal(x, wanted)


@case
def radix_sort_pass(k, rng):
    n, blocks = 901, 8
    x = rng.integers(0, 2**12, n).astype(np.uint32)
    wanted = np.sort(x)
    for shift in (0, 4, 8):
        counts, y = np.full(16 * blocks, -1, np.int32), np.full(n, 2**32 - 1, np.uint32)
        k["count"][blocks, 128](x, counts, shift, n)
        k["prefix"][1, 1](counts, len(counts))
        k["scatter"][blocks, 128](x, y, counts, shift, n)
        x = y
    equal(x, wanted)


@case
def compact_ballot(k, rng):
    x = rng.integers(-5, 5, 555).astype(np.int32)
    for name in ("compact", "compact_active"):
        y, count = np.full(555, -1, np.int32), np.zeros(1, np.int32)
        k[name][6, 96](x, y, count, 555)
        assert count[0] == (x > 0).sum()
        equal(np.sort(y[: count[0]]), np.sort(x[x > 0]))
        equal(y[count[0] :], -1)


@case
def top_k(k, rng):
    x, y = normal(rng, 3, 1001), nan(3, 4)
    k["top_k"][3, 64](x, y, 1001)
    equal(y, -np.sort(-x)[:, :4])


# --- dense matrices and images


@case
def transpose_padded(k, rng):
    a, b = normal(rng, 45, 71), nan(71, 45)
    k["transpose"][(3, 2), (32, 8)](a, b, 45, 71)
    equal(b, a.T)


@case
def matmul_tiled(k, rng):
    a, b, c = normal(rng, 33, 51), normal(rng, 51, 29), nan(33, 29)
    k["matmul"][(2, 3), (16, 16)](a, b, c, 33, 29, 51)
    close(c, a.astype(float) @ b, atol=1e-4)


@case
def matmul_register_tile(k, rng):
    a, b, c = normal(rng, 64, 48), normal(rng, 48, 128), nan(64, 128)
    k["matmul"][(2, 1), 256](a, b, c, 128, 48)
    close(c, a.astype(float) @ b, atol=1e-4)


@case
def convolution_halo(k, rng):
    x, y = normal(rng, 37, 23), nan(37, 23)
    k["convolve"][(2, 3), (16, 16)](x, y, 37, 23)
    weights = [
        [1, 2, 3, 2, 1],
        [0, 1, -4, 1, 0],
        [2, 0, 5, 0, -2],
        [1, 1, 1, 1, 1],
        [-1, 3, 0, 2, 4],
    ]
    padded, wanted = np.pad(x.astype(float), 2), np.zeros(x.shape)
    for i in range(5):
        for j in range(5):
            wanted += weights[i][j] * padded[i : i + 37, j : j + 23]
    close(y, wanted, atol=1e-4)


@case
def gemv(k, rng):
    for columns in (203, 260):
        a, x, y = normal(rng, 7, columns), normal(rng, columns), nan(7)
        k["gemv"][7, 96](a, x, y, columns)
        close(y, a.astype(float) @ x, atol=1e-4)


def _softmax(x):
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@case
def softmax_warp(k, rng):
    x, y = 4 * normal(rng, 11, 77), nan(11, 77)
    k["softmax"][3, (32, 4)](x, y, 11, 77)
    close(y, _softmax(x), rtol=1e-5, atol=1e-7)


@case
def softmax_online(k, rng):
    x, y = 4 * normal(rng, 3, 201), nan(3, 201)
    k["softmax"][3, 64](x, y, 201)
    close(y, _softmax(x), rtol=1e-5, atol=1e-7)


@case
def layernorm_welford(k, rng):
    x, y = 3 + normal(rng, 5, 301), nan(5, 301)
    gain, bias = normal(rng, 301), normal(rng, 301)
    k["layernorm"][5, 128](x, gain, bias, y, 301)
    centred = x - x.mean(1, keepdims=True, dtype=float)
    close(y, centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gain + bias)


@case
def axpy_half2(k, rng):
    x, y = normal(rng, 333).astype(np.float16), normal(rng, 333).astype(np.float16)
    a, old, total = np.float16(1.5), y.copy(), np.zeros(1, np.float32)
    k["axpy"][3, 64](a, x, y, 333)
    equal(y, (x.astype(float) * 1.5 + old).astype(np.float16))
    k["sum"][1, 96](x, total, 333)
    close(total[0], x.astype(float).sum(), atol=1e-3)


@case
def dot_dp4a(k, rng):
    a, b = (rng.integers(-128, 128, 4 * 233).astype(np.int8) for _ in range(2))
    total = np.zeros(1, np.int32)
    k["dot"][2, 64](a.view(np.int32), b.view(np.int32), total, 233)
    assert total[0] == a.astype(int) @ b


# --- sparse matrices, graphs, tables


def _sparse(rng, rows, columns):
    dense = np.where(rng.random((rows, columns)) < 0.2, normal(rng, rows, columns), 0)
    dense[rows // 2] = 0
    starts = np.append(0, np.cumsum((dense != 0).sum(1))).astype(np.int32)
    return dense, starts, np.nonzero(dense)[1].astype(np.int32), dense[dense != 0]


@case
def spmv_csr(k, rng):
    dense, starts, columns, values = _sparse(rng, 75, 211)
    x = normal(rng, 211)
    for name, blocks in (("scalar", 2), ("vector", 38)):
        y = nan(75)
        k[name][blocks, 64](starts, columns, values, x, y, 75)
        close(y, dense.astype(float) @ x)


def _depths(dense):
    depth, level = np.full(len(dense), -1), 0
    front = np.array([0])
    while len(front):
        depth[front] = level
        reached = np.nonzero((dense[front] != 0).any(0))[0]
        front, level = reached[depth[reached] < 0], level + 1
    return depth


@case
def bfs_frontier(k, rng):
    dense, starts, edges, _ = _sparse(rng, 201, 201)
    dense *= rng.random((201, 201)) < 0.1
    starts = np.append(0, np.cumsum((dense != 0).sum(1))).astype(np.int32)
    edges = np.nonzero(dense)[1].astype(np.int32)
    depth, front = np.full(201, -1, np.int32), np.zeros(1, np.int32)
    depth[0], level = 0, 0
    while len(front):
        level += 1
        following, count = np.full(201, -1, np.int32), np.zeros(1, np.int32)
        k["expand"][3, 96](starts, edges, depth, front, len(front), following, count, level)
        front = following[: count[0]].copy()
    equal(depth, _depths(dense))
    old = np.where(np.arange(201) == 0, 0, -1).astype(np.int32)
    for level in range(1, 20):
        depth, changed = old.copy(), np.zeros(1, np.int32)
        k["sweep"][3, 96](starts, edges, old, depth, changed, 201, level)
        assert changed[0] == (depth != old).any()
        old = depth
    equal(old, _depths(dense))


@case
def floyd_warshall(k, rng):
    d = np.where(rng.random((37, 37)) < 0.1, rng.integers(1, 50, (37, 37)), 10**6).astype(np.int32)
    np.fill_diagonal(d, 0)
    wanted = d.copy()
    for via in range(37):
        k["relax"][(3, 5), (16, 8)](d, 37, via)
        wanted = np.minimum(wanted, wanted[:, via, None] + wanted[None, via])
    equal(d, wanted)


@case
def hash_table_locks(k, rng):
    keys = rng.integers(0, 50, 151).astype(np.uint32)
    locks, heads = np.zeros(13, np.int32), np.full(13, -1, np.int32)
    following = np.full(151, -2, np.int32)
    k["insert"][2, 48](keys, 151, locks, heads, following, 13)
    found = []
    for bucket, at in enumerate(heads):
        while at >= 0:
            assert int(keys[at]) * 2654435761 % 2**32 % 13 == bucket
            found.append(at)
            at = following[at]
    equal(np.sort(found), np.arange(151))
    equal(locks, 0)


@case
def hash_table_open(k, rng):
    keys = rng.integers(0, 100, 301).astype(np.uint32)
    values = rng.integers(0, 1000, 301).astype(np.uint32)
    slots, sums = np.full(128, 2**32 - 1, np.uint32), np.zeros(128, np.uint32)
    k["insert"][4, 96](keys, values, 301, slots, sums, 128)
    found = {int(key): int(total) for key, total in zip(slots, sums, strict=True) if key < 100}
    assert found == {int(key): int(values[keys == key].sum()) for key in np.unique(keys)}


# --- simulations


@case
def nbody(k, rng):
    bodies, result = normal(rng, 77, 4), nan(77, 4)
    k["accelerate"][3, 32, 512](bodies, result, 77)
    place, mass = bodies[:, :3].astype(float), bodies[:, 3]
    away = place[None] - place[:, None]
    pull = mass * ((away**2).sum(2) + 0.01) ** -1.5
    close(result[:, :3], (away * pull[:, :, None]).sum(1), rtol=1e-4, atol=1e-3)


@case
def mandelbrot(k, rng):
    steps = np.full((19, 41), -1, np.int32)
    k["mandelbrot"][(3, 3), (16, 8)](steps, 41, 19, 100)
    at = (-2 + 3 * np.arange(41) / 41) + 1j * (-1 + 2 * np.arange(19) / 19)[:, None]
    z, wanted = at.copy(), np.zeros(at.shape, int)
    for _ in range(100):
        inside = z.real**2 + z.imag**2 <= 4
        wanted += inside
        z = np.where(inside, z * z + at, z)
    assert (steps != wanted).mean() < 0.01  # a fused multiply-add may decide on the edge


@case
def game_of_life(k, rng):
    x, y = rng.integers(0, 2, (13, 21)).astype(np.uint8), np.full((13, 21), 9, np.uint8)
    k["step"][3, 96](x, y, 13, 21)
    around = sum(
        np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)
    )
    equal(y, (around == 3) | ((around == 2) & (x == 1)))


@case
def stencil_time_steps(k, rng):
    a, b = normal(rng, 301), nan(301)
    wanted = a.astype(float)
    k["diffuse"][3, 64](a, b, 301, 4)
    for _ in range(4):
        padded = np.pad(wanted, 1)
        wanted = 0.5 * wanted + 0.25 * (padded[:-2] + padded[2:])
    close(a, wanted)


@case
def monte_carlo_pi(k, rng):
    inside = np.zeros(1, np.uint64)
    k["count"][3, 32](12345, 7, inside)
    state, total = [12345 + t for t in range(96)], 0
    for _ in range(7):
        pair = []
        for _ in range(2):
            state = [(s * 6364136223846793005 + 1442695040888963407) % 2**64 for s in state]
            pair.append([s >> 40 for s in state])
        total += sum(x * x + y * y < 2**48 for x, y in zip(*pair, strict=True))
    assert inside[0] == total


# --- who waits for whom


@case
def ring_of_warps(k, rng):
    x, y = rng.integers(0, 1000, 7 * 32).astype(np.int32), np.full(7 * 32, -1, np.int32)
    k["reverse_tiles"][1, 64](x, y, 7)
    equal(y.reshape(7, 32), x.reshape(7, 32)[:, ::-1])


@case
def ticket_lock(k, rng):
    listed, length = np.full(20, -1, np.int32), np.zeros(1, np.int32)
    for _ in range(2):
        k["append"][3, 96](listed, length)
    assert length[0] == 18
    equal(np.sort(listed[:18]), np.repeat(np.arange(9) * 32, 2))
