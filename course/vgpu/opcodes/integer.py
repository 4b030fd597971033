"""Integer arithmetic, bits and bytes."""

from ..cfg import CARRY
from ..emit import BITS, Val, literal
from ..lowering import Lowering
from ..ptx import Imm, Instruction, Operand, Pair
from ..table import opcode
from ..undefined import Poison, cut, extended, moved, ones, united
from . import floating
from .floating import halves, join, plain


def _signed(kind: str) -> bool:
    return kind[0] == "s"


_WORDS = "(u16|s16|u32|s32|u64|s64)"
_CARRIES = "(u32|s32|u64|s64)"
_ARITHMETIC = (
    "[.rn|.rz|.rm|.rp][.ftz][.sat].f32", "[.rn|.rz|.rm|.rp].f64", "[.rn][.ftz][.sat].(f16|f16x2)",
    "[.rn].(bf16|bf16x2)",
)  # fmt: skip


@opcode(
    "add", f".{_WORDS}", ".sat.s32", f".cc.{_CARRIES}", ".(u16x2|s16x2)", *_ARITHMETIC, operands=3
)
@opcode("sub", f".{_WORDS}", ".sat.s32", f".cc.{_CARRIES}", *_ARITHMETIC, operands=3)
def add(e: Lowering, i: Instruction) -> None:
    """``add{.sat}{.cc}.type d, a, b`` and ``sub``; floating types go to `floating`."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.binary(e, i)
    if kind in ("u16x2", "s16x2"):
        pairs = [halves(e, e.source(o, "b32")) for o in i.operands[1:3]]
        return e.write(i.operands[0], join(e, *(e.add(a, b) for a, b in zip(*pairs, strict=True))))
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    if "sat" in i.mods:
        result = e.call(f"llvm.s{i.opcode}.sat", a, b, out=a.type)
    else:
        result = e.add(a, b, i.opcode)
    if "cc" in i.mods:
        less = (result, a) if i.opcode == "add" else (a, b)
        e.write(CARRY, e.compare("icmp ult {T} {0}, {1}", *less))
    return e.write(i.operands[0], result)


@opcode("addc", f"[.cc].{_CARRIES}", operands=3)
@opcode("subc", f"[.cc].{_CARRIES}", operands=3)
def add_with_carry(e: Lowering, i: Instruction) -> None:
    """``addc{.cc}.type d, a, b``: add the carry of the last ``.cc``; ``subc`` takes the borrow."""
    kind, name = i.mods[-1], i.opcode[:3]
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    carry = e.select(e.read_register(CARRY), literal(a.type, 1), literal(a.type, 0))
    first = e.map(name + " {T} {0}, {1}", a, b, out=a.type)
    result = e.map(name + " {T} {0}, {1}", first, carry, out=a.type)
    if "cc" in i.mods:
        if name == "add":
            outs = [("icmp ult {T} {0}, {1}", first, a), ("icmp ult {T} {0}, {1}", result, first)]
        else:
            outs = [("icmp ult {T} {0}, {1}", a, b), ("icmp ult {T} {0}, {1}", first, carry)]
        e.write(CARRY, e.logic("or", *(e.compare(*o) for o in outs)))
    e.write(i.operands[0], result)


def product(e: Lowering, a: Val, b: Val, part: str, signed: bool) -> Val:
    """Return the ``lo``, ``hi`` or ``wide`` part of a product."""
    if part == "lo":
        return e.multiply(a, b)
    double = f"i{2 * BITS[a.type]}"
    if part == "wide":
        if b.kind == "a":
            a, b = b, a
        wide_a = (
            e.widen_index(a, double, signed)
            if b.constant is not None
            else e.widen(a, double, signed)
        )
        return e.multiply(wide_a, e.widen(b, double, signed))
    full = e.map(
        "mul {T} {0}, {1}", e.widen(a, double, signed), e.widen(b, double, signed), out=double
    )
    high = e.map("lshr {T} {0}, {1}", full, literal(double, BITS[a.type]), out=double)
    return e.narrow(high, a.type)


@opcode("mul", f".(lo|hi).{_WORDS}", ".wide.(u16|s16|u32|s32)", *_ARITHMETIC, operands=3)
def multiply(e: Lowering, i: Instruction) -> None:
    """``mul.{lo,hi,wide}.type d, a, b``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.binary(e, i)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    return e.write(i.operands[0], product(e, a, b, i.mods[0], _signed(kind)))


@opcode(
    "mad", f".(lo|hi).{_WORDS}", ".wide.(u16|s16|u32|s32)", ".hi.sat.s32",
    f".(lo|hi).cc.{_CARRIES}", ".(rn|rz|rm|rp)[.ftz][.sat].f32", ".(rn|rz|rm|rp).f64",
    operands=4,
)  # fmt: skip
@opcode("madc", f".(lo|hi)[.cc].{_CARRIES}", operands=4)
def multiply_add(e: Lowering, i: Instruction) -> None:
    """``mad.{lo,hi,wide}{.sat}{.cc}.type d, a, b, c``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.fused(e, i)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    value = product(e, a, b, i.mods[0], _signed(kind))
    c = e.source(i.operands[3], kind[0] + str(BITS[value.type]))
    if "sat" in i.mods:
        result = e.call("llvm.sadd.sat", value, c, out=value.type)
    elif i.opcode == "madc":
        carry = e.select(e.read_register(CARRY), literal(c.type, 1), literal(c.type, 0))
        first = e.add(value, c)
        result = e.add(first, carry)
        if "cc" in i.mods:
            outs = [
                e.compare("icmp ult {T} {0}, {1}", first, c),
                e.compare("icmp ult {T} {0}, {1}", result, first),
            ]
            e.write(CARRY, e.logic("or", *outs))
    else:
        result = e.add(value, c)
        if "cc" in i.mods:
            e.write(CARRY, e.compare("icmp ult {T} {0}, {1}", result, c))
    return e.write(i.operands[0], result)


@opcode("mul24", ".(lo|hi).(u32|s32)", operands=3)
@opcode("mad24", ".(lo|hi).(u32|s32)", ".hi.sat.s32", operands=4)
def multiply_24(e: Lowering, i: Instruction) -> None:
    """``mul24.{lo,hi}.type d, a, b`` and ``mad24``: 24-bit operands, bits 0-31 or 16-47."""
    kind, signed = i.mods[-1], _signed(i.mods[-1])

    def cut(value: Val) -> Val:
        value = e.map("shl {T} {0}, {1}", value, literal("i32", 8), out="i32")
        value = e.map(
            ("ashr" if signed else "lshr") + " {T} {0}, {1}", value, literal("i32", 8), out="i32"
        )
        return e.widen(value, "i64", signed)

    a, b = (cut(e.source(o, kind)) for o in i.operands[1:3])
    full = e.map("mul {T} {0}, {1}", a, b, out="i64")
    if "hi" in i.mods:
        full = e.map("lshr {T} {0}, {1}", full, literal("i64", 16), out="i64")
    result = e.narrow(full, "i32")
    if i.opcode == "mad24":
        c = e.source(i.operands[3], kind)
        if "sat" in i.mods:
            result = e.call("llvm.sadd.sat", result, c, out="i32")
        else:
            result = e.add(result, c)
    e.write(i.operands[0], result)


@opcode("sad", f".{_WORDS}", operands=4)
def sum_of_absolute_differences(e: Lowering, i: Instruction) -> None:
    """``sad.type d, a, b, c``: c + |a - b|."""
    kind = i.mods[-1]
    a, b, c = (e.source(o, kind) for o in i.operands[1:4])
    letter = "s" if _signed(kind) else "u"
    big, small = (e.call(f"llvm.{letter}{w}", a, b, out=a.type) for w in ("max", "min"))
    e.write(i.operands[0], e.add(c, e.add(big, small, "sub")))


@opcode(
    "div", f".{_WORDS}", ".(approx|full)[.ftz].f32", ".(rn|rz|rm|rp)[.ftz].f32",
    ".(rn|rz|rm|rp).f64", operands=3,
)  # fmt: skip
@opcode("rem", f".{_WORDS}", operands=3)
def divide(e: Lowering, i: Instruction) -> None:
    """``div.type d, a, b`` and ``rem``. Dividing by zero gives all ones, and a remainder of a."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.binary(e, i)
    signed = _signed(kind)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    zero = e.compare("icmp eq {T} {0}, {1}", b, literal(b.type, 0))
    # the host must not trap: neither on zero nor on the most negative number by -1
    safe = e.select(zero, literal(b.type, 1), b)
    minus = None
    if signed:
        minus = e.compare("icmp eq {T} {0}, {1}", b, literal(b.type, -1))
        safe = e.select(minus, literal(b.type, 1), safe)
    name = ("s" if signed else "u") + i.opcode
    result = e.map(name + " {T} {0}, {1}", a, safe, out=a.type)
    if minus is not None:
        negated = e.map("sub {T} {1}, {0}", a, literal(a.type, 0), out=a.type)
        result = e.select(minus, negated if i.opcode == "div" else literal(a.type, 0), result)
    result = e.select(zero, literal(a.type, -1) if i.opcode == "div" else a, result)
    return e.write(i.operands[0], plain(result))


_SIGNS = (".(s16|s32|s64)", "[.ftz].(f32|f16|f16x2)", ".(f64|bf16|bf16x2)")


@opcode("abs", *_SIGNS, operands=2)
@opcode("neg", *_SIGNS, operands=2)
def sign(e: Lowering, i: Instruction) -> None:
    """``abs.type d, a`` and ``neg.type d, a``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.sign(e, i)
    a = e.source(i.operands[1], kind)
    zero = literal(a.type, 0)
    if i.opcode == "neg":
        result = e.add(zero, a, "sub")
    else:
        result = e.call("llvm.abs", a, out=a.type, extra="i1 false")
    return e.write(i.operands[0], result)


_EXTREMES = (
    f".{_WORDS}", "[.relu].(s32|s16x2)", ".u16x2", "[.ftz][.NaN][.abs|.xorsign.abs].f32", ".f64",
    "[.ftz][.NaN][.xorsign.abs].(f16|f16x2)", "[.NaN][.xorsign.abs].(bf16|bf16x2)",
)  # fmt: skip


@opcode("min", *_EXTREMES, operands=(3, 4))
@opcode("max", *_EXTREMES, operands=(3, 4))
def extreme(e: Lowering, i: Instruction) -> None:
    """``min.type d, a, b`` and ``max``; ``.u16x2`` and ``.s16x2`` half by half; ``.relu``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.extreme(e, i)
    e.need(len(i.operands) == 3, "three operands here")
    name = f"llvm.{kind[0]}{i.opcode}"

    def one(a: Val, b: Val) -> Val:
        result = e.call(name, a, b, out=a.type)
        if "relu" in i.mods:
            result = e.call("llvm.smax", result, literal(a.type, 0), out=a.type)
        return result

    if kind in ("u16x2", "s16x2"):
        a, b = (halves(e, e.source(o, "b32")) for o in i.operands[1:3])
        return e.write(i.operands[0], join(e, one(a[0], b[0]), one(a[1], b[1])))
    return e.write(i.operands[0], one(*(e.source(o, kind) for o in i.operands[1:3])))


@opcode("popc", ".(b32|b64)", operands=2)
@opcode("clz", ".(b32|b64)", operands=2)
@opcode("brev", ".(b32|b64)", operands=2)
@opcode("not", ".(pred|b16|b32|b64)", operands=2)
@opcode("cnot", ".(b16|b32|b64)", operands=2)
def unary(e: Lowering, i: Instruction) -> None:
    """Count ones or leading zeros (into 32 bits), reverse bits, invert, test for zero."""
    kind = i.mods[-1]
    a = e.source(i.operands[1], kind)
    if i.opcode == "not":
        if kind == "pred":
            return e.write(i.operands[0], e.invert(a))
        result = e.map("xor {T} {0}, {1}", a, literal(a.type, -1), out=a.type)
        e.write(i.operands[0], result._replace(poison=a.poison))
    elif i.opcode == "cnot":
        zero = e.compare("icmp eq {T} {0}, {1}", a, literal(a.type, 0))
        e.write(i.operands[0], e.select(zero, literal(a.type, 1), literal(a.type, 0)))
    elif i.opcode == "brev":
        e.write(i.operands[0], e.call("llvm.bitreverse", a, out=a.type))
    else:
        name, extra = ("llvm.ctpop", "") if i.opcode == "popc" else ("llvm.ctlz", "i1 false")
        e.write(i.operands[0], e.narrow(e.call(name, a, out=a.type, extra=extra), "i32"))
    return None


@opcode("bfind", "[.shiftamt].(u32|s32|u64|s64)", operands=2)
def find_leading_bit(e: Lowering, i: Instruction) -> None:
    """``bfind{.shiftamt}.type d, a``: position of the most significant (non-sign) bit, or -1."""
    kind = i.mods[-1]
    a = e.source(i.operands[1], kind)
    bits = BITS[a.type]
    if _signed(kind):
        fill = e.map("ashr {T} {0}, {1}", a, literal(a.type, bits - 1), out=a.type)
        a = e.map("xor {T} {0}, {1}", a, fill, out=a.type)
    zeros = e.call("llvm.ctlz", a, out=a.type, extra="i1 false")
    place = e.map("sub {T} {1}, {0}", zeros, literal(a.type, bits - 1), out=a.type)
    if "shiftamt" in i.mods:
        none = e.compare("icmp eq {T} {0}, {1}", a, literal(a.type, 0))
        place = e.select(none, literal(a.type, -1), zeros)
    e.write(i.operands[0], e.narrow(place, "i32"))


@opcode("fns", ".b32", operands=4)
def find_nth_set(e: Lowering, i: Instruction) -> None:
    """``fns.b32 d, mask, base, offset``: position of the offset-th set bit from `base` on."""
    for component, operand in enumerate(i.operands[1:4]):
        e.put(component, e.source(operand, "b32"))
    e.runtime("void", "find_nth_set")
    e.write(i.operands[0], e.get(0, "i32"))


def _low_byte(e: Lowering, value: Val) -> Val:
    return e.map("and {T} {0}, {1}", value, literal("i32", 255), out="i32")


def _shifted(value: Val, name: str, amount: int) -> Poison | None:
    """Return what is undefined of `value` after a shift by a constant."""
    if value.poison is None:
        return None
    bits = BITS[value.type]
    poison = value.poison
    if name == "shl":
        return cut(moved(poison, amount), ones(bits))
    if name == "ashr":
        poison = extended(poison, bits, bits + amount)
    return moved(poison, -amount)


def shift(e: Lowering, name: str, value: Val, amount: Val) -> Val:
    """Shift by a 32-bit amount; more than the width gives 0 (or the sign for ``ashr``)."""
    bits = BITS[value.type]
    known = amount.constant
    if known is not None and 0 <= known % (1 << 32) < bits:
        if name == "shl" and value.kind == "a":
            return e.multiply(value, literal(value.type, 1 << known))
        result = e.map(name + " {T} {0}, {1}", value, literal(value.type, known), out=value.type)
        return result._replace(poison=_shifted(value, name, known))
    limit = e.call("llvm.umin", amount, literal("i32", bits - 1), out="i32")
    safe = e.widen_plain(limit, value.type) if bits >= 32 else e.narrow(limit, value.type)
    result = e.map(name + " {T} {0}, {1}", value, safe, out=value.type)
    if name == "ashr":
        return result
    over = e.compare("icmp ugt {T} {0}, {1}", amount, literal("i32", bits - 1))
    return plain(e.select(over, literal(value.type, 0), result))


@opcode("shl", ".(b16|b32|b64)", operands=3)
@opcode("shr", ".(b16|b32|b64|u16|u32|u64|s16|s32|s64)", operands=3)
def shift_opcode(e: Lowering, i: Instruction) -> None:
    """``shl.type d, a, n`` and ``shr``."""
    kind = i.mods[-1]
    a, n = e.source(i.operands[1], kind), e.source(i.operands[2], "b32")
    name = "shl" if i.opcode == "shl" else ("ashr" if _signed(kind) else "lshr")
    e.write(i.operands[0], shift(e, name, a, n))


@opcode("shf", ".(l|r).(clamp|wrap).b32", operands=4)
def funnel_shift(e: Lowering, i: Instruction) -> None:
    """``shf.{l,r}.{clamp,wrap}.b32 d, a, b, n``: shift the 64 bits b:a."""
    a, b, n = (e.source(o, "b32") for o in i.operands[1:4])
    if "wrap" in i.mods:
        n = e.map("and {T} {0}, {1}", n, literal("i32", 31), out="i32")
    else:
        n = e.call("llvm.umin", n, literal("i32", 32), out="i32")
    high = e.map("shl {T} {0}, {1}", e.widen_plain(b, "i64"), literal("i64", 32), out="i64")
    both = e.map("or {T} {0}, {1}", high, e.widen_plain(a, "i64"), out="i64")
    if "l" in i.mods:
        moved = e.map("shl {T} {0}, {1}", both, e.widen_plain(n, "i64"), out="i64")
        moved = e.map("lshr {T} {0}, {1}", moved, literal("i64", 32), out="i64")
    else:
        moved = e.map("lshr {T} {0}, {1}", both, e.widen_plain(n, "i64"), out="i64")
    e.write(i.operands[0], e.narrow(moved, "i32"))


@opcode("bfe", ".(u32|s32|u64|s64)", operands=4)
def extract_field(e: Lowering, i: Instruction) -> None:
    """``bfe.type d, a, pos, len``: bits pos..pos+len-1, sign-extended for signed types."""
    kind = i.mods[-1]
    a = e.source(i.operands[1], kind)
    bits, signed = BITS[a.type], _signed(kind)
    position, length = (_low_byte(e, e.source(o, "b32")) for o in i.operands[2:4])
    none = e.compare("icmp eq {T} {0}, {1}", length, literal("i32", 0))
    if signed:
        # the sign is bit min(pos + len - 1, msb); beyond the end the result is filled with it
        last = e.map("sub {T} {0}, {1}", e.add(position, length), literal("i32", 1), out="i32")
        last = e.call("llvm.umin", last, literal("i32", bits - 1), out="i32")
        left = e.map("sub {T} {1}, {0}", last, literal("i32", bits - 1), out="i32")
        at_top = shift(e, "shl", a, left)
        result = shift(e, "ashr", at_top, e.add(left, position))
    else:
        at_bottom = shift(e, "lshr", a, position)
        keep = shift(e, "shl", literal(a.type, -1), length)
        inverted = e.map("xor {T} {0}, {1}", keep, literal(a.type, -1), out=a.type)
        result = e.map("and {T} {0}, {1}", at_bottom, inverted, out=a.type)
    result = plain(e.select(none, literal(a.type, 0), result))
    place = _constants(i.operands[2:4])
    if place and a.poison is not None:
        start, count = place
        poison = cut(moved(a.poison, -start), ones(count))
        if signed and 0 < count <= bits - start:
            poison = extended(poison, count, bits)
        result = result._replace(poison=poison if count <= bits - start else None)
    e.write(i.operands[0], result)


def _constants(operands: tuple[Operand, ...]) -> list[int] | None:
    """Return the low bytes of operands that are constants, or None if one is not."""
    if all(isinstance(o, Imm) for o in operands):
        return [o.value & 255 for o in operands]
    return None


@opcode("bfi", ".(b32|b64)", operands=5)
def insert_field(e: Lowering, i: Instruction) -> None:
    """``bfi.type d, a, b, pos, len``: b with `len` bits from `pos` on replaced by those of a."""
    kind = i.mods[-1]
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    position, length = (_low_byte(e, e.source(o, "b32")) for o in i.operands[3:5])
    keep = shift(e, "shl", literal(a.type, -1), length)
    below = e.map("xor {T} {0}, {1}", keep, literal(a.type, -1), out=a.type)
    where = shift(e, "shl", below, position)
    new = shift(e, "shl", a, position)
    difference = e.map("xor {T} {0}, {1}", new, b, out=a.type)
    chosen = e.map("and {T} {0}, {1}", difference, where, out=a.type)
    result = e.map("xor {T} {0}, {1}", chosen, b, out=a.type)
    place = _constants(i.operands[3:5])
    if place and not e.fast:
        start, count = place
        field = ones(count) << start & ones(BITS[a.type])
        kept = cut(b.poison, ones(BITS[a.type]) ^ field)
        result = result._replace(poison=united((kept, cut(moved(a.poison, start), field))))
    e.write(i.operands[0], result)


@opcode("szext", ".(clamp|wrap).(u32|s32)", operands=3)
def extend_field(e: Lowering, i: Instruction) -> None:
    """``szext.{clamp,wrap}.type d, a, n``: extend from `n` bits."""
    kind = i.mods[-1]
    a, n = e.source(i.operands[1], kind), e.source(i.operands[2], "u32")
    if "wrap" in i.mods:
        n = e.map("and {T} {0}, {1}", n, literal("i32", 31), out="i32")
    n = e.call("llvm.umin", n, literal("i32", 32), out="i32")
    left = e.map("sub {T} {1}, {0}", n, literal("i32", 32), out="i32")
    moved = shift(e, "shl", a, left)
    e.write(i.operands[0], shift(e, "ashr" if _signed(kind) else "lshr", moved, left))


@opcode("bmsk", ".(clamp|wrap).b32", operands=3)
def bit_mask(e: Lowering, i: Instruction) -> None:
    """``bmsk.{clamp,wrap}.b32 d, a, b``: `b` ones from bit `a` on."""
    a, b = (e.source(o, "b32") for o in i.operands[1:3])
    if "wrap" in i.mods:
        a, b = (e.map("and {T} {0}, {1}", v, literal("i32", 31), out="i32") for v in (a, b))
    keep = shift(e, "shl", literal("i32", -1), b)
    low = e.map("xor {T} {0}, {1}", keep, literal("i32", -1), out="i32")
    e.write(i.operands[0], shift(e, "shl", low, a))


@opcode("dp4a", ".(u32|s32).(u32|s32)", operands=4)
@opcode("dp2a", ".(lo|hi).(u32|s32).(u32|s32)", operands=4)
def dot_product(e: Lowering, i: Instruction) -> None:
    """``dp4a.atype.btype d, a, b, c``: c plus four byte products; ``dp2a.{lo,hi}`` two 16x8."""
    kinds = [m for m in i.mods if m in ("u32", "s32")]
    a, b, total = (e.source(o, "b32") for o in i.operands[1:4])
    width = 8 if i.opcode == "dp4a" else 16
    first = 2 if i.mods[0] == "hi" else 0

    def piece(value: Val, index: int, bits: int, kind: str) -> Val:
        moved = e.map("lshr {T} {0}, {1}", value, literal("i32", bits * index), out="i32")
        return e.widen(e.narrow(moved, f"i{bits}"), "i32", _signed(kind))

    for index in range(32 // width):
        x = piece(a, index, width, kinds[0])
        y = piece(b, first + index, 8, kinds[1])
        total = e.add(total, e.map("mul {T} {0}, {1}", x, y, out="i32"))
    e.write(i.operands[0], total)


@opcode("prmt", ".b32[.f4e|.b4e|.rc8|.ecl|.ecr|.rc16]", operands=4)
def permute_bytes(e: Lowering, i: Instruction) -> None:
    """``prmt.b32{.mode} d, a, b, c``: pick four of the eight bytes of b:a."""
    a, b, c = (e.source(o, "b32") for o in i.operands[1:4])
    high = e.map("shl {T} {0}, {1}", e.widen_plain(b, "i64"), literal("i64", 32), out="i64")
    pool = e.map("or {T} {0}, {1}", high, e.widen_plain(a, "i64"), out="i64")
    mode = i.mods[1] if len(i.mods) > 1 else None
    result = literal("i32", 0)
    for index in range(4):
        if mode:
            selector = _mode_selector(e, mode, c, index)
            replicate = None
        else:
            nibble = e.map("lshr {T} {0}, {1}", c, literal("i32", 4 * index), out="i32")
            selector = e.map("and {T} {0}, {1}", nibble, literal("i32", 7), out="i32")
            replicate = e.map("and {T} {0}, {1}", nibble, literal("i32", 8), out="i32")
        bits = e.map("shl {T} {0}, {1}", selector, literal("i32", 3), out="i32")
        byte = e.narrow(
            e.map("lshr {T} {0}, {1}", pool, e.widen_plain(bits, "i64"), out="i64"), "i8"
        )
        if replicate is not None:
            filled = e.map("ashr {T} {0}, {1}", byte, literal("i8", 7), out="i8")
            sign = e.compare("icmp ne {T} {0}, {1}", replicate, literal("i32", 0))
            byte = plain(e.select(sign, filled, byte))
        placed = e.map(
            "shl {T} {0}, {1}", e.widen_plain(byte, "i32"), literal("i32", 8 * index), out="i32"
        )
        result = e.map("or {T} {0}, {1}", result, placed, out="i32")
    if mode is None and c.constant is not None and not e.fast:
        result = result._replace(poison=_permuted(a, b, c.constant))
    e.write(i.operands[0], result)


def _permuted(a: Val, b: Val, selectors: int) -> Poison:
    """Return what is undefined of the bytes that ``prmt`` picks from b:a."""
    pool = united((a.poison, moved(b.poison, 32)))
    parts = []
    for index in range(4):
        selector = selectors >> 4 * index & 15
        byte = cut(moved(pool, -8 * (selector & 7)), 255)
        if selector & 8:
            byte = tuple((mask, 255) for mask, bits in byte if bits & 128)
        parts.append(moved(byte, 8 * index))
    return united(parts)


#: Byte to take for each of the four positions, by mode and by the two low bits of the selector.
_PRMT_MODES = {
    "f4e": [(n, n + 1, n + 2, n + 3) for n in range(4)],
    "b4e": [(n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8) for n in range(4)],
    "rc8": [(n, n, n, n) for n in range(4)],
    "ecl": [(max(n, 0), max(n, 1), max(n, 2), max(n, 3)) for n in range(4)],
    "ecr": [(min(n, 0), min(n, 1), min(n, 2), min(n, 3)) for n in range(4)],
    "rc16": [(0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)],
}


def _mode_selector(e: Lowering, mode: str, c: Val, index: int) -> Val:
    low = e.map("and {T} {0}, {1}", c, literal("i32", 3), out="i32")
    result = literal("i32", _PRMT_MODES[mode][0][index])
    for value in (1, 2, 3):
        here = e.compare("icmp eq {T} {0}, {1}", low, literal("i32", value))
        choice = literal("i32", _PRMT_MODES[mode][value][index])
        result = plain(e.select(here, choice, result))
    return result


@opcode("and", ".(pred|b16|b32|b64)", operands=3)
@opcode("or", ".(pred|b16|b32|b64)", operands=3)
@opcode("xor", ".(pred|b16|b32|b64)", operands=3)
def logic(e: Lowering, i: Instruction) -> None:
    """``and.type d, a, b``, ``or``, ``xor``; predicates too."""
    kind = i.mods[-1]
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    if kind == "pred":
        e.write(i.operands[0], e.logic(i.opcode, a, b))
    else:
        result = e.map(i.opcode + " {T} {0}, {1}", a, b, out=a.type)
        e.write(i.operands[0], result._replace(poison=_logic_poison(i.opcode, a, b)))


def _logic_poison(name: str, a: Val, b: Val) -> Poison:
    """Return what is undefined after ``and``, ``or``, ``xor``: a constant may settle some bits."""
    constant = b.constant if a.constant is None else a.constant
    both = united((a.poison, b.poison))
    if constant is None or name == "xor":
        return both
    open_bits = constant if name == "and" else ~constant
    return cut(both, open_bits & ones(BITS[a.type]))


@opcode("lop3", "[.and|.or].b32", operands=(5, 6))
def three_way_logic(e: Lowering, i: Instruction) -> None:
    """``lop3{.BoolOp}.b32 d{|p}, a, b, c, lut{, q}``: any Boolean function of three inputs."""
    paired = isinstance(i.operands[0], Pair)
    e.need(paired == (len(i.mods) == 2) == (len(i.operands) == 6), "these operands")
    inputs = [e.source(o, "b32") for o in i.operands[1:4]]
    result = _polynomial(e, inputs, i.operands[4].value & 255)
    destination = i.operands[0]
    first = getattr(destination, "first", destination)
    second = getattr(destination, "second", None)
    if second is not None:
        nonzero = e.compare("icmp ne {T} {0}, {1}", result, literal("i32", 0))
        name = next(m for m in i.mods if m in ("and", "or"))
        e.write(second, e.logic(name, nonzero, e.source(i.operands[5], "pred")))
    e.write(first, result)


def _polynomial(e: Lowering, inputs: list[Val], table: int) -> Val:
    """Return the Boolean function with this truth table, as an exclusive or of products."""
    terms = [table >> row & 1 for row in range(8)]
    for step in (1, 2, 4):
        for row in range(8):
            if row & step:
                terms[row] ^= terms[row ^ step]
    result = literal("i32", -terms[0])
    for row in range(1, 8):
        if not terms[row]:
            continue
        factors = [v for n, v in enumerate(inputs) if row >> (2 - n) & 1]
        product = factors[0]
        for factor in factors[1:]:
            product = e.map("and {T} {0}, {1}", product, factor, out="i32")
        result = e.map("xor {T} {0}, {1}", result, product, out="i32")
    return result
