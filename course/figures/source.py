"""A kernel's source beside what each of its lines did."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import font_manager
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course.figures import style
from course.figures.listing import Listing, Row, cut
from course.figures.sketch import Sketch

#: Inches: the sheet, a row, and the columns: the ends of line numbers, values and shares, the
#: beginnings of source and bars, the longest bar.
_WIDTH, _ROW, _NUMBERS, _VALUES, _SHARES = 10.0, 0.2, 0.5, 9.3, 9.8
_SOURCE, _BARS, _LONGEST = 0.62, 6.2, 2.0

#: Letters of source in a row.
_LETTERS = 72


@style.styled
def source_heat(
    lines: Sequence[Mapping[str, Any]],
    source: Sequence[str] | Mapping[str, Sequence[str]],
    counts: str = "instructions",
    *,
    log: bool = False,
    title: str = "",
) -> Figure:
    """Draw a kernel's source, and beside each line a bar for what it did.

    Parameters
    ----------
    lines : sequence of mapping
        ``lines`` of a launch in a trace's ``to_dict()``; of several launches, they are added up.
    source : sequence of str, or mapping of str to sequence of str
        The lines of the source file; or of several, by name, as ``trace.sources`` has them. What
        happened in other files (headers, mostly) is one row at the end.
    counts : str
        What to draw: ``instructions``, ``lanes`` (active lanes per instruction,
        32 without divergence), ``FLOP``, ``global requests``, ``sectors``, ``sectors/request``,
        ``shared requests``, ``wavefronts``, ``wavefronts/request``, ``conflicts``.
    log : bool
        Draw the logarithm, for counts that differ by factors of a thousand.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure
        Of a source of more than 40 lines, only the lines that have counts and two around each.

    Raises
    ------
    ValueError
        If `counts` is unknown, or `lines` do not belong to `source`, or a logarithm is asked for of
        lanes.
    """
    listing = Listing(lines, source, counts)
    if log and listing.measure.full:
        raise ValueError(
            f"source_heat() draws {counts!r} from 0 to {listing.measure.full}: no log."
        )
    top = 0.45 if title else 0.1
    rows, waste = listing.rows(), "" if log else listing.waste
    sketch = Sketch(_WIDTH, top + 0.5 + _ROW * (len(rows) + 1) + (0.35 if waste else 0))
    if title:
        sketch.text(0.2, 0.25, title, width=_WIDTH - 0.4, align="left", size=style.LARGE, bold=True)
    head = listing.measure.name + (" (logarithmic)" if log else "")
    sketch.text(_BARS, top + 0.1, head, align="left", size=style.SMALL, bold=True)
    y = top + 0.32
    scale = _Scale(listing, rows, log)
    for row in rows:
        _draw_row(sketch, listing, row, scale, y)
        y += _ROW
    sketch.axes.hlines(y + 0.03, _SOURCE, _WIDTH - 0.2, style.GREY, lw=0.8)
    y += 0.06 + _ROW / 2
    total = listing.measure.written(listing.measure.of(listing.total))
    sketch.text(_SOURCE, y, "all lines", align="left", size=style.SMALL, bold=True)
    sketch.text(_VALUES, y, total, align="right", size=style.SMALL, bold=True)
    if waste:
        _draw_bar(sketch, _BARS, y + 0.3, 0, 0.32)
        sketch.text(_BARS + 0.4, y + 0.3, waste, align="left", size=style.SMALL)
    return sketch.figure


def describe_source(
    lines: Sequence[Mapping[str, Any]],
    source: Sequence[str] | Mapping[str, Sequence[str]],
    counts: str = "instructions",
) -> str:
    """Return in words what `source_heat` draws: the lines that stand out, and the sum.

    Parameters
    ----------
    lines, source, counts
        As for `source_heat`.

    Returns
    -------
    str
        For example ``Wavefronts of shared memory by source line: 64 in all, of which 31 because of
        bank conflicts. Line 7, "y[t] = tile[t][0];": 32; line 5, …: 32.``

    Raises
    ------
    ValueError
        As `source_heat` does.
    """
    listing = Listing(lines, source, counts)
    measure, total = listing.measure, listing.measure.of(listing.total)
    name = f"{measure.name[0].upper()}{measure.name[1:]} by source line"
    if total is None:
        return f"{name}: none."
    lost = measure.wasted(listing.total) if measure.wasted else 0
    waste = f", of which {lost:,} {measure.waste}" if lost else ""
    named = [
        f'line {row.number}, "{cut(row.text.strip(), 60)}": {measure.written(listing.value(row))}'
        for row in listing.hottest(3)
    ]
    sum_up = f"{measure.written(total)} {'in all' if measure.per is None else 'on average'}{waste}"
    first = "; ".join(named)
    return f"{name}: {sum_up}. {first[:1].upper()}{first[1:]}." if named else f"{name}: {sum_up}."


class _Scale:
    """How long the bar of a value is, in inches."""

    def __init__(self, listing: Listing, rows: list[Row], log: bool) -> None:
        values = [value for row in rows if (value := listing.value(row)) is not None]
        self.largest = listing.measure.full or max(values, default=1)
        self.smallest = min(values, default=1)
        self.log = log

    def length(self, value: float) -> float:
        """Return the length of a bar; on a logarithmic scale the smallest has a twentieth."""
        if self.log and self.smallest < self.largest:
            low = math.log(self.smallest) - 0.05 * math.log(self.largest / self.smallest)
            return _LONGEST * (math.log(value) - low) / (math.log(self.largest) - low)
        return _LONGEST * value / self.largest


def _draw_row(sketch: Sketch, listing: Listing, row: Row, scale: _Scale, y: float) -> None:
    """Write a line of the source, tinted by what it did, and draw its bar."""
    measure, middle = listing.measure, y + _ROW / 2
    value = listing.value(row)
    if value is not None:
        lost, length = measure.lost(row.counts), scale.length(value)
        heat = lost / measure.full if measure.full else length / _LONGEST
        sketch.axes.add_patch(
            Rectangle((_SOURCE - 0.05, y), _BARS - _SOURCE - 0.1, _ROW, facecolor=_tint(heat), lw=0)
        )
        useful = length
        if measure.full:
            length = _LONGEST
        elif lost and not scale.log:
            useful = scale.length(value - lost)
        _draw_bar(sketch, _BARS, middle, useful, length)
        written = measure.written(value)
        sketch.text(_VALUES, middle, written, align="right", size=style.SMALL)
        if measure.per is None:
            share = f"{100 * value / measure.of(listing.total):.0f} %"
            sketch.text(_SHARES, middle, share, align="right", size=style.SMALL)
    if row.number is not None:
        number = str(row.number)
        sketch.text(_NUMBERS, middle, number, align="right", size=8, colour=style.GREY)
    text = _drawable(cut(row.text, _LETTERS))
    artist = sketch.text(_SOURCE, middle, text, align="left", size=style.SMALL, code=True)
    artist.set_parse_math(False)  # a dollar is a dollar


def _draw_bar(sketch: Sketch, x: float, middle: float, useful: float, length: float) -> None:
    """Draw a bar: what is useful of it, and the waste up to its `length`."""
    for begin, end, face, hatch in (
        (0, useful, style.BLUE, ""),
        (useful, length, style.ORANGE, "//////"),
    ):
        if end > begin:
            sketch.axes.add_patch(
                Rectangle(
                    (x + begin, middle - 0.07),
                    end - begin,
                    0.14,
                    facecolor=face,
                    edgecolor="white",
                    hatch=hatch,
                    lw=0,
                )
            )


def _tint(heat: float) -> str:
    """Return white for no heat, and ever more orange up to 1."""
    return to_hex([1 - 0.5 * heat * (1 - part) for part in to_rgb(style.ORANGE)])


def _drawable(text: str) -> str:
    """Return `text` with a box for each letter that the font lacks."""
    return "".join(letter if ord(letter) in _letters() else "□" for letter in text)


@functools.cache
def _letters() -> frozenset[int]:
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans Mono"))
    return frozenset(font.get_charmap())
