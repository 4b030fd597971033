"""Floating-point arithmetic: f16, bf16, their packed pairs, f32 and f64, in every rounding mode."""

from dataclasses import replace

from ..emit import BITS, Val, float_constant
from ..lowering import Lowering, opcode
from ..ptx import Instruction, Operand

#: Packed pairs and the type of their halves.
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
_FLOATS = {"f16", "bf16", "f32", "f64", *PAIRS}
#: LLVM's numbers of the rounding modes (llvm.set.rounding).
ROUNDING = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
_NEAREST = 1


def is_float(kind: str) -> bool:
    """Say whether PTX type `kind` is a floating-point type."""
    return kind in _FLOATS


def constant(kind: str, value: float) -> Val:
    """Return a number as a uniform value of LLVM type `kind`."""
    import numpy as np

    dtype = {"half": np.float16, "float": np.float32, "double": np.float64}[kind]
    bits = int(np.asarray(value, dtype).view(f"u{BITS[kind] // 8}"))
    return Val("u", kind, float_constant(bits, BITS[kind]))


def rounding(i: Instruction) -> str:
    """Return the rounding mode of an instruction; nearest-even is the default."""
    return next((m for m in i.mods if m in ROUNDING), "rn")


# --- bf16 computes in f32: its product of two is exact there, and f64 holds any fma of three


def from_bf16(e: Lowering, value: Val) -> Val:
    """Return 16 bits of a bf16 as f32."""
    wide = e.map("shl {T} {0}, {1}", e.widen_plain(value, "i32"), Val("u", "i32", "16"), out="i32")
    return e.retype(wide, "float")


def to_bf16(e: Lowering, value: Val, mode: str = "rn") -> Val:
    """Round f32 (or f64) to bf16, as its 16 bits."""
    if value.type == "double":
        value = to_odd(e, value)
    bits = e.retype(value, "i32")
    high = e.map("lshr {T} {0}, {1}", bits, Val("u", "i32", "16"), out="i32")
    if mode == "rn":
        odd = e.map("and {T} {0}, {1}", high, Val("u", "i32", "1"), out="i32")
        half = e.map("add {T} {0}, {1}", odd, Val("u", "i32", str(0x7FFF)), out="i32")
        total = e.map("add {T} {0}, {1}", bits, half, out="i32")
        high = e.map("lshr {T} {0}, {1}", total, Val("u", "i32", "16"), out="i32")
    nan = e.compare("fcmp uno {T} {0}, {1}", value, value)
    return _plain(e.select(nan, Val("u", "i16", str(0x7FFF)), e.narrow(high, "i16")))


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
    down = e.map("sub {T} {0}, {1}", bits, Val("u", "i32", "1"), out="i32")
    toward_zero = _plain(e.select(larger, down, bits))
    odd = e.map("or {T} {0}, {1}", toward_zero, Val("u", "i32", "1"), out="i32")
    inexact = e.compare("fcmp one {T} {0}, {1}", back, value)
    return e.retype(_plain(e.select(inexact, odd, bits)), "float")


def _plain(value: Val) -> Val:
    return replace(value, poison=None)


# --- rounding, flushing, saturating


def rounded(e: Lowering, name: str, *values: Val, mode: str = "rn", out: str | None = None) -> Val:
    """Compute ``fadd``, ``fsub``, ``fmul``, ``fdiv``, ``sqrt``, ``fma`` or a conversion in `mode`."""
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
    from ..emit import _MANGLED
    from ..records import LANES

    suffix = "".join(f".v{LANES}{_MANGLED.get(t, t)}" for t in mangle)
    full = f"@llvm.experimental.constrained.{name}{suffix}"
    shapes = [f"<{LANES} x {v.type}>" for v in values]
    texts = [f"{s} {e.vector(v)}" for s, v in zip(shapes, values, strict=True)]
    tail = ', metadata !"round.dynamic", metadata !"fpexcept.strict"'
    kinds = ", ".join([*shapes, "metadata", "metadata"])
    e.declared[full] = f"declare <{LANES} x {out}> {full}({kinds})"
    text = e.fresh(f"call <{LANES} x {out}> {full}({', '.join(texts)}{tail})")
    return Val("v", out, text)


def flush(e: Lowering, value: Val) -> Val:
    """Replace subnormal f32 numbers by zero of the same sign (``.ftz``)."""
    if value.type != "float":
        return value
    bits = e.retype(value, "i32")
    exponent = e.map("and {T} {0}, {1}", bits, Val("u", "i32", str(0x7F800000)), out="i32")
    small = e.compare("icmp eq {T} {0}, {1}", exponent, Val("u", "i32", "0"))
    sign = e.map("and {T} {0}, {1}", bits, Val("u", "i32", str(-(1 << 31))), out="i32")
    return e.retype(_plain(e.select(small, sign, bits)), "float")


def saturate(e: Lowering, value: Val) -> Val:
    """Clamp to [0, 1]; NaN becomes 0 (``.sat``)."""
    low = e.call("llvm.maximumnum", value, constant(value.type, 0.0), out=value.type)
    return e.call("llvm.minimumnum", low, constant(value.type, 1.0), out=value.type)


def operand(e: Lowering, i: Instruction, which: Operand, kind: str) -> Val:
    """Return a floating operand, flushed if the instruction says ``.ftz``."""
    value = e.source(which, kind)
    if kind == "bf16":
        return from_bf16(e, value)
    return flush(e, value) if "ftz" in i.mods else value


def finish(e: Lowering, i: Instruction, value: Val) -> Val:
    """Apply ``.ftz``, ``.sat`` and ``.relu`` to a result."""
    if "ftz" in i.mods:
        value = flush(e, value)
    if "sat" in i.mods:
        value = saturate(e, value)
    if "relu" in i.mods:
        positive = e.call("llvm.maximumnum", value, constant(value.type, 0.0), out=value.type)
        nan = e.compare("fcmp uno {T} {0}, {1}", value, value)
        value = _plain(e.select(nan, value, positive))
    return value


def _parts(e: Lowering, i: Instruction, which: Operand, kind: str) -> list[Val]:
    """Return the operand's value, or both halves of a packed pair."""
    from .integer import halves

    if kind not in PAIRS:
        return [operand(e, i, which, kind)]
    pieces = halves(e, e.source(which, "b32"))
    if kind == "bf16x2":
        return [from_bf16(e, p) for p in pieces]
    return [e.retype(p, "half") for p in pieces]


def lanewise(e: Lowering, i: Instruction, compute, count: int) -> None:  # noqa: ANN001
    """Write ``compute(a, b, ...)`` of the first `count` sources, half by half for packed types."""
    from .integer import join

    kind = i.mods[-1]
    sources = [_parts(e, i, o, kind) for o in i.operands[1 : 1 + count]]
    results = []
    for values in zip(*sources, strict=True):
        result = finish(e, i, compute(*values))
        if "bf16" in kind:
            result = to_bf16(e, result)
        results.append(e.retype(result, f"i{BITS[result.type]}") if kind in PAIRS else result)
    e.write(i.operands[0], join(e, *results) if kind in PAIRS else results[0])


_NAMES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def binary(e: Lowering, i: Instruction) -> None:
    """``add``, ``sub``, ``mul`` and ``div``. f16 computes in f32, where one operation is exact enough."""
    name, mode = _NAMES[i.opcode], rounding(i)

    def compute(a: Val, b: Val) -> Val:
        if a.type != "half":
            return rounded(e, name, a, b, mode=mode)
        wide = [e.map("fpext {T} {0} to {O}", v, out="float") for v in (a, b)]
        return e.map("fptrunc {T} {0} to {O}", rounded(e, name, *wide), out="half")

    lanewise(e, i, compute, 2)


@opcode("fma")
def fused(e: Lowering, i: Instruction) -> None:
    """``fma.rnd.type d, a, b, c``. f16 and bf16 compute in f64, which holds every such sum."""
    mode, kind = rounding(i), i.mods[-1]

    def compute(a: Val, b: Val, c: Val) -> Val:
        if a.type == "half" or "bf16" in kind:
            wide = [e.map("fpext {T} {0} to {O}", v, out="double") for v in (a, b, c)]
            result = rounded(e, "fma", *wide)
            if a.type == "half":
                return e.map("fptrunc {T} {0} to {O}", to_odd(e, result), out="half")
            return result
        return rounded(e, "fma", a, b, c, mode=mode)

    lanewise(e, i, compute, 3)


def sign(e: Lowering, i: Instruction) -> None:
    """``abs`` and ``neg``: only the sign bit changes."""
    kind = i.mods[-1]
    bits = {"f16x2": 32, "bf16x2": 32, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}[kind]
    top = 0x80008000 if kind in PAIRS else 1 << (bits - 1)
    value = e.source(i.operands[1], f"b{bits}")
    if "ftz" in i.mods and kind == "f32":
        value = e.retype(flush(e, e.retype(value, "float")), "i32")
    mask = top if i.opcode == "neg" else ~top
    mask = (mask + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    name = "xor" if i.opcode == "neg" else "and"
    e.write(
        i.operands[0],
        e.map(name + " {T} {0}, {1}", value, Val("u", value.type, str(mask)), out=value.type),
    )


def extreme(e: Lowering, i: Instruction) -> None:
    """``min`` and ``max``: a number beats NaN (``.NaN``: NaN wins), -0 is less than +0."""
    suffix = "" if "NaN" in i.mods else "num"
    name = f"llvm.{i.opcode}imum{suffix}"
    count = len(i.operands) - 1

    def compute(*values: Val) -> Val:
        if values[0].type == "half":
            values = tuple(e.map("fpext {T} {0} to {O}", v, out="float") for v in values)
            return e.map("fptrunc {T} {0} to {O}", combine(values), out="half")
        return combine(values)

    def combine(values: tuple[Val, ...]) -> Val:
        if "abs" in i.mods or "xorsign" in i.mods:
            plain = tuple(e.call("llvm.fabs", v, out=v.type) for v in values)
        else:
            plain = values
        result = plain[0]
        for value in plain[1:]:
            result = e.call(name, result, value, out=value.type)
        if "xorsign" in i.mods:
            kind = f"i{BITS[result.type]}"
            flips = e.map("xor {T} {0}, {1}", *(e.retype(v, kind) for v in values[:2]), out=kind)
            top = Val("u", kind, str(-(1 << (BITS[kind] - 1))))
            flips = e.map("and {T} {0}, {1}", flips, top, out=kind)
            result = e.retype(
                e.map("or {T} {0}, {1}", e.retype(result, kind), flips, out=kind), result.type
            )
        return result

    lanewise(e, i, compute, count)


@opcode("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def function(e: Lowering, i: Instruction) -> None:
    """Reciprocal, roots, base-2 exponential and logarithm, sine, cosine, tanh.

    ``.rn`` forms are exact; ``.approx`` forms are computed in a wider type and rounded, so they are
    closer to the true value than hardware's (see README.md for hardware's bounds).
    """
    mode = rounding(i)
    exact = any(m in ROUNDING for m in i.mods)

    def compute(a: Val) -> Val:
        if i.opcode == "rcp" and exact:
            return rounded(e, "fdiv", constant(a.type, 1.0), a, mode=mode)
        if i.opcode == "sqrt" and exact:
            return rounded(e, "sqrt", a, mode=mode)
        if a.type == "half":
            wide = _wide_function(e, i.opcode, e.map("fpext {T} {0} to {O}", a, out="double"))
            return e.map("fptrunc {T} {0} to {O}", to_odd(e, wide), out="half")
        if a.type == "double":
            return _wide_function(e, i.opcode, a)
        if i.opcode == "ex2":
            return exp2_single(e, a)
        wide = _wide_function(e, i.opcode, e.map("fpext {T} {0} to {O}", a, out="double"))
        return e.map("fptrunc {T} {0} to {O}", wide, out="float")

    lanewise(e, i, compute, 1)


def _wide_function(e: Lowering, name: str, a: Val) -> Val:
    if name == "rcp":
        return e.map("fdiv {T} {0}, {1}", constant("double", 1.0), a, out="double")
    if name == "sqrt":
        return e.call("llvm.sqrt", a, out="double")
    if name == "rsqrt":
        return e.map(
            "fdiv {T} {0}, {1}",
            constant("double", 1.0),
            e.call("llvm.sqrt", a, out="double"),
            out="double",
        )
    intrinsic = {"ex2": "exp2", "lg2": "log2"}.get(name, name)
    return e.call("llvm." + intrinsic, a, out="double")


def exp2_single(e: Lowering, x: Val) -> Val:
    """Return 2**x in f32 for f32 x, within 1 ulp: 2**n times a polynomial in the fraction."""
    low = e.call("llvm.maximumnum", x, constant("float", -160.0), out="float")
    clamped = e.call("llvm.minimumnum", low, constant("float", 130.0), out="float")
    whole = e.call("llvm.roundeven", clamped, out="float")
    f = e.map("fsub {T} {0}, {1}", clamped, whole, out="float")
    # Taylor coefficients of 2**f; |f| <= 1/2 leaves an error below 2**-27
    poly = constant("float", 1.5403530393381608e-04)
    for coefficient in (
        1.3333558146428443e-03, 9.6181291076284772e-03, 5.5504108664821580e-02,
        2.4022650695910072e-01, 6.9314718055994531e-01, 1.0,
    ):  # fmt: skip
        poly = e.call("llvm.fma", poly, f, constant("float", coefficient), out="float")
    # scale in two steps, so that subnormal results round once and 2**128 overflows to infinity
    n = e.map("fptosi {T} {0} to {O}", whole, out="i32")
    half = e.map("ashr {T} {0}, {1}", n, Val("u", "i32", "1"), out="i32")
    for part in (half, e.map("sub {T} {0}, {1}", n, half, out="i32")):
        biased = e.map("add {T} {0}, {1}", part, Val("u", "i32", "127"), out="i32")
        scale = e.retype(
            e.map("shl {T} {0}, {1}", biased, Val("u", "i32", "23"), out="i32"), "float"
        )
        poly = e.map("fmul {T} {0}, {1}", poly, scale, out="float")
    nan = e.compare("fcmp uno {T} {0}, {1}", x, x)
    return _plain(e.select(nan, x, poly))


@opcode("copysign")
def copy_sign(e: Lowering, i: Instruction) -> None:
    """``copysign.type d, a, b``: b with the sign of a."""
    a, b = (e.source(o, i.mods[-1]) for o in i.operands[1:3])
    e.write(i.operands[0], e.call("llvm.copysign", b, a, out=a.type))


@opcode("testp")
def test_property(e: Lowering, i: Instruction) -> None:
    """``testp.{finite,infinite,number,notanumber,normal,subnormal}.type p, a``."""
    a = e.source(i.operands[1], i.mods[-1])
    size = e.call("llvm.fabs", a, out=a.type)
    infinity = constant(a.type, float("inf"))
    tiny = constant(a.type, 2.0**-126 if a.type == "float" else 2.0**-1022)
    zero = constant(a.type, 0.0)
    test = i.mods[0]
    if test in ("number", "notanumber"):
        result = e.compare(f"fcmp {'ord' if test == 'number' else 'uno'} {{T}} {{0}}, {{1}}", a, a)
    elif test in ("finite", "infinite"):
        result = e.compare(
            f"fcmp {'olt' if test == 'finite' else 'oeq'} {{T}} {{0}}, {{1}}", size, infinity
        )
    elif test == "normal":
        big = e.compare("fcmp oge {T} {0}, {1}", size, tiny)
        result = e.logic("and", big, e.compare("fcmp olt {T} {0}, {1}", size, infinity))
    else:
        small = e.compare("fcmp olt {T} {0}, {1}", size, tiny)
        result = e.logic("and", small, e.compare("fcmp ogt {T} {0}, {1}", size, zero))
    e.write(i.operands[0], result)
