"""Floating-point forms: exact twins where PTX rounds exactly, else true values with a bound."""

import math
from collections.abc import Callable, Iterator

import exact
from exact import FORMATS, NAN, Format, Value, decode, encode, flushed
from forms import Bound, Form, form

MODES = ("rn", "rz", "rm", "rp")
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
WORD = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32", "f32": "f32", "f64": "f64"}


def saturated(code: int, f: Format) -> int:
    """Clamp to [0, 1]; NaN becomes +0."""
    value = decode(code, f)
    if value.kind == "nan" or value.sign:
        return 0
    one = exact.finite(1)
    return encode(one, f) if exact.is_less(one, value) else code


def rectified(code: int, f: Format) -> int:
    """Clamp to [0, inf); NaN stays."""
    value = decode(code, f)
    return 0 if value.kind != "nan" and value.sign else code


def calculation(
    compute: Callable[..., Value], f: Format, mode: str, ftz: bool = False, after: str = ""
) -> Callable[..., int]:
    """Return a twin on bits: flush, compute exactly, round once, flush, saturate or rectify."""

    def twin(*codes: int) -> int:
        if ftz:
            codes = tuple(flushed(c, f) for c in codes)
        value = compute(*(decode(c, f) for c in codes))
        code = encode(value, f, mode)
        if ftz and exact.is_tiny(value, f, mode):
            code &= f.sign
        if after == "sat":
            code = saturated(code, f)
        return rectified(code, f) if after == "relu" else code

    return twin


def paired(twin: Callable[..., int]) -> Callable[..., int]:
    """Return a twin on both halves of packed pairs."""

    def both(*codes: int) -> int:
        low, high = (twin(*(c >> s & 0xFFFF for c in codes)) for s in (0, 16))
        return high << 16 | low

    return both


def fit(twin: Callable[..., int], kind: str) -> Callable[..., int]:
    return paired(twin) if kind in PAIRS else twin


def operation(name: str, mode: str) -> tuple[Callable[..., Value], int]:
    """Return an exact operation and how many operands it takes."""
    table = {
        "add": (lambda a, b: exact.add(a, b, mode), 2),
        "sub": (lambda a, b: exact.add(a, exact.negate(b), mode) if b != NAN else NAN, 2),
        "mul": (exact.multiply, 2),
        "div": (exact.divide, 2),
        "fma": (lambda a, b, c: exact.fma(a, b, c, mode), 3),
        "rcp": (lambda a: exact.divide(exact.finite(1), a), 1),
        "sqrt": (exact.root, 1),
    }
    return table[name]


def rounded_single_and_double() -> Iterator[Form]:
    for name in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt"):
        for kind in ("f32", "f64"):
            for mode in MODES:
                compute, count = operation(name, mode)
                kinds = " ".join([kind] * count)
                for ftz in ("", ".ftz") if kind == "f32" else ("",):
                    can_saturate = kind == "f32" and name in ("add", "sub", "mul", "fma")
                    for sat in ("", ".sat") if can_saturate else ("",):
                        twin = calculation(compute, FORMATS[kind], mode, bool(ftz), sat[1:])
                        yield form(f"{name}.{mode}{ftz}{sat}.{kind}", kinds, kind, twin)
            if name in ("add", "sub", "mul"):
                compute, _ = operation(name, "rn")
                twin = calculation(compute, FORMATS[kind], "rn")
                yield form(f"{name}.{kind}", f"{kind} {kind}", kind, twin)
    for kind in ("f32", "f64"):
        twin = calculation(operation("fma", "rn")[0], FORMATS[kind], "rn")
        yield form(f"mad.rn.{kind}", f"{kind} {kind} {kind}", kind, twin)


def half_precision() -> Iterator[Form]:
    for kind in ("f16", "f16x2", "bf16", "bf16x2"):
        single = PAIRS.get(kind, kind)
        f, word = FORMATS[single], WORD[kind]
        needs = 90 if "b" in kind else 70
        for name in ("add", "sub", "mul"):
            compute, _ = operation(name, "rn")
            for mode in ("", ".rn"):
                for ftz in ("", ".ftz") if "b" not in kind else ("",):
                    for sat in ("", ".sat") if "b" not in kind else ("",):
                        twin = fit(calculation(compute, f, "rn", bool(ftz), sat[1:]), kind)
                        yield form(
                            f"{name}{mode}{ftz}{sat}.{kind}", f"{word} {word}", f"{kind}", twin,
                            values={"a": single, "b": single}, needs=needs,
                        )  # fmt: skip
        compute, _ = operation("fma", "rn")
        for ftz in ("", ".ftz") if "b" not in kind else ("",):
            for after in ("", ".sat", ".relu") if "b" not in kind else ("", ".relu"):
                twin = fit(calculation(compute, f, "rn", bool(ftz), after[1:]), kind)
                yield form(
                    f"fma.rn{ftz}{after}.{kind}", f"{word} {word} {word}", kind, twin,
                    values=dict.fromkeys("abc", single), needs=80 if "b" in kind else 70,
                )  # fmt: skip


# --- signs, minimum, maximum


def signs() -> Iterator[Form]:
    for kind in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"):
        single = PAIRS.get(kind, kind)
        f, word = FORMATS[single], WORD[kind]
        for ftz in ("", ".ftz") if kind in ("f32", "f16", "f16x2") else ("",):

            def absolute(code, f=f, z=bool(ftz)):
                return (flushed(code, f) if z else code) & ~f.sign

            def negated(code, f=f, z=bool(ftz)):
                return (flushed(code, f) if z else code) ^ f.sign

            for name, twin in (("abs", absolute), ("neg", negated)):
                yield form(
                    f"{name}{ftz}.{kind}", word, kind, fit(twin, kind), values={"a": single},
                    needs=80 if "b" in kind else 70,
                )  # fmt: skip
    for kind in ("f32", "f64"):
        f = FORMATS[kind]
        yield form(
            f"copysign.{kind}", f"{kind} {kind}", f"b{f.bits}",
            lambda a, b, f=f: b & ~f.sign | a & f.sign,
        )  # fmt: skip


def extreme(name: str, f: Format, ftz: bool, nan: bool, sign: str) -> Callable[..., int]:
    """Return the twin of min or max; `sign`: "", "abs" (three operands) or "xorsign.abs"."""

    def twin(*codes: int) -> int:
        if ftz:
            codes = tuple(flushed(c, f) for c in codes)
        flip = (codes[0] ^ codes[1]) & f.sign
        if sign:
            codes = tuple(c & ~f.sign for c in codes)
        values = [decode(c, f) for c in codes]
        numbers = [c for c, v in zip(codes, values, strict=True) if v != NAN]
        if not numbers or (nan and len(numbers) < len(codes)):
            return f.nan
        best = numbers[0]
        for code in numbers[1:]:
            less = exact.is_less(decode(code, f), decode(best, f))
            more = exact.is_less(decode(best, f), decode(code, f))
            if less if name == "min" else more:
                best = code
        return best & ~f.sign | flip if sign == "xorsign.abs" else best

    return twin


def extremes() -> Iterator[Form]:
    for name in ("min", "max"):
        yield form(f"{name}.f64", "f64 f64", "f64", extreme(name, exact.F64, False, False, ""))
        for kind in ("f32", "f16", "f16x2", "bf16", "bf16x2"):
            single = PAIRS.get(kind, kind)
            f, word = FORMATS[single], WORD[kind]
            for ftz in ("", ".ftz") if "b" not in kind else ("",):
                for nan in ("", ".NaN"):
                    for sign in ("", ".xorsign.abs"):
                        twin = extreme(name, f, bool(ftz), bool(nan), sign[1:])
                        simple = kind == "f32" and not nan
                        yield form(
                            f"{name}{ftz}{nan}{sign}.{kind}", f"{word} {word}", kind,
                            fit(twin, kind), values={"a": single, "b": single},
                            needs=86 if sign else 70 if simple else 80,
                        )  # fmt: skip
                    if kind == "f32":
                        for sign in ("", ".abs"):
                            yield form(
                                f"{name}{ftz}{nan}{sign}.f32 of three", "f32 f32 f32", "f32",
                                extreme(name, f, bool(ftz), bool(nan), sign[1:]), needs=100,
                                text=f"{name}{ftz}{nan}{sign}.f32 {{d}}, {{a}}, {{b}}, {{c}};",
                            )  # fmt: skip


# --- approximations: the bounds are those that the PTX ISA states for hardware


def quietly(function: Callable[..., float]) -> Callable[..., float]:
    """Turn Python's exceptions into IEEE results (NaN; poles are handled by the twins)."""

    def twin(*values: float) -> float:
        if any(math.isnan(v) for v in values):
            return math.nan
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return twin


def reciprocal(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def reciprocal_root(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)


def logarithm(x: float) -> float:
    return -math.inf if x == 0 else math.log2(x)


def ratio(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def tiny_flushed(function: Callable[..., float], smallest: float) -> Callable[..., float]:
    """Flush subnormal operands and results to zero of their sign."""

    def flush(x: float) -> float:
        return math.copysign(0.0, x) if abs(x) < smallest else x

    return lambda *values: flush(function(*(flush(v) for v in values)))


def approximations() -> Iterator[Form]:
    single = (
        ("rcp", reciprocal, Bound(ulps=1), {}),
        ("sqrt", math.sqrt, Bound(relative=2**-23), {}),
        ("rsqrt", reciprocal_root, Bound(relative=2**-22.9), {}),
        ("sin", math.sin, Bound(absolute=2**-20.5), {"a": "angle"}),
        ("cos", math.cos, Bound(absolute=2**-20.5), {"a": "angle"}),
        ("lg2", logarithm, Bound(absolute=2**-22, relative=2**-22), {}),
        ("ex2", lambda x: 2.0**x, Bound(ulps=2), {"a": "exponent"}),
    )
    for name, function, bound, values in single:
        plain = quietly(function)
        yield form(f"{name}.approx.f32", "f32", "f32", plain, bound=bound, values=values)
        yield form(
            f"{name}.approx.ftz.f32", "f32", "f32", tiny_flushed(plain, 2.0**-126), bound=bound,
            values=values,
        )  # fmt: skip
    tanh = quietly(math.tanh)
    yield form("tanh.approx.f32", "f32", "f32", tanh, bound=Bound(relative=2**-11), needs=75)
    for kind in ("approx", "full"):
        plain = quietly(ratio)
        # .approx divides right only while 1/b neither overflows nor is flushed
        values = {"b": "divisor"} if kind == "approx" else {"a": "moderate", "b": "moderate"}
        yield form(f"div.{kind}.f32", "f32 f32", "f32", plain, bound=Bound(ulps=2), values=values)
        yield form(
            f"div.{kind}.ftz.f32", "f32 f32", "f32", tiny_flushed(plain, 2.0**-126),
            bound=Bound(ulps=2), values=values,
        )  # fmt: skip
    for kind in ("f16", "bf16"):
        digits = Bound(absolute=2**-10.987) if kind == "f16" else Bound(absolute=2**-8)
        yield form(
            f"tanh.approx.{kind}", "b16", kind, tanh, bound=digits, values={"a": kind},
            needs=75 if kind == "f16" else 90,
        )  # fmt: skip
        yield form(
            f"tanh.approx.{kind}x2", "b32", f"{kind}x2", tanh, bound=digits, values={"a": kind},
            needs=75 if kind == "f16" else 90,
        )  # fmt: skip
    power = quietly(lambda x: 2.0**x)
    half = Bound(relative=2**-9.9, absolute=2.0**-25)
    brain = Bound(relative=2**-7)
    flushed_power = tiny_flushed(power, 2.0**-126)
    for name, kind, twin, bound in (
        ("ex2.approx", "f16", power, half), ("ex2.approx.ftz", "bf16", flushed_power, brain),
    ):  # fmt: skip
        more = {"bound": bound, "values": {"a": kind}, "needs": 75 if kind == "f16" else 90}
        yield form(f"{name}.{kind}", "b16", kind, twin, **more)
        yield form(f"{name}.{kind}x2", "b32", f"{kind}x2", twin, **more)
    # PTX says two things of a NaN whose upper word is that of infinity
    rough = {"bound": Bound(relative=2**-19), "defined": lambda a: not _is_odd_nan(a)}
    yield form("rcp.approx.ftz.f64", "f64", "f64", upper_half(quietly(reciprocal)), **rough)
    yield form("rsqrt.approx.ftz.f64", "f64", "f64", upper_half(quietly(reciprocal_root)), **rough)
    yield form(
        "rsqrt.approx.f64", "f64", "f64", quietly(reciprocal_root), bound=Bound(relative=2**-50)
    )


def _is_odd_nan(code: int) -> bool:
    return code >> 32 & 0x7FFFFFFF == 0x7FF00000 and bool(code & 0xFFFFFFFF)


def upper_half(function: Callable[[float], float]) -> Callable[[float], float]:
    """Only the upper 32 bits of an f64 count, and subnormal numbers are zero."""
    smallest = 2.0**-1022

    def twin(x: float) -> float:
        code = encode(_value(x), exact.F64) >> 32 << 32
        return tiny_flushed(function, smallest)(exact.to_float(decode(code, exact.F64)))

    return twin


def _value(x: float) -> Value:
    if math.isnan(x):
        return NAN
    if math.isinf(x):
        return Value("inf", int(x < 0))
    numerator, denominator = x.as_integer_ratio()
    value = exact.finite(numerator, 1 - denominator.bit_length())
    return value._replace(sign=int(math.copysign(1, x) < 0))


def properties() -> Iterator[Form]:
    for kind in ("f32", "f64"):
        f = FORMATS[kind]
        least = 1 << f.fraction

        def size(code, f=f):
            return code & (f.sign - 1)

        tests = {
            "finite": lambda c, f=f, s=size: s(c) < f.top,
            "infinite": lambda c, f=f, s=size: s(c) == f.top,
            "number": lambda c, f=f, s=size: s(c) <= f.top,
            "notanumber": lambda c, f=f, s=size: s(c) > f.top,
            "normal": lambda c, f=f, s=size, n=least: s(c) == 0 or n <= s(c) < f.top,
            "subnormal": lambda c, s=size, n=least: 0 < s(c) < n,
        }
        for name, twin in tests.items():
            yield form(f"testp.{name}.{kind}", kind, "pred", twin)


FORMS = [
    *rounded_single_and_double(), *half_precision(), *signs(), *extremes(), *approximations(),
    *properties(),
]  # fmt: skip
