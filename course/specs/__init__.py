"""What the makers say about the chips of this course, and what follows from it.

The numbers stand in ``specs.toml``, each under the document that gives it. This package reads that
file once, refuses it if anything is wrong with it, and offers the facts as frozen dataclasses:

>>> h100 = gpu("H100 SXM")
>>> h100.peak("bf16"), h100.peak("bf16", sparse=True), h100.memory_bandwidth
(989400000000000.0, 1978900000000000.0, 3350000000000.0)
>>> round(h100.ridge("bf16"), 1)
295.3
>>> print(h100.derived_peak("bf16"))
132 SMs × 4 tensor cores/SM × 1,024 FLOP/clock × 1.83 GHz = 989.43 TFLOP/s

Units are SI throughout: Hz, bytes, bytes/s, FLOP/s. One fused multiply-add is 2 FLOP. A fact that
no document gives is None, and asking for something that needs it is an error, never a guess.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from course.specs.catalogue import Catalogue, Source
from course.specs.chips import (
    DTYPES,
    KINDS,
    Chip,
    Cpu,
    Derivation,
    Factor,
    Gpu,
    Tpu,
    Waves,
    facts_of,
)
from course.specs.words import closest, quantity

__all__ = [
    "DTYPES",
    "PATH",
    "Catalogue",
    "Chip",
    "Cpu",
    "Derivation",
    "Factor",
    "Gpu",
    "Markdown",
    "Source",
    "Tpu",
    "Waves",
    "chip",
    "gpu",
    "names",
    "quantity",
    "source",
    "table",
]

PATH = Path(__file__).parent.with_name("specs.toml")


def chip(name: str) -> Chip:
    """Return the chip called `name`, by its name, an alias or the name that CUDA gives it.

    Raises
    ------
    ValueError
        If no chip is called so (the message has the closest names), or more than one is.
    """
    return _catalogue().find(name)


def gpu(name: str) -> Gpu:
    """Return the GPU called `name`; as `chip`, and an error if that is no GPU."""
    found = chip(name)
    if not isinstance(found, Gpu):
        raise ValueError(
            f"The {found.name} is not a GPU: specs.gpu() knows {', '.join(names(Gpu))}. "
            f"Use specs.chip({found.name!r})."
        )
    return found


def names(kind: type[Chip] = Chip) -> tuple[str, ...]:
    """Return the names of all chips, or of those of one kind: `Gpu`, `Tpu` or `Cpu`."""
    return tuple(n for n, c in _catalogue().chips.items() if isinstance(c, kind))


def source(name: str, key: str) -> Source:
    """Return where the fact `key` of the chip `name` comes from.

    Raises
    ------
    ValueError
        If there is no such chip, or no document gives that fact of it.
    """
    found = chip(name)
    sources = _catalogue().sources[found.name]
    if key not in sources:
        raise ValueError(
            f"The {found.name} has no fact {key!r} with a source. {closest(key, sources)}"
        )
    return sources[key]


class Markdown(str):
    """Text that a notebook shows as Markdown."""

    def _repr_markdown_(self) -> str:
        return str(self)


def table(keys: Iterable[str], chips: Iterable[str] | None = None) -> Markdown:
    """Return a table of facts with the source of each, as Markdown that a notebook renders.

    Parameters
    ----------
    keys : iterable of str
        Facts, one a column: names of fields of `Gpu`, `Tpu` or `Cpu`.
    chips : iterable of str, optional
        Chips, one a row; all of them by default.

    Raises
    ------
    ValueError
        If a chip or a fact is unknown.
    """
    keys, rows = list(keys), [chip(name) for name in (chips or names())]
    # a fact that several kinds have is called as the kinds in the table call it
    kinds = (*KINDS.values(), *dict.fromkeys(map(type, rows)))
    fields = {f.name: f for kind in kinds for f in facts_of(kind)}
    for key in keys:
        if key not in fields:
            raise ValueError(f"There is no fact {key!r}. {closest(key, fields)}")
    marks: dict[str, int] = {}

    def cell(row: Chip, key: str) -> str:
        value = getattr(row, key, None)
        if value is None:
            return "–"
        origin = source(row.name, key)
        texts = [origin._repr_markdown_()]
        texts += [f"Unconfirmed: {origin.unconfirmed}"] * bool(origin.unconfirmed)
        texts += [origin.note] * bool(origin.note)
        numbers = [marks.setdefault(text, len(marks) + 1) for text in texts]
        doubt = "?" if origin.unconfirmed else ""
        shown = quantity(value, fields[key].metadata["unit"])
        return f"{shown}{doubt} [{', '.join(map(str, numbers))}]"

    header = ["chip", *(fields[key].metadata["meaning"] for key in keys)]
    lines = [header, ["---"] * len(header)]
    lines += [[row.name, *(cell(row, key) for key in keys)] for row in rows]
    notes = [f"{number}. {text}" for text, number in marks.items()]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return Markdown(body + "\n\n" + "\n".join(notes))


@cache
def _catalogue() -> Catalogue:
    return Catalogue.read(PATH.read_text(encoding="utf-8"))
