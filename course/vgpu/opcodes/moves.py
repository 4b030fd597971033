"""Moves, comparisons, selections, addresses of the state spaces."""

from ..emit import BITS, Val, literal
from ..lowering import Lowering
from ..ptx import Instruction, Pair, Reg, Vec
from ..records import GLOBAL_BASE, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from ..table import opcode
from ..undefined import moved, ones, united
from . import floating
from .floating import join, plain


@opcode("mov", ".(pred|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", operands=2)
def move(e: Lowering, i: Instruction) -> None:
    """``mov.type d, a``, also packing ``{a, b}`` and unpacking into ``{d, e}``."""
    destination, source = i.operands[:2]
    kind = i.mods[-1]
    if isinstance(destination, Vec):
        value = e.source(source, "b" + kind[1:])
        width = next(r.width for r in destination.items if isinstance(r, Reg))
        for index, register in enumerate(destination.items):
            amount = literal(value.type, width * index)
            rest = e.map("lshr {T} {0}, {1}", value, amount, out=value.type) if index else value
            rest = rest._replace(poison=moved(value.poison, -width * index))
            e.write(register, e.narrow(rest, f"i{width}"))
        return
    # as an integer: a move never looks at the bits
    e.write(destination, e.source(source, kind if kind == "pred" else "b" + kind[1:]))


_INTEGER = {
    "eq": "eq", "ne": "ne", "lt": "?lt", "le": "?le", "gt": "?gt", "ge": "?ge",
    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge",
}  # fmt: skip
_FLOATING = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord",
    "equ": "ueq", "neu": "une", "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge",
    "nan": "uno",
}  # fmt: skip


def compare(e: Lowering, i: Instruction, kind: str) -> list[Val]:
    """Return the comparison of the two sources: one predicate, or two for packed pairs."""
    test = i.mods[0]
    a, b = i.operands[1:3]
    if floating.is_float(kind):
        sides = [floating.parts(e, i, o, kind) for o in (a, b)]
        template = f"fcmp {_FLOATING[test]} {{T}} {{0}}, {{1}}"
        return [e.compare(template, x, y) for x, y in zip(*sides, strict=True)]
    name = _INTEGER[test].replace("?", "s" if kind[0] == "s" else "u")
    return [e.compare(f"icmp {name} {{T}} {{0}}, {{1}}", e.source(a, kind), e.source(b, kind))]


def _boolean(i: Instruction) -> str | None:
    return i.mods[1] if len(i.mods) > 1 and i.mods[1] in ("and", "or", "xor") else None


_TESTS = "(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)"
_BOOLEAN = "[.and|.or|.xor]"
_WORDS = "(b16|b32|b64|u16|u32|u64|s16|s32|s64)"
_COMPARISONS = (
    f".(eq|ne){_BOOLEAN}DTYPE.(b16|b32|b64)",
    f".(eq|ne|lt|le|gt|ge){_BOOLEAN}DTYPE.(s16|s32|s64)",
    f".(eq|ne|lt|le|gt|ge|lo|ls|hi|hs){_BOOLEAN}DTYPE.(u16|u32|u64)",
    f".{_TESTS}{_BOOLEAN}[.ftz]DTYPE.(f32|f16)",
    f".{_TESTS}{_BOOLEAN}DTYPE.(f64|bf16)",
)


def _forms(target: str) -> list[str]:
    return [form.replace("DTYPE", target) for form in _COMPARISONS]


@opcode(
    "setp", *_forms(""), f".{_TESTS}{_BOOLEAN}[.ftz].f16x2", f".{_TESTS}{_BOOLEAN}.bf16x2",
    operands=(3, 4),
)  # fmt: skip
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
    e.need(len(i.operands) == 3 + bool(combine), f"{len(i.operands)} operands here")
    if combine:
        c = e.source(i.operands[3], "pred")
        results = [e.logic(combine, r, c) for r in results]
    for name, result in zip(names, results, strict=False):
        e.write(name, result)


@opcode(
    "set", *_forms(".(u16|s16|u32|s32|f32|f16|bf16)"),
    f".{_TESTS}{_BOOLEAN}[.ftz].(f16x2|u32|s32).f16x2",
    f".{_TESTS}{_BOOLEAN}.(bf16x2|u32|s32).bf16x2",
    operands=(3, 4),
)  # fmt: skip
def set_value(e: Lowering, i: Instruction) -> None:
    """``set.CmpOp{.BoolOp}.dtype.stype d, a, b{, c}``: all ones or 1.0 where true."""
    target, kind = i.mods[-2:]
    results = compare(e, i, kind)
    combine = _boolean(i)
    e.need(len(i.operands) == 3 + bool(combine), f"{len(i.operands)} operands here")
    if combine:
        c = e.source(i.operands[3], "pred")
        results = [e.logic(combine, r, c) for r in results]
    width = 16 if len(results) == 2 or target in ("f16", "bf16", "u16", "s16") else 32
    yes = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}.get(
        target, -1
    )
    yes, no = Val("u", f"i{width}", str(yes)), Val("u", f"i{width}", "0")
    values = [plain(e.select(r, yes, no)) for r in results]
    e.write(i.operands[0], join(e, *values) if len(values) == 2 else values[0], sign=True)


@opcode("selp", f".{_WORDS}", ".(f32|f64)", operands=4)
def select(e: Lowering, i: Instruction) -> None:
    """``selp.type d, a, b, p``: what is not chosen does not count as used."""
    kind = f"b{i.operands[0].width}"
    a, b = e.source(i.operands[1], kind), e.source(i.operands[2], kind)
    condition = e.source(i.operands[3], "pred")
    chosen = e.select(condition, a, b)
    undecided = tuple((mask, ones(BITS[a.type])) for mask, _ in condition.poison or ())
    e.write(i.operands[0], chosen._replace(poison=united((chosen.poison, undecided))))


@opcode(
    "slct",
    f".{_WORDS}.s32",
    f"[.ftz].{_WORDS}.f32",
    ".(f32|f64).s32",
    "[.ftz].(f32|f64).f32",
    operands=4,
)
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
    e.write(i.operands[0], plain(e.select(test, a, b)))


_WINDOW = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0, "param": 0}


@opcode(
    "cvta", "[.to].(const|global|local|shared|shared::cta|param|param::entry).(u32|u64)", operands=2
)
def convert_address(e: Lowering, i: Instruction) -> None:
    """``cvta{.to}.space.u64 d, a``: between an address of a state space and a generic one."""
    space = next(m.split("::")[0] for m in i.mods if m.split("::")[0] in _WINDOW)
    value = e.source(i.operands[1], i.mods[-1])
    window = Val("u", value.type, str(_WINDOW[space]))
    if _WINDOW[space] and BITS[value.type] == 64:
        value = e.add(value, window, "sub" if "to" in i.mods else "add")
    e.write(i.operands[0], value)


@opcode("isspacep", ".(const|global|local|shared|shared::cta|param|param::entry)", operands=2)
def is_in_space(e: Lowering, i: Instruction) -> None:
    """``isspacep.space p, a``: say whether generic address `a` is in this state space."""
    space = i.mods[0].split("::")[0]
    value = e.source(i.operands[1], "u64")
    if space in ("global", "const", "param"):
        result = e.compare("icmp uge {T} {0}, {1}", value, Val("u", "i64", str(GLOBAL_BASE)))
    else:
        offset = e.add(value, Val("u", "i64", str(_WINDOW[space])), "sub")
        result = e.compare("icmp ult {T} {0}, {1}", offset, Val("u", "i64", str(WINDOW_BYTES)))
    e.write(i.operands[0], result)
