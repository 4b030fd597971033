"""The list of instruction forms that are compared with their twins, one row a form.

It needs only NumPy: the same list can run on a real GPU.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: Bits of each PTX type.
WIDTH = {f"{kind}{bits}": bits for kind in "busf" for bits in (8, 16, 32, 64)}
WIDTH |= {"pred": 1, "bf16": 16, "f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "tf32": 32}
WIDTH |= {"e4m3x2": 16, "e5m2x2": 16}


@dataclass(frozen=True)
class Bound:
    """How far an approximation may lie from the true value: it must meet one of these."""

    ulps: float = 0.0
    relative: float = 0.0
    absolute: float = 0.0


@dataclass(frozen=True)
class Form:
    """An instruction (or a short chain) and what it computes.

    Attributes
    ----------
    name : str
        Unique, and readable in a report.
    text : str
        PTX with ``{a}``, ``{b}``, ``{c}``, ``{g}`` for sources and ``{d}``, ``{e}`` for results.
    sources, results : tuple of str
        PTX types. A result type may name a wider register: ``s8:32``.
    twin : callable
        Takes the sources and returns the result, or a tuple of results. Signed integers come as
        signed numbers, predicates as 0 or 1, all else as bits. With a bound, sources and result are
        Python floats.
    bound : Bound or None
        None: every bit counts (but any NaN equals any other).
    needs : int
        Compute capability from which hardware has the form.
    values : dict
        Source -> name of the generator of its values, where the type alone will not do.
    plain : bool
        Only with operands that vary over lanes: for long lists of similar forms.
    defined : callable or None
        Takes the sources and says whether PTX defines the result.
    """

    name: str
    text: str
    sources: tuple[str, ...]
    results: tuple[str, ...]
    twin: Callable[..., Any]
    bound: Bound | None = None
    needs: int = 70
    values: tuple[tuple[str, str], ...] = ()
    plain: bool = False
    defined: Callable[..., bool] | None = None


SOURCES, RESULTS = "abcg", "de"


def form(
    name: str,
    sources: str,
    results: str,
    twin: Callable[..., Any],
    *,
    operands: str | None = None,
    text: str | None = None,
    **more: Any,
) -> Form:
    """Return the form ``name d, a, b, ...`` (or with `operands`, or `text` in full)."""
    kinds, outs = tuple(sources.split()), tuple(results.split())
    if operands is None:
        d = "{d}|{e}" if len(outs) == 2 else "{d}"
        operands = ", ".join([d, *(f"{{{s}}}" for s in SOURCES[: len(kinds)])])
    more["values"] = tuple(more.get("values", {}).items())
    return Form(name, text or f"{name} {operands};", kinds, outs, twin, **more)


def all_forms() -> list[Form]:
    """Return every form."""
    import forms_compare
    import forms_convert
    import forms_floating
    import forms_integer

    parts = (forms_integer, forms_floating, forms_compare, forms_convert)
    return [row for part in parts for row in part.FORMS]
