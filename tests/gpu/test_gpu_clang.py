"""clang in NVRTC's place: what it compiles runs right on the virtual GPU, and errors read alike."""

import importlib.util
import math
import re
from pathlib import Path

import numpy as np
import pytest

from course import gpu, vgpu
from course.gpu import clang, compiler
from course.gpu.virtual_device import VirtualDevice

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None,
    reason="clang is not installed (on macOS it always is; elsewhere: pip install ziglang)",
)


@pytest.fixture(autouse=True)
def clang_compiles(monkeypatch):
    monkeypatch.setenv("COURSE_COMPILER", "clang")
    with gpu.use(VirtualDevice(vgpu.Options(races=True))):
        yield


# --- the functions of <math.h> ------------------------------------------------------------------

#: Largest error in ulp of double, from NVIDIA's table, and between which numbers to look.
ONE = {
    "exp": (1, (-745, 709)),
    "exp2": (1, (-1070, 1023)),
    "exp10": (1, (-320, 308)),
    "expm1": (1, (-30, 700), (-0.7, 0.7)),
    "log": (1, (1e-300, 1e300), (0.5, 2)),
    "log2": (1, (1e-300, 1e300), (0.5, 2)),
    "log10": (1, (1e-300, 1e300), (0.5, 2)),
    "log1p": (1, (-0.999, 2), (1e-9, 1e200)),
    "sin": (2, (-4, 4), (1, 1e300)),
    "cos": (2, (-4, 4), (1, 1e300)),
    "tan": (2, (-4, 4), (1, 1e300)),
    "sinpi": (2, (-4, 4), (-1e6, 1e6)),
    "cospi": (2, (-4, 4), (-1e6, 1e6)),
    "asin": (2, (-1, 1), (1e-9, 0.1)),
    "acos": (2, (-1, 1), (0.9, 1)),
    "atan": (2, (-3, 3), (1e-30, 1e30)),
    "sinh": (2, (-3, 3), (-710, 710)),
    "cosh": (2, (-3, 3), (-710, 710)),
    "tanh": (2, (-3, 3), (1e-9, 1)),
    "asinh": (3, (-3, 3), (1e-9, 1e300)),
    "acosh": (3, (1, 3), (1, 1e300)),
    "atanh": (2, (-1, 1), (1e-9, 0.1)),
    "erf": (2, (-6, 6), (1e-9, 1)),
    "erfc": (5, (-3, 9), (9, 26)),
    "cbrt": (1, (-9, 9), (1e-300, 1e300)),
    "rsqrt": (2, (0.5, 4), (1e-300, 1e300)),
    "sqrt": (0.5, (0.5, 4), (1e-300, 1e300)),
}
TWO = {"pow": 1, "atan2": 2, "hypot": 1.5, "fmod": 0, "remainder": 0}
#: In float: everything is a double that is rounded, but for these.
OF_FLOAT = {"exp": 1, "exp2": 2, "rsqrt": 2}


def points(rng, low, high, size=150):
    """Draw from a range: by magnitude where it spans many, else evenly."""
    if low > 0 and high / low > 1e3:
        return np.exp(rng.uniform(np.log(low), np.log(high), size))
    return rng.uniform(low, high, size)


def exact(name, *values):
    import mpmath

    named = {
        "exp2": lambda x: mpmath.power(2, x),
        "exp10": lambda x: mpmath.power(10, x),
        "log2": lambda x: mpmath.log(x, 2),
        "log10": lambda x: mpmath.log(x, 10),
        "rsqrt": lambda x: 1 / mpmath.sqrt(x),
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "pow": lambda x, y: mpmath.sign(x) ** int(y) * mpmath.power(abs(x), y),
        "fmod": lambda x, y: mpmath.sign(x) * (abs(x) - abs(y) * mpmath.floor(abs(x / y))),
        "remainder": lambda x, y: x - y * mpmath.nint(x / y),
    }
    return named.get(name, getattr(mpmath, name, None))(*values)


def errors(name, got, *inputs):
    """Return the largest error in units in the last place of the result's type."""
    import mpmath

    info = np.finfo(got.dtype)
    worst = 0.0
    with mpmath.workprec(1200 if name in ("fmod", "remainder") else 300):
        if name in ("sin", "cos", "tan"):
            mpmath.mp.prec = 1200
        for value, *given in zip(got, *inputs, strict=True):
            wanted = exact(name, *(mpmath.mpf(float(x)) for x in given))
            if abs(wanted) > float(info.max):
                assert np.isinf(value), given
                continue
            assert np.isfinite(value), given
            exponent = mpmath.frexp(wanted)[1] - 1 if wanted else -2000
            ulp = mpmath.ldexp(1, max(exponent, int(info.minexp)) - info.nmant)
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - wanted) / ulp))
    return worst


def math_kernels(names, arguments):
    lines = []
    for name in names:
        for letter, kind in (("d", "double"), ("f", "float")):
            function = name + ("f" if kind == "float" else "")
            given = ", ".join(f"const {kind}* {a}" for a in arguments)
            call = ", ".join(f"{a}[i]" for a in arguments)
            lines.append(f"__global__ void {letter}_{name}({given}, {kind}* out, int n) {{")
            lines.append("  int i = blockIdx.x * blockDim.x + threadIdx.x;")
            lines.append(f"  if (i < n) out[i] = {function}({call});\n}}")
    return "\n".join(lines)


def run_math(module, letter, name, *inputs):
    out = np.full_like(inputs[0], np.nan)
    module[f"{letter}_{name}"][-(-len(out) // 64), 64](*inputs, out, len(out))
    return out


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name):
    bound, *ranges = ONE[name]
    rng = np.random.default_rng(5)
    module = gpu.compile(math_kernels([name], "x"))
    x = np.concatenate([points(rng, *r) for r in ranges])
    assert errors(name, run_math(module, "d", name, x), x) <= bound
    small = x[(np.abs(x) < 3e38) & (np.abs(x) > 1e-37)].astype(np.float32)
    small = small[np.abs(small) < 1] if name == "atanh" else small
    assert errors(name, run_math(module, "f", name, small), small) <= OF_FLOAT.get(name, 0.501)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name):
    rng = np.random.default_rng(6)
    module = gpu.compile(math_kernels([name], "xy"))
    x = rng.standard_normal(300) * np.exp(rng.uniform(-40, 40, 300))
    y = rng.standard_normal(300) * np.exp(rng.uniform(-40, 40, 300))
    if name == "pow":
        x = np.concatenate([np.exp(rng.uniform(-80, 80, 200)), -np.exp(rng.uniform(-2, 2, 100))])
        y = np.concatenate([rng.uniform(-9, 9, 200), rng.integers(-20, 20, 100)])
    assert errors(name, run_math(module, "d", name, x, y), x, y) <= TWO[name]
    x, y = x.astype(np.float32), y.astype(np.float32)
    assert errors(name, run_math(module, "f", name, x, y), x, y) <= min(0.501, TWO[name])


SPECIAL = [
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    2,
    -2,
    3,
    -3,
    1e-310,
    1e308,
    -1e308,
    np.inf,
    -np.inf,
    np.nan,
]


def test_zeros_infinities_and_what_is_no_number():
    of_numpy = {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
    known = [n for n in ONE if hasattr(np, of_numpy.get(n, n)) and n not in ("sin", "cos", "tan")]
    module = gpu.compile(math_kernels([*known, "erf", "erfc", "sin", "cos", "tan"], "x"))
    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        for name in known:
            wanted = getattr(np, of_numpy.get(name, name))(x)
            np.testing.assert_allclose(run_math(module, "d", name, x), wanted, 1e-14, err_msg=name)
            got = run_math(module, "f", name, x.astype(np.float32))
            wanted = getattr(np, of_numpy.get(name, name))(x.astype(np.float32))
            np.testing.assert_allclose(got, wanted, 2e-6, err_msg=name)
        odd = ("expm1", "log1p", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "sqrt")
        for name in (*odd, "erf", "sin", "tan"):
            zeros = run_math(module, "d", name, np.array([0.0, -0.0]))
            assert np.signbit(zeros).tolist() == [False, True], name
    for name in ("erf", "erfc"):
        wanted = [getattr(math, name)(v) for v in SPECIAL]
        np.testing.assert_allclose(run_math(module, "d", name, x), wanted, 1e-14, err_msg=name)
    for name in ("sin", "cos", "tan"):
        assert np.isnan(run_math(module, "d", name, np.array([np.inf, -np.inf, np.nan]))).all()


def test_zeros_and_infinities_in_pairs():
    of_numpy = {"atan2": "arctan2", "pow": "power", "remainder": None}
    module = gpu.compile(math_kernels(TWO, "xy"))
    x, y = (v.ravel().copy() for v in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        for name in TWO:
            if wanted := getattr(np, of_numpy.get(name, name) or "", None):
                wanted = wanted(x, y)
            else:
                wanted = np.array([ieee_remainder(*pair) for pair in zip(x, y, strict=True)])
            got = run_math(module, "d", name, x, y)
            np.testing.assert_allclose(got, wanted, 1e-14, err_msg=name)
            defined = ~np.isnan(wanted)
            signs = np.signbit(got) == np.signbit(wanted)
            assert signs[defined].all(), (name, x[defined & ~signs], y[defined & ~signs])


def ieee_remainder(x, y):
    try:
        return math.remainder(x, y)
    except ValueError:
        return np.nan


def test_parts_of_numbers():
    module = gpu.compile("""
        __global__ void k(const double* x, double* out, int* e) {
            int i = threadIdx.x;
            double whole;
            out[8 * i] = frexp(x[i], &e[4 * i]);
            out[8 * i + 1] = modf(x[i], &whole);
            out[8 * i + 2] = whole;
            out[8 * i + 3] = ldexp(x[i], -3);
            out[8 * i + 4] = nextafter(x[i], 7.0);
            out[8 * i + 5] = round(x[i]);
            out[8 * i + 6] = rint(x[i]);
            out[8 * i + 7] = copysign(floor(x[i]) + ceil(x[i]) + trunc(x[i]), -1.0);
            e[4 * i + 1] = isnan(x[i]) | isinf(x[i]) << 1 | isfinite(x[i]) << 2;
            e[4 * i + 1] |= signbit(x[i]) << 3;
            e[4 * i + 2] = ilogb(x[i] == 0 ? 1 : x[i]);
            e[4 * i + 3] = lrint(x[i] > 1e9 ? 5 : x[i]);
        }
    """)
    x = np.array([1.5, -2.5, 0.0, 1e-310, -1e-320, 6.999999999999999, 1e300, 0.49999999999999994])
    out, e = np.full((8, 8), np.nan), np.zeros((8, 4), np.int32)
    module["k"][1, 8](x, out, e)
    mantissa, exponent = np.frexp(x)
    fraction, whole = np.modf(x)
    away = np.copysign(np.floor(np.abs(x)) + (np.abs(x) - np.floor(np.abs(x)) >= 0.5), x)
    columns = [mantissa, fraction, whole, np.ldexp(x, -3), np.nextafter(x, 7), away, np.rint(x)]
    columns.append(-np.abs(np.floor(x) + np.ceil(x) + np.trunc(x)))
    np.testing.assert_array_equal(out, np.transpose(columns))
    np.testing.assert_array_equal(e[:, 0], exponent)
    np.testing.assert_array_equal(e[:, 1], 4 | np.signbit(x) << 3)
    np.testing.assert_array_equal(e[:, 2], np.frexp(np.where(x == 0, 1, x))[1] - 1)
    np.testing.assert_array_equal(e[:, 3], np.rint(np.where(x > 1e9, 5, x)))


def test_fast_functions():
    module = gpu.compile("""
        __global__ void k(const float* x, float* out) {
            int i = threadIdx.x;
            float v[] = {__expf(x[i]), __logf(x[i]), __sinf(x[i]), __cosf(x[i]), __powf(x[i], 1.5f),
                         __fdividef(x[i], 3), rsqrtf(x[i]), __saturatef(x[i] - 1), __log10f(x[i])};
            for (int j = 0; j < 9; j++) out[9 * i + j] = v[j];
        }
    """)
    x = np.random.default_rng(7).uniform(0.1, 3, 32).astype(np.float32)
    out = np.full((32, 9), np.nan, np.float32)
    module["k"][1, 32](x, out)
    w = x.astype(float)
    wanted = [np.exp(w), np.log(w), np.sin(w), np.cos(w), w**1.5, w / 3, w**-0.5]
    wanted += [np.clip(w - 1, 0, 1), np.log10(w)]
    np.testing.assert_allclose(out, np.transpose(wanted), 1e-5, 2e-6)


# --- integers, bits, conversions ----------------------------------------------------------------


def test_bits():
    module = gpu.compile("""
        __global__ void k(const unsigned* x, unsigned* out, unsigned long long* wide) {
            int i = threadIdx.x;
            unsigned a = x[i], b = x[i + 1], n = x[i + 2];
            unsigned v[] = {__popc(a), __clz(a), __ffs(a), __brev(a), __umulhi(a, b),
                            __funnelshift_l(a, b, n), __funnelshift_r(a, b, n),
                            __funnelshift_lc(a, b, n & 63), __byte_perm(a, b, 0x6420),
                            __usad(a, b, n), (unsigned)__mulhi(a, b), __umul24(a, b),
                            (unsigned)__dp4a((int)a, (int)b, (int)n), min(a, b),
                            max((int)a, (int)b),
                            __float_as_uint(__uint_as_float(a & 0x7fffffffu))};
            for (int j = 0; j < 16; j++) out[16 * i + j] = v[j];
            unsigned long long both = (unsigned long long)a << 32 | b;
            wide[4 * i] = __popcll(both) + 100 * __clzll(both) + 10000 * __ffsll(both);
            wide[4 * i + 1] = __brevll(both);
            wide[4 * i + 2] = __umul64hi(both, both);
            wide[4 * i + 3] = __double_as_longlong(__longlong_as_double(both >> 2));
        }
    """)
    x = np.random.default_rng(8).integers(0, 2**32, 34, np.uint32)
    x[:3] = 0, 2**31, 1
    out, wide = np.zeros((32, 16), np.uint32), np.zeros((32, 4), np.uint64)
    module["k"][1, 32](x, out, wide)
    for i in range(32):
        assert out[i].tolist() == [v % 2**32 for v in of_bits(*map(int, x[i : i + 3]))]
        both = int(x[i]) << 32 | int(x[i + 1])
        text = f"{both:064b}"
        last = text[::-1].find("1") + 1
        counts = text.count("1") + 100 * (64 - both.bit_length()) + 10000 * last
        assert wide[i].tolist() == [counts, int(text[::-1], 2), both * both >> 64, both >> 2]


def of_bits(a, b, n):
    def signed(v, bits=32):
        return v - (v >> (bits - 1) << bits)

    def bytes_of(v):
        return [v >> 8 * k & 255 for k in range(4)]

    both, text = b << 32 | a, f"{a:032b}"
    chosen = bytes_of(a) + bytes_of(b)
    dot = sum(signed(p, 8) * signed(q, 8) for p, q in zip(bytes_of(a), bytes_of(b), strict=True))
    return [
        text.count("1"), 32 - a.bit_length(), text[::-1].find("1") + 1, int(text[::-1], 2),
        a * b >> 32, (both << (n & 31)) >> 32, both >> (n & 31),
        (both << min(n & 63, 32)) >> 32, sum(chosen[2 * k] << 8 * k for k in range(4)),
        abs(a - b) + n, signed(a) * signed(b) >> 32, (a & 0xFFFFFF) * (b & 0xFFFFFF), dot + n,
        min(a, b), max(signed(a), signed(b)), a & 0x7FFFFFFF,
    ]  # fmt: skip


def test_conversions_say_how_they_round():
    module = gpu.compile("""
        __global__ void k(const float* x, int* out, float* sums) {
            float v = x[threadIdx.x];
            int* o = out + 4 * threadIdx.x;
            o[0] = __float2int_rn(v); o[1] = __float2int_rz(v);
            o[2] = __float2int_rd(v); o[3] = __float2int_ru(v);
            sums[2 * threadIdx.x] = __fadd_rd(v, 1e-9f);
            sums[2 * threadIdx.x + 1] = __fadd_ru(v, 1e-9f);
        }
    """)
    x = np.array([1.5, 2.5, -1.5, -0.25, 7.75, -3, 0.5, 1e6], np.float32)
    out, sums = np.zeros((8, 4), np.int32), np.full((8, 2), np.nan, np.float32)
    module["k"][1, 8](x, out, sums)
    np.testing.assert_array_equal(out.T, [np.rint(x), np.trunc(x), np.floor(x), np.ceil(x)])
    assert (sums[:, 0] == x).all() and (sums[:, 1] > x).all()


# --- what threads do together -------------------------------------------------------------------


def test_what_a_warp_knows():
    module = gpu.compile("""
        __global__ void k(const int* x, int* out, double* wide) {
            int t = threadIdx.x, v = x[t], all;
            int r[] = {__shfl_sync(~0u, v, t + 5), __shfl_up_sync(~0u, v, 3),
                       __shfl_down_sync(~0u, v, 2, 8), __shfl_xor_sync(~0u, v, 16),
                       (int)__ballot_sync(~0u, v > 0), __any_sync(~0u, v > 90),
                       __all_sync(~0u, v > -90), (int)__match_any_sync(~0u, v & 3),
                       __reduce_add_sync(~0u, v), __reduce_max_sync(~0u, v),
                       (int)__reduce_xor_sync(~0u, (unsigned)v), (int)__activemask(),
                       (int)__match_all_sync(~0u, 7, &all)};
            for (int j = 0; j < 13; j++) out[13 * t + j] = r[j];
            wide[t] = __shfl_down_sync(~0u, 0.1 * v, 1);
        }
    """)
    x = np.random.default_rng(9).integers(-99, 99, 32).astype(np.int32)
    out, wide = np.zeros((32, 13), np.int32), np.full(32, np.nan)
    module["k"][1, 32](x, out, wide)
    lane = np.arange(32)
    bits = lambda mask: np.uint32(sum(1 << k for k in range(32) if mask[k])).view(np.int32)  # noqa: E731
    np.testing.assert_array_equal(out[:, 0], x[(lane + 5) % 32])
    np.testing.assert_array_equal(out[:, 1], x[np.where(lane < 3, lane, lane - 3)])
    np.testing.assert_array_equal(out[:, 2], x[np.where(lane % 8 > 5, lane, lane + 2)])
    np.testing.assert_array_equal(out[:, 3], x[lane ^ 16])
    assert (out[:, 4] == bits(x > 0)).all() and (out[:, 5] == (x > 90).any()).all()
    assert (out[:, 6] == (x > -90).all()).all()
    assert out[:, 7].tolist() == [bits((x & 3) == (v & 3)) for v in x]
    assert (out[:, 8] == x.sum()).all() and (out[:, 9] == x.max()).all()
    assert (out[:, 10] == np.bitwise_xor.reduce(x)).all()
    assert (out[:, 11] == -1).all() and (out[:, 12] == -1).all()
    np.testing.assert_array_equal(wide, (0.1 * x)[np.minimum(lane + 1, 31)])


def test_a_variable_that_one_lane_sets_may_be_shuffled():
    """To clang the others' undefined value would be a licence to run the atomic in every lane."""
    module = gpu.compile("""
        __global__ void k(const int* x, int* y, int* count, int n) {
            int i = threadIdx.x;
            if (i < n && x[i] > 0) {
                unsigned there = __activemask();
                int leader = __ffs(there) - 1, lane = i & 31, base;
                if (lane == leader) base = atomicAdd(count, __popc(there));
                base = __shfl_sync(there, base, leader);
                y[base + __popc(there & ((1u << lane) - 1))] = x[i];
            }
        }
    """)
    x = np.random.default_rng(10).integers(-9, 9, 90).astype(np.int32)
    y, count = np.full(90, -1, np.int32), np.zeros(1, np.int32)
    module["k"][1, 96](x, y, count, 90)
    assert count[0] == (x > 0).sum() and module.warnings == ()
    assert sorted(y[: count[0]]) == sorted(x[x > 0])


def test_atomics():
    module = gpu.compile("""
        __global__ void k(int* i, unsigned* u, float* f, double* d, unsigned long long* l) {
            extern __shared__ int counts[];
            __shared__ unsigned ring;
            int t = threadIdx.x;
            if (t < 4) counts[t] = 0;
            if (t == 0) ring = 0;
            __syncthreads();
            atomicAdd(&counts[t % 4], t);
            atomicInc(&ring, 6);
            atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMin(&i[2], -t); atomicMax(&i[3], t);
            atomicAnd(&u[0], ~(1u << t)); atomicOr(&u[1], 1u << t); atomicXor(&u[2], 3u << t);
            atomicAdd(f, 0.5f * t); atomicAdd(d, 0.25 * t); atomicAdd(l, 1ull << 40);
            atomicAdd_block(&i[4], t); atomicMax_system(&u[3], (unsigned)t);
            unsigned seen, old = u[4];
            do seen = old; while ((old = atomicCAS(&u[4], seen, seen + 2)) != seen);
            __syncthreads();
            if (t < 4) i[5 + t] = atomicExch(&counts[t], 0);
            if (t == 0) u[5] = ring;
        }
    """)
    i, u = np.zeros(9, np.int32), np.array([2**32 - 1, 0, 0, 0, 0, 0], np.uint32)
    f, d, wide = np.zeros(1, np.float32), np.zeros(1), np.zeros(1, np.uint64)
    with gpu.use(VirtualDevice()):
        module["k"][1, 32, 16](i, u, f, d, wide)
    quarters = [sum(range(k, 32, 4)) for k in range(4)]
    assert i.tolist() == [496, -496, -31, 31, 496, *quarters]
    xor = int(np.bitwise_xor.reduce([3 << t & 0xFFFFFFFF for t in range(32)]))
    assert u.tolist() == [0, 2**32 - 1, xor, 31, 64, 32 % 7]
    assert (f[0], d[0], wide[0]) == (248, 124, 32 << 40)


def test_blocks_and_their_barriers():
    module = gpu.compile("""
        __global__ void __launch_bounds__(64) k(int* out, dim3 given) {
            int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
            int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
            int r = __syncthreads_count(t % 3 == 0) + 100 * __syncthreads_and(t < 99)
                  + 1000 * (__syncthreads_or(t == 5) != 0);
            out[b * 24 + t] = r + given.z;
        }
        template <int N> __global__ void none() {}
    """)
    out = np.zeros(12 * 24, np.int32)
    module["k"][(2, 3, 2), (4, 3, 2)](out, np.array([1, 1, 7], np.uint32).view("u4,u4,u4")[0])
    assert (out == 8 + 1000 + 7 + 100 * (out[0] // 100 % 10)).all() and out[0] // 100 % 10
    with pytest.raises(gpu.LaunchError, match="64"):
        module["k"][1, 96](out, np.array([1, 1, 7], np.uint32).view("u4,u4,u4")[0])
    module["none<3>"][1, 32]()


def test_vectors_travel_in_one_access():
    module = gpu.compile("""
        __constant__ float4 shift = {1, 2, 3, 4};
        __global__ void k(const float4* x, float4* y, int2 at) {
            float4 v = x[threadIdx.x];
            v.x += shift.w;
            y[threadIdx.x + at.y] = v;
            if (threadIdx.x == 0) y[0] = make_float4(at.x, 0, 0, 0);
        }
        __global__ void copy(const double2* x, double2* y) { y[0] = __ldg(&x[threadIdx.x]); }
    """)
    assert len(re.findall(r"ld\.global(?:\.nc)?\.v4", module.ptx())) == 1
    assert "ld.global.v2.b64" in module.ptx() and "st.global.v2.b64" in module.ptx()
    x = np.random.default_rng(3).standard_normal((8, 4)).astype(np.float32)
    y = np.full((9, 4), np.nan, np.float32)
    module["k"][1, 8](x, y, np.array([5, 1], np.int32).view("i4,i4")[0])
    np.testing.assert_array_equal(y[1:], x + np.float32([4, 0, 0, 0]))
    np.testing.assert_array_equal(y[0], [5, 0, 0, 0])


def test_printf_and_assert(capsys):
    module = gpu.compile("""
        #include <cassert>
        __global__ void k(int n, float x) {
            printf("%d of %d: %g %s\\n", threadIdx.x, n, x, "so");
            assert(n > threadIdx.x);
        }
    """)
    module["k"][1, 2](2, 0.5)
    assert capsys.readouterr().out == "0 of 2: 0.5 so\n1 of 2: 0.5 so\n"
    with pytest.raises(gpu.KernelFault, match="line 5: "):
        module["k"][1, 3](2, 0.5)


# --- numbers of 16 bits -------------------------------------------------------------------------


def test_halves_are_those_of_numpy():
    module = gpu.compile("""
        #include <cuda_fp16.h>
        __global__ void k(const half* x, half* out, float* wide) {
            int t = threadIdx.x;
            half a = x[t], b = x[t + 1];
            half v[] = {a + b, a - b, a * b, a / b, __hfma(a, b, a), -a, __habs(a), __hmax(a, b),
                        hexp(b), hsqrt(__habs(a)), half(3), __float2half(0.1f)};
            for (int j = 0; j < 12; j++) out[12 * t + j] = v[j];
            half2 p = __halves2half2(a, b), q = __hadd2(__hmul2(p, p), __half2half2(b));
            wide[3 * t] = __low2float(q); wide[3 * t + 1] = __high2float(q);
            wide[3 * t + 2] = a < b ? __half2float(__shfl_xor_sync(~0u, a, 0)) : -1.0f;
        }
    """, options=["-fmad=false"])  # fmt: skip
    x = np.random.default_rng(4).standard_normal(33).astype(np.float16)
    out, wide = np.full((32, 12), np.nan, np.float16), np.full((32, 3), np.nan, np.float32)
    module["k"][1, 32](x, out, wide)
    a, b = x[:-1], x[1:]
    fused = (a.astype(float) * b + a).astype(np.float16)
    exact = [a + b, a - b, a * b, a / b, fused, -a, np.abs(a), np.maximum(a, b)]
    np.testing.assert_array_equal(out[:, :8], np.transpose(exact))
    np.testing.assert_allclose(out[:, 8], np.exp(b.astype(float)), 1e-3)
    np.testing.assert_array_equal(out[:, 9], np.sqrt(np.abs(a)))
    np.testing.assert_array_equal(out[:, 10:], np.tile(np.float16([3, 0.1]), (32, 1)))
    np.testing.assert_array_equal(wide[:, 0], a * a + b)
    np.testing.assert_array_equal(wide[:, 1], b * b + b)


def test_bfloats_are_those_of_torch():
    torch = pytest.importorskip("torch")
    module = gpu.compile("""
        #include <cuda_bf16.h>
        __global__ void k(const __nv_bfloat16* x, __nv_bfloat16* out, float* total) {
            int t = threadIdx.x;
            __nv_bfloat16 a = x[t], b = x[t + 1];
            out[3 * t] = a + b; out[3 * t + 1] = a * b; out[3 * t + 2] = __hfma(a, b, a);
            __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
            atomicAdd(total, __bfloat162float(pair.x));
        }
    """)
    x = torch.randn(33, generator=torch.Generator().manual_seed(2)).bfloat16()
    out, total = torch.full((32, 3), torch.nan).bfloat16(), np.zeros(1, np.float32)
    module["k"][1, 32](x, out, total)
    a, b = x[:-1], x[1:]
    fused = (a.double() * b.double() + a.double()).bfloat16()
    assert torch.equal(out, torch.stack([a + b, a * b, fused], dim=1))
    np.testing.assert_allclose(total[0], a.double().sum().item(), 1e-5)


# --- compiling ----------------------------------------------------------------------------------

KERNELS = """\
template <typename T, int N> __global__ void scale(T* x, T a, int n) { x[n] = a * N; }
namespace ml { __global__ void gelu(float* x) { x[0] = 2; } }
namespace { __global__ void hidden(float* x) { x[0] = 3; } }
static __global__ void local(float* x) { x[0] = 4; }
extern "C" __global__ void c_name(const int64_t* n, uint8_t b) {}
__global__ void fill(int* x) { x[0] = 1; }
__global__ void fill(float* x, int n) { x[n] = 1; }
"""


def test_kernels_and_their_parameters_are_found():
    module = gpu.compile(KERNELS)
    names = {"ml::gelu", "hidden", "local", "c_name", "fill(int*)", "fill(float*, int)"}
    assert set(module) == names
    kernel = module["scale<float, 4>"]
    assert kernel.entry == "_Z5scaleIfLi4EEvPT_S0_i" and set(module) == names
    assert [p.type.text for p in kernel.parameters] == ["float*", "float", "int"]
    assert [p.type.text for p in module["c_name"].parameters] == [
        "const long long*",
        "unsigned char",
    ]
    assert "nv_mangled_name" not in module.ptx()
    with pytest.raises(gpu.NoKernel, match='identifier "wrong" is undefined'):
        module["scale<wrong, 1>"]
    with pytest.raises(gpu.NoKernel, match="no kernel scale<float>"):
        module["scale<float>"]
    x = np.zeros(2, np.float32)
    kernel[1, 1](x, 2.5, 1)
    assert x[1] == 10


def test_explicit_instantiations_need_no_asking():
    module = gpu.compile("""
        template <int N> __global__ void power(float* x) { x[0] *= N; }
        template __global__ void power<3>(float*);
        template void __global__ power<5>(float*);
    """)
    assert list(module) == ["power<3>", "power<5>"]


def test_memory_may_be_read_as_another_type():
    module = gpu.compile("""
        __global__ void k(float* x, int* y) {
            int t = threadIdx.x;
            y[t] = 7;
            x[t] = 2.0f;  // the same bytes
            y[t + 32] = y[t];
        }
    """)
    bytes_ = np.zeros(64, np.int32)
    module["k"][1, 32](bytes_.view(np.float32), bytes_)
    assert (bytes_[32:] == np.float32(2).view(np.int32)).all()


def test_what_nobody_has_written_is_found():
    module = gpu.compile("""
        __global__ void k(int* x) { __shared__ int s[32]; x[threadIdx.x] = s[31 - threadIdx.x]; }
    """)
    with pytest.raises(gpu.KernelFault, match="which nobody has written"):
        module["k"][1, 32](np.zeros(32, np.int32))


def test_options():
    source = "__global__ void f(float* x) { x[0] = expf(x[1]) / SIZE + sqrtf(x[2]) * x[3]; }"
    exact = gpu.compile(source, options=["-DSIZE=x[4]"]).ptx()
    assert "sqrt.rn.f32" in exact and "div.rn.f32" in exact and "fma.rn.f32" in exact
    fast = gpu.compile(source, options=["-DSIZE=x[4]", "-use_fast_math"]).ptx()
    assert "sqrt.approx.ftz.f32" in fast and "div.approx.ftz.f32" in fast
    assert len(fast) < len(exact)
    apart = gpu.compile("__global__ void f(float* x) { x[0] = x[1] * x[2] + x[3]; }",
                        options=["--fmad=false"]).ptx()  # fmt: skip
    assert "mul.rn.f32" in apart or "mul.f32" in apart
    with pytest.raises(gpu.CompileError, match="unrecognized option --bogus"):
        gpu.compile(source, options=["--bogus"])


def test_headers_beside_the_source_and_on_the_path(tmp_path):
    folder = tmp_path / "größe mit leer"
    (folder / "inc").mkdir(parents=True)
    (folder / "near.cuh").write_text("#define A 2\n", "utf-8")
    (folder / "inc" / "far.cuh").write_text("#define B 3\n", "utf-8")
    file = folder / "kernel.cu"
    text = '#include "near.cuh"\n#include <far.cuh>\nstatic_assert(A + B == 5);\n' + KERNELS
    file.write_text(text, "utf-8")
    module = gpu.compile(file, options=[f"-I{folder / 'inc'}"])
    assert '"kernel.cu"' in module.ptx() and str(tmp_path) not in module.ptx()
    file.write_text(text + "__global__ void g(int* x) { x[0] = STOP; }", "utf-8")
    with pytest.raises(gpu.CompileError, match=r'^kernel\.cu, line 11: identifier "STOP" is undef'):
        gpu.compile(file, options=[f"-I{folder / 'inc'}"])


def test_host_headers():
    gpu.compile("""
        #include <cmath>
        #include <cstdint>
        #include <cstddef>
        #include <cfloat>
        #include <climits>
        #include <limits>
        #include <type_traits>
        #include <cuda.h>
        struct Pair { char first; double second; };
        static_assert(offsetof(Pair, second) == 8 && sizeof(CUtensorMap) == 128);
        static_assert(std::is_same_v<std::remove_cvref_t<const int&>, int>);
        static_assert(std::numeric_limits<float>::max() == FLT_MAX && INT_MAX == 2147483647);
        static_assert(std::numeric_limits<unsigned char>::max() == 255);
        __global__ void f(float* x, const __grid_constant__ CUtensorMap map) {
            x[0] = std::sqrt(x[1]) + std::abs(x[2]) + std::fmax(x[3], x[4]) + std::isnan(x[5]);
            x[1] = float(M_PI) + NAN + map.opaque[3];
        }
    """)


def test_the_source_line_of_a_fault_and_of_its_caller():
    module = gpu.compile("""\
__device__ void put(int* x, int i) {
    atomicAdd(&x[i], 1);
}
__global__ void f(int* x) {
    put(x, threadIdx.x);
}""")
    assert re.search(r"\.loc\s+1 2 \d+, function_name \S+, inlined_at 1 5 \d+", module.ptx())
    with pytest.raises(gpu.KernelFault) as error:
        module["f"][1, 8](np.zeros(7, np.int32))
    assert "line 2: atomicAdd(&x[i], 1);" in str(error.value)
    assert "line 5" in str(error.value)
    assert error.value.fault.place.line == 2


def test_the_ptx_does_not_depend_on_the_folder(tmp_path, monkeypatch):
    here = gpu.compile(KERNELS).ptx()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    assert gpu.compile(KERNELS).ptx() == here


def test_the_second_time_nothing_is_compiled(monkeypatch):
    calls = []
    compile_ = clang.to_ptx
    monkeypatch.setattr(clang, "to_ptx", lambda *a: calls.append(1) or compile_(*a))
    source = KERNELS + "// of the cache's test"
    first = gpu.compile(source)["scale<float, 3>"].module.ptx()
    made = len(calls)
    assert gpu.compile(source)["scale<float, 3>"].module.ptx() == first and len(calls) == made > 0


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100a"])
def test_architectures(arch):
    assert f".target {arch}" in gpu.compile(KERNELS, arch=arch).ptx()


def test_what_needs_the_assembler_says_so():
    module = gpu.compile(KERNELS)
    for ask in (module.cubin, module.sass, module.resources):
        with pytest.raises(gpu.NoCompiler, match="only NVIDIA's assembler"):
            ask()
    with pytest.raises(gpu.CompileError, match=r"that clang \d+\S* compiles for"):
        gpu.compile(KERNELS, arch="sm_10")


def test_the_compiler_is_chosen(monkeypatch):
    assert gpu.compiler_problem() is None and compiler.name().startswith("clang ")
    monkeypatch.setenv("COURSE_COMPILER", "gcc")
    assert "COURSE_COMPILER is 'gcc': it may be nvrtc or clang" in gpu.compiler_problem()
    monkeypatch.delenv("COURSE_COMPILER")
    monkeypatch.setattr("sys.platform", "darwin")
    assert compiler.uses_clang()
    monkeypatch.setattr("sys.platform", "linux")
    assert not compiler.uses_clang()


def test_a_missing_clang_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    clang.program.cache_clear()
    clang.version.cache_clear()
    try:
        assert "pip install ziglang" in gpu.compiler_problem()
    finally:
        monkeypatch.undo()
        clang.program.cache_clear()


def test_registers_in_asm_need_one_percent_sign_as_with_nvrtc():
    module = gpu.compile("""
        __device__ int lane() { int l; asm volatile("mov.u32 %0, %laneid;" : "=r"(l)); return l; }
        __global__ void k(int* x) {
            int warp;
            asm("{ .reg .u32 a; mov.u32 a, %%warpid;"
                "  add.u32 %0, a, 1; }" : "=r"(warp));
            x[threadIdx.x] = 100 * warp + lane();
        }
    """)
    x = np.zeros(64, np.int32)
    module["k"][1, 64](x)
    assert x.tolist() == [100 + t for t in range(32)] + [200 + t for t in range(32)]


# --- messages -----------------------------------------------------------------------------------


def message(source):
    with pytest.raises(gpu.CompileError) as error:
        gpu.compile(source)
    return str(error.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("int i = 0\n  x[i] = 1;", 'cell.cu, line 2: expected a ";" at end of declaration'),
        ("x[0] = unknown;", 'cell.cu, line 2: identifier "unknown" is undefined\n    2 |   x[0]'),
        ("flaot y = 1;", "Did you mean `float`?"),
        ("} _global_ void other() {", "Did you mean `__global__`, with two underscores"),
        ("__syncthread();", "Did you mean `__syncthreads`?"),
        ("x[threadidx.x] = 1;", "Did you mean `threadIdx`?"),
        ("atomicadd(x, 1.0f);", "Did you mean `atomicAdd`?"),
        ("float total_sum = 0; x[0] = totl_sum;", "Did you mean `total_sum`?"),
        ("half h = 1;", "It needs #include <cuda_fp16.h>."),
        ("x[0] = FLT_MAX;", "It needs #include <cfloat>."),
        ("std::vector<int> v;", "Kernels cannot allocate"),
        ("x[0] = std::max(x[1], x[2]);", "In a kernel write max(...) without std::."),
        ("x[0] = std::sqrt(x[1]);", "#include <cmath>"),
        ('std::cout << "hello";', "launch with kernel[grid, block](...)"),
        ("f<<<1, 1>>>(x);", "launch with kernel[grid, block](...)"),
        ("float4 v = make_float3(1, 2, 3);", 'no viable conversion from "float3" to "float4"'),
        ("x[0] = host(1);", "`host` is a host function: nothing in front of it says __device__"),
        ("x[0] = table[1];", "this is a host variable"),
    ],
)
def test_messages(body, said):
    before = "float table[3]; int host(int i) { return i; } "
    text = message(f"{before}__global__ void f(float* x) {{\n  {body}\n}}")
    assert said in text
    assert "error:" not in text and "[-W" not in text


@pytest.mark.parametrize(
    ("include", "hint"),
    [
        ("<vector>", "the C++ standard library is host code"),
        ("<mma.h>", "It is NVIDIA's, and not here"),
        ("<cuda/barrier>", "It is NVIDIA's, and not here"),
        ('"missing.cuh"', "Looked beside the source"),
    ],
)
def test_headers_that_are_not_there(include, hint):
    text = message(f"#include {include}\n" + KERNELS)
    assert text.startswith("cell.cu, line 1: cannot open source file") and hint in text


def test_only_the_first_errors_with_their_carets():
    lines = "".join(f"  x[0] = unknown{i};\n" for i in range(9))
    text = message("__global__ void f(int* x) {\n" + lines + "}")
    assert text.count("is undefined") == 3
    assert text.endswith("(6 more errors, often a consequence of the first.)")
    assert text.splitlines()[1:3] == ["    2 |   x[0] = unknown0;", "      |          ^"]


def test_an_unclosed_brace_points_at_where_it_opened():
    text = message("__global__ void f(float* x) {\n  if (x[0] > 1) { x[1] = 2;\n}\n")
    assert text.startswith('cell.cu, line 1: expected a "}" to match this "{"')


def test_the_caller_of_a_template_is_named():
    text = message(
        "template <class T> __device__ T g(T x) {\n  return x.size;\n}\n"
        "__global__ void f(float* x) { x[0] = g(x[1]); }"
    )
    assert text.startswith("cell.cu, line 2: ")
    assert text.endswith('detected during instantiation of "g<float>" at line 4')


def test_a_cluster_is_refused():
    text = message("__global__ void __cluster_dims__(2, 1, 1) k(int* a) { a[0] = 7; }")
    assert "compiles no thread block clusters" in text


def test_warnings():
    module = gpu.compile("__global__ void f(int* x) {\n  int unused;\n  x[0] = 1;\n}")
    assert module.warnings == (
        'cell.cu, line 2: variable "unused" was declared but never referenced',
    )


# --- every kernel of the repository -------------------------------------------------------------


def test_the_kernels_of_the_virtual_gpu_run_alike():
    """Those of tests/vgpu/kernels, watched for races, with the comparisons that are made there."""
    folder = Path(__file__).parents[1] / "vgpu"
    path = folder / "test_kernels.py"
    spec = importlib.util.spec_from_file_location("kernels_of_the_virtual_gpu", path)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    assert len(cases.CASES) > 30
    for name, case in cases.CASES.items():
        module = gpu.compile(folder / "kernels" / f"{name}.cu")
        with gpu.use(VirtualDevice(vgpu.Options(counters=True, races=True, schedule="reverse"))):
            case(module, np.random.default_rng(3))
