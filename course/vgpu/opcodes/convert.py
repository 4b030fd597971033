"""``cvt``: between all types, in every rounding mode."""

from ..emit import BITS, Val, literal
from ..lowering import Lowering
from ..ptx import Instruction, Operand
from ..table import opcode
from .floating import (
    LEAST_SCALED,
    below,
    constant,
    flush,
    halves,
    is_float,
    join,
    limit,
    narrow,
    plain,
    rounded,
    rounding,
    scaled,
    sign_bit,
    to_odd,
    widen,
)  # fmt: skip

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
#: LLVM's function that rounds to a whole number, for each rounding mode.
_TO_WHOLE = {"rn": "roundeven", "rna": "round", "rz": "trunc", "rm": "floor", "rp": "ceil"}
#: Fraction bits, lowest exponent and largest number of the types narrower than f32.
_NARROW = {
    "f16": (10, -14, 65504.0),
    "bf16": (7, -126, 2.0**127 * (2 - 2.0**-7)),
    "tf32": (10, -126, 2.0**127 * (2 - 2.0**-10)),
    "e5m2": (2, -14, 57344.0),
    "e4m3": (3, -6, 448.0),
}
_EXPONENT = 0x7F800000  # the exponent bits of f32
_WORDS = "(u8|s8|u16|s16|u32|s32|u64|s64)"


@opcode(
    "cvt",
    f"[.sat].{_WORDS}.{_WORDS}",
    f".(rn|rz|rm|rp)[.sat].(f16|f32|f64).{_WORDS}",
    f".(rn|rz|rm|rp).bf16.{_WORDS}",
    f".(rni|rzi|rmi|rpi)[.sat].{_WORDS}.(f16|bf16|f64)",
    f".(rni|rzi|rmi|rpi)[.ftz][.sat].{_WORDS}.f32",
    "[.rni|.rzi|.rmi|.rpi][.sat].(f16.f16|f64.f64)",
    "[.rni|.rzi|.rmi|.rpi][.ftz][.sat].f32.f32",
    "[.rni|.rzi|.rmi|.rpi].bf16.bf16",
    "[.sat].(f64.f16|f64.bf16)",
    "[.ftz][.sat].(f32.f16|f32.bf16|f64.f32)",
    ".(rn|rz|rm|rp)[.sat].(f16.bf16|f16.f64)",
    ".(rn|rz|rm|rp)[.ftz][.sat].(f16.f32|f32.f64)",
    ".(rn|rz|rm|rp).(bf16.f16|bf16.f64)",
    ".(rn|rz|rm|rp)[.ftz].bf16.f32",
    ".(rn|rz)[.relu][.satfinite].(f16|f16x2|bf16|bf16x2).f32",
    ".(rn|rz|rna)[.satfinite][.relu].tf32.f32",
    ".(rn|rz)[.relu].tf32.f32",
    ".rn.satfinite[.relu].(e4m3x2|e5m2x2).(f32|f16x2)",
    ".rn.relu.satfinite.(e4m3x2|e5m2x2).(f32|f16x2)",
    ".rn[.relu].f16x2.(e4m3x2|e5m2x2)",
    ".pack.sat.(u16|s16).s32",
    ".pack.sat.(u2|s2|u4|s4|u8|s8).s32.b32",
    operands=(2, 4),
)
def convert(e: Lowering, i: Instruction) -> None:
    """``cvt{.rnd}{.ftz}{.sat}.dtype.atype d, a{, b}``."""
    if i.mods[0] == "pack":
        return _pack(e, i)
    target, source = i.mods[-2:]
    two = target.endswith("x2") and source == "f32"
    e.need(len(i.operands) == 2 + two, f"{len(i.operands)} operands here")
    if target.endswith("x2"):
        return _pair(e, i, target, source)
    signed = target[0] == "s"
    if is_float(source):
        a = _read_float(e, i, i.operands[1], source)
        result = _float_to_integer(e, i, a) if target[0] in "us" else _to_float(e, i, a, target)
    else:
        a = e.source(i.operands[1], source, wider=True)
        is_signed = source[0] == "s"
        if target[0] in "us":
            result = _between_integers(e, i, a, target, is_signed)
        else:
            result = _integer_to_float(e, i, a, target, is_signed)
    return e.write(i.operands[0], result, sign=signed, wider=True)


# --- integers


def _between_integers(e: Lowering, i: Instruction, a: Val, target: str, signed: bool) -> Val:
    if "sat" in i.mods:
        a = _clamp(e, a, int(target[1:]), target[0] == "s", signed)
    kind = f"i{target[1:]}"
    return e.narrow(a, kind) if BITS[kind] <= BITS[a.type] else e.widen_index(a, kind, signed)


def _clamp(e: Lowering, a: Val, bits: int, to_signed: bool, signed: bool) -> Val:
    """Clamp to the range of a (signed) number of `bits` bits."""
    width = BITS[a.type]
    high = (1 << (bits - to_signed)) - 1
    low = -(1 << (bits - 1)) if to_signed else 0
    if signed and low > -(1 << (width - 1)):
        a = e.call("llvm.smax", a, literal(a.type, low), out=a.type)
    if high < (1 << (width - signed)) - 1:
        a = e.call(f"llvm.{'s' if signed else 'u'}min", a, literal(a.type, high), out=a.type)
    return a


def _integer_to_float(e: Lowering, i: Instruction, a: Val, target: str, signed: bool) -> Val:
    name = "sitofp" if signed else "uitofp"
    if target in ("f32", "f64"):
        out = "float" if target == "f32" else "double"
        return limit(e, i, rounded(e, name, a, mode=rounding(i), out=out))
    if a.type == "i64":
        a = _to_53_bits(e, a, signed)
    wide = e.map(name + " {T} {0} to {O}", a, out="double")
    return _to_narrow(e, i, to_odd(e, wide), target)


def _to_53_bits(e: Lowering, a: Val, signed: bool) -> Val:
    """Round a 64-bit integer to odd, so that f64 holds it and a later rounding is the right one."""
    low = e.map("and {T} {0}, {1}", a, literal("i64", 2047), out="i64")
    high = e.map("xor {T} {0}, {1}", a, low, out="i64")
    odd = e.map("or {T} {0}, {1}", high, literal("i64", 2048), out="i64")
    inexact = e.compare("icmp ne {T} {0}, {1}", low, literal("i64", 0))
    # below 2**53 nothing needs rounding; adding as much makes both ends of a signed range one
    size = e.map("add {T} {0}, {1}", a, literal("i64", 1 << 53), out="i64") if signed else a
    large = e.compare("icmp ugt {T} {0}, {1}", size, literal("i64", 1 << (53 + signed)))
    return plain(e.select(e.logic("and", inexact, large), odd, a))


def _pack(e: Lowering, i: Instruction) -> None:
    """``cvt.pack.sat.dtype.s32 d, a, b{, c}``: two clamped numbers in front of the bits of c."""
    kind = i.mods[2]
    e.need(len(i.operands) == 4 - kind.endswith("16"), f"{len(i.operands)} operands here")
    bits, signed = int(kind[1:]), kind[0] == "s"
    a, b = (_clamp(e, e.source(o, "s32"), bits, signed, True) for o in i.operands[1:3])
    mask = literal("i32", (1 << bits) - 1)
    b = e.map("and {T} {0}, {1}", b, mask, out="i32")
    if bits == 16:
        a = e.map("shl {T} {0}, {1}", a, literal("i32", 16), out="i32")
        return e.write(i.operands[0], e.map("or {T} {0}, {1}", a, b, out="i32"))
    a = e.map("and {T} {0}, {1}", a, mask, out="i32")
    pieces = (b, 0), (a, bits), (e.source(i.operands[3], "b32"), 2 * bits)
    result = literal("i32", 0)
    for value, place in pieces:
        moved = e.map("shl {T} {0}, {1}", value, literal("i32", place), out="i32")
        result = e.map("or {T} {0}, {1}", result, moved, out="i32")
    return e.write(i.operands[0], result)


# --- floating-point numbers


def _read_float(e: Lowering, i: Instruction, operand: Operand, kind: str) -> Val:
    """Return an operand as f64 or, of any narrower type, as f32 (exactly)."""
    if kind in ("f16", "bf16"):
        return widen(e, e.source(operand, "b16", wider=True), kind)
    value = e.source(operand, kind, wider=True)
    # on the way to f16 silicon keeps subnormal numbers, though PTX says that they are flushed
    flushed = "ftz" in i.mods and kind == "f32" and i.mods[-2] != "f16"
    return flush(e, value) if flushed else value


def _float_to_integer(e: Lowering, i: Instruction, a: Val) -> Val:
    """Round, then clamp; NaN becomes 0 (the bits of the lowest number from f64 or to 64 bits)."""
    target = i.mods[-2]
    a = e.call("llvm." + _INTEGRAL[i.mods[0]], a, out=a.type)
    kind = f"i{target[1:]}"
    result = e.call(f"llvm.fpto{target[0]}i.sat", a, out=kind, mangle=(kind, a.type))
    if i.mods[-1] == "f64" or kind == "i64":
        nan = e.compare("fcmp uno {T} {0}, {1}", a, a)
        result = plain(e.select(nan, sign_bit(kind), result))
    return result


def _to_float(e: Lowering, i: Instruction, a: Val, target: str) -> Val:
    integral = next((m for m in i.mods if m in _INTEGRAL), None)
    if integral:
        a = e.call("llvm." + _INTEGRAL[integral], a, out=a.type)
    if target == "f64":
        wide = a if a.type == "double" else e.map("fpext {T} {0} to {O}", a, out="double")
        return limit(e, i, wide)
    if target == "f32":
        small = None
        if a.type == "double":
            if "ftz" in i.mods:
                larger = rounded(e, "fptrunc", scaled(e, a, 64), mode=rounding(i), out="float")
                small = below(e, larger, LEAST_SCALED)
            a = rounded(e, "fptrunc", a, mode=rounding(i), out="float")
        return limit(e, i, flush(e, a, small) if "ftz" in i.mods else a)
    return _to_narrow(e, i, to_odd(e, a) if a.type == "double" else a, target)


def _to_narrow(e: Lowering, i: Instruction, a: Val, target: str) -> Val:
    """Round f32 (or f64 rounded to odd f32) to a narrower type; return its bits."""
    mode = next((m for m in i.mods if m in _TO_WHOLE), "rn")
    a = limit(e, i, a)
    if mode == "rna":  # silicon cuts a NaN's payload off, and what is left may be infinity
        bits = e.retype(a, "i32")
        cut = e.map("and {T} {0}, {1}", bits, literal("i32", -(1 << 13)), out="i32")
        nan = e.compare("fcmp uno {T} {0}, {1}", a, a)
        a = plain(e.select(nan, e.retype(cut, "float"), a))
    if "satfinite" in i.mods:
        a = _clamp_finite(e, a, _NARROW[target][2], "both")
    if mode == "rn" and target in ("f16", "bf16"):
        return narrow(e, a, target)
    return _encode(e, _to_grid(e, a, target, mode), target)


def _to_grid(e: Lowering, a: Val, target: str, mode: str) -> Val:
    """Round f32 to the numbers of `target`, still as f32: to whole units of its last place."""
    fraction, lowest, largest = _NARROW[target]
    bits = e.retype(a, "i32")
    power = e.map("and {T} {0}, {1}", bits, literal("i32", _EXPONENT), out="i32")
    finite = e.compare("icmp ne {T} {0}, {1}", power, literal("i32", _EXPONENT))
    least = constant("float", 2.0**lowest)
    power = e.call("llvm.maximumnum", e.retype(power, "float"), least, out="float")
    unit = e.map("fmul {T} {0}, {1}", power, constant("float", 2.0**-fraction), out="float")
    steps = e.map("fdiv {T} {0}, {1}", a, unit, out="float")
    steps = e.call("llvm." + _TO_WHOLE[mode], steps, out="float")
    near = e.map("fmul {T} {0}, {1}", steps, unit, out="float")
    # a direction that does not lead to infinity ends at the largest number
    sides = {"rz": "both", "rm": "above", "rp": "below"}
    if mode in sides:
        near = _clamp_finite(e, near, largest, sides[mode])
    return plain(e.select(finite, near, a))


def _clamp_finite(e: Lowering, a: Val, largest: float, sides: str) -> Val:
    """Clamp to the largest numbers of a type; NaN stays."""
    if sides != "below":
        a = e.call("llvm.minimum", a, constant(a.type, largest), out=a.type)
    if sides != "above":
        a = e.call("llvm.maximum", a, constant(a.type, -largest), out=a.type)
    return a


def _encode(e: Lowering, a: Val, target: str) -> Val:
    """Return the bits of an f32 that is a number of `target`."""
    if target in ("f16", "e5m2"):
        half = e.retype(e.map("fptrunc {T} {0} to {O}", a, out="half"), "i16")
        if target == "f16":
            return half
        return e.narrow(e.map("lshr {T} {0}, {1}", half, literal("i16", 8), out="i16"), "i8")
    bits = e.retype(a, "i32")
    nan = e.compare("fcmp uno {T} {0}, {1}", a, a)
    if target == "tf32":
        kept = e.map("and {T} {0}, {1}", bits, literal("i32", -(1 << 13)), out="i32")
        return plain(e.select(nan, literal("i32", 0x7FFFFFFF), kept))
    if target == "bf16":
        high = e.map("lshr {T} {0}, {1}", bits, literal("i32", 16), out="i32")
        return plain(e.select(nan, literal("i16", 0x7FFF), e.narrow(high, "i16")))
    # scaled so that E4M3's exponents, subnormal ones too, are those of f32
    scaled = e.map("fmul {T} {0}, {1}", a, constant("float", 2.0**-120), out="float")
    scaled = e.retype(scaled, "i32")
    size = e.map("lshr {T} {0}, {1}", scaled, literal("i32", 20), out="i32")
    size = e.map("and {T} {0}, {1}", size, literal("i32", 127), out="i32")
    sign = e.map("lshr {T} {0}, {1}", bits, literal("i32", 24), out="i32")
    sign = e.map("and {T} {0}, {1}", sign, literal("i32", 128), out="i32")
    code = e.narrow(e.map("or {T} {0}, {1}", sign, size, out="i32"), "i8")
    return plain(e.select(nan, literal("i8", 127), code))


def _decode(e: Lowering, code: Val, source: str) -> Val:
    """Return 8 bits of E4M3 or E5M2 as f32."""
    if source == "e5m2":
        wide = e.map("shl {T} {0}, {1}", e.widen_plain(code, "i16"), literal("i16", 8), out="i16")
        return widen(e, wide, "f16")
    wide = e.widen_plain(code, "i32")
    size = e.map("and {T} {0}, {1}", wide, literal("i32", 127), out="i32")
    nan = e.compare("icmp eq {T} {0}, {1}", size, literal("i32", 127))
    size = e.retype(e.map("shl {T} {0}, {1}", size, literal("i32", 20), out="i32"), "float")
    size = e.map("fmul {T} {0}, {1}", size, constant("float", 2.0**120), out="float")
    size = plain(e.select(nan, constant("float", float("nan")), size))
    sign = e.map("shl {T} {0}, {1}", wide, literal("i32", 24), out="i32")
    return e.call("llvm.copysign", size, e.retype(sign, "float"), out="float")


def _pair(e: Lowering, i: Instruction, target: str, source: str) -> None:
    """Pairs: of f32 operands a is the upper one; packed sources convert half by half."""
    single = target[:-2]
    if source == "f32":
        values = [_read_float(e, i, o, "f32") for o in reversed(i.operands[1:3])]
    elif source == "f16x2":
        values = [widen(e, h, "f16") for h in halves(e, e.source(i.operands[1], "b32"))]
    else:
        both = e.source(i.operands[1], "b16")
        high = e.map("lshr {T} {0}, {1}", both, literal("i16", 8), out="i16")
        values = [_decode(e, e.narrow(v, "i8"), source[:-2]) for v in (both, high)]
    e.write(i.operands[0], join(e, *(_to_narrow(e, i, v, single) for v in values)))
