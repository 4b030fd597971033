"""Integer arithmetic, bits and bytes."""

from dataclasses import replace

from ..cfg import CARRY
from ..emit import BITS, Val
from ..lowering import Lowering, opcode
from ..ptx import Instruction
from . import floating


def _signed(kind: str) -> bool:
    return kind[0] == "s"


def _const(kind: str, value: int) -> Val:
    return Val("u", kind, str(value))


@opcode("add", "sub")
def add(e: Lowering, i: Instruction) -> None:
    """``add{.sat}{.cc}.type d, a, b`` and ``sub``; floating types go to `floating`."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.binary(e, i)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    if "sat" in i.mods:
        result = e.call(f"llvm.s{i.opcode}.sat", a, b, out=a.type)
    else:
        result = e.add(a, b, i.opcode)
    if "cc" in i.mods:
        carry = (
            ("icmp ult {T} {0}, {1}", result, a)
            if i.opcode == "add"
            else ("icmp ult {T} {0}, {1}", a, b)
        )
        e.write(CARRY, e.compare(*carry))
    e.write(i.operands[0], result)
    return None


@opcode("addc", "subc")
def add_with_carry(e: Lowering, i: Instruction) -> None:
    """``addc{.cc}.type d, a, b``: add the carry of the last ``.cc`` too; ``subc`` takes the borrow."""
    kind, name = i.mods[-1], i.opcode[:3]
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    carry = e.select(e.read_register(CARRY), _const(a.type, 1), _const(a.type, 0))
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
    high = e.map("lshr {T} {0}, {1}", full, _const(double, BITS[a.type]), out=double)
    return e.narrow(high, a.type)


def _part(i: Instruction) -> str:
    return next((m for m in i.mods if m in ("lo", "hi", "wide")), "lo")


@opcode("mul")
def multiply(e: Lowering, i: Instruction) -> None:
    """``mul.{lo,hi,wide}.type d, a, b``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.binary(e, i)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    e.write(i.operands[0], product(e, a, b, _part(i), _signed(kind)), sign=_signed(kind))
    return None


@opcode("mad", "madc")
def multiply_add(e: Lowering, i: Instruction) -> None:
    """``mad.{lo,hi,wide}{.sat}{.cc}.type d, a, b, c``."""
    kind, part = i.mods[-1], _part(i)
    if floating.is_float(kind):
        return floating.fused(e, i)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    value = product(e, a, b, part, _signed(kind))
    c = e.source(i.operands[3], kind[0] + str(BITS[value.type]))
    if "sat" in i.mods:
        result = e.call("llvm.sadd.sat", value, c, out=value.type)
    elif i.opcode == "madc":
        carry = e.select(e.read_register(CARRY), _const(c.type, 1), _const(c.type, 0))
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
    e.write(i.operands[0], result, sign=_signed(kind))
    return None


@opcode("mul24", "mad24")
def multiply_24(e: Lowering, i: Instruction) -> None:
    """``mul24.{lo,hi}.type d, a, b`` and ``mad24``: 24-bit operands, bits 0-31 or 16-47."""
    kind, signed = i.mods[-1], _signed(i.mods[-1])

    def cut(value: Val) -> Val:
        value = e.map("shl {T} {0}, {1}", value, _const("i32", 8), out="i32")
        value = e.map(
            ("ashr" if signed else "lshr") + " {T} {0}, {1}", value, _const("i32", 8), out="i32"
        )
        return e.widen(value, "i64", signed)

    a, b = (cut(e.source(o, kind)) for o in i.operands[1:3])
    full = e.map("mul {T} {0}, {1}", a, b, out="i64")
    if "hi" in i.mods:
        full = e.map("lshr {T} {0}, {1}", full, _const("i64", 16), out="i64")
    result = e.narrow(full, "i32")
    if i.opcode == "mad24":
        c = e.source(i.operands[3], kind)
        name = "llvm.sadd.sat"
        result = e.call(name, result, c, out="i32") if "sat" in i.mods else e.add(result, c)
    e.write(i.operands[0], result)


@opcode("sad")
def sum_of_absolute_differences(e: Lowering, i: Instruction) -> None:
    """``sad.type d, a, b, c``: c + |a - b|."""
    kind = i.mods[-1]
    a, b, c = (e.source(o, kind) for o in i.operands[1:4])
    letter = "s" if _signed(kind) else "u"
    big, small = (e.call(f"llvm.{letter}{w}", a, b, out=a.type) for w in ("max", "min"))
    e.write(i.operands[0], e.add(c, e.add(big, small, "sub")))


@opcode("div", "rem")
def divide(e: Lowering, i: Instruction) -> None:
    """``div.type d, a, b`` and ``rem``. Dividing by zero gives all ones, and a remainder of a."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.binary(e, i)
    signed = _signed(kind)
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    zero = e.compare("icmp eq {T} {0}, {1}", b, _const(b.type, 0))
    # the host must not trap: neither on zero nor on the most negative number by -1
    safe = e.select(zero, _const(b.type, 1), b)
    minus = None
    if signed:
        minus = e.compare("icmp eq {T} {0}, {1}", b, _const(b.type, -1))
        safe = e.select(minus, _const(b.type, 1), safe)
    name = ("s" if signed else "u") + i.opcode
    result = e.map(name + " {T} {0}, {1}", a, safe, out=a.type)
    if minus is not None:
        negated = e.map("sub {T} {1}, {0}", a, _const(a.type, 0), out=a.type)
        result = e.select(minus, negated if i.opcode == "div" else _const(a.type, 0), result)
    result = e.select(zero, _const(a.type, -1) if i.opcode == "div" else a, result)
    e.write(i.operands[0], replace(result, poison=None))
    return None


@opcode("abs", "neg")
def sign(e: Lowering, i: Instruction) -> None:
    """``abs.type d, a`` and ``neg.type d, a``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.sign(e, i)
    a = e.source(i.operands[1], kind)
    zero = _const(a.type, 0)
    if i.opcode == "neg":
        result = e.add(zero, a, "sub")
    else:
        result = e.call("llvm.abs", a, out=a.type, extra="i1 false")
    e.write(i.operands[0], result)
    return None


@opcode("min", "max")
def extreme(e: Lowering, i: Instruction) -> None:
    """``min.type d, a, b`` and ``max``; ``.u16x2`` and ``.s16x2`` half by half; ``.relu``."""
    kind = i.mods[-1]
    if floating.is_float(kind):
        return floating.extreme(e, i)
    name = f"llvm.{kind[0]}{i.opcode}"

    def one(a: Val, b: Val) -> Val:
        result = e.call(name, a, b, out=a.type)
        if "relu" in i.mods:
            result = e.call("llvm.smax", result, _const(a.type, 0), out=a.type)
        return result

    if kind in ("u16x2", "s16x2"):
        a, b = (halves(e, e.source(o, "b32")) for o in i.operands[1:3])
        e.write(i.operands[0], join(e, one(a[0], b[0]), one(a[1], b[1])))
    else:
        e.write(i.operands[0], one(*(e.source(o, kind) for o in i.operands[1:3])))
    return None


def halves(e: Lowering, value: Val) -> tuple[Val, Val]:
    """Return the low and high 16 bits of a 32-bit value."""
    high = e.map("lshr {T} {0}, {1}", value, _const("i32", 16), out="i32")
    return e.narrow(value, "i16"), e.narrow(high, "i16")


def join(e: Lowering, low: Val, high: Val) -> Val:
    """Return two 16-bit values as one of 32 bits."""
    wide = e.map("shl {T} {0}, {1}", e.widen_plain(high, "i32"), _const("i32", 16), out="i32")
    return e.map("or {T} {0}, {1}", wide, e.widen_plain(low, "i32"), out="i32")


@opcode("popc", "clz", "brev", "not", "cnot")
def unary(e: Lowering, i: Instruction) -> None:
    """Count ones or leading zeros (into 32 bits), reverse bits, invert, test for zero."""
    kind = i.mods[-1]
    a = e.source(i.operands[1], kind)
    if i.opcode == "not":
        inverted = (
            e.invert(a)
            if kind == "pred"
            else e.map("xor {T} {0}, {1}", a, _const(a.type, -1), out=a.type)
        )
        e.write(i.operands[0], inverted)
    elif i.opcode == "cnot":
        zero = e.compare("icmp eq {T} {0}, {1}", a, _const(a.type, 0))
        e.write(i.operands[0], e.select(zero, _const(a.type, 1), _const(a.type, 0)))
    elif i.opcode == "brev":
        e.write(i.operands[0], e.call("llvm.bitreverse", a, out=a.type))
    else:
        name, extra = ("llvm.ctpop", "") if i.opcode == "popc" else ("llvm.ctlz", "i1 false")
        e.write(i.operands[0], e.narrow(e.call(name, a, out=a.type, extra=extra), "i32"))


@opcode("bfind")
def find_leading_bit(e: Lowering, i: Instruction) -> None:
    """``bfind{.shiftamt}.type d, a``: position of the most significant (non-sign) bit, or -1."""
    kind = i.mods[-1]
    a = e.source(i.operands[1], kind)
    bits = BITS[a.type]
    if _signed(kind):
        fill = e.map("ashr {T} {0}, {1}", a, _const(a.type, bits - 1), out=a.type)
        a = e.map("xor {T} {0}, {1}", a, fill, out=a.type)
    zeros = e.call("llvm.ctlz", a, out=a.type, extra="i1 false")
    place = e.map("sub {T} {1}, {0}", zeros, _const(a.type, bits - 1), out=a.type)
    if "shiftamt" in i.mods:
        none = e.compare("icmp eq {T} {0}, {1}", a, _const(a.type, 0))
        place = e.select(none, _const(a.type, -1), zeros)
    e.write(i.operands[0], e.narrow(place, "i32"))


@opcode("fns")
def find_nth_set(e: Lowering, i: Instruction) -> None:
    """``fns.b32 d, mask, base, offset``: position of the offset-th set bit from `base` on."""
    for component, operand in enumerate(i.operands[1:4]):
        e.put(component, e.source(operand, "b32"))
    e.runtime("void", "find_nth_set")
    e.write(i.operands[0], e.get(0, "i32"))


def _low_byte(e: Lowering, value: Val) -> Val:
    return e.map("and {T} {0}, {1}", value, _const("i32", 255), out="i32")


def shift(e: Lowering, name: str, value: Val, amount: Val) -> Val:
    """Shift by a 32-bit amount; more than the width gives 0 (or the sign for ``ashr``)."""
    bits = BITS[value.type]
    known = amount.constant
    if known is not None and 0 <= known % (1 << 32) < bits:
        if name == "shl" and value.kind == "a":
            return e.multiply(value, _const(value.type, 1 << known))
        return e.map(name + " {T} {0}, {1}", value, _const(value.type, known), out=value.type)
    limit = e.call("llvm.umin", amount, _const("i32", bits - 1), out="i32")
    safe = e.widen_plain(limit, value.type) if bits >= 32 else e.narrow(limit, value.type)
    result = e.map(name + " {T} {0}, {1}", value, safe, out=value.type)
    if name == "ashr":
        return result
    over = e.compare("icmp ugt {T} {0}, {1}", amount, _const("i32", bits - 1))
    return replace(e.select(over, _const(value.type, 0), result), poison=None)


@opcode("shl", "shr")
def shift_opcode(e: Lowering, i: Instruction) -> None:
    """``shl.type d, a, n`` and ``shr``."""
    kind = i.mods[-1]
    a, n = e.source(i.operands[1], kind), e.source(i.operands[2], "b32")
    name = "shl" if i.opcode == "shl" else ("ashr" if _signed(kind) else "lshr")
    e.write(i.operands[0], shift(e, name, a, n))


@opcode("shf")
def funnel_shift(e: Lowering, i: Instruction) -> None:
    """``shf.{l,r}.{clamp,wrap}.b32 d, a, b, n``: shift the 64 bits b:a."""
    a, b, n = (e.source(o, "b32") for o in i.operands[1:4])
    if "wrap" in i.mods:
        n = e.map("and {T} {0}, {1}", n, _const("i32", 31), out="i32")
    else:
        n = e.call("llvm.umin", n, _const("i32", 32), out="i32")
    high = e.map("shl {T} {0}, {1}", e.widen_plain(b, "i64"), _const("i64", 32), out="i64")
    both = e.map("or {T} {0}, {1}", high, e.widen_plain(a, "i64"), out="i64")
    if "l" in i.mods:
        moved = e.map("shl {T} {0}, {1}", both, e.widen_plain(n, "i64"), out="i64")
        moved = e.map("lshr {T} {0}, {1}", moved, _const("i64", 32), out="i64")
    else:
        moved = e.map("lshr {T} {0}, {1}", both, e.widen_plain(n, "i64"), out="i64")
    e.write(i.operands[0], e.narrow(moved, "i32"))


@opcode("bfe")
def extract_field(e: Lowering, i: Instruction) -> None:
    """``bfe.type d, a, pos, len``: bits pos..pos+len-1, sign-extended for signed types."""
    kind = i.mods[-1]
    a = e.source(i.operands[1], kind)
    bits, signed = BITS[a.type], _signed(kind)
    position, length = (_low_byte(e, e.source(o, "b32")) for o in i.operands[2:4])
    none = e.compare("icmp eq {T} {0}, {1}", length, _const("i32", 0))
    if signed:
        # the sign is bit min(pos + len - 1, msb); beyond the end the result is filled with it
        last = e.map("sub {T} {0}, {1}", e.add(position, length), _const("i32", 1), out="i32")
        last = e.call("llvm.umin", last, _const("i32", bits - 1), out="i32")
        left = e.map("sub {T} {1}, {0}", last, _const("i32", bits - 1), out="i32")
        moved = shift(e, "shl", a, left)
        result = shift(e, "ashr", moved, e.add(left, position))
    else:
        moved = shift(e, "lshr", a, position)
        keep = shift(e, "shl", _const(a.type, -1), length)
        inverted = e.map("xor {T} {0}, {1}", keep, _const(a.type, -1), out=a.type)
        result = e.map("and {T} {0}, {1}", moved, inverted, out=a.type)
    e.write(i.operands[0], replace(e.select(none, _const(a.type, 0), result), poison=None))


@opcode("bfi")
def insert_field(e: Lowering, i: Instruction) -> None:
    """``bfi.type d, a, b, pos, len``: b with `len` bits from `pos` on replaced by those of a."""
    kind = i.mods[-1]
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    position, length = (_low_byte(e, e.source(o, "b32")) for o in i.operands[3:5])
    keep = shift(e, "shl", _const(a.type, -1), length)
    ones = e.map("xor {T} {0}, {1}", keep, _const(a.type, -1), out=a.type)
    where = shift(e, "shl", ones, position)
    new = shift(e, "shl", a, position)
    difference = e.map("xor {T} {0}, {1}", new, b, out=a.type)
    chosen = e.map("and {T} {0}, {1}", difference, where, out=a.type)
    e.write(i.operands[0], e.map("xor {T} {0}, {1}", chosen, b, out=a.type))


@opcode("szext")
def extend_field(e: Lowering, i: Instruction) -> None:
    """``szext.{clamp,wrap}.type d, a, n``: extend from `n` bits."""
    kind = i.mods[-1]
    a, n = e.source(i.operands[1], kind), e.source(i.operands[2], "u32")
    if "wrap" in i.mods:
        n = e.map("and {T} {0}, {1}", n, _const("i32", 31), out="i32")
    n = e.call("llvm.umin", n, _const("i32", 32), out="i32")
    left = e.map("sub {T} {1}, {0}", n, _const("i32", 32), out="i32")
    moved = shift(e, "shl", a, left)
    e.write(i.operands[0], shift(e, "ashr" if _signed(kind) else "lshr", moved, left))


@opcode("bmsk")
def bit_mask(e: Lowering, i: Instruction) -> None:
    """``bmsk.{clamp,wrap}.b32 d, a, b``: `b` ones from bit `a` on."""
    a, b = (e.source(o, "b32") for o in i.operands[1:3])
    if "wrap" in i.mods:
        a, b = (e.map("and {T} {0}, {1}", v, _const("i32", 31), out="i32") for v in (a, b))
    keep = shift(e, "shl", _const("i32", -1), b)
    ones = e.map("xor {T} {0}, {1}", keep, _const("i32", -1), out="i32")
    e.write(i.operands[0], shift(e, "shl", ones, a))


@opcode("dp4a", "dp2a")
def dot_product(e: Lowering, i: Instruction) -> None:
    """``dp4a.atype.btype d, a, b, c``: c plus four byte products; ``dp2a.{lo,hi}`` two 16x8."""
    kinds = [m for m in i.mods if m in ("u32", "s32")]
    a, b, total = (e.source(o, "b32") for o in i.operands[1:4])
    width = 8 if i.opcode == "dp4a" else 16
    first = 2 if i.opcode == "dp2a" and "hi" in i.mods else 0

    def piece(value: Val, index: int, bits: int, kind: str) -> Val:
        moved = e.map("lshr {T} {0}, {1}", value, _const("i32", bits * index), out="i32")
        return e.widen(e.narrow(moved, f"i{bits}"), "i32", _signed(kind))

    for index in range(32 // width):
        x = piece(a, index, width, kinds[0])
        y = piece(b, first + index, 8, kinds[1])
        total = e.add(total, e.map("mul {T} {0}, {1}", x, y, out="i32"))
    e.write(i.operands[0], total)


@opcode("prmt")
def permute_bytes(e: Lowering, i: Instruction) -> None:
    """``prmt.b32{.mode} d, a, b, c``: pick four of the eight bytes of b:a."""
    a, b, c = (e.source(o, "b32") for o in i.operands[1:4])
    high = e.map("shl {T} {0}, {1}", e.widen_plain(b, "i64"), _const("i64", 32), out="i64")
    pool = e.map("or {T} {0}, {1}", high, e.widen_plain(a, "i64"), out="i64")
    mode = next((m for m in i.mods if m in _PRMT_MODES), None)
    result = _const("i32", 0)
    for index in range(4):
        if mode:
            selector = _mode_selector(e, mode, c, index)
            replicate = None
        else:
            nibble = e.map("lshr {T} {0}, {1}", c, _const("i32", 4 * index), out="i32")
            selector = e.map("and {T} {0}, {1}", nibble, _const("i32", 7), out="i32")
            replicate = e.map("and {T} {0}, {1}", nibble, _const("i32", 8), out="i32")
        bits = e.map("shl {T} {0}, {1}", selector, _const("i32", 3), out="i32")
        byte = e.narrow(
            e.map("lshr {T} {0}, {1}", pool, e.widen_plain(bits, "i64"), out="i64"), "i8"
        )
        if replicate is not None:
            filled = e.map("ashr {T} {0}, {1}", byte, _const("i8", 7), out="i8")
            sign = e.compare("icmp ne {T} {0}, {1}", replicate, _const("i32", 0))
            byte = replace(e.select(sign, filled, byte), poison=None)
        placed = e.map(
            "shl {T} {0}, {1}", e.widen_plain(byte, "i32"), _const("i32", 8 * index), out="i32"
        )
        result = e.map("or {T} {0}, {1}", result, placed, out="i32")
    e.write(i.operands[0], result)


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
    low = e.map("and {T} {0}, {1}", c, _const("i32", 3), out="i32")
    result = _const("i32", _PRMT_MODES[mode][0][index])
    for value in (1, 2, 3):
        here = e.compare("icmp eq {T} {0}, {1}", low, _const("i32", value))
        result = replace(
            e.select(here, _const("i32", _PRMT_MODES[mode][value][index]), result), poison=None
        )
    return result


@opcode("and", "or", "xor")
def logic(e: Lowering, i: Instruction) -> None:
    """``and.type d, a, b``, ``or``, ``xor``; predicates too."""
    kind = i.mods[-1]
    a, b = (e.source(o, kind) for o in i.operands[1:3])
    if kind == "pred":
        e.write(i.operands[0], e.logic(i.opcode, a, b))
    else:
        e.write(i.operands[0], e.map(i.opcode + " {T} {0}, {1}", a, b, out=a.type))


@opcode("lop3")
def three_way_logic(e: Lowering, i: Instruction) -> None:
    """``lop3{.BoolOp}.b32 d{|p}, a, b, c, lut{, q}``: any Boolean function of three inputs."""
    a, b, c = (e.source(o, "b32") for o in i.operands[1:4])
    table = i.operands[4].value & 255
    inverse = [e.map("xor {T} {0}, {1}", v, _const("i32", -1), out="i32") for v in (a, b, c)]
    result = _const("i32", 0)
    for row in range(8):
        if not table >> row & 1:
            continue
        picks = [v if row >> (2 - n) & 1 else inverse[n] for n, v in enumerate((a, b, c))]
        term = e.map("and {T} {0}, {1}", picks[0], picks[1], out="i32")
        term = e.map("and {T} {0}, {1}", term, picks[2], out="i32")
        result = e.map("or {T} {0}, {1}", result, term, out="i32")
    destination = i.operands[0]
    first = getattr(destination, "first", destination)
    second = getattr(destination, "second", None)
    if second is not None:
        nonzero = e.compare("icmp ne {T} {0}, {1}", result, _const("i32", 0))
        name = next(m for m in i.mods if m in ("and", "or"))
        e.write(second, e.logic(name, nonzero, e.source(i.operands[5], "pred")))
    e.write(first, result)
