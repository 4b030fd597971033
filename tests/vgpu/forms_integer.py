"""Integer forms and their twins, in Python's unbounded integers."""

from collections.abc import Iterator

from forms import Form, form

WORDS = ("u16", "s16", "u32", "s32", "u64", "s64")


def bits(kind: str) -> int:
    return int(kind[1:3])


def signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def unsigned(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def clamp(value: int, width: int, is_signed: bool) -> int:
    low = -(1 << (width - 1)) if is_signed else 0
    return max(low, min(low + (1 << width) - 1, value))


def clamp_to(kind: str, value: int) -> int:
    return clamp(value, bits(kind), kind[0] == "s")


def by_halves(function, kind: str):
    """Return a twin that works on both 16-bit halves; `kind` says whether they are signed."""

    def read(value: int, shift: int) -> int:
        half = value >> shift & 0xFFFF
        return signed(half, 16) if kind[0] == "s" else half

    def twin(*values: int) -> int:
        low, high = (function(*(read(v, s) for v in values)) & 0xFFFF for s in (0, 16))
        return high << 16 | low

    return twin


# --- arithmetic


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b)


def can_divide(kind: str):
    least = -(1 << (bits(kind) - 1))
    return lambda a, b: b != 0 and not (kind[0] == "s" and a == least and b == -1)


def arithmetic() -> Iterator[Form]:
    for kind in WORDS:
        two = f"{kind} {kind}"
        width = bits(kind)
        yield form(f"add.{kind}", two, kind, lambda a, b: a + b)
        yield form(f"sub.{kind}", two, kind, lambda a, b: a - b)
        yield form(f"mul.lo.{kind}", two, kind, lambda a, b: a * b)
        yield form(f"mul.hi.{kind}", two, kind, lambda a, b, w=width: a * b >> w)
        yield form(f"mad.lo.{kind}", f"{two} {kind}", kind, lambda a, b, c: a * b + c)
        yield form(
            f"mad.hi.{kind}", f"{two} {kind}", kind, lambda a, b, c, w=width: (a * b >> w) + c
        )
        yield form(f"sad.{kind}", f"{two} {kind}", kind, lambda a, b, c: c + abs(a - b))
        yield form(f"min.{kind}", two, kind, min)
        yield form(f"max.{kind}", two, kind, max)
        yield form(f"div.{kind}", two, kind, quotient, defined=can_divide(kind))
        yield form(f"rem.{kind}", two, kind, remainder, defined=can_divide(kind))
        if kind[0] == "s":
            yield form(f"abs.{kind}", kind, kind, abs)
            yield form(f"neg.{kind}", kind, kind, lambda a: -a)
        if width < 64:
            wide = f"{kind[0]}{2 * width}"
            yield form(f"mul.wide.{kind}", two, wide, lambda a, b: a * b)
            yield form(f"mad.wide.{kind}", f"{two} {wide}", wide, lambda a, b, c: a * b + c)
    s32 = "s32 s32"
    yield form("add.sat.s32", s32, "s32", lambda a, b: clamp(a + b, 32, True))
    yield form("sub.sat.s32", s32, "s32", lambda a, b: clamp(a - b, 32, True))
    yield form(
        "mad.hi.sat.s32", "s32 s32 s32", "s32", lambda a, b, c: clamp((a * b >> 32) + c, 32, True)
    )
    for name in ("min", "max"):
        pick = min if name == "min" else max
        yield form(f"{name}.relu.s32", s32, "s32", lambda a, b, f=pick: max(f(a, b), 0), needs=90)
        for kind in ("u16x2", "s16x2"):
            yield form(f"{name}.{kind}", "b32 b32", "b32", by_halves(pick, kind), needs=90)
        yield form(
            f"{name}.relu.s16x2", "b32 b32", "b32",
            by_halves(lambda a, b, f=pick: max(f(a, b), 0), "s16x2"), needs=90,
        )  # fmt: skip
    for kind in ("u16x2", "s16x2"):
        yield form(f"add.{kind}", "b32 b32", "b32", by_halves(lambda a, b: a + b, kind), needs=90)


def twenty_four(kind: str, value: int) -> int:
    return signed(value, 24) if kind[0] == "s" else unsigned(value, 24)


def multiply_24() -> Iterator[Form]:
    for kind in ("u32", "s32"):
        for part, shift in (("lo", 0), ("hi", 16)):

            def product(a, b, k=kind, s=shift):
                full = twenty_four(k, a) * twenty_four(k, b) >> s
                return signed(full, 32) if k == "s32" else unsigned(full, 32)

            yield form(f"mul24.{part}.{kind}", f"{kind} {kind}", kind, product)
            yield form(
                f"mad24.{part}.{kind}", f"{kind} {kind} {kind}", kind,
                lambda a, b, c, p=product: p(a, b) + c,
            )  # fmt: skip
            if (part, kind) == ("hi", "s32"):
                yield form(
                    "mad24.hi.sat.s32", "s32 s32 s32", "s32",
                    lambda a, b, c, p=product: clamp(p(a, b) + c, 32, True),
                )  # fmt: skip


def carry_chains() -> Iterator[Form]:
    """Two words at a time: the second instruction sees the first one's carry."""
    for width in (32, 64):
        for sign in "us":
            kind = f"{sign}{width}"
            ones = (1 << width) - 1
            four = f"b{width} b{width} b{width} b{width}"

            def add(a, b, c, g, w=width, m=ones):
                return a + c & m, b + g + (a + c >> w) & m

            def subtract(a, b, c, g, m=ones):
                return a - c & m, b - g - (a < c) & m

            for name, twin in (("add", add), ("sub", subtract)):
                yield form(
                    f"{name}.cc.{kind} {name}c.{kind}", four, f"b{width} b{width}", twin,
                    text=f"{name}.cc.{kind} {{d}}, {{a}}, {{c}}; "
                    f"{name}c.{kind} {{e}}, {{b}}, {{g}};",
                )  # fmt: skip

            def add_three(a, b, c, g, w=width, m=ones):
                low = a + c
                middle = b + g + (low >> w)
                return middle & m, a + b + (middle >> w) & m

            def subtract_three(a, b, c, g, w=width, m=ones):
                middle = b - g - (a < c)
                return middle & m, a - b - (middle < 0) & m

            for name, twin in (("add", add_three), ("sub", subtract_three)):
                yield form(
                    f"{name}c.cc.{kind}", four, f"b{width} b{width}", twin,
                    text=f"{name}.cc.{kind} {{e}}, {{a}}, {{c}}; {name}c.cc.{kind} {{d}}, {{b}}, "
                    f"{{g}}; {name}c.{kind} {{e}}, {{a}}, {{b}};",
                )  # fmt: skip

            def read(value, s=sign, w=width):
                return signed(value, w) if s == "s" else value

            for part in ("lo", "hi"):

                def mad(a, b, c, g, w=width, m=ones, p=part, r=read):
                    product = r(a) * r(b)
                    low = (product & m if p == "lo" else product >> w & m) + c
                    return low & m, (product >> w) + g + (low >> w) & m

                yield form(
                    f"mad.{part}.cc.{kind} madc.hi.{kind}", four, f"b{width} b{width}", mad,
                    text=f"mad.{part}.cc.{kind} {{d}}, {{a}}, {{b}}, {{c}}; "
                    f"madc.hi.{kind} {{e}}, {{a}}, {{b}}, {{g}};",
                )  # fmt: skip

                def madc(a, b, c, g, w=width, m=ones, p=part, r=read):
                    product = r(a) * r(b)
                    piece = product & m if p == "lo" else product >> w & m
                    middle = piece + g + (a + c >> w)
                    return middle & m, a + b + (middle >> w) & m

                yield form(
                    f"madc.{part}.cc.{kind}", four, f"b{width} b{width}", madc,
                    text=f"add.cc.{kind} {{e}}, {{a}}, {{c}}; madc.{part}.cc.{kind} {{d}}, {{a}}, "
                    f"{{b}}, {{g}}; addc.{kind} {{e}}, {{a}}, {{b}};",
                )  # fmt: skip


# --- bits


def find_leading(a: int, width: int, amount: bool) -> int:
    a = ~a if a < 0 else a
    if a == 0:
        return -1
    return width - a.bit_length() if amount else a.bit_length() - 1


def find_nth(mask: int, base: int, offset: int) -> int:
    if not 0 <= base < 32:
        return -1
    if offset == 0:
        return base if mask >> base & 1 else -1
    positions = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [p for p in positions if mask >> p & 1]
    return found[abs(offset) - 1] if abs(offset) <= len(found) else -1


def extract(a: int, position: int, length: int, width: int, is_signed: bool) -> int:
    position, length = position & 255, length & 255
    sign = 0
    if is_signed and length:
        sign = a >> min(position + length - 1, width - 1) & 1
    result = 0
    for i in range(width):
        inside = i < length and position + i < width
        result |= (a >> (position + i) & 1 if inside else sign) << i
    return result


def insert(a: int, b: int, position: int, length: int, width: int) -> int:
    position, length = position & 255, length & 255
    for i in range(length):
        if position + i < width:
            at = 1 << (position + i)
            b = b & ~at | (at if a >> i & 1 else 0)
    return b


def extend(a: int, n: int, mode: str, is_signed: bool) -> int:
    n = n & 31 if mode == "wrap" else min(n, 32)
    if n == 0:
        return 0
    return signed(a, n) if is_signed else unsigned(a, n)


def make_mask(a: int, b: int, mode: str) -> int:
    if mode == "wrap":
        a, b = a & 31, b & 31
    return unsigned(((1 << min(b, 32)) - 1) << a, 32) if a < 32 else 0


def permute(a: int, b: int, c: int) -> int:
    pool, result = b << 32 | a, 0
    for i in range(4):
        pick = c >> (4 * i) & 15
        byte = pool >> (8 * (pick & 7)) & 255
        if pick & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << (8 * i)
    return result


#: Bytes d.b3 to d.b0 for the selectors 0 to 3, as the ISA's table has them.
PERMUTATIONS = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def bit_operations() -> Iterator[Form]:
    for width in (32, 64):
        b, wide = f"b{width}", width
        yield form(f"popc.{b}", b, "b32", lambda a: a.bit_count())
        yield form(f"clz.{b}", b, "b32", lambda a, w=wide: w - a.bit_length())
        yield form(f"brev.{b}", b, b, lambda a, w=wide: int(f"{a:0{w}b}"[::-1], 2))
        for kind in (f"u{width}", f"s{width}"):
            for amount in (False, True):
                yield form(
                    f"bfind{'.shiftamt' * amount}.{kind}", kind, "b32",
                    lambda a, w=wide, m=amount: find_leading(a, w, m),
                )  # fmt: skip
            yield form(
                f"bfe.{kind}", f"b{width} u32 u32", b,
                lambda a, p, n, w=wide, s=kind[0] == "s": extract(a, p, n, w, s),
                values={"b": "position", "c": "position"},
                defined=lambda a, p, n: max(p, n) < 256,
            )  # fmt: skip
        yield form(
            f"bfi.{b}", f"{b} {b} u32 u32", b,
            lambda a, o, p, n, w=wide: insert(a, o, p, n, w),
            values={"c": "position", "g": "position"},
            defined=lambda a, o, p, n: max(p, n) < 256,
        )  # fmt: skip
    yield form("fns.b32", "b32 b32 s32", "b32", find_nth, values={"b": "bit", "c": "signed_count"})
    for mode in ("clamp", "wrap"):
        for kind in ("u32", "s32"):
            yield form(
                f"szext.{mode}.{kind}", "b32 u32", "b32",
                lambda a, n, m=mode, s=kind == "s32": extend(a, n, m, s), values={"b": "position"},
            )  # fmt: skip
        yield form(
            f"bmsk.{mode}.b32", "u32 u32", "b32", lambda a, b, m=mode: make_mask(a, b, m),
            values={"a": "position", "b": "position"},
        )  # fmt: skip
    yield form("prmt.b32", "b32 b32 b32", "b32", permute)
    for mode, table in PERMUTATIONS.items():

        def twin(a, b, c, t=table):
            return permute(a, b, int(t[c & 3], 16))

        yield form(f"prmt.b32.{mode}", "b32 b32 b32", "b32", twin)


def dot(a: int, b: int, c: int, kinds: tuple[str, str], width: int, first: int) -> int:
    def piece(value, index, size, kind):
        part = unsigned(value >> (size * index), size)
        return signed(part, size) if kind == "s32" else part

    for i in range(32 // width):
        c += piece(a, i, width, kinds[0]) * piece(b, first + i, 8, kinds[1])
    return c


def dot_products() -> Iterator[Form]:
    for x in ("u32", "s32"):
        for y in ("u32", "s32"):
            yield form(
                f"dp4a.{x}.{y}", "b32 b32 b32", "b32",
                lambda a, b, c, k=(x, y): dot(a, b, c, k, 8, 0),
            )  # fmt: skip
            for part, first in (("lo", 0), ("hi", 2)):
                yield form(
                    f"dp2a.{part}.{x}.{y}", "b32 b32 b32", "b32",
                    lambda a, b, c, k=(x, y), f=first: dot(a, b, c, k, 16, f),
                )  # fmt: skip


# --- logic and shifts


def look_up(table: int, a: int, b: int, c: int) -> int:
    ones, result = 0xFFFFFFFF, 0
    for row in range(8):
        if table >> row & 1:
            x = a if row & 4 else ~a
            y = b if row & 2 else ~b
            z = c if row & 1 else ~c
            result |= x & y & z & ones
    return result


def shift_left(a: int, n: int, width: int) -> int:
    return a << n if n < width else 0


def funnel(a: int, b: int, n: int, left: bool, wrap: bool) -> int:
    n = n & 31 if wrap else min(n, 32)
    both = b << 32 | a
    return both << n >> 32 if left else both >> n


def logic() -> Iterator[Form]:
    operations = (
        ("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b),
    )  # fmt: skip
    for kind in ("pred", "b16", "b32", "b64"):
        for name, twin in operations:
            yield form(f"{name}.{kind}", f"{kind} {kind}", kind, twin)
        invert = (lambda a: 1 - a) if kind == "pred" else (lambda a: ~a)
        yield form(f"not.{kind}", kind, kind, invert)
        if kind == "pred":
            continue
        width = int(kind[1:])
        yield form(f"cnot.{kind}", kind, kind, lambda a: int(a == 0))
        amount = {"values": {"b": "position"}}
        yield form(
            f"shl.{kind}", f"{kind} u32", kind, lambda a, n, w=width: shift_left(a, n, w), **amount
        )
        for letter in "bus":
            typed = f"{letter}{width}"
            yield form(
                f"shr.{typed}", f"{typed} u32", typed,
                lambda a, n, w=width: a >> min(n, w), **amount,
            )  # fmt: skip
    for left in (True, False):
        for mode in ("clamp", "wrap"):
            yield form(
                f"shf.{'l' if left else 'r'}.{mode}.b32", "b32 b32 u32", "b32",
                lambda a, b, n, s=left, m=mode == "wrap": funnel(a, b, n, s, m),
                values={"c": "position"},
            )  # fmt: skip
    for table in range(256):
        yield form(
            f"lop3.b32 {table:#04x}", "b32 b32 b32", "b32",
            lambda a, b, c, t=table: look_up(t, a, b, c),
            text=f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#x};",
            plain=table not in (0x00, 0x1A, 0x96, 0xE8, 0xFF),
        )  # fmt: skip
    for name in ("and", "or"):

        def twin(a, b, c, q, n=name):
            d = look_up(0x3F, a, b, c)
            return d, (d != 0) & q if n == "and" else (d != 0) | q

        yield form(
            f"lop3.{name}.b32", "b32 b32 b32 pred", "b32 pred", twin,
            operands="{d}|{e}, {a}, {b}, {c}, 0x3f, {g}",
        )  # fmt: skip
        yield form(
            f"lop3.{name}.b32 sink", "b32 b32 b32 pred", "pred",
            lambda a, b, c, q, t=twin: t(a, b, c, q)[1],
            text=f"lop3.{name}.b32 _|{{d}}, {{a}}, {{b}}, {{c}}, 0x3f, {{g}};",
        )  # fmt: skip


FORMS = [
    *arithmetic(), *multiply_24(), *carry_chains(), *bit_operations(), *dot_products(), *logic(),
]  # fmt: skip
