"""Comparisons, selections and moves."""

from collections.abc import Callable, Iterator

import exact
from exact import FORMATS, decode, flushed
from forms import Form, form

INTEGER_TESTS = {
    "eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1),
}  # fmt: skip
UNSIGNED_TESTS = {"lo": (-1,), "ls": (-1, 0), "hi": (1,), "hs": (0, 1)}
#: Outcomes that count as true; None is "unordered".
FLOAT_TESTS = INTEGER_TESTS | {f"{n}u": (*o, None) for n, o in INTEGER_TESTS.items()}
FLOAT_TESTS |= {"num": (-1, 0, 1), "nan": (None,)}
WORD = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}
LOGIC = {
    "and": lambda t, c: t & c, "or": lambda t, c: t | c, "xor": lambda t, c: t ^ c,
}  # fmt: skip


def integer_test(outcomes: tuple) -> Callable[[int, int], int]:
    return lambda a, b: int((a > b) - (a < b) in outcomes)


def float_test(outcomes: tuple, kind: str, ftz: bool = False) -> Callable[[int, int], int]:
    f = FORMATS[kind]

    def test(a: int, b: int) -> int:
        if ftz:
            a, b = flushed(a, f), flushed(b, f)
        return int(exact.compare(decode(a, f), decode(b, f)) in outcomes)

    return test


def tests_of(kind: str) -> Iterator[tuple[str, str, Callable[[int, int], int]]]:
    """Yield comparison, ``.ftz`` or nothing, and twin, for a scalar type."""
    if kind in FORMATS:
        for ftz in ("", ".ftz") if kind in ("f32", "f16") else ("",):
            for name, outcomes in FLOAT_TESTS.items():
                yield name, ftz, float_test(outcomes, kind, bool(ftz))
        return
    names = INTEGER_TESTS | (UNSIGNED_TESTS if kind[0] == "u" else {})
    if kind[0] == "b":
        names = {n: names[n] for n in ("eq", "ne")}
    for name, outcomes in names.items():
        yield name, "", integer_test(outcomes)


SCALARS = [f"{k}{b}" for k in "bus" for b in (16, 32, 64)] + ["f32", "f64", "f16", "bf16"]


def needs(kind: str) -> int:
    return 90 if "bf16" in kind else 70


def set_predicates() -> Iterator[Form]:
    for kind in SCALARS:
        word, values = WORD.get(kind, kind), {"a": kind, "b": kind} if kind in WORD else {}
        for name, ftz, test in tests_of(kind):
            more = {"values": values, "needs": needs(kind), "plain": name not in ("lt", "neu")}
            yield form(f"setp.{name}{ftz}.{kind}", f"{word} {word}", "pred", test, **more)
            if name not in ("ge", "ne", "ltu"):
                continue
            if kind not in WORD:
                yield form(
                    f"setp.{name}{ftz}.{kind} p|q", f"{word} {word}", "pred pred",
                    lambda a, b, t=test: (t(a, b), 1 - t(a, b)),
                    text=f"setp.{name}{ftz}.{kind} {{d}}|{{e}}, {{a}}, {{b}};", **more,
                )  # fmt: skip
            for logic, combine in LOGIC.items():
                yield form(
                    f"setp.{name}.{logic}{ftz}.{kind}", f"{word} {word} pred", "pred",
                    lambda a, b, c, t=test, f=combine: f(t(a, b), c), **more,
                )  # fmt: skip
            if kind not in WORD:
                yield form(
                    f"setp.{name}.xor{ftz}.{kind} p|q", f"{word} {word} pred", "pred pred",
                    lambda a, b, c, t=test: (t(a, b) ^ c, 1 - t(a, b) ^ c),
                    text=f"setp.{name}.xor{ftz}.{kind} {{d}}|{{e}}, {{a}}, {{b}}, {{c}};", **more,
                )  # fmt: skip
                yield form(
                    f"setp.{name}.and{ftz}.{kind} !c", f"{word} {word} pred", "pred",
                    lambda a, b, c, t=test: t(a, b) & 1 - c,
                    text=f"setp.{name}.and{ftz}.{kind} {{d}}, {{a}}, {{b}}, !{{c}};", **more,
                )  # fmt: skip
    for kind in ("f16x2", "bf16x2"):
        for name in ("eq", "lt", "geu", "nan"):
            single = kind[:-2]
            for ftz in ("", ".ftz") if kind == "f16x2" else ("",):
                test = float_test(FLOAT_TESTS[name], single, bool(ftz))

                def both(a, b, t=test):
                    return t(a & 0xFFFF, b & 0xFFFF), t(a >> 16, b >> 16)

                more = {"values": {"a": single, "b": single}, "needs": needs(kind)}
                yield form(f"setp.{name}{ftz}.{kind}", "b32 b32", "pred pred", both, **more)
                yield form(
                    f"setp.{name}.or{ftz}.{kind}", "b32 b32 pred", "pred pred",
                    lambda a, b, c, f=both: tuple(x | c for x in f(a, b)), **more,
                )  # fmt: skip


def set_values() -> Iterator[Form]:
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
    results = {"f32": "b32", "u32": "b32", "s32": "b32", "f16": "b16", "bf16": "b16"}
    results |= {"u16": "b16", "s16": "b16"}
    pairs = [(d, s) for s in SCALARS for d in ("u32", "s32", "f32") if s not in WORD]
    pairs += [("f16", s) for s in ("b32", "u16", "s64", "f16", "f32", "f64")]
    pairs += [("bf16", s) for s in ("s32", "bf16", "f32")]
    pairs += [(d, s) for s in ("f16", "bf16") for d in ("u16", "s16", "u32", "s32")]
    for target, kind in pairs:
        word, values = WORD.get(kind, kind), {"a": kind, "b": kind} if kind in WORD else {}
        for name, ftz, test in tests_of(kind):
            if name not in ("eq", "gt", "leu") or (ftz and target == "bf16"):
                continue
            more = {"values": values, "needs": max(needs(kind), needs(target))}
            yes = ones.get(target, -1)
            yield form(
                f"set.{name}{ftz}.{target}.{kind}", f"{word} {word}", results[target],
                lambda a, b, t=test, y=yes: y * t(a, b), **more,
            )  # fmt: skip
            yield form(
                f"set.{name}.and{ftz}.{target}.{kind}", f"{word} {word} pred", results[target],
                lambda a, b, c, t=test, y=yes: y * (t(a, b) & c), **more, plain=True,
            )  # fmt: skip
    for kind in ("f16x2", "bf16x2"):
        for target in (kind, "u32", "s32"):
            one = ones[kind[:-2]] if target == kind else 0xFFFF
            test = float_test(FLOAT_TESTS["lt"], kind[:-2])

            def halves(a, b, t=test, y=one):
                return y * t(a >> 16, b >> 16) << 16 | y * t(a & 0xFFFF, b & 0xFFFF)

            yield form(
                f"set.lt.{target}.{kind}", "b32 b32", "b32", halves, needs=needs(kind),
                values={"a": kind[:-2], "b": kind[:-2]},
            )  # fmt: skip


def selections() -> Iterator[Form]:
    for kind in [f"{k}{b}" for k in "bus" for b in (16, 32, 64)] + ["f32", "f64"]:
        width = "b" + kind[1:]
        yield form(f"selp.{kind}", f"{width} {width} pred", width, lambda a, b, p: a if p else b)
        yield form(
            f"slct.{kind}.s32", f"{width} {width} s32", width, lambda a, b, c: a if c >= 0 else b
        )
        for ftz in ("", ".ftz"):
            test = float_test((0, 1), "f32", bool(ftz))

            def by_sign(a, b, c, t=test):
                return a if t(c, 0) else b

            yield form(f"slct{ftz}.{kind}.f32", f"{width} {width} f32", width, by_sign)


def moves() -> Iterator[Form]:
    for kind in [f"{k}{b}" for k in "bus" for b in (16, 32, 64)] + ["f32", "f64", "pred"]:
        word = kind if kind == "pred" else "b" + kind[1:]
        yield form(f"mov.{kind}", word, word, lambda a: a)
    yield form(
        "mov.b32 pack", "b16 b16", "b32", lambda a, b: b << 16 | a,
        text="mov.b32 {d}, {{{a}, {b}}};",
    )  # fmt: skip
    yield form(
        "mov.b64 pack", "b32 b32", "b64", lambda a, b: b << 32 | a,
        text="mov.b64 {d}, {{{a}, {b}}};",
    )  # fmt: skip
    yield form(
        "mov.b64 pack of four", "b16 b16 b16 b16", "b64",
        lambda a, b, c, g: g << 48 | c << 32 | b << 16 | a,
        text="mov.b64 {d}, {{{a}, {b}, {c}, {g}}};",
    )  # fmt: skip
    yield form(
        "mov.b32 unpack", "b32", "b16 b16", lambda a: (a & 0xFFFF, a >> 16),
        text="mov.b32 {{{d}, {e}}}, {a};",
    )  # fmt: skip
    yield form(
        "mov.b64 unpack", "b64", "b32 b32", lambda a: (a & 0xFFFFFFFF, a >> 32),
        text="mov.b64 {{{d}, {e}}}, {a};",
    )  # fmt: skip
    yield form(
        "mov.b32 unpack to one half", "b32", "b16", lambda a: a >> 16,
        text="mov.b32 {{_, {d}}}, {a};",
    )  # fmt: skip
    yield form(
        "mov.b64 unpack to four", "b64", "b16 b16", lambda a: (a >> 48, a >> 16 & 0xFFFF),
        text="mov.b64 {{_, {e}, _, {d}}}, {a};",
    )  # fmt: skip


FORMS = [*set_predicates(), *set_values(), *selections(), *moves()]
