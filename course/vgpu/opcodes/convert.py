"""``cvt``: between all types, in every rounding mode."""

from dataclasses import replace

from ..emit import BITS, Val
from ..lowering import Lowering, llvm_type, opcode
from ..ptx import Instruction
from . import floating
from .floating import constant, rounded, saturate, to_bf16, to_odd
from .integer import join

_INTEGRAL = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@opcode("cvt")
def convert(e: Lowering, i: Instruction) -> None:
    """``cvt{.rnd}{.ftz}{.sat}.dtype.atype d, a{, b}``."""
    target, source = i.mods[-2:]
    if target in ("f16x2", "bf16x2"):
        return _pair(e, i, target, source)
    e.need(target in _KNOWN and source in _KNOWN, "this conversion")
    a = e.source(i.operands[1], source)
    if floating.is_float(source) or source == "tf32":
        result = _from_float(e, i, a, target, source)
    else:
        result = _from_integer(e, i, a, target, source)
    e.write(i.operands[0], result, sign=target[0] == "s")
    return None


_KNOWN = {f"{k}{b}" for k in "us" for b in (8, 16, 32, 64)} | {"f16", "bf16", "f32", "f64", "tf32"}


def _from_integer(e: Lowering, i: Instruction, a: Val, target: str, source: str) -> Val:
    signed = source[0] == "s"
    if target[0] in "us":
        if "sat" in i.mods:
            a = _clamp_integer(e, a, target, signed)
        width = int(target[1:])
        if width < BITS[a.type]:
            return e.narrow(a, f"i{width}")
        return e.widen_index(a, f"i{width}", signed)
    name = "sitofp" if signed else "uitofp"
    mode = floating.rounding(i)
    if target in ("f32", "f64"):
        result = rounded(e, name, a, mode=mode, out=llvm_type(target))
        return saturate(e, result) if "sat" in i.mods else result
    # by way of f64, which holds 53 bits; 64-bit integers round to odd on the way
    wide = rounded(e, name, a, out="double")
    return _from_float(e, replace(i, mods=(mode, target, "f64")), wide, target, "f64")


def _clamp_integer(e: Lowering, a: Val, target: str, signed: bool) -> Val:
    bits, width = int(target[1:]), BITS[a.type]
    high = (1 << (bits - (target[0] == "s"))) - 1
    low = -(1 << (bits - 1)) if target[0] == "s" else 0
    letter = "s" if signed else "u"
    top = (1 << (width - signed)) - 1
    if signed and low > -(1 << (width - 1)):
        a = e.call("llvm.smax", a, Val("u", a.type, str(low)), out=a.type)
    if high < top:
        a = e.call(f"llvm.{letter}min", a, Val("u", a.type, str(high)), out=a.type)
    return a


def _from_float(e: Lowering, i: Instruction, a: Val, target: str, source: str) -> Val:
    if "ftz" in i.mods:
        a = floating.flush(e, a)
    if source == "bf16":
        a = floating.from_bf16(e, a)
    if target[0] in "us":
        return _to_integer(e, i, a, target)
    integral = next((m for m in i.mods if m in _INTEGRAL), None)
    if integral:
        a = e.call("llvm." + _INTEGRAL[integral], a, out=a.type)
    result = _to_float(e, i, a, target)
    if target in ("f16", "f32", "f64"):
        if "ftz" in i.mods:
            result = floating.flush(e, result)
        if "sat" in i.mods:
            result = saturate(e, result)
        if "relu" in i.mods:
            result = floating.finish(e, replace(i, mods=("relu",)), result)
    return result


def _to_float(e: Lowering, i: Instruction, a: Val, target: str) -> Val:
    mode = floating.rounding(i)
    if target == "tf32":
        return _to_tf32(e, a, "rna" in i.mods)
    if target == "bf16":
        if "relu" in i.mods:
            a = floating.finish(e, replace(i, mods=("relu",)), a)
        return to_bf16(e, a, mode)
    wanted = llvm_type(target)
    if BITS[a.type] < BITS[wanted]:
        return e.map("fpext {T} {0} to {O}", a, out=wanted)
    if a.type == wanted:
        return a
    if wanted == "float":
        return rounded(e, "fptrunc", a, mode=mode, out="float")
    if a.type == "double":
        a = to_odd(e, a)
    nearest = e.map("fptrunc {T} {0} to {O}", a, out="half")
    return nearest if mode == "rn" else _direct(e, a, nearest, mode)


def _direct(e: Lowering, exact: Val, nearest: Val, mode: str) -> Val:
    """Correct a half rounded to nearest so that it is rounded in `mode`."""
    back = e.map("fpext {T} {0} to {O}", nearest, out="float")
    bits = e.retype(nearest, "i16")
    zero = constant("float", 0.0)
    size = {"rz": ("llvm.fabs",), "rm": (), "rp": ()}[mode]
    left = e.call(*size, back, out="float") if size else back
    right = e.call(*size, exact, out="float") if size else exact
    wrong = e.compare(f"fcmp {'olt' if mode == 'rp' else 'ogt'} {{T}} {{0}}, {{1}}", left, right)
    one = Val("u", "i16", "1")
    # one step towards zero, or away from it for a number on the other side
    shrink = e.map("sub {T} {0}, {1}", bits, one, out="i16")
    grow = e.map("add {T} {0}, {1}", bits, one, out="i16")
    if mode == "rz":
        step = shrink
    else:
        negative = e.compare("fcmp olt {T} {0}, {1}", exact, zero)
        first, second = (grow, shrink) if mode == "rm" else (shrink, grow)
        step = replace(e.select(negative, first, second), poison=None)
        # nearest may have rounded a tiny number to zero, which has no sign of its own to step from
        is_zero = e.compare("fcmp oeq {T} {0}, {1}", back, zero)
        least = Val("u", "i16", str(1 if mode == "rp" else -32767))
        step = replace(e.select(is_zero, least, step), poison=None)
    fixed = replace(e.select(wrong, step, bits), poison=None)
    return e.retype(fixed, "half")


def _to_tf32(e: Lowering, a: Val, away: bool) -> Val:
    """Keep 10 fraction bits: round to nearest, ties away (``rna``) or to even (``rn``)."""
    bits = e.retype(a, "i32")
    if away:
        bias = Val("u", "i32", str(1 << 12))
    else:
        odd = e.map("lshr {T} {0}, {1}", bits, Val("u", "i32", "13"), out="i32")
        odd = e.map("and {T} {0}, {1}", odd, Val("u", "i32", "1"), out="i32")
        bias = e.map("add {T} {0}, {1}", odd, Val("u", "i32", str((1 << 12) - 1)), out="i32")
    total = e.map("add {T} {0}, {1}", bits, bias, out="i32")
    kept = e.map("and {T} {0}, {1}", total, Val("u", "i32", str(-(1 << 13))), out="i32")
    special = e.map("and {T} {0}, {1}", bits, Val("u", "i32", str(0x7F800000)), out="i32")
    finite = e.compare("icmp ne {T} {0}, {1}", special, Val("u", "i32", str(0x7F800000)))
    return replace(e.select(finite, kept, bits), poison=None)


def _to_integer(e: Lowering, i: Instruction, a: Val, target: str) -> Val:
    """Round, then saturate; NaN becomes 0 (the most negative bit pattern from or to 64 bits)."""
    mode = next((m for m in i.mods if m in _INTEGRAL), "rzi")
    if a.type == "half":
        a = e.map("fpext {T} {0} to {O}", a, out="float")
    wide_source = a.type == "double"
    a = e.call("llvm." + _INTEGRAL[mode], a, out=a.type)
    kind = f"i{target[1:]}"
    letter = "s" if target[0] == "s" else "u"
    result = e.call(f"llvm.fpto{letter}i.sat", a, out=kind, mangle=(kind, a.type))
    if wide_source or kind == "i64":
        nan = e.compare("fcmp uno {T} {0}, {1}", a, a)
        least = Val("u", kind, str(-(1 << (BITS[kind] - 1))))
        result = replace(e.select(nan, least, result), poison=None)
    return result


def _pair(e: Lowering, i: Instruction, target: str, source: str) -> None:
    """``cvt.rnd{.relu}.{f16x2,bf16x2}.f32 d, a, b``: a goes to the upper half."""
    e.need(source == "f32", "this conversion")
    kind = target[:-2]
    parts = []
    for operand in (i.operands[2], i.operands[1]):
        value = e.source(operand, "f32")
        if "relu" in i.mods:
            value = floating.finish(e, replace(i, mods=("relu",)), value)
        plain = replace(i, mods=(floating.rounding(i), kind, "f32"))
        parts.append(e.retype(_to_float(e, plain, value, kind), "i16"))
    e.write(i.operands[0], join(e, *parts))
