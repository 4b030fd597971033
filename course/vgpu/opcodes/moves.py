"""Moves, comparisons, selections, addresses of the state spaces."""

from dataclasses import replace

from ..emit import BITS, Val
from ..lowering import Lowering, opcode
from ..ptx import Instruction, Pair, Reg, Vec
from ..records import GLOBAL_BASE, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from . import floating
from .integer import halves, join


@opcode("mov")
def move(e: Lowering, i: Instruction) -> None:
    """``mov.type d, a``, also packing ``{a, b}`` and unpacking into ``{d, e}``."""
    destination, source = i.operands[:2]
    kind = i.mods[-1]
    if isinstance(destination, Vec):
        value = e.source(source, "b" + kind[1:])
        width = next(r.width for r in destination.items if isinstance(r, Reg))
        for index, register in enumerate(destination.items):
            amount = Val("u", value.type, str(width * index))
            moved = e.map("lshr {T} {0}, {1}", value, amount, out=value.type) if index else value
            e.write(register, e.narrow(moved, f"i{width}"))
        return
    if kind == "pred":
        e.write(destination, e.source(source, kind))
    else:
        # as an integer of the register's width: a move never looks at the bits
        e.write(destination, e.source(source, f"b{destination.width}"))


_INTEGER = {
    "eq": "eq", "ne": "ne", "lt": "?lt", "le": "?le", "gt": "?gt", "ge": "?ge",
    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge",
}  # fmt: skip
_FLOATING = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq",
    "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}  # fmt: skip


def compare(e: Lowering, i: Instruction, kind: str) -> list[Val]:
    """Return the comparison of the two sources: one predicate, or two for packed pairs."""
    test = i.mods[0]
    a, b = i.operands[1:3]
    if kind in floating.PAIRS:
        pairs = [halves(e, e.source(o, "b32")) for o in (a, b)]
        return [
            _float_compare(e, test, _half(e, x, kind), _half(e, y, kind))
            for x, y in zip(*pairs, strict=True)
        ]
    if floating.is_float(kind):
        return [_float_compare(e, test, *(floating.operand(e, i, o, kind) for o in (a, b)))]
    name = _INTEGER[test].replace("?", "s" if kind[0] == "s" else "u")
    return [e.compare(f"icmp {name} {{T}} {{0}}, {{1}}", e.source(a, kind), e.source(b, kind))]


def _half(e: Lowering, value: Val, kind: str) -> Val:
    return floating.from_bf16(e, value) if kind == "bf16x2" else e.retype(value, "half")


def _float_compare(e: Lowering, test: str, a: Val, b: Val) -> Val:
    return e.compare(f"fcmp {_FLOATING[test]} {{T}} {{0}}, {{1}}", a, b)


def _boolean(i: Instruction) -> str | None:
    return i.mods[1] if len(i.mods) > 1 and i.mods[1] in ("and", "or", "xor") else None


@opcode("setp")
def set_predicate(e: Lowering, i: Instruction) -> None:
    """``setp.CmpOp{.BoolOp}.type p{|q}, a, b{, c}``: q gets the opposite comparison."""
    kind = i.mods[-1]
    results = compare(e, i, kind)
    destination = i.operands[0]
    pair = isinstance(destination, Pair)
    names = [destination.first, destination.second] if pair else [destination]
    if pair and len(results) == 1:
        results.append(e.invert(results[0]))
    combine = _boolean(i)
    if combine:
        c = e.source(i.operands[3], "pred")
        results = [e.logic(combine, r, c) for r in results]
    for name, result in zip(names, results, strict=False):
        e.write(name, result)


@opcode("set")
def set_value(e: Lowering, i: Instruction) -> None:
    """``set.CmpOp{.BoolOp}.dtype.stype d, a, b{, c}``: all ones or 1.0 where true."""
    target, kind = i.mods[-2:]
    results = compare(e, i, kind)
    combine = _boolean(i)
    if combine:
        c = e.source(i.operands[3], "pred")
        results = [e.logic(combine, r, c) for r in results]
    width = 16 if len(results) == 2 or target in ("f16", "bf16", "u16", "s16") else 32
    yes = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}.get(
        target, -1
    )
    yes, no = Val("u", f"i{width}", str(yes)), Val("u", f"i{width}", "0")
    values = [replace(e.select(r, yes, no), poison=None) for r in results]
    e.write(i.operands[0], join(e, *values) if len(values) == 2 else values[0], sign=True)


@opcode("selp")
def select(e: Lowering, i: Instruction) -> None:
    """``selp.type d, a, b, p``: what is not chosen does not count as used."""
    kind = f"b{i.operands[0].width}"
    a, b = e.source(i.operands[1], kind), e.source(i.operands[2], kind)
    e.poison = None
    condition = e.source(i.operands[3], "pred")
    chosen = e.select(condition, a, b)
    if condition.poison:
        both = e.fresh(f"or i32 {condition.poison}, {chosen.poison or '0'}")
        chosen = replace(chosen, poison=both)
    e.poison = None
    e.write(i.operands[0], chosen)


@opcode("slct")
def select_by_sign(e: Lowering, i: Instruction) -> None:
    """``slct.dtype.{s32,f32} d, a, b, c``: a where c >= 0."""
    a, b = (e.source(o, f"b{i.operands[0].width}") for o in i.operands[1:3])
    kind = i.mods[-1]
    c = (
        floating.operand(e, i, i.operands[3], kind)
        if kind == "f32"
        else e.source(i.operands[3], kind)
    )
    if kind == "f32":
        test = e.compare("fcmp oge {T} {0}, {1}", c, floating.constant("float", 0.0))
    else:
        test = e.compare("icmp sge {T} {0}, {1}", c, Val("u", "i32", "0"))
    e.write(i.operands[0], replace(e.select(test, a, b), poison=None))


_WINDOW = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0, "param": 0}


@opcode("cvta")
def convert_address(e: Lowering, i: Instruction) -> None:
    """``cvta{.to}.space.u64 d, a``: between an address of a state space and a generic one."""
    space = next(m.split("::")[0] for m in i.mods if m.split("::")[0] in _WINDOW)
    value = e.source(i.operands[1], i.mods[-1])
    window = Val("u", value.type, str(_WINDOW[space]))
    if _WINDOW[space] and BITS[value.type] == 64:
        value = e.add(value, window, "sub" if "to" in i.mods else "add")
    e.write(i.operands[0], value)


@opcode("isspacep")
def is_in_space(e: Lowering, i: Instruction) -> None:
    """``isspacep.space p, a``: is generic address `a` in this state space?"""
    space = i.mods[0].split("::")[0]
    value = e.source(i.operands[1], "u64")
    if space in ("global", "const", "param"):
        result = e.compare("icmp uge {T} {0}, {1}", value, Val("u", "i64", str(GLOBAL_BASE)))
    else:
        offset = e.add(value, Val("u", "i64", str(_WINDOW[space])), "sub")
        result = e.compare("icmp ult {T} {0}, {1}", offset, Val("u", "i64", str(WINDOW_BYTES)))
    e.write(i.operands[0], result)
