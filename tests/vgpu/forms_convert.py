"""``cvt`` between all types, in every rounding mode; ``cvt.pack``."""

from collections.abc import Callable, Iterator

import exact
from exact import FORMATS, NAN, TF32, Format, Value, decode, encode, flushed
from forms import Form, form
from forms_floating import WORD, rectified, saturated
from forms_integer import clamp_to

INTEGERS = [f"{k}{b}" for b in (8, 16, 32, 64) for k in "us"]
MODES, INTEGRAL = ("rn", "rz", "rm", "rp"), ("rni", "rzi", "rmi", "rpi")


def limits(kind: str) -> tuple[int, int]:
    width = int(kind[1:])
    return (
        (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    )


def wrap_to(kind: str, value: int) -> int:
    low, high = limits(kind)
    return (value - low) % (high - low + 1) + low


def result_type(kind: str, register: int | None = None) -> str:
    """Return an integer result; 8 bits live in a wider register, extended like the type."""
    width = int(kind[1:])
    return kind if register is None and width > 8 else f"{kind}:{register or 32}"


def between_integers() -> Iterator[Form]:
    for source in INTEGERS:
        for target in INTEGERS:
            yield form(
                f"cvt.{target}.{source}", source, result_type(target),
                lambda a, t=target: wrap_to(t, a),
            )  # fmt: skip
            low, high = limits(target)
            least, most = limits(source)
            if least < low or most > high:
                yield form(
                    f"cvt.sat.{target}.{source}", source, result_type(target),
                    lambda a, t=target: clamp_to(t, a),
                )  # fmt: skip
    for target, register in (
        ("s8", 16),
        ("u8", 16),
        ("s16", 32),
        ("u16", 32),
        ("s32", 64),
        ("u16", 64),
    ):
        yield form(
            f"cvt.{target}.s32 into {register} bits", "s32", result_type(target, register),
            lambda a, t=target: wrap_to(t, a), text=f"cvt.{target}.s32 {{d}}, {{a}};",
        )  # fmt: skip
    for source, register in (("s8", "b32"), ("u16", "b32"), ("s16", "b64"), ("s32", "b64")):
        low, high = limits(source)
        yield form(
            f"cvt.s64.{source} from {register}", register, "s64",
            lambda a, lo=low, n=high - low + 1: (a - lo) % n + lo,
            text=f"cvt.s64.{source} {{d}}, {{a}};",
        )  # fmt: skip


def from_integers() -> Iterator[Form]:
    for source in INTEGERS:
        for target in ("f16", "bf16", "f32", "f64"):
            if target == "bf16" and source in ("u8", "s8"):
                continue  # no such instruction
            f = FORMATS[target]
            for mode in MODES:
                yield form(
                    f"cvt.{mode}.{target}.{source}", source, target,
                    lambda a, f=f, m=mode: encode(exact.finite(a), f, m),
                    needs=90 if target == "bf16" else 70, plain=mode != "rn",
                )  # fmt: skip
            if target != "bf16":
                yield form(
                    f"cvt.rn.sat.{target}.{source}", source, target,
                    lambda a, f=f: saturated(encode(exact.finite(a), f), f), plain=True,
                )  # fmt: skip


def to_integer(value: Value, mode: str, target: str, source: str) -> int:
    low, high = limits(target)
    if value.kind == "nan":
        # the lowest number as signed, the same bits as unsigned
        wide = source == "f64" or target in ("s64", "u64")
        return low if wide and target[0] == "s" else (high + 1) // 2 if wide else 0
    if value.kind == "inf":
        return low if value.sign else high
    whole = exact.to_integral(value, mode)
    number = whole.mantissa << whole.exponent if whole.exponent > 0 else whole.mantissa
    return max(low, min(high, -number if whole.sign else number))


def to_integers() -> Iterator[Form]:
    for source in ("f16", "bf16", "f32", "f64"):
        f = FORMATS[source]
        for target in INTEGERS:
            if source == "bf16" and target in ("u8", "s8"):
                continue  # no such instruction
            for mode in INTEGRAL:
                for ftz in ("", ".ftz") if source == "f32" else ("",):

                    def twin(a, f=f, m=mode, t=target, s=source, z=bool(ftz)):
                        return to_integer(decode(flushed(a, f) if z else a, f), m, t, s)

                    yield form(
                        f"cvt.{mode}{ftz}.{target}.{source}", WORD[source], result_type(target),
                        twin, values={"a": source}, needs=90 if source == "bf16" else 70,
                        plain=mode != "rzi",
                    )  # fmt: skip
            if int(target[1:]) <= 32 and source != "bf16":
                yield form(
                    f"cvt.rni.sat.{target}.{source}", WORD[source], result_type(target),
                    lambda a, f=f, t=target, s=source: to_integer(decode(a, f), "rni", t, s),
                    values={"a": source}, plain=True,
                )  # fmt: skip


def change(
    source: str, target: str, mode: str, ftz: bool = False, after: tuple[str, ...] = ()
) -> Callable[[int], int]:
    """Return the twin of a conversion between floating types (or to an integral value)."""
    f, g = FORMATS[source], FORMATS[target]

    def twin(code: int) -> int:
        # on the way to f16 silicon keeps subnormal numbers, though PTX says that they are flushed
        flushes = ftz and source == "f32" and target != "f16"
        value = decode(flushed(code, f) if flushes else code, f)
        if mode in INTEGRAL:
            value = exact.to_integral(value, mode)
        rounding = mode if mode in MODES else "rn"
        result = encode(value, g, rounding, "satfinite" in after)
        if ftz and target == "f32" and exact.is_tiny(value, g, rounding):
            result &= g.sign
        if "sat" in after:
            result = saturated(result, g)
        return rectified(result, g) if "relu" in after else result

    return twin


def needed(*kinds: str) -> int:
    """Return the compute capability that a scalar conversion needs."""
    brain = "bf16" in kinds
    return 70 if not brain else 80 if "f32" in kinds else 90


def between_floats() -> Iterator[Form]:
    names = ("f16", "bf16", "f32", "f64")
    exact_pairs = {("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")}
    for source in names:
        for target in names:
            single = "f32" in (source, target)
            if source == target:
                modes = INTEGRAL if source == "bf16" else ("", *INTEGRAL)
            else:
                modes = ("",) if (source, target) in exact_pairs else MODES
            for mode in modes:
                for ftz in ("", ".ftz") if single else ("",):
                    for sat in ("", ".sat") if "bf16" not in (source, target) else ("",):
                        parts = [mode, ftz[1:], sat[1:], target, source]
                        name = ".".join(["cvt", *(p for p in parts if p)])
                        level = needed(source, target)
                        if "bf16" in (source, target) and (ftz or mode in ("rm", "rp")):
                            level = 90
                        yield form(
                            name, WORD[source], target,
                            change(source, target, mode, bool(ftz), (sat[1:],)),
                            values={"a": source}, needs=level,
                        )  # fmt: skip


def extras() -> Iterator[tuple[str, tuple[str, ...]]]:
    for relu in ((), ("relu",)):
        for finite in ((), ("satfinite",)):
            parts = (*relu, *finite)
            yield "".join(f".{p}" for p in parts), parts


def narrow() -> Iterator[Form]:
    """f32 to f16, bf16, tf32, with ``.relu`` and ``.satfinite``; packed pairs."""
    for target in ("f16", "bf16"):
        for mode in ("rn", "rz"):
            for text, after in extras():
                level = 89 if "satfinite" in after else 80
                one = change("f32", target, mode, False, after)
                if after:
                    yield form(f"cvt.{mode}{text}.{target}.f32", "f32", target, one, needs=level)
                yield form(
                    f"cvt.{mode}{text}.{target}x2.f32", "f32 f32", f"{target}x2",
                    lambda a, b, t=one: t(a) << 16 | t(b), needs=level,
                )  # fmt: skip

    def tensor(code: int, mode: str, after: tuple[str, ...]) -> int:
        if mode == "rna" and decode(code, exact.F32) == NAN:
            # silicon cuts a NaN's payload off, and what is left may be infinity
            code &= ~0x1FFF
        result = encode(decode(code, exact.F32), TF32, mode, "satfinite" in after)
        return (rectified(result, TF32) if "relu" in after else result) << 13

    for mode in ("rna", "rn", "rz"):
        for relu in ("", ".relu") if mode != "rna" else ("",):
            for finite in ("", ".satfinite"):
                after = (finite[1:], relu[1:])
                level = 100 if finite and mode != "rna" else 80 if mode == "rna" else 90
                yield form(
                    f"cvt.{mode}{finite}{relu}.tf32.f32", "f32", "tf32",
                    lambda a, m=mode, p=after: tensor(a, m, p), needs=level,
                )  # fmt: skip


def eight_bits() -> Iterator[Form]:
    def narrowed(code: int, f: Format, g: Format, relu: bool) -> int:
        result = encode(decode(code, f), g, "rn", True)
        return rectified(result, g) if relu else result

    def widened(code: int, f: Format, relu: bool) -> int:
        result = encode(decode(code, f), exact.F16)
        return rectified(result, exact.F16) if relu else result

    for name in ("e4m3", "e5m2"):
        g = FORMATS[name]
        for relu in ("", ".relu"):
            on = bool(relu)
            yield form(
                f"cvt.rn.satfinite{relu}.{name}x2.f32", "f32 f32", f"{name}x2",
                lambda a, b, g=g, r=on: narrowed(a, exact.F32, g, r) << 8
                | narrowed(b, exact.F32, g, r), needs=89, values={"a": "small", "b": "small"},
            )  # fmt: skip
            yield form(
                f"cvt.rn.satfinite{relu}.{name}x2.f16x2", "b32", f"{name}x2",
                lambda a, g=g, r=on: narrowed(a >> 16, exact.F16, g, r) << 8
                | narrowed(a & 0xFFFF, exact.F16, g, r), needs=89, values={"a": "f16"},
            )  # fmt: skip
            yield form(
                f"cvt.rn{relu}.f16x2.{name}x2", "b16", "f16x2",
                lambda a, g=g, r=on: widened(a >> 8, g, r) << 16 | widened(a & 255, g, r),
                needs=89,
            )  # fmt: skip


def packs() -> Iterator[Form]:
    for kind in ("u16", "s16"):

        def two(a, b, k=kind):
            return (clamp_to(k, a) & 0xFFFF) << 16 | clamp_to(k, b) & 0xFFFF

        yield form(
            f"cvt.pack.sat.{kind}.s32", "s32 s32", "b32", two, needs=72,
            values={"a": "near16", "b": "near16"},
        )  # fmt: skip
    for width in (2, 4, 8):
        for sign in "us":
            kind, ones = f"{sign}{width}", (1 << width) - 1

            def into(a, b, c, w=width, m=ones, s=sign == "s"):
                low = -(1 << (w - 1)) if s else 0
                x, y = (max(low, min(low + m, v)) & m for v in (a, b))
                return c << (2 * w) | x << w | y

            yield form(
                f"cvt.pack.sat.{kind}.s32.b32", "s32 s32 b32", "b32", into,
                needs=72 if width == 8 else 75, values={"a": "near8", "b": "near8"},
            )  # fmt: skip


FORMS = [
    *between_integers(), *from_integers(), *to_integers(), *between_floats(), *narrow(),
    *eight_bits(), *packs(),
]  # fmt: skip
