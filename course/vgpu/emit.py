"""Values of 32 lanes, and the LLVM text that computes with them.

A value of a warp is *uniform* (one number for all lanes), *affine* (base + stride x lane, the
stride known) or *varying* (a vector of 32). Opcodes are written once on such values; what is
uniform stays a scalar, and that is most of the speed of the fast version of a kernel.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from .ptx import Imm, Reg
from .records import LANES
from .undefined import Poison, cut, extended, ones, united

BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "i128": 128,
    "half": 16,
    "float": 32,
    "double": 64,
}
_REAL = {"half": "f16", "float": "f32", "double": "f64"}
FLOAT_OF = {16: "half", 32: "float", 64: "double"}


def mangled(kind: str) -> str:
    """Return an LLVM type as names of intrinsics spell it."""
    return _REAL.get(kind, kind)


class Val(NamedTuple):
    """A value of a warp.

    `kind` is "u" (uniform), "a" (affine) or "v" (varying); `type` an LLVM scalar type or "pred".
    `text` is a scalar for "u" and "a" (its value in lane 0), a vector for "v", and an i32 lane mask
    for a varying predicate. `poison` says what of it came from memory that nobody wrote; None if
    that is what an instruction's operands say together.
    """

    kind: str
    type: str
    text: str
    stride: int = 0
    poison: Poison | None = None

    @property
    def constant(self) -> int | None:
        """The number, if this is an integer literal."""
        if self.kind == "u" and self.text.lstrip("-").isdigit():
            return int(self.text)
        return None


class Text:
    """Collects LLVM text; knows nothing of PTX."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.start_piece("")

    def start_piece(self, prefix: str) -> None:
        """Start a piece of text of its own: names in it begin with `prefix`."""
        self.lines, self.prefix, self.counter = [], prefix, 0
        self.splats: dict[str, str] = {}  # vectors already made from other forms of a value

    def emit(self, line: str) -> None:
        """Add an LLVM instruction without a result."""
        self.lines.append("  " + line)

    def fresh(self, line: str) -> str:
        """Add an LLVM instruction and return the name of its result."""
        self.counter += 1
        name = f"%{self.prefix}v{self.counter}"
        self.lines.append(f"  {name} = {line}")
        return name

    def new_label(self, stem: str) -> str:
        """Return a label that nothing else has."""
        self.counter += 1
        return f"{self.prefix}{stem}{self.counter}"

    def label(self, name: str) -> None:
        """Start LLVM block `name`. Values computed before stay usable only if they dominate it."""
        self.lines.append(f"{name}:")

    # --- forms of a value

    def vector(self, value: Val) -> str:
        """Return `value` as the text of a vector of 32."""
        if value.type == "pred":
            return self.lane_bits(value)
        if value.kind == "v":
            return value.text
        kind = value.type
        key = f"{kind} {value.text} {value.stride if value.kind == 'a' else 0}"
        if key in self.splats:
            return self.splats[key]
        if value.text[0] != "%":
            result = f"splat ({kind} {value.text})"
        else:
            one = self.fresh(f"insertelement <{LANES} x {kind}> poison, {kind} {value.text}, i32 0")
            result = self.fresh(
                f"shufflevector <{LANES} x {kind}> {one}, <{LANES} x {kind}> poison, "
                f"<{LANES} x i32> zeroinitializer"
            )
        if value.kind == "a":
            steps = ", ".join(
                f"{kind} {_wrap(value.stride * lane, BITS[kind])}" for lane in range(LANES)
            )
            result = self.fresh(f"add <{LANES} x {kind}> {result}, <{steps}>")
        self.splats[key] = result
        return result

    def mask(self, predicate: Val) -> str:
        """Return a predicate as an i32 lane mask."""
        if predicate.kind == "v":
            return predicate.text
        if predicate.text in ("true", "false"):
            return "-1" if predicate.text == "true" else "0"
        return self.fresh(f"sext i1 {predicate.text} to i32")

    def lane_bits(self, predicate: Val) -> str:
        """Return a predicate as <32 x i1>."""
        return self.bits_of_mask(self.mask(predicate))

    def bits_of_mask(self, mask: str) -> str:
        """Return an i32 lane mask as <32 x i1>."""
        key = f"bits {mask}"
        if key not in self.splats:
            self.splats[key] = self.fresh(f"bitcast i32 {mask} to <{LANES} x i1>")
        return self.splats[key]

    def lanes(self, poison: Poison | None) -> str:
        """Return the lanes in which any bit is undefined, as an i32 lane mask."""
        masks = dict.fromkeys(mask for mask, _ in poison or ())
        result = "0"
        for mask in masks:
            key = f"or {result} {mask}"
            if result == "0":
                self.splats[key] = mask
            elif key not in self.splats:
                self.splats[key] = self.fresh(f"or i32 {result}, {mask}")
            result = self.splats[key]
        return result

    # --- operations

    def map(self, template: str, *values: Val, out: str) -> Val:
        """Apply an LLVM operation lane by lane.

        `template` names the operation with ``{T}`` for the type of the first operand, ``{O}`` for
        that of the result and ``{0}``, ``{1}``, ... for the operands. Uniform operands give a
        uniform result.
        """
        first = values[0].type
        if all(v.kind == "u" for v in values):
            texts = [v.text for v in values]
            text = self.fresh(template.format(*texts, T=first, O=out))
            return Val("u", out, text)
        texts = [self.vector(v) for v in values]
        text = self.fresh(template.format(*texts, T=f"<{LANES} x {first}>", O=f"<{LANES} x {out}>"))
        return Val("v", out, text)

    def call(
        self, name: str, *values: Val, out: str, extra: str = "", mangle: Iterable[str] = ()
    ) -> Val:
        """Call LLVM intrinsic `name` lane by lane; `extra` holds trailing immediate arguments."""
        uniform = all(v.kind == "u" for v in values)
        lanes = "" if uniform else f"<{LANES} x "
        shape = (lambda t: t) if uniform else (lambda t: f"{lanes}{t}>")
        suffix = "".join(
            f".{'' if uniform else f'v{LANES}'}{mangled(t)}" for t in (mangle or (out,))
        )
        args = [f"{shape(v.type)} {v.text if uniform else self.vector(v)}" for v in values]
        full = f"@{name}{suffix}"
        types = [shape(v.type) for v in values] + [x.split()[0] for x in extra.split(", ") if x]
        self.declared[full] = f"declare {shape(out)} {full}({', '.join(types)})"
        more = f", {extra}" if extra else ""
        text = self.fresh(f"call {shape(out)} {full}({', '.join(args)}{more})")
        return Val("u" if uniform else "v", out, text)

    def compare(self, template: str, a: Val, b: Val) -> Val:
        """Compare lane by lane; the result is a predicate."""
        if a.kind == b.kind == "u":
            return Val("u", "pred", self.fresh(template.format(a.text, b.text, T=a.type)))
        bits = self.fresh(
            template.format(self.vector(a), self.vector(b), T=f"<{LANES} x {a.type}>")
        )
        return Val("v", "pred", self.fresh(f"bitcast <{LANES} x i1> {bits} to i32"))

    def select(self, condition: Val, a: Val, b: Val) -> Val:
        """Return `a` where `condition` holds and `b` elsewhere, with poison chosen likewise."""
        poison = None
        if a.poison or b.poison:
            poison = self.chosen_poison(self.mask(condition), a.poison, b.poison)
        if a.type == "pred":
            return self.select_predicate(condition, a, b, poison)
        alike = a.kind == b.kind and (a.kind == "v" or a.stride == b.stride)
        if condition.kind == "u" and alike:
            shape = a.type if a.kind != "v" else f"<{LANES} x {a.type}>"
            text = self.fresh(f"select i1 {condition.text}, {shape} {a.text}, {shape} {b.text}")
            return a._replace(text=text, poison=poison)
        shape = f"<{LANES} x {a.type}>"
        text = self.fresh(
            f"select <{LANES} x i1> {self.lane_bits(condition)}, "
            f"{shape} {self.vector(a)}, {shape} {self.vector(b)}"
        )
        return Val("v", a.type, text, poison=poison)

    def chosen_poison(self, where: str, a: Poison | None, b: Poison | None) -> Poison:
        """Return `a` in the lanes `where`, and `b` elsewhere."""
        others = self.fresh(f"xor i32 {where}, -1") if b else ""
        kept = [(where, pair) for pair in a or ()] + [(others, pair) for pair in b or ()]
        return united(
            ((self.fresh(f"and i32 {lanes}, {mask}"), bits),) for lanes, (mask, bits) in kept
        )

    def select_predicate(self, condition: Val, a: Val, b: Val, poison: Poison | None) -> Val:
        """Return predicate `a` where `condition` holds and `b` elsewhere."""
        if condition.kind == a.kind == b.kind == "u":
            text = self.fresh(f"select i1 {condition.text}, i1 {a.text}, i1 {b.text}")
            return Val("u", "pred", text, poison=poison)
        text = self.merge_masks(self.mask(condition), self.mask(a), self.mask(b))
        return Val("v", "pred", text, poison=poison)

    def merge_masks(self, where: str, a: str, b: str) -> str:
        """Return bits of `a` where `where` is set and of `b` elsewhere (i32 masks)."""
        difference = self.fresh(f"xor i32 {a}, {b}")
        chosen = self.fresh(f"and i32 {difference}, {where}")
        return self.fresh(f"xor i32 {chosen}, {b}")

    def logic(self, name: str, a: Val, b: Val) -> Val:
        """Combine two predicates with ``and``, ``or`` or ``xor``."""
        if a.kind == b.kind == "u":
            return Val("u", "pred", self.fresh(f"{name} i1 {a.text}, {b.text}"))
        return Val("v", "pred", self.fresh(f"{name} i32 {self.mask(a)}, {self.mask(b)}"))

    def invert(self, predicate: Val) -> Val:
        """Return the negated predicate."""
        kind, ones = ("i1", "true") if predicate.kind == "u" else ("i32", "-1")
        return predicate._replace(text=self.fresh(f"xor {kind} {predicate.text}, {ones}"))

    def retype(self, value: Val, kind: str) -> Val:
        """Return the same bits as LLVM type `kind` of equal width."""
        if value.type == kind:
            return value
        if value.kind == "a":
            value = Val("v", value.type, self.vector(value), poison=value.poison)
        if value.kind == "u" and value.text[0] != "%":
            return value._replace(type=kind, text=_retype_constant(value.text, value.type, kind))
        lanes = f"<{LANES} x " if value.kind == "v" else ""
        end = ">" if value.kind == "v" else ""
        text = self.fresh(f"bitcast {lanes}{value.type}{end} {value.text} to {lanes}{kind}{end}")
        return value._replace(type=kind, text=text)

    # --- integers, where affine values live

    def affine(self, kind: str, text: str, stride: int) -> Val:
        """Return base `text` plus `stride` a lane, in the simplest form."""
        stride = _wrap(stride, BITS[kind])
        value = Val("a" if stride else "u", kind, text, stride)
        if -(1 << 31) <= stride < 1 << 31:
            return value
        return Val("v", kind, self.vector(value))  # the runtime's tables hold 32-bit strides

    def add(self, a: Val, b: Val, name: str = "add") -> Val:
        """Add (or, with name "sub", subtract) integers; affine plus affine stays affine."""
        if "v" in (a.kind, b.kind) or a.kind == b.kind == "u":
            return self.map(name + " {T} {0}, {1}", a, b, out=a.type)
        stride = a.stride + b.stride if name == "add" else a.stride - b.stride
        return self.affine(a.type, self.fresh(f"{name} {a.type} {a.text}, {b.text}"), stride)

    def multiply(self, a: Val, b: Val) -> Val:
        """Multiply integers, low half; affine times a constant stays affine."""
        if b.kind == "a":
            a, b = b, a
        if a.kind == "a" and b.constant is not None:
            text = self.fresh(f"mul {a.type} {a.text}, {b.text}")
            return self.affine(a.type, text, a.stride * b.constant)
        return self.map("mul {T} {0}, {1}", a, b, out=a.type)

    def narrow(self, value: Val, kind: str) -> Val:
        """Return the low bits of `value` as integer type `kind`."""
        if value.type == kind:
            return value
        constant = value.constant
        if constant is not None:
            return value._replace(type=kind, text=str(_wrap(constant, BITS[kind])))
        if value.kind == "a":
            text = self.fresh(f"trunc {value.type} {value.text} to {kind}")
            return self.affine(kind, text, value.stride)
        poison = None if value.poison is None else cut(value.poison, ones(BITS[kind]))
        return self.map("trunc {T} {0} to {O}", value, out=kind)._replace(poison=poison)

    def widen(self, value: Val, kind: str, signed: bool) -> Val:
        """Return `value` extended to integer type `kind`. Affine ones must not wrap (Lowering)."""
        if value.type == kind:
            return value
        constant = value.constant
        if constant is not None:
            bits = BITS[value.type]
            plain = _wrap(constant, bits) if signed else constant % (1 << bits)
            return value._replace(type=kind, text=str(_wrap(plain, BITS[kind])))
        name = "sext" if signed else "zext"
        if value.kind == "a":
            value = Val("v", value.type, self.vector(value))
        poison = value.poison
        if poison and signed:
            poison = extended(poison, BITS[value.type], BITS[kind])
        return self.map(name + " {T} {0} to {O}", value, out=kind)._replace(poison=poison)


def _wrap(value: int, bits: int) -> int:
    """Return `value` modulo 2**bits as a signed number, the way LLVM prints integers."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) and bits > 1 else value


def literal(kind: str, value: int) -> Val:
    """Return an integer literal as a uniform value."""
    return Val("u", kind, str(value))


def float_constant(bits: int, width: int) -> str:
    """Return a floating-point constant with exactly these bits, as LLVM text."""
    return f"bitcast (i{width} {_wrap(bits, width)} to {FLOAT_OF[width]})"


def _retype_constant(text: str, source: str, kind: str) -> str:
    if text.startswith("bitcast"):
        return text.split()[2]
    return float_constant(int(text), BITS[source])


def immediate(operand: Imm, kind: str) -> Val:
    """Return constant `operand` as a uniform value of LLVM type `kind`."""
    bits = BITS[kind]
    value = operand.value
    if operand.floating and kind in _REAL and operand.floating != bits:
        if bits != 32 or operand.floating != 64:
            raise ValueError(f"a {operand.floating}-bit constant where {kind} is expected")
        wide = struct.unpack("<d", value.to_bytes(8, "little"))[0]
        value = int.from_bytes(struct.pack("<f", wide), "little")
    if kind in _REAL:
        return Val("u", kind, float_constant(value % (1 << bits), bits))
    return Val("u", kind, str(_wrap(value, bits)))


def register_type(register: Reg) -> str:
    """Return the LLVM type that holds `register`: an integer of its width, or "pred"."""
    return "pred" if register.width == 1 else f"i{register.width}"
