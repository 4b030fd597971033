"""``.approx`` instructions keep the bounds that the PTX manual states, over their whole range.

The inputs are dense: all fractions that f32 tells apart near 1 for 2**x, and hundreds of thousands
of numbers for each other function. The reference is computed in f64.
"""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu, vgpu
from course.gpu.virtual_device import VirtualDevice

N = 1 << 18
SMALLEST = 2.0**-149


def run(instruction, *inputs):
    """Apply a PTX instruction to f32 arrays of equal size."""
    names = "abc"[: len(inputs)]
    parameters = ", ".join(f"const float* {name}" for name in names)
    operands = ", ".join(f"%{n + 1}" for n in range(len(inputs)))
    values = ", ".join(f'"f"({name}[i])' for name in names)
    source = f"""__global__ void k({parameters}, float* d, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) asm("{instruction} %0, {operands};" : "=f"(d[i]) : {values});
}}"""
    result = np.full(inputs[0].size, np.nan, np.float32)
    with gpu.use(VirtualDevice(vgpu.Options())):
        gpu.compile(source)["k"][-(-result.size // 256), 256](*inputs, result, result.size)
    return result


def ulps(got, wanted):
    """Return the error in units of the last place of the exact result."""
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.abs(wanted))
        unit = np.maximum(2.0 ** (exponent - 24.0), SMALLEST)
        return np.abs(got.astype(float) - wanted) / unit


def some(low, high):
    """Return floats of all sizes from `low` to `high`, which have one sign."""
    bits = np.sort(np.array([low, high], np.float32).view(np.int32))
    drawn = np.random.default_rng(0).integers(bits[0], bits[1], N, dtype=np.int64, endpoint=True)
    return drawn.astype(np.int32).view(np.float32)


def test_powers_of_two_are_within_two_ulps():
    whole = np.random.default_rng(1).integers(-126, 127, 1 << 23)
    fractions = np.arange(-(1 << 22), 1 << 22) / 2.0**23
    for x in (fractions, whole + fractions, -some(2**-30, 150), some(2**-30, 127.99)):
        x = x.astype(np.float32)
        error = ulps(run("ex2.approx.f32", x), np.exp2(x.astype(float)))
        assert error.max() < 1, (x[error.argmax()], error.max())
    x = np.array([0, -0.0, 128, np.inf, -np.inf, -150.5, 3, -149, -140.3], np.float32)
    got = run("ex2.approx.f32", x)
    wanted = np.array([1, 1, np.inf, np.inf, 0, 0, 8, SMALLEST, 2.0**-140.3])
    np.testing.assert_array_equal(got, wanted.astype(np.float32))
    assert np.isnan(run("ex2.approx.f32", np.array([np.nan], np.float32)))
    np.testing.assert_array_equal(run("ex2.approx.ftz.f32", x)[-2:], 0)


@pytest.mark.parametrize(
    ("instruction", "reference", "low", "high", "bound"),
    [
        ("rcp.approx.f32", lambda x: 1 / x, 2**-126, 2**126, 1),
        ("sqrt.approx.f32", np.sqrt, 2**-149, 3e38, 1),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 2**-149, 3e38, 2),
    ],
)
def test_functions_within_ulps(instruction, reference, low, high, bound):
    x = some(low, high)
    assert ulps(run(instruction, x), reference(x.astype(float))).max() <= bound


@pytest.mark.parametrize(
    ("instruction", "reference", "low", "high", "bound"),
    [
        ("sin.approx.f32", np.sin, 2**-30, np.pi, 2**-20.5),
        ("sin.approx.f32", np.sin, -np.pi, -(2**-30), 2**-20.5),
        ("cos.approx.f32", np.cos, 2**-30, np.pi, 2**-20.5),
        ("lg2.approx.f32", np.log2, 0.5, 2, 2**-22),
    ],
)
def test_functions_within_a_distance(instruction, reference, low, high, bound):
    x = some(low, high)
    assert np.abs(run(instruction, x) - reference(x.astype(float))).max() <= bound


@pytest.mark.parametrize(
    ("instruction", "reference", "low", "high", "bound"),
    [
        ("tanh.approx.f32", np.tanh, 2**-20, 20, 2**-10.987),
        ("tanh.approx.f32", np.tanh, -20, -(2**-20), 2**-10.987),
        ("lg2.approx.f32", np.log2, 2, 3e38, 2**-22),
        ("lg2.approx.f32", np.log2, 2**-149, 0.5, 2**-22),
    ],
)
def test_functions_within_a_share_of_the_result(instruction, reference, low, high, bound):
    x = some(low, high)
    wanted = reference(x.astype(float))
    error = np.abs(run(instruction, x) - wanted)
    assert (error <= bound * np.abs(wanted)).all()


@pytest.mark.parametrize("instruction", ["div.full.f32", "div.approx.f32"])
def test_quotients_are_within_two_ulps(instruction):
    a, b = some(2**-60, 2**60), some(2**-60, 2**60)
    b = np.random.default_rng(4).permutation(b)
    assert ulps(run(instruction, a, b), a.astype(float) / b).max() <= 2
