"""Floating-point arithmetic: f16, bf16, their packed pairs, f32 and f64, in every rounding mode.

f16 and bf16 compute in a wider type and are rounded once: a product of two is exact in f32, a sum
of two rounds there so finely that rounding again does no harm, and a fused product and sum goes by
way of f64, rounded to odd where f64 does not hold it.
"""

import struct
from collections.abc import Callable

from ..emit import BITS, Val, float_constant, literal, mangled
from ..lowering import Lowering
from ..ptx import Instruction, Operand
from ..records import LANES
from ..table import opcode
from ..undefined import cut, moved, united

#: Packed pairs and the type of their halves.
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
_FLOATS = {"f16", "bf16", "f32", "f64", *PAIRS}
#: LLVM's numbers of the rounding modes (llvm.set.rounding).
ROUNDING = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
_NEAREST = 1
_CODES = {"half": "e", "float": "f", "double": "d"}
_SMALLEST_NORMAL = {"half": 0x0400, "float": 0x00800000, "double": 0x0010_0000_0000_0000}
_EXPONENT = {"half": 0x7C00, "float": 0x7F800000, "double": 0x7FF0_0000_0000_0000}


def is_float(kind: str) -> bool:
    """Say whether PTX type `kind` is a floating-point type."""
    return kind in _FLOATS


def constant(kind: str, value: float) -> Val:
    """Return a number as a uniform value of LLVM type `kind`."""
    bits = int.from_bytes(struct.pack("<" + _CODES[kind], value), "little")
    return Val("u", kind, float_constant(bits, BITS[kind]))


def sign_bit(kind: str) -> Val:
    """Return the integer of LLVM type `kind` in which only the top bit is set."""
    return literal(kind, -(1 << (BITS[kind] - 1)))


def rounding(i: Instruction) -> str:
    """Return the rounding mode of an instruction; nearest-even is the default."""
    return next((m for m in i.mods if m in ROUNDING), "rn")


def plain(value: Val) -> Val:
    """Return a value that was computed from definedness already accounted for."""
    return value._replace(poison=None)


# --- widening and narrowing


def widen(e: Lowering, value: Val, kind: str) -> Val:
    """Return 16 bits of PTX type `kind` (f16 or bf16) as f32, exactly."""
    if kind == "f16":
        return e.map("fpext {T} {0} to {O}", e.retype(value, "half"), out="float")
    wide = e.map("shl {T} {0}, {1}", e.widen_plain(value, "i32"), literal("i32", 16), out="i32")
    return e.retype(wide, "float")


def narrow(e: Lowering, value: Val, kind: str) -> Val:
    """Round f32 or f64 to nearest-even f16 or bf16, as its 16 bits."""
    if value.type == "double":
        value = to_odd(e, value)
    if kind == "f16":
        return e.retype(e.map("fptrunc {T} {0} to {O}", value, out="half"), "i16")
    bits = e.retype(value, "i32")
    high = e.map("lshr {T} {0}, {1}", bits, literal("i32", 16), out="i32")
    odd = e.map("and {T} {0}, {1}", high, literal("i32", 1), out="i32")
    half = e.map("add {T} {0}, {1}", odd, literal("i32", 0x7FFF), out="i32")
    total = e.map("add {T} {0}, {1}", bits, half, out="i32")
    high = e.map("lshr {T} {0}, {1}", total, literal("i32", 16), out="i32")
    nan = e.compare("fcmp uno {T} {0}, {1}", value, value)
    return plain(e.select(nan, literal("i16", 0x7FFF), e.narrow(high, "i16")))


def to_odd(e: Lowering, value: Val) -> Val:
    """Round f64 to f32 to odd: a second rounding to fewer bits is then the right one."""
    single = e.map("fptrunc {T} {0} to {O}", value, out="float")
    back = e.map("fpext {T} {0} to {O}", single, out="double")
    bits = e.retype(single, "i32")
    larger = e.compare(
        "fcmp ogt {T} {0}, {1}",
        e.call("llvm.fabs", back, out="double"),
        e.call("llvm.fabs", value, out="double"),
    )
    down = e.map("sub {T} {0}, {1}", bits, literal("i32", 1), out="i32")
    toward_zero = plain(e.select(larger, down, bits))
    odd = e.map("or {T} {0}, {1}", toward_zero, literal("i32", 1), out="i32")
    inexact = e.compare("fcmp one {T} {0}, {1}", back, value)
    return e.retype(plain(e.select(inexact, odd, bits)), "float")


def add_to_odd(e: Lowering, a: Val, b: Val) -> Val:
    """Add in f64, rounded to odd: what the sum loses shows in its last bit."""
    total = e.map("fadd {T} {0}, {1}", a, b, out="double")
    # Knuth's two-sum: the exact error of the rounded sum
    part = e.map("fsub {T} {0}, {1}", total, a, out="double")
    rest = e.map("fsub {T} {0}, {1}", total, part, out="double")
    lost = e.map(
        "fadd {T} {0}, {1}",
        e.map("fsub {T} {0}, {1}", a, rest, out="double"),
        e.map("fsub {T} {0}, {1}", b, part, out="double"),
        out="double",
    )
    bits = e.retype(total, "i64")
    # rounded up in size if what was lost points back to zero: then the lower neighbour
    zero = constant("double", 0.0)
    sign = e.call("llvm.copysign", constant("double", 1.0), total, out="double")
    size = e.map("fmul {T} {0}, {1}", lost, sign, out="double")
    larger = e.compare("fcmp olt {T} {0}, {1}", size, zero)
    down = e.map("sub {T} {0}, {1}", bits, literal("i64", 1), out="i64")
    odd = e.map(
        "or {T} {0}, {1}", plain(e.select(larger, down, bits)), literal("i64", 1), out="i64"
    )
    inexact = e.compare("fcmp one {T} {0}, {1}", lost, zero)
    return e.retype(plain(e.select(inexact, odd, bits)), "double")


# --- rounding, flushing, saturating


def rounded(e: Lowering, name: str, *values: Val, mode: str = "rn", out: str | None = None) -> Val:
    """Compute ``fadd``, ``fsub``, ``fmul``, ``fdiv``, ``sqrt``, ``fma``, a conversion in `mode`."""
    out = out or values[0].type
    if mode == "rn":
        if name in ("sqrt", "fma"):
            return e.call("llvm." + name, *values, out=out)
        if name in ("fptrunc", "sitofp", "uitofp"):
            return e.map(name + " {T} {0} to {O}", *values, out=out)
        return e.map(name + " {T} {0}, {1}", *values, out=out)
    e.declared["@llvm.set.rounding"] = "declare void @llvm.set.rounding(i32)"
    e.emit(f"call void @llvm.set.rounding(i32 {ROUNDING[mode]})")
    mangle = (out, values[0].type) if out != values[0].type else (out,)
    result = _constrained(e, name, values, out, mangle)
    e.emit(f"call void @llvm.set.rounding(i32 {_NEAREST})")
    return result


def _constrained(
    e: Lowering, name: str, values: tuple[Val, ...], out: str, mangle: tuple[str, ...]
) -> Val:
    """Call LLVM's constrained form of an operation: it is not moved across a change of mode."""
    suffix = "".join(f".v{LANES}{mangled(t)}" for t in mangle)
    full = f"@llvm.experimental.constrained.{name}{suffix}"
    shapes = [f"<{LANES} x {v.type}>" for v in values]
    texts = [f"{s} {e.vector(v)}" for s, v in zip(shapes, values, strict=True)]
    tail = ', metadata !"round.dynamic", metadata !"fpexcept.strict"'
    kinds = ", ".join([*shapes, "metadata", "metadata"])
    e.declared[full] = f"declare <{LANES} x {out}> {full}({kinds})"
    text = e.fresh(f"call <{LANES} x {out}> {full}({', '.join(texts)}{tail})")
    return Val("v", out, text)


def flush(e: Lowering, value: Val, small: Val | None = None) -> Val:
    """Replace subnormal numbers, or where `small` says so, by zero of the same sign (``.ftz``)."""
    kind = f"i{BITS[value.type]}"
    bits = e.retype(value, kind)
    if small is None:
        exponent = e.map("and {T} {0}, {1}", bits, literal(kind, _EXPONENT[value.type]), out=kind)
        small = e.compare("icmp eq {T} {0}, {1}", exponent, literal(kind, 0))
    sign = e.map("and {T} {0}, {1}", bits, sign_bit(kind), out=kind)
    return e.retype(plain(e.select(small, sign, bits)), value.type)


def below(e: Lowering, value: Val, least: float) -> Val:
    """Say whether the size of `value` is less than `least`."""
    size = e.call("llvm.fabs", value, out=value.type)
    return e.compare("fcmp olt {T} {0}, {1}", size, constant(value.type, least))


# A result is flushed if it is less than the smallest normal number when rounded as if there were
# no smallest exponent. So these, whose results may need rounding down there, are computed a second
# time with a result 2**64 times as large.
_SCALES = {"mul": (64, 0), "div": (64, 0), "rcp": (-64,)} | dict.fromkeys(
    ("fma", "mad"), (64, 0, 64)
)
LEAST_SCALED = 2.0 ** (64 - 126)


def tiny(e: Lowering, i: Instruction, compute: Callable[..., Val], values: tuple[Val, ...]) -> Val:
    """Say whether ``compute(*values)``, an f32, is flushed."""
    pairs = zip(values, _SCALES[i.opcode], strict=True)
    larger = [scaled(e, v, power) if power else v for v, power in pairs]
    return below(e, compute(*larger), LEAST_SCALED)


def scaled(e: Lowering, value: Val, power: int) -> Val:
    """Return ``value * 2**power``."""
    return e.map("fmul {T} {0}, {1}", value, constant(value.type, 2.0**power), out=value.type)


def saturate(e: Lowering, value: Val) -> Val:
    """Clamp to [0, 1]; NaN becomes 0 (``.sat``)."""
    low = e.call("llvm.maximumnum", value, constant(value.type, 0.0), out=value.type)
    return e.call("llvm.minimumnum", low, constant(value.type, 1.0), out=value.type)


def rectify(e: Lowering, value: Val) -> Val:
    """Clamp to [0, inf); NaN stays (``.relu``)."""
    positive = e.call("llvm.maximumnum", value, constant(value.type, 0.0), out=value.type)
    nan = e.compare("fcmp uno {T} {0}, {1}", value, value)
    return plain(e.select(nan, value, positive))


def limit(e: Lowering, i: Instruction, value: Val) -> Val:
    """Apply ``.sat`` or ``.relu``. Both commute with rounding: 0 and 1 are numbers of all types."""
    if "sat" in i.mods:
        return saturate(e, value)
    return rectify(e, value) if "relu" in i.mods else value


def operand(e: Lowering, i: Instruction, which: Operand, kind: str) -> Val:
    """Return a scalar operand, flushed if the instruction says ``.ftz``; bf16 comes as f32."""
    value = e.source(which, kind)
    if kind == "bf16":
        return widen(e, value, kind)
    return flush(e, value) if "ftz" in i.mods else value


def parts(e: Lowering, i: Instruction, which: Operand, kind: str) -> list[Val]:
    """Return an operand as the values to compute with: one, or two of a pair; halves as f32."""
    if kind in ("f32", "f64"):
        return [operand(e, i, which, kind)]
    single = PAIRS.get(kind, kind)
    pieces = halves(e, e.source(which, "b32")) if kind in PAIRS else (e.source(which, "b16"),)
    if "ftz" in i.mods and single == "f16":
        pieces = [flush(e, e.retype(p, "half")) for p in pieces]
    return [widen(e, p, single) for p in pieces]


def finish(
    e: Lowering, i: Instruction, compute: Callable[..., Val], values: tuple[Val, ...], kind: str
) -> Val:
    """Return ``compute(*values)``, rounded to its type, with ``.ftz``, ``.sat`` and ``.relu``."""
    single, value = PAIRS.get(kind, kind), compute(*values)
    flushes = "ftz" in i.mods
    if single in ("f32", "f64"):
        if flushes:
            value = flush(e, value, tiny(e, i, compute, values) if i.opcode in _SCALES else None)
        return limit(e, i, value)
    value = limit(e, i, value)
    if not flushes:
        return narrow(e, value, single)
    if single == "bf16":  # its exponents are those of f32
        return narrow(e, flush(e, value), single)
    # what lies nearer to 2**-14 than to the number below it does not count as small
    half = e.retype(narrow(e, value, single), "half")
    return e.retype(flush(e, half, below(e, value, 2.0**-14 * (1 - 2.0**-12))), "i16")


def lanewise(e: Lowering, i: Instruction, compute: Callable[..., Val], count: int) -> None:
    """Write ``compute(a, b, ...)`` of the first `count` sources, half by half for packed types."""
    kind = i.mods[-1]
    sources = [parts(e, i, o, kind) for o in i.operands[1 : 1 + count]]
    results = [finish(e, i, compute, values, kind) for values in zip(*sources, strict=True)]
    if kind not in PAIRS:
        return e.write(i.operands[0], plain(results[0]))
    halves_ = ((e.lanes(cut(e.poison, half)), half) for half in (0xFFFF, 0xFFFF0000))
    poison = tuple((mask, half) for mask, half in halves_ if mask != "0")
    return e.write(i.operands[0], join(e, *results)._replace(poison=poison))


def halves(e: Lowering, value: Val) -> tuple[Val, Val]:
    """Return the low and high 16 bits of a 32-bit value."""
    high = e.map("lshr {T} {0}, {1}", value, literal("i32", 16), out="i32")
    high = high._replace(poison=moved(value.poison, -16))
    return e.narrow(value, "i16"), e.narrow(high, "i16")


def join(e: Lowering, low: Val, high: Val) -> Val:
    """Return two values of equal width as one of twice the width."""
    width = BITS[low.type]
    kind = f"i{2 * width}"
    wide = e.map("shl {T} {0}, {1}", e.widen_plain(high, kind), literal(kind, width), out=kind)
    both = e.map("or {T} {0}, {1}", wide, e.widen_plain(low, kind), out=kind)
    if low.poison is None or high.poison is None:
        return both
    return both._replace(poison=united((low.poison, moved(high.poison, width))))


# --- arithmetic

_NAMES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def binary(e: Lowering, i: Instruction) -> None:
    """``add``, ``sub``, ``mul`` and ``div``."""
    lanewise(e, i, lambda a, b: rounded(e, _NAMES[i.opcode], a, b, mode=rounding(i)), 2)


@opcode(
    "fma",
    ".(rn|rz|rm|rp)[.ftz][.sat].f32",
    ".(rn|rz|rm|rp).f64",
    ".rn[.ftz][.sat|.relu].(f16|f16x2)",
    ".rn[.relu].(bf16|bf16x2)",
    operands=4,
)
def fused(e: Lowering, i: Instruction) -> None:
    """``fma.rnd.type d, a, b, c``."""
    kind = i.mods[-1]

    def compute(a: Val, b: Val, c: Val) -> Val:
        if kind in ("f32", "f64"):
            return rounded(e, "fma", a, b, c, mode=rounding(i))
        wide = [e.map("fpext {T} {0} to {O}", v, out="double") for v in (a, b, c)]
        product = e.map("fmul {T} {0}, {1}", *wide[:2], out="double")
        if "bf16" in kind:
            return add_to_odd(e, product, wide[2])
        return e.map("fadd {T} {0}, {1}", product, wide[2], out="double")

    lanewise(e, i, compute, 3)


def sign(e: Lowering, i: Instruction) -> None:
    """``abs`` and ``neg``: only the sign bit changes."""
    kind = i.mods[-1]
    bits = {"f16x2": 32, "bf16x2": 32, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}[kind]
    word = f"i{bits}"
    value = e.source(i.operands[1], f"b{bits}")
    if "ftz" in i.mods:
        pieces = halves(e, value) if kind in PAIRS else (value,)
        real = "float" if kind == "f32" else "half"
        pieces = [e.retype(flush(e, e.retype(p, real)), p.type) for p in pieces]
        value = join(e, *pieces) if kind in PAIRS else pieces[0]
    top = 0x80008000 if kind in PAIRS else 1 << (bits - 1)
    name, mask = ("xor", top) if i.opcode == "neg" else ("and", ~top)
    mask = (mask + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    result = e.map(name + " {T} {0}, {1}", value, literal(word, mask), out=word)
    e.write(i.operands[0], result)


def extreme(e: Lowering, i: Instruction) -> None:
    """``min`` and ``max``: a number beats NaN (``.NaN``: NaN wins), -0 is less than +0."""
    name = f"llvm.{i.opcode}imum{'' if 'NaN' in i.mods else 'num'}"
    three = len(i.operands) == 4
    e.need(not three or (i.mods[-1] == "f32" and "xorsign" not in i.mods), "three operands here")
    e.need(three or "abs" not in i.mods or "xorsign" in i.mods, ".abs with two operands")

    def compute(*values: Val) -> Val:
        sizes = values
        if "abs" in i.mods:
            sizes = tuple(e.call("llvm.fabs", v, out=v.type) for v in values)
        result = sizes[0]
        for value in sizes[1:]:
            result = e.call(name, result, value, out=value.type)
        return _xor_sign(e, result, *values[:2]) if "xorsign" in i.mods else result

    lanewise(e, i, compute, len(i.operands) - 1)


def _xor_sign(e: Lowering, size: Val, a: Val, b: Val) -> Val:
    """Return `size` (which is not negative) with the product's sign of a and b."""
    kind = f"i{BITS[size.type]}"
    flips = e.map("xor {T} {0}, {1}", e.retype(a, kind), e.retype(b, kind), out=kind)
    flips = e.map("and {T} {0}, {1}", flips, sign_bit(kind), out=kind)
    signed = e.map("or {T} {0}, {1}", e.retype(size, kind), flips, out=kind)
    return e.retype(signed, size.type)


# --- functions

_ROUNDED = (".(rn|rz|rm|rp)[.ftz].f32", ".(rn|rz|rm|rp).f64", ".approx[.ftz].f32")


@opcode("rcp", *_ROUNDED, ".approx.ftz.f64", operands=2)
@opcode("sqrt", *_ROUNDED, operands=2)
def exact_or_not(e: Lowering, i: Instruction) -> None:
    """``rcp`` and ``sqrt``: the ``.approx`` forms are as exact as the others here."""
    if i.mods == ("approx", "ftz", "f64"):
        return _rough(e, i)
    mode = rounding(i)

    def compute(a: Val) -> Val:
        if i.opcode == "rcp":
            return rounded(e, "fdiv", constant(a.type, 1.0), a, mode=mode)
        return rounded(e, "sqrt", a, mode=mode)

    return lanewise(e, i, compute, 1)


@opcode("rsqrt", ".approx[.ftz].(f32|f64)", operands=2)
@opcode("lg2", ".approx[.ftz].f32", operands=2)
@opcode("sin", ".approx[.ftz].f32", operands=2)
@opcode("cos", ".approx[.ftz].f32", operands=2)
@opcode("tanh", ".approx.(f32|f16|f16x2|bf16|bf16x2)", operands=2)
def approximate(e: Lowering, i: Instruction) -> None:
    """Functions that hardware approximates: computed in f64 and rounded, so closer to the truth.

    README.md lists hardware's bounds.
    """
    if i.mods == ("approx", "ftz", "f64"):
        return _rough(e, i)

    def compute(a: Val) -> Val:
        if a.type == "double":
            return _wide_function(e, i.opcode, a)
        wide = _wide_function(e, i.opcode, e.map("fpext {T} {0} to {O}", a, out="double"))
        # f32 holds enough digits more than f16 and bf16: to round twice stays far within the bounds
        return e.map("fptrunc {T} {0} to {O}", wide, out="float")

    return lanewise(e, i, compute, 1)


def _wide_function(e: Lowering, name: str, a: Val) -> Val:
    if name in ("rcp", "rsqrt"):
        under = a if name == "rcp" else e.call("llvm.sqrt", a, out="double")
        return e.map("fdiv {T} {0}, {1}", constant("double", 1.0), under, out="double")
    return e.call("llvm." + {"lg2": "log2"}.get(name, name), a, out="double")


def _rough(e: Lowering, i: Instruction) -> None:
    """``rcp.approx.ftz.f64`` and ``rsqrt``: only the upper 32 bits of operand and result count."""

    def upper(value: Val) -> Val:
        bits = e.retype(value, "i64")
        kept = e.map("and {T} {0}, {1}", bits, literal("i64", -(1 << 32)), out="i64")
        return flush(e, e.retype(kept, "double"))

    a = upper(e.source(i.operands[1], "f64"))
    e.write(i.operands[0], upper(_wide_function(e, i.opcode, a)))


@opcode("ex2", ".approx[.ftz].f32", ".approx.(f16|f16x2)", ".approx.ftz.(bf16|bf16x2)", operands=2)
def power_of_two(e: Lowering, i: Instruction) -> None:
    """``ex2.approx.type d, a``: 2**a."""
    lanewise(e, i, lambda a: exp2_single(e, a), 1)


def exp2_single(e: Lowering, x: Val) -> Val:
    """Return 2**x in f32 for f32 x, within 1 ulp: 2**n times a polynomial in the fraction."""
    low = e.call("llvm.maximumnum", x, constant("float", -160.0), out="float")
    clamped = e.call("llvm.minimumnum", low, constant("float", 130.0), out="float")
    whole = e.call("llvm.roundeven", clamped, out="float")
    f = e.map("fsub {T} {0}, {1}", clamped, whole, out="float")
    # (2**f - 1) / f at six Chebyshev nodes: |f| <= 1/2 leaves an error below 2**-28
    poly = constant("float", 1.5453162945718252e-04)
    for coefficient in (
        1.3390863364648752e-03, 9.6180825572758020e-03, 5.5503571142191184e-02,
        2.4022650760568143e-01, 6.9314718802622880e-01, 1.0,
    ):  # fmt: skip
        poly = e.call("llvm.fma", poly, f, constant("float", coefficient), out="float")
    # scale in two steps, so that subnormal results round once and 2**128 overflows to infinity
    n = e.map("fptosi {T} {0} to {O}", whole, out="i32")
    half = e.map("ashr {T} {0}, {1}", n, literal("i32", 1), out="i32")
    for part in (half, e.map("sub {T} {0}, {1}", n, half, out="i32")):
        biased = e.map("add {T} {0}, {1}", part, literal("i32", 127), out="i32")
        scale = e.retype(e.map("shl {T} {0}, {1}", biased, literal("i32", 23), out="i32"), "float")
        poly = e.map("fmul {T} {0}, {1}", poly, scale, out="float")
    nan = e.compare("fcmp uno {T} {0}, {1}", x, x)
    return plain(e.select(nan, x, poly))


@opcode("copysign", ".(f32|f64)", operands=3)
def copy_sign(e: Lowering, i: Instruction) -> None:
    """``copysign.type d, a, b``: b with the sign of a."""
    a, b = (e.source(o, i.mods[-1]) for o in i.operands[1:3])
    e.write(i.operands[0], e.call("llvm.copysign", b, a, out=a.type))


@opcode("testp", ".(finite|infinite|number|notanumber|normal|subnormal).(f32|f64)", operands=2)
def test_property(e: Lowering, i: Instruction) -> None:
    """``testp.property.type p, a``: compare the size of `a`, as an integer, with infinity's."""
    a = e.source(i.operands[1], i.mods[-1])
    word = f"i{BITS[a.type]}"
    size = e.retype(e.call("llvm.fabs", a, out=a.type), word)
    infinity, least = (literal(word, t[a.type]) for t in (_EXPONENT, _SMALLEST_NORMAL))
    test = i.mods[0]
    tests = {"finite": "ult", "infinite": "eq", "number": "ule", "notanumber": "ugt"}
    if test in tests:
        result = e.compare(f"icmp {tests[test]} {{T}} {{0}}, {{1}}", size, infinity)
    elif test == "normal":
        low = e.compare("icmp uge {T} {0}, {1}", size, least)
        # zero counts as normal
        low = e.logic("or", low, e.compare("icmp eq {T} {0}, {1}", size, literal(word, 0)))
        result = e.logic("and", low, e.compare("icmp ult {T} {0}, {1}", size, infinity))
    else:
        low = e.compare("icmp ult {T} {0}, {1}", size, least)
        result = e.logic("and", low, e.compare("icmp ne {T} {0}, {1}", size, literal(word, 0)))
    e.write(i.operands[0], result)
