"""Floating-point arithmetic in Python integers: exact first, rounded once.

The twins of the opcode tests compute with these functions. They share nothing with the virtual GPU:
no LLVM, no host floating point.
"""

import math
import struct
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Format:
    """A binary floating-point format; without infinity the top codes are numbers (E4M3)."""

    bits: int
    fraction: int
    infinity: bool = True

    @property
    def bias(self) -> int:
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def top(self) -> int:
        """The code of positive infinity, or of NaN where there is no infinity."""
        if not self.infinity:
            return (1 << (self.bits - 1)) - 1
        return ((1 << (self.bits - self.fraction - 1)) - 1) << self.fraction

    @property
    def nan(self) -> int:
        return self.top if not self.infinity else self.top | 1 << (self.fraction - 1)

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)


F64, F32, F16, BF16 = Format(64, 52), Format(32, 23), Format(16, 10), Format(16, 7)
E5M2, E4M3 = Format(8, 2), Format(8, 3, infinity=False)
TF32 = Format(19, 10)
FORMATS = {"f64": F64, "f32": F32, "f16": F16, "bf16": BF16, "e5m2": E5M2, "e4m3": E4M3}


class Value(NamedTuple):
    """The number (-1)**sign * mantissa * 2**exponent, an infinity or NaN."""

    kind: str  # "finite", "inf", "nan"
    sign: int
    mantissa: int = 0
    exponent: int = 0


NAN = Value("nan", 0)
# how far a quotient or root is computed: its last bit says whether anything was cut off
_GUARD = 140


def finite(value: int, exponent: int = 0) -> Value:
    """Return an integer times a power of two."""
    return Value("finite", int(value < 0), abs(value), exponent)


def decode(code: int, f: Format) -> Value:
    """Return the value of the bits `code`."""
    sign, rest = int(bool(code & f.sign)), code & (f.sign - 1)
    if rest > f.top or (rest == f.top and not f.infinity):
        return NAN
    if rest == f.top:
        return Value("inf", sign)
    exponent, fraction = rest >> f.fraction, rest & ((1 << f.fraction) - 1)
    if exponent:
        fraction |= 1 << f.fraction
    return Value("finite", sign, fraction, max(exponent, 1) - f.bias - f.fraction)


def _away(mode: str, sign: int, odd: bool, rest: int, half: int) -> bool:
    """Say whether a cut-off `rest` (of `2 * half`) rounds the magnitude up."""
    if mode == "rn":
        return rest > half or (rest == half and odd)
    if mode == "rna":
        return rest >= half
    return rest > 0 and mode == ("rm" if sign else "rp")


def encode(value: Value, f: Format, mode: str = "rn", satfinite: bool = False) -> int:
    """Return the bits of `value` in format `f`, rounded once."""
    if value.kind == "nan":
        return f.nan
    sign = f.sign if value.sign else 0
    largest = f.top - 1
    if value.kind == "inf":
        return sign | (largest if satfinite else f.top)
    if value.mantissa == 0:
        return sign
    lowest = 1 - f.bias - f.fraction
    exponent = max(value.mantissa.bit_length() - 1 - f.fraction + value.exponent, lowest)
    shift = exponent - value.exponent
    if shift <= 0:
        kept, rest, half = value.mantissa << -shift, 0, 1
    else:
        kept, rest = value.mantissa >> shift, value.mantissa & ((1 << shift) - 1)
        half = 1 << (shift - 1)
    kept += _away(mode, value.sign, bool(kept & 1), rest, half)
    code = kept + ((exponent - lowest) << f.fraction)
    if code < f.top:
        return sign | code
    if satfinite:
        return sign | largest
    to_infinity = mode in ("rn", "rna") or mode == ("rm" if value.sign else "rp")
    return sign | (f.top if to_infinity else largest)


def negate(a: Value) -> Value:
    return a._replace(sign=1 - a.sign)


def _signed(a: Value, exponent: int) -> int:
    whole = a.mantissa << (a.exponent - exponent)
    return -whole if a.sign else whole


def add(a: Value, b: Value, mode: str = "rn") -> Value:
    """Return a + b; the mode decides only the sign of a zero."""
    if "nan" in (a.kind, b.kind):
        return NAN
    if a.kind == b.kind == "inf":
        return a if a.sign == b.sign else NAN
    if "inf" in (a.kind, b.kind):
        return a if a.kind == "inf" else b
    exponent = min(a.exponent, b.exponent)
    total = _signed(a, exponent) + _signed(b, exponent)
    if total == 0:
        same = a.sign == b.sign and a.mantissa == b.mantissa == 0
        return Value("finite", a.sign if same else int(mode == "rm"))
    return finite(total, exponent)


def multiply(a: Value, b: Value) -> Value:
    sign = a.sign ^ b.sign
    if "nan" in (a.kind, b.kind):
        return NAN
    if "inf" in (a.kind, b.kind):
        other = b if a.kind == "inf" else a
        return (
            NAN if other == Value("finite", other.sign, 0, other.exponent) else Value("inf", sign)
        )
    return Value("finite", sign, a.mantissa * b.mantissa, a.exponent + b.exponent)


def fma(a: Value, b: Value, c: Value, mode: str = "rn") -> Value:
    return add(multiply(a, b), c, mode)


def divide(a: Value, b: Value) -> Value:
    sign = a.sign ^ b.sign
    if "nan" in (a.kind, b.kind) or a.kind == b.kind == "inf":
        return NAN
    if a.kind == "inf":
        return Value("inf", sign)
    if b.kind == "inf":
        return Value("finite", sign)
    if b.mantissa == 0:
        return NAN if a.mantissa == 0 else Value("inf", sign)
    quotient, rest = divmod(a.mantissa << _GUARD, b.mantissa)
    return Value("finite", sign, quotient | int(rest > 0), a.exponent - b.exponent - _GUARD)


def root(a: Value) -> Value:
    if a.kind == "nan" or (a.sign and (a.kind == "inf" or a.mantissa)):
        return NAN
    if a.kind == "inf" or a.mantissa == 0:
        return a
    odd = (a.exponent - _GUARD) & 1
    wide = a.mantissa << (_GUARD + odd)
    whole = math.isqrt(wide)
    inexact = int(whole * whole != wide)
    return Value("finite", 0, whole | inexact, (a.exponent - _GUARD - odd) // 2)


def to_integral(a: Value, mode: str) -> Value:
    """Round to an integer: rni, rzi, rmi or rpi."""
    if a.kind != "finite" or a.exponent >= 0:
        return a
    shift = -a.exponent
    kept, rest = a.mantissa >> shift, a.mantissa & ((1 << shift) - 1)
    kept += _away(mode[:2], a.sign, bool(kept & 1), rest, 1 << (shift - 1))
    return Value("finite", a.sign, kept)


def is_less(a: Value, b: Value) -> bool:
    """Say whether a < b, with -0 < +0; neither is NaN."""
    return _order(a, b) < 0


def _order(a: Value, b: Value) -> int:
    if a.sign != b.sign:
        return b.sign - a.sign
    sign = -1 if a.sign else 1
    if a.kind == "inf" or b.kind == "inf":
        return sign * ((a.kind == "inf") - (b.kind == "inf"))
    exponent = min(a.exponent, b.exponent)
    x, y = abs(_signed(a, exponent)), abs(_signed(b, exponent))
    return sign * ((x > y) - (x < y))


def is_zero(a: Value) -> bool:
    return a.kind == "finite" and a.mantissa == 0


def compare(a: Value, b: Value) -> int | None:
    """Return -1, 0 or 1 as IEEE compares (zeros are equal), None if unordered."""
    if "nan" in (a.kind, b.kind):
        return None
    if is_zero(a) and is_zero(b):
        return 0
    return _order(a, b)


def to_float(a: Value) -> float:
    """Return the nearest Python float."""
    if a.kind == "nan":
        return math.nan
    if a.kind == "inf":
        return -math.inf if a.sign else math.inf
    code = encode(a, F64)
    return struct.unpack("<d", code.to_bytes(8, "little"))[0]


def flushed(code: int, f: Format) -> int:
    """Return the bits with a subnormal number replaced by zero of its sign."""
    return code & f.sign if code & (f.sign - 1) < 1 << f.fraction else code


def is_tiny(value: Value, f: Format, mode: str) -> bool:
    """Say whether a result is so small that ``.ftz`` flushes it.

    What counts is `value` rounded to the digits of `f` as if there were no smallest exponent.
    """
    if value.kind != "finite":
        return False
    endless = Format(f.bits + 8, f.fraction)
    size = decode(encode(value, endless, mode) & (endless.sign - 1), endless)
    return is_less(size, finite(1, 1 - f.bias))
