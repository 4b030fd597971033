"""Kernels as people write them, on the virtual GPU: results against NumPy."""

import math

import numpy as np
import pytest

from course import gpu

cuda = pytest.importorskip("numba.cuda")
from numba.types import complex64, float16, float32, float64, int32, int64  # noqa: E402

if cuda.implementation != "NVIDIA":
    pytest.skip("numba-cuda is not installed", allow_module_level=True)

#: These tests are right on a real GPU as well (COURSE_DEVICE=cuda), but for what it lets pass.
VIRTUAL = cuda.get_current_device().name == "virtual GPU"


def close(found, wanted, rtol=1e-5, atol=1e-6):
    assert np.asarray(found).shape == np.asarray(wanted).shape
    assert not np.isnan(found).any(), "NaN"
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@pytest.mark.parametrize("size", [1, 31, 33, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
def test_host_arrays_are_copied_in_and_out(rng, size, dtype):
    a, b = (rng.integers(0, 100, size).astype(dtype) for _ in range(2))
    out = np.zeros(size, dtype)
    before = a.copy()
    add[(size + 63) // 64, 64](a, b, out)
    assert np.array_equal(out, a + b)
    assert np.array_equal(a, before)


TILE = 8


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        k = step * TILE
        sa[ty, tx] = a[y, k + tx] if y < a.shape[0] and k + tx < a.shape[1] else 0
        sb[ty, tx] = b[k + ty, x] if x < b.shape[1] and k + ty < b.shape[0] else 0
        cuda.syncthreads()
        for j in range(TILE):
            total += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_tiled_matmul_of_odd_shapes(rng, order):
    m, k, n = 13, 21, 18
    a = np.asarray(rng.standard_normal((m, k)), np.float32, order=order)
    b = np.asarray(rng.standard_normal((k, n)), np.float32, order=order)
    c = np.zeros((m, n), np.float32)
    matmul[((n + 7) // 8, (m + 7) // 8), (TILE, TILE)](a, b, c)
    close(c, a.astype(np.float64) @ b, atol=1e-5)


def test_device_arrays_stay_on_the_device(rng):
    a, b = rng.standard_normal((2, 100)).astype(np.float32)
    d_a, d_b, d_out = cuda.to_device(a), cuda.to_device(b), cuda.device_array(100, np.float32)
    add[1, 128](d_a, d_b, d_out)
    add[1, 128](d_out, d_b, d_a)
    close(d_out.copy_to_host(), a + b)
    close(d_a.copy_to_host(), a + b + b)
    into = np.empty(100, np.float32)
    d_out.copy_to_host(into)
    close(into, a + b)


def test_views_of_device_arrays(rng):
    a = rng.standard_normal((6, 10)).astype(np.float32)
    d = cuda.to_device(a)
    close(d[2].copy_to_host(), a[2])
    close(d[1:4, 3:7].copy_to_host(), a[1:4, 3:7])
    close(d.reshape(4, 15).copy_to_host(), a.reshape(4, 15))
    close(d.ravel().copy_to_host(), a.ravel())
    close(d.T.copy_to_host(), a.T)
    d[0] = 5
    assert np.array_equal(d[0].copy_to_host(), np.full(10, 5, np.float32))
    d[1:3] = a[4:6]
    close(d[1:3].copy_to_host(), a[4:6])
    halves = d.ravel()[:30], d.ravel()[30:]
    like = cuda.device_array_like(a[:3])
    assert like.shape == (3, 10) and like.dtype == np.float32
    out = cuda.device_array(30, np.float32)
    add[1, 32](*halves, out)
    close(out.copy_to_host(), halves[0].copy_to_host() + halves[1].copy_to_host())


def test_strided_views_reach_a_kernel(rng):
    a = rng.standard_normal((20, 6)).astype(np.float32)
    d = cuda.to_device(a)
    out = cuda.device_array(20, np.float32)
    add[1, 32](d[:, 1], d[:, 4], out)
    close(out.copy_to_host(), a[:, 1] + a[:, 4])


@pytest.mark.skipif(not VIRTUAL, reason="a GPU reads past the end of the copy")
def test_a_host_array_with_gaps_is_refused_as_numba_does(rng):
    a = rng.standard_normal(40).astype(np.float32)
    with pytest.raises(ValueError, match="non-contiguous"):
        add[1, 32](a[::2], a[1::2], np.zeros(20, np.float32))


def test_pinned_mapped_and_managed_arrays(rng):
    a = rng.standard_normal(50).astype(np.float32)
    pinned = cuda.pinned_array(50, np.float32)
    pinned[:] = a
    mapped = cuda.mapped_array(50, np.float32)
    mapped[:] = 2
    add[1, 64](pinned, mapped, mapped)
    cuda.synchronize()
    close(mapped, a + 2)
    managed = cuda.managed_array(50, np.float32)
    managed[:] = 1
    add[1, 64](mapped, managed, managed)
    cuda.synchronize()
    close(managed, a + 3)
    host = a.copy()
    with cuda.mapped(host) as on_device:
        add[1, 64](on_device, on_device, on_device)
    close(host, 2 * a)
    with cuda.pinned(host):
        add[1, 64](host, host, host)
    close(host, 4 * a)


def test_streams_and_events(rng):
    a = rng.standard_normal(64).astype(np.float32)
    stream = cuda.stream()
    begin, end = cuda.event(), cuda.event()
    with stream.auto_synchronize():
        begin.record(stream)
        d = cuda.to_device(a, stream=stream)
        add[1, 64, stream](d, d, d)
        end.record(stream)
        host = d.copy_to_host(stream=stream)
    end.synchronize()
    assert end.query()
    assert cuda.event_elapsed_time(begin, end) > 0
    close(host, 2 * a)
    for special in (cuda.default_stream(), cuda.per_thread_default_stream(), 0):
        add[1, 64, special](a, a, a)
    close(a, 8 * host / 2)


def test_direction_hints(rng):
    a, b = rng.standard_normal((2, 64)).astype(np.float32)
    out = np.full(64, 7, np.float32)
    add[1, 32](cuda.In(a), cuda.In(b), cuda.Out(out[:32]))
    close(out[:32], (a + b)[:32])
    assert (out[32:] == 7).all()


@cuda.jit
def scalars(out, flag, small, wide, single, double, number, half):
    out[0] = 1 if flag else 0
    out[1] = small
    out[2] = wide
    out[3] = single
    out[4] = double
    out[5] = number.real
    out[6] = number.imag
    out[7] = half


def test_scalars_of_all_kinds():
    out = np.zeros(8)
    scalars[1, 1](
        out, True, np.int8(-5), -(2**40), np.float32(0.5), math.pi, 2 - 3j, np.float16(1.5)
    )
    assert out.tolist() == [1, -5, -(2**40), 0.5, math.pi, 2, -3, 1.5]


@cuda.jit
def pair(arrays, factor):
    i = cuda.grid(1)
    if i < arrays[1].size:
        arrays[1][i] = factor[0] * arrays[0][i] + factor[1]


def test_tuples(rng):
    a, out = rng.standard_normal(40).astype(np.float32), np.zeros(40, np.float32)
    pair[2, 32]((a, out), (2.0, 1))
    close(out, 2 * a + 1)


POINT = np.dtype([("x", np.float32), ("id", np.int64), ("tags", np.int16, (3,))], align=True)


@cuda.jit
def records(points, one):
    i = cuda.grid(1)
    if i < points.size:
        points[i].x = points[i].x * 2 + one.x
        points[i].id += i
        points[i].tags[2] = points[i].tags[0]


def test_records():
    points = np.zeros(5, POINT)
    points["x"], points["id"], points["tags"] = 1.5, 100, [1, 2, 3]
    one = np.zeros(1, POINT)[0]
    one["x"] = 0.25
    records[1, 8](points, one)
    assert (points["x"] == 3.25).all()
    assert points["id"].tolist() == [100, 101, 102, 103, 104]
    assert points["tags"].tolist() == [[1, 2, 1]] * 5


@cuda.jit
def reverse_dynamic(a):
    first = cuda.shared.array(0, float32)
    i = cuda.threadIdx.x
    first[i] = a[i]
    cuda.syncthreads()
    a[i] = first[cuda.blockDim.x - 1 - i]


def test_dynamic_shared_memory(rng):
    a = rng.standard_normal(96).astype(np.float32)
    wanted = a[::-1].copy()
    reverse_dynamic[1, 96, 0, 96 * 4](a)
    close(a, wanted)
    if VIRTUAL:
        with pytest.raises(gpu.KernelFault, match=r"out-of-bounds: reverse_dynamic writes"):
            reverse_dynamic[1, 96, 0, 95 * 4](a)


@cuda.jit
def two_on_one_line(a, out):
    left, right = cuda.shared.array(32, float32), cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    left[i], right[i] = a[i], -a[i]
    cuda.syncthreads()
    out[i] = left[31 - i] - right[i]


def test_two_shared_arrays_on_one_line(rng):
    """numba's own simulator gives them the same memory."""
    a, out = rng.standard_normal(32).astype(np.float32), np.zeros(32, np.float32)
    two_on_one_line[1, 32](a, out)
    close(out, a[::-1] + a)


WEIGHTS = np.array([0.25, 0.5, 0.125], np.float32)


@cuda.jit
def smooth(a, out):
    weights = cuda.const.array_like(WEIGHTS)
    window = cuda.local.array(3, float32)
    i = cuda.grid(1)
    if 0 < i < a.size - 1:
        for k in range(3):
            window[k] = a[i + k - 1]
        total = float32(0)
        for k in range(3):
            total += weights[k] * window[2 - k]
        out[i] = total


def test_local_and_constant_arrays(rng):
    a, out = rng.standard_normal(50).astype(np.float32), np.zeros(50, np.float32)
    smooth[2, 32](a, out)
    close(out[1:-1], np.convolve(a, WEIGHTS.astype(np.float64))[2:-2])
    assert out[0] == out[-1] == 0


@cuda.jit
def atomics(x, counts, sums, low, high, flags, swaps):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)
        cuda.atomic.add(sums, 0, float64(x[i]))
        cuda.atomic.sub(sums, 1, float64(x[i]))
        cuda.atomic.min(low, 0, x[i])
        cuda.atomic.max(high, 0, x[i])
        cuda.atomic.or_(flags, 0, 1 << x[i])
        cuda.atomic.and_(flags, 1, ~(1 << x[i]))
        cuda.atomic.xor(flags, 2, 1 << x[i])
        cuda.atomic.exch(swaps, 0, 7)
        cuda.atomic.cas(swaps, 1, 2**32 - 1, x[i])
        cuda.atomic.inc(swaps, 2, 9)


def test_atomics(rng):
    x = rng.integers(0, 16, 200).astype(np.int32)
    counts, sums = np.zeros(16, np.int64), np.zeros(2)
    low, high = np.array([99], np.int32), np.array([-1], np.int32)
    flags = np.array([0, -1, 0], np.int32)
    swaps = np.array([0, 2**32 - 1, 0], np.uint32)
    atomics[4, 64](x, counts, sums, low, high, flags, swaps)
    assert np.array_equal(counts, np.bincount(x, minlength=16))
    assert sums.tolist() == [x.sum(), -x.sum()]
    assert (low[0], high[0]) == (x.min(), x.max())
    assert flags[0] == np.bitwise_or.reduce(1 << x)
    assert flags[2] == np.bitwise_xor.reduce(1 << x)
    assert swaps[0] == 7 and swaps[1] == x[0] and swaps[2] == 200 % 10


@cuda.jit
def warp(x, out):
    i = cuda.threadIdx.x
    full = 0xFFFFFFFF
    out[0, i] = cuda.shfl_sync(full, x[i], 3)
    out[1, i] = cuda.shfl_up_sync(full, x[i], 2)
    out[2, i] = cuda.shfl_down_sync(full, x[i], 5)
    out[3, i] = cuda.shfl_xor_sync(full, x[i], 9)
    out[4, i] = cuda.ballot_sync(full, x[i] > 8)
    out[5, i] = cuda.any_sync(full, x[i] == 100) + 2 * cuda.all_sync(full, x[i] >= 0)
    out[6, i] = cuda.match_any_sync(full, x[i] % 4)
    out[7, i] = cuda.activemask()
    out[8, i] = cuda.lanemask_lt()
    out[9, i] = cuda.popc(x[i]) + 100 * cuda.clz(x[i]) + 10000 * cuda.ffs(x[i])
    out[10, i] = cuda.brev(x[i])
    out[11, i] = cuda.laneid
    cuda.syncwarp()


def test_warp_intrinsics(rng):
    x = rng.permutation(32).astype(np.int32)
    out = np.zeros((12, 32), np.int64)
    warp[1, 32](x, out)
    lane = np.arange(32)
    ballot = sum(1 << int(i) for i in lane[x > 8])
    assert (out[0] == x[3]).all()
    assert np.array_equal(out[1], np.where(lane >= 2, x[lane - 2], x))
    assert np.array_equal(out[2], np.where(lane < 27, x[(lane + 5) % 32], x))
    assert np.array_equal(out[3], x[lane ^ 9])
    assert (out[4] & 0xFFFFFFFF == ballot).all()
    assert (out[5] == 2).all()
    for i in lane:
        same = sum(1 << int(j) for j in lane[x % 4 == x[i] % 4])
        assert out[6, i] & 0xFFFFFFFF == same
        bits = f"{x[i]:032b}"
        ffs = 32 - bits.rfind("1") if x[i] else 0
        clz = bits.find("1") if x[i] else 32
        assert out[9, i] == bits.count("1") + 100 * clz + 10000 * ffs
        assert out[10, i] & 0xFFFFFFFF == int(bits[::-1], 2)
    assert (out[7] & 0xFFFFFFFF == 0xFFFFFFFF).all()
    assert np.array_equal(out[8], (1 << lane) - 1)
    assert np.array_equal(out[11], lane)


@cuda.jit
def halves(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] + b[i]
        out[1, i] = cuda.fp16.hfma(a[i], b[i], float16(0.5))
        out[2, i] = cuda.fp16.hsqrt(cuda.fp16.habs(a[i]))
        out[3, i] = cuda.fp16.hmax(a[i], b[i])
        out[4, i] = cuda.fp16.hdiv(a[i], b[i])
        out[5, i] = 1 if a[i] < b[i] else 0
        out[6, i] = cuda.fp16.hexp2(b[i])


def test_float16(rng):
    a, b = rng.uniform(0.1, 4, (2, 37)).astype(np.float16)
    out = np.zeros((7, 37), np.float16)
    halves[2, 32](a, b, out)
    wide = a.astype(np.float64), b.astype(np.float64)
    close(out[0], wide[0] + wide[1], rtol=1e-3)
    close(out[1], wide[0] * wide[1] + 0.5, rtol=1e-3)
    close(out[2], np.sqrt(wide[0]), rtol=1e-3)
    assert np.array_equal(out[3], np.maximum(a, b))
    close(out[4], wide[0] / wide[1], rtol=1e-3)
    assert np.array_equal(out[5], a < b)
    close(out[6], 2 ** wide[1], rtol=2e-3)


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        out[0, i] = math.sin(v)
        out[1, i] = math.exp(v)
        out[2, i] = math.log(v)
        out[3, i] = math.pow(v, 1.5)
        out[4, i] = math.erf(v)
        out[5, i] = math.atan2(v, 2.0)
        out[6, i] = math.tanh(v)
        out[7, i] = math.floor(v) + math.ceil(v)
        out[8, i] = math.lgamma(v)
        out[9, i] = math.sqrt(v) + math.hypot(v, 1.0)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 3e-6), (np.float64, 1e-14)])
def test_functions_of_libdevice(rng, dtype, rtol):
    x = rng.uniform(0.1, 6, 70).astype(dtype)
    out = np.zeros((10, 70), dtype)
    functions[3, 32](x, out)
    w = x.astype(np.float64)
    names = (
        np.sin(w), np.exp(w), np.log(w), w**1.5, [math.erf(v) for v in w], np.arctan2(w, 2),
        np.tanh(w), np.floor(w) + np.ceil(w), [math.lgamma(v) for v in w],
        np.sqrt(w) + np.hypot(w, 1),
    )  # fmt: skip
    for row, wanted in zip(out, names, strict=True):
        close(row, wanted, rtol=rtol, atol=rtol)


@cuda.jit(fastmath=True)
def fast(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.sin(x[i]) / math.sqrt(x[i])


def test_fastmath(rng):
    x = rng.uniform(0.1, 3, 33).astype(np.float32)
    out = np.zeros_like(x)
    fast[2, 32](x, out)
    close(out, np.sin(x.astype(np.float64)) / np.sqrt(x), rtol=1e-4, atol=1e-5)
    assert "sin.approx" in next(iter(fast.inspect_asm().values()))


@pytest.mark.skipif(not VIRTUAL, reason="a GPU prints when it likes, past Python's sys.stdout")
def test_print(capsys):
    @cuda.jit
    def speak(x):
        i = cuda.threadIdx.x
        print("thread", i, "has", x[i])

    speak[1, 3](np.array([1.5, -2.0, 8.0]))
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "thread 0 has 1.500000", "thread 1 has -2.000000", "thread 2 has 8.000000",
    ]  # fmt: skip
    assert printed.err == ""


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit("float32(float32, float32)", device=True)
def hypotenuse(a, b):
    return math.sqrt(square(a) + square(b))


def scaled(factor):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = factor * hypotenuse(a[i], b[i])

    return kernel


def test_device_functions_and_closures(rng):
    a, b = rng.standard_normal((2, 30)).astype(np.float32)
    for factor in (1, 3):
        out = np.zeros(30, np.float32)
        scaled(factor)[1, 32](a, b, out)
        close(out, factor * np.hypot(a.astype(np.float64), b), rtol=2e-6)


@cuda.jit("void(float32[:], float32[:])")
def explicit(a, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * a[i]


@cuda.jit([(int64[::1], int64), (float64[::1], float64)])
def several(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b


def test_explicit_signatures(rng):
    a, out = rng.standard_normal(40).astype(np.float32), np.zeros(40, np.float32)
    explicit[2, 32](a, out)
    close(out, 2 * a)
    for dtype in (np.int64, np.float64):
        values = np.arange(10).astype(dtype)
        several[1, 16](values, dtype(3))
        assert np.array_equal(values, np.arange(10) + 3)
    assert len(several.signatures) == 2


@cuda.jit
def diffuse(a, steps):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(steps):
        left = a[i - 1] if i > 0 else a[a.size - 1]
        grid.sync()
        a[i] += left
        grid.sync()


@pytest.mark.parametrize("blocks", [1, 3, 100])
def test_grid_sync(blocks):
    a = np.arange(32 * blocks, dtype=np.int64)
    wanted = a.copy()
    for _ in range(3):
        wanted = wanted + np.roll(wanted, 1)
    diffuse[blocks, 32](a, 3)
    assert np.array_equal(a, wanted)


@pytest.mark.skipif(not VIRTUAL, reason="the error is numba's")
def test_a_grid_that_does_not_fit_cannot_wait_for_itself():
    kernel = next(iter(diffuse.overloads.values()), None) or diffuse.compile((int64[::1], int64))
    most = kernel.max_cooperative_grid_blocks(1024)
    assert most in (132, 264)  # one or two blocks a multiprocessor, by the registers
    message = rf"diffuse .* The grid has {most + 1}, .* holds {most} "
    with pytest.raises(gpu.LaunchError, match=message):
        diffuse[most + 1, 1024](np.zeros(1024 * (most + 1), np.int64), 1)


def test_random_numbers():
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

    @cuda.jit
    def throw(states, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            for k in range(out.shape[1]):
                out[i, k] = xoroshiro128p_uniform_float32(states, i)

    def reference(seed, count):
        """xoroshiro128+ seeded by splitmix64, as its authors publish it."""
        mask = 2**64 - 1
        z = (seed + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        s0 = s1 = z ^ (z >> 31)
        for _ in range(count):
            total = (s0 + s1) & mask
            s1 ^= s0
            s0 = (((s0 << 55) | (s0 >> 9)) & mask) ^ s1 ^ ((s1 << 14) & mask)
            s1 = ((s1 << 36) | (s1 >> 28)) & mask
            yield np.float32((total >> 11) * 2.0**-53)

    out = np.zeros((50, 20), np.float32)
    throw[1, 64](create_xoroshiro128p_states(50, seed=11), out)
    assert out[0].tolist() == list(reference(11, 20))
    assert len(np.unique(out)) > 990 and abs(out.mean() - 0.5) < 0.05


def test_reduce(rng):
    total = cuda.reduce(lambda a, b: a + b)
    x = rng.integers(-50, 50, 5000).astype(np.int64)
    assert total(x) == x.sum()
    assert total(x, init=3) == x.sum() + 3


def test_vectorize_and_guvectorize(rng):
    from numba import guvectorize, vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def blend(a, b):
        return a + 2 * b

    a, b = rng.standard_normal((2, 7, 9)).astype(np.float32)
    close(blend(a, b), a + 2 * b)

    @guvectorize([(float32[:, :], float32[:])], "(m,n)->(m)", target="cuda")
    def row_sums(a, out):
        for i in range(a.shape[0]):
            out[i] = 0
            for j in range(a.shape[1]):
                out[i] += a[i, j]

    x = rng.standard_normal((5, 4, 6)).astype(np.float32)
    close(row_sums(x), x.sum(-1))


def test_forall(rng):
    a, b = rng.standard_normal((2, 333)).astype(np.float32)
    out = np.zeros(333, np.float32)
    add.forall(333)(a, b, out)
    close(out, a + b)


@cuda.jit
def complex_numbers(z, out):
    i = cuda.grid(1)
    if i < z.size:
        out[i] = z[i] * z[i].conjugate() + complex64(1j) * z[i]


def test_complex_numbers(rng):
    z = (rng.standard_normal(20) + 1j * rng.standard_normal(20)).astype(np.complex64)
    out = np.zeros_like(z)
    complex_numbers[1, 32](z, out)
    close(out, z * z.conj() + 1j * z)


def test_cuda_source_can_be_linked(rng):
    source = 'extern "C" __device__ int triple(float* out, float x) { *out = 3 * x; return 0; }'
    triple = cuda.declare_device("triple", "float32(float32)", link=cuda.CUSource(source))

    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = triple(a[i])

    a = rng.standard_normal(10).astype(np.float32)
    wanted = 3 * a
    kernel[1, 32](a)
    close(a, wanted)


def test_device_arrays_can_be_globals(rng):
    table = cuda.to_device(rng.integers(0, 9, 16).astype(np.int32))

    @cuda.jit
    def look_up(out):
        i = cuda.grid(1)
        out[i] = table[15 - i]

    out = np.zeros(16, np.int32)
    look_up[1, 16](out)
    assert np.array_equal(out, table.copy_to_host()[::-1])


@cuda.jit
def fill(a, value):
    x, y, z = cuda.grid(3)
    if x < a.shape[0] and y < a.shape[1] and z < a.shape[2]:
        gx, gy, _ = cuda.gridsize(3)
        a[x, y, z] = value + x + gx * (y + gy * z)


def test_three_dimensions():
    a = np.zeros((5, 6, 7), np.int32)
    fill[(2, 2, 4), (3, 4, 2)](a, int32(10))
    x, y, z = np.indices(a.shape)
    assert np.array_equal(a, 10 + x + 6 * (y + 8 * z))
