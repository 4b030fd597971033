"""Global memory: which bytes the lanes of a warp want, and which sectors move for them."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from course.figures import style
from course.figures.sketch import Sketch
from course.figures.warp_requests import (
    LANES,
    LINE,
    SECTOR,
    WORD,
    Request,
    count,
    even,
    lanes_in_words,
    request,
    some,
    spans,
    step,
)

#: Inches: the sheet and its margin, a lane, and what is between sectors, lines and far-off places.
_WIDTH, _MARGIN, _LANE = 10.0, 0.2, 0.3
_ROOM = _WIDTH - 2 * _MARGIN
_SECTOR_GAP, _LINE_GAP, _BREAK = 0.03, 0.1, 0.16

#: Cells of a sector, and the width in inches below which a cell is too thin to be seen.
_CELLS, _SLIVER = SECTOR // WORD, 0.06

#: Up to this many cache lines are drawn whole; of more, only the sectors that move.
_WHOLE_LINES = 4


@style.styled
def access_pattern(pattern: Mapping[str, Any], *, title: str = "") -> Figure:
    """Draw one request to global memory: the lanes, what they want, and the sectors that move.

    Parameters
    ----------
    pattern : mapping
        One of the ``patterns`` of a launch in a trace's ``to_dict()``, its space ``global``.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure
        Memory is a strip of 4-byte cells in 32-byte sectors; what lies between distant sectors is
        left out, and sectors too narrow to see into stand upright. Wanted bytes are counted once,
        however many lanes want them.

    Raises
    ------
    ValueError
        If `pattern` is no request to global memory.
    """
    asked = request(pattern, "global", "access_pattern")
    top = 0.45 if title else 0.1
    strip = _Strip(asked, top + 1.4)
    below = strip.y + strip.height + (0.58 if strip.whole else 0.3)
    sketch = Sketch(_WIDTH, below + 0.8)
    if title:
        sketch.text(_MARGIN, 0.25, title, width=_ROOM, align="left", size=style.LARGE, bold=True)
    _draw_lanes(sketch, asked, strip, top)
    _draw_strip(sketch, asked, strip)
    _draw_ruler(sketch, strip)
    _draw_legend(sketch, asked, strip, below + 0.12)
    sketch.text(_MARGIN, below + 0.53, _caption(asked), align="left", size=style.LARGE, bold=True)
    return sketch.figure


def describe_access(pattern: Mapping[str, Any]) -> str:
    """Return in words what `access_pattern` draws.

    Parameters
    ----------
    pattern : mapping
        As for `access_pattern`.

    Returns
    -------
    str
        For example ``Lanes 0 to 31 each load 4 bytes of x, 8 bytes apart from byte 0 on:
        8 sectors = 256 bytes moved, 128 wanted: 50 %.``

    Raises
    ------
    ValueError
        If `pattern` is no request to global memory.
    """
    asked = request(pattern, "global", "describe_access")
    lanes = list(asked.starts)
    each = asked.verb if len(lanes) == 1 else f"each {asked.verbs}"
    of = f" of {asked.array}" if asked.array else ""
    return (
        f"{lanes_in_words(lanes)} {each} {count(asked.size, 'byte')}{of}, "
        f"{_where(asked.starts, asked.size)}: {_caption(asked)}."
    )


def _where(starts: dict[int, int], size: int) -> str:
    """Return where the bytes of the lanes lie: one pattern, or one for each of a few groups."""
    groups = even(starts)
    if len(groups) > 4:
        return f"at bytes {some(list(starts.values()))}"
    if len(groups) == 1:
        return _line_up(list(starts.values()), size)
    return ", ".join(
        f"{lanes_in_words(lanes).lower()} {_line_up([starts[lane] for lane in lanes], size)}"
        for lanes in groups
    )


def _line_up(starts: list[int], size: int) -> str:
    """Return how bytes lie that are the same distance apart."""
    apart = step(starts)
    if apart is None:
        return f"at byte {starts[0]}"
    if apart == 0:
        return f"all the same, at byte {starts[0]}"
    if apart == size:
        return f"one after another from byte {starts[0]} on"
    if apart == -size:
        return f"one after another downwards from byte {starts[0]}"
    down = " downwards" if apart < 0 else ""
    return f"{abs(apart)} bytes apart{down} from byte {starts[0]} on"


def _caption(asked: Request) -> str:
    """Return the sum of the request: what moved, and how much of it was wanted."""
    moved, wanted = SECTOR * len(asked.sectors), len(asked.wanted)
    shared = wanted < asked.size * len(asked.starts)
    return (
        f"{count(len(asked.sectors), 'sector')} = {moved} bytes moved, "
        f"{wanted} {'different ones ' if shared else ''}wanted: {100 * wanted / moved:.3g} %"
    )


class _Strip:
    """Where memory is drawn: the sectors that are shown, and the place of each byte.

    Cache lines are shown whole if they are few. Sectors lie, their bytes from left to right; where
    there are so many that their cells would be slivers, they stand, their bytes from top to bottom.
    """

    def __init__(self, asked: Request, y: float) -> None:
        lines = sorted({sector // LINE * LINE for sector in asked.sectors})
        self.whole = len(lines) <= _WHOLE_LINES
        self.shown = asked.sectors
        if self.whole:
            self.shown = [line + first for line in lines for first in range(0, LINE, SECTOR)]
        gaps = [self._gap(a, b) for a, b in pairwise(self.shown)]
        squeeze = min(1.0, 3.2 / sum(gaps)) if gaps else 1.0
        gaps = [squeeze * gap for gap in gaps]
        room = _ROOM - sum(gaps)
        self.width = min(_LANE * _CELLS, room / len(self.shown))
        self.upright = self.width / _CELLS < _SLIVER
        if self.upright:
            self.width = min(_LANE, self.width)
        self.y, self.height = y, 1.25 if self.upright else 0.4
        x = (_WIDTH - sum(gaps) - self.width * len(self.shown)) / 2
        self.left = {}
        for first, gap in zip(self.shown, [*gaps, 0.0], strict=True):
            self.left[first] = x
            x += self.width + gap

    @staticmethod
    def _gap(before: int, after: int) -> float:
        if after - before > SECTOR:
            return _BREAK
        return _LINE_GAP if after % LINE == 0 else _SECTOR_GAP

    def place(self, start: int, length: int) -> tuple[float, float, float, float]:
        """Return left, top, width and height of `length` bytes of one sector from `start` on."""
        first = start // SECTOR * SECTOR
        begin, part = (start - first) / SECTOR, length / SECTOR
        if self.upright:
            return self.left[first], self.y + begin * self.height, self.width, part * self.height
        return self.left[first] + begin * self.width, self.y, part * self.width, self.height


def _draw_lanes(sketch: Sketch, asked: Request, strip: _Strip, top: float) -> None:
    """Draw the lanes, and a line from each to the bytes that it wants."""
    what = f"each lane {asked.verb} {count(asked.size, 'byte')}"
    what += f" of {asked.array}" if asked.array else ""
    words = "  ·  ".join(filter(None, ("the 32 lanes of a warp", what, asked.place)))
    sketch.text(
        _MARGIN, top + 0.1, words, width=_ROOM, align="left", size=style.SMALL, colour=style.GREY
    )
    y, high, left = top + 0.26, 0.28, (_WIDTH - LANES * _LANE) / 2
    for lane in range(LANES):
        x, active = left + lane * _LANE, lane in asked.starts
        looks = (style.INK, 1.0, "-", "#BFE0F3") if active else (style.GREY, 0.8, ":", "white")
        edge, line, dash, face = looks
        _rectangle(sketch, (x + 0.015, y, _LANE - 0.03, high), face, edge=edge, line=line, ls=dash)
        sketch.text(x + _LANE / 2, y + high / 2, str(lane), size=8, colour=edge)
        if active:
            begin = strip.place(asked.starts[lane], 1)
            last = strip.place(asked.starts[lane] + asked.size - 1, 1)
            end = (begin[0] + last[0] + last[2]) / 2, strip.y - 0.03
            sketch.axes.plot((x + _LANE / 2, end[0]), (y + high, end[1]), c=style.BLUE, lw=1)
            sketch.axes.plot(*end, "v", c=style.BLUE, ms=3.5, mew=0)


def _draw_strip(sketch: Sketch, asked: Request, strip: _Strip) -> None:
    """Draw the sectors, and in those that move what is wanted and what is not."""
    wanted, moved = sorted(asked.wanted), set(asked.sectors)
    for before, after in pairwise(strip.shown):
        if after - before > SECTOR:
            x = (strip.left[before] + strip.width + strip.left[after]) / 2
            for y in (-0.08, 0, 0.08):  # a break: dots for what is left out
                sketch.axes.plot(x, strip.y + strip.height / 2 + y, ".", c=style.GREY, ms=2.5)
    for first in strip.shown:
        if first in moved:
            _rectangle(sketch, strip.place(first, SECTOR), style.ORANGE, hatch="//////")
            for start, last in spans(
                [byte for byte in wanted if byte // SECTOR == first // SECTOR]
            ):
                _rectangle(sketch, strip.place(start, last + 1 - start), style.BLUE)
        x, y, width, height = strip.place(first, SECTOR)
        edge, parts = "white" if first in moved else style.GREY, range(1, _CELLS)
        if strip.upright:
            sketch.axes.hlines([y + n / _CELLS * height for n in parts], x, x + width, edge, lw=0.6)
        else:
            sketch.axes.vlines([x + n / _CELLS * width for n in parts], y, y + height, edge, lw=0.6)
    _draw_elements(sketch, asked, strip)
    for first in strip.shown:
        edge, line = (style.INK, 1.8) if first in moved else (style.GREY, 0.8)
        _rectangle(sketch, strip.place(first, SECTOR), edge=edge, line=line)


def _draw_elements(sketch: Sketch, asked: Request, strip: _Strip) -> None:
    """Part what different lanes want, and write the lane on it where there is room."""
    owners: dict[int, list[int]] = {}
    for lane, start in asked.starts.items():
        owners.setdefault(start, []).append(lane)
    for start, lanes in owners.items():
        if start // SECTOR != (start + asked.size - 1) // SECTOR:
            continue  # in two sectors: the line from its lane must do
        x, y, width, height = strip.place(start, asked.size)
        _rectangle(sketch, (x, y, width, height), edge="white", line=1.2)
        if len(lanes) == 1 and width >= 0.19 and height >= 0.13:
            text = sketch.text(
                x + width / 2, y + height / 2, str(lanes[0]), size=8, colour="white", bold=True
            )
            text.set_path_effects([withStroke(linewidth=2.5, foreground=style.BLUE)])


def _draw_ruler(sketch: Sketch, strip: _Strip) -> None:
    """Write byte numbers below the strip, and name the cache lines that are drawn whole."""
    y = strip.y + strip.height + 0.14
    pitch = (strip.left[strip.shown[-1]] - strip.left[strip.shown[0]]) / max(
        1, len(strip.shown) - 1
    )
    room = 0.1 + 0.07 * len(f"byte {strip.shown[-1]}")
    every = 1
    while every * pitch < room:
        every *= 2
    for number, first in enumerate(strip.shown[::every]):
        words = str(first) if number else f"byte {first}"
        sketch.text(strip.left[first], y, words, align="left", size=8, colour=style.GREY)
    for line in strip.shown[:: LINE // SECTOR] if strip.whole else []:
        begin, end = strip.left[line], strip.left[line + LINE - SECTOR] + strip.width
        xs, ys = (begin, begin, end, end), (y + 0.14, y + 0.2, y + 0.2, y + 0.14)
        sketch.axes.plot(xs, ys, color=style.GREY, lw=1)
        middle = (begin + end) / 2
        sketch.text(middle, y + 0.32, "128-byte line", size=8, colour=style.GREY)


def _draw_legend(sketch: Sketch, asked: Request, strip: _Strip, y: float) -> None:
    """Say what the looks of the cells mean, for those that occur."""
    entries = [("32-byte sector that moves", "none", "", style.INK, 1.8)]
    if len(strip.shown) > len(asked.sectors):
        entries.append(("sector that stays", "none", "", style.GREY, 0.8))
    entries.append(("wanted", style.BLUE, "", style.INK, 0.8))
    if len(asked.wanted) < SECTOR * len(asked.sectors):
        entries.append(("moved, but nobody wanted it", style.ORANGE, "//////", style.INK, 0.8))
    x = _MARGIN
    for words, face, hatch, edge, line in entries:
        box = (x, y - 0.08, 0.32, 0.16)
        _rectangle(sketch, box, face, hatch=hatch)
        _rectangle(sketch, box, edge=edge, line=line)
        text = sketch.text(x + 0.4, y, words, align="left", size=style.SMALL)
        x += 0.75 + text.get_window_extent().width / sketch.figure.dpi


def _rectangle(
    sketch: Sketch,
    place: tuple[float, float, float, float],
    face: str = "none",
    *,
    edge: str = "white",
    hatch: str = "",
    line: float = 0,
    ls: str = "-",
) -> None:
    """Draw a rectangle at `place` (left, top, width, height); its hatch has the edge's colour."""
    x, y, width, height = place
    looks = {"facecolor": face, "edgecolor": edge, "hatch": hatch, "lw": line, "ls": ls}
    sketch.axes.add_patch(Rectangle((x, y), width, height, **looks))
