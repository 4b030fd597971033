"""Shared memory: which words the lanes of a warp touch, and how often the banks must be passed."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from course.figures import style
from course.figures.sketch import Sketch
from course.figures.warp_requests import (
    BANKS,
    Request,
    count,
    even,
    lanes_in_words,
    request,
    some,
)

#: Inches: the sheet, where bank 0 begins, a bank, a row of words, the gap where rows are left out.
_WIDTH, _LEFT, _BANK, _ROW, _BREAK = 10.2, 1.1, 0.255, 0.2, 0.1
_MARGIN, _ROOM = 0.2, 9.8

_FREE, _CONFLICT, _HATCH, _GRID = "#BFE0F3", "#F2A37A", "//////", "#D0D0D0"


@style.styled
def bank_map(pattern: Mapping[str, Any], *, title: str = "") -> Figure:
    """Draw one request to shared memory: banks are columns, words are cells, lanes stand in them.

    Parameters
    ----------
    pattern : mapping
        One of the ``patterns`` of a launch in a trace's ``to_dict()``, its space ``shared``.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure
        Rows in which no lane touches a word are left out. Below the banks stands how many words
        each has to serve; the largest number is the number of passes (wavefronts). Lanes that touch
        8 or 16 bytes are served 16 or 8 at a time, and each such group has its own passes.

    Raises
    ------
    ValueError
        If `pattern` is no request to shared memory.
    """
    asked = request(pattern, "shared", "bank_map")
    rows = sorted({word // BANKS for lane in asked.starts for word in asked.words(lane)})
    top = 0.45 if title else 0.1
    y, places = top + 0.68, {}
    for before, row in pairwise([rows[0] - 1, *rows]):
        y += _BREAK if row - before > 1 else 0
        places[row] = y
        y += _ROW
    below = y + 0.22 + _ROW * (len(asked.groups) + (len(asked.groups) > 1))
    sketch = Sketch(_WIDTH, below + 0.95)
    if title:
        sketch.text(_MARGIN, 0.25, title, width=_ROOM, align="left", size=style.LARGE, bold=True)
    what = f"each lane {asked.verb} {count(asked.size, 'byte')} of shared memory"
    words = "  ·  ".join(filter(None, (what, asked.place)))
    sketch.text(
        _MARGIN, top + 0.1, words, width=_ROOM, align="left", size=style.SMALL, colour=style.GREY
    )
    _draw_banks(sketch, asked, places, top + 0.5)
    _draw_counts(sketch, asked, y + 0.14)
    _draw_legend(sketch, asked, below + 0.25)
    sketch.text(
        _MARGIN,
        below + 0.67,
        _caption(asked),
        width=_ROOM,
        align="left",
        size=style.LARGE,
        bold=True,
    )
    return sketch.figure


def describe_banks(pattern: Mapping[str, Any]) -> str:
    """Return in words what `bank_map` draws.

    Parameters
    ----------
    pattern : mapping
        As for `bank_map`.

    Returns
    -------
    str
        For example ``Lanes 0 to 31 load words 0, 32, 64, …, 992 of shared memory. 32 wavefronts
        instead of 1: bank 0 has to serve 32 words, a 32-way conflict.``

    Raises
    ------
    ValueError
        If `pattern` is no request to shared memory.
    """
    asked = request(pattern, "shared", "describe_banks")
    return f"{_lanes_and_words(asked)} of shared memory. {_caption(asked)}."


def _lanes_and_words(asked: Request) -> str:
    """Return which lanes touch which words: one pattern, or one for each of a few groups."""
    wide = len(asked.words(next(iter(asked.starts))))
    each = f"{wide} words each, beginning at " if wide > 1 else ""
    groups = even({lane: asked.words(lane)[0] for lane in asked.starts})
    if len(groups) > 4:
        groups = [list(asked.starts)]
    parts = []
    for lanes in groups:
        words = [asked.words(lane)[0] for lane in lanes]
        same = len(set(words)) == 1
        verb = asked.verb if len(lanes) == 1 else asked.verbs
        listed = f"word {words[0]}" if same else f"words {some(words)}"
        parts.append(f"{lanes_in_words(lanes)} {verb} {each}{listed}")
    return ", ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])


def _caption(asked: Request) -> str:
    """Return the wavefronts of the request, and which bank is to blame if they are too many."""
    groups, total = asked.groups, asked.wavefronts
    if total == len(groups) > 1:
        every = len(groups[0])
        return f"{total} wavefronts, one for every {every} lanes: none serves two words of a bank"
    if total == len(groups):
        if len(set(asked.starts.values())) == 1 < len(asked.starts):
            return "1 wavefront: all want the same word, read once for all (broadcast)"
        return "1 wavefront: no bank has to serve two words"
    worst = max(map(asked.passes, groups))
    blamed = sorted(
        {b for group in groups for b, words in enumerate(asked.banks(group)) if len(words) == worst}
    )
    who = f"bank {blamed[0]} has" if len(blamed) == 1 else f"banks {some(blamed)} have"
    each = " each" if len(blamed) > 1 else ""
    return (
        f"{total} wavefronts instead of {len(groups)}: {who} to serve {worst} words{each}, "
        f"{'an' if worst in (8, 11, 18) else 'a'} {worst}-way conflict"
    )


def _conflicts(asked: Request) -> set[int]:
    """Return the words that wait for another word of their bank, or make it wait."""
    groups = [words for group in asked.groups for words in asked.banks(group)]
    return {word for words in groups if len(words) > 1 for word in words}


def _owners(asked: Request) -> dict[int, list[int]]:
    """Return the lanes that touch each word."""
    owners: dict[int, list[int]] = {}
    for lane in asked.starts:
        for word in asked.words(lane):
            owners.setdefault(word, []).append(lane)
    return owners


def _draw_banks(sketch: Sketch, asked: Request, places: dict[int, float], y: float) -> None:
    """Draw the banks, the rows of words that lanes touch, and the lanes in them."""
    sketch.text(_LEFT - 0.1, y, "bank", size=8, align="right", colour=style.GREY)
    for bank in range(BANKS):
        x = _LEFT + (bank + 0.5) * _BANK
        sketch.text(x, y, str(bank), size=8, colour=style.GREY)
    for row, top in places.items():
        middle = top + _ROW / 2
        sketch.text(_LEFT - 0.1, middle, f"word {row * BANKS}", size=8, align="right")
        edges = [_LEFT + bank * _BANK for bank in range(BANKS + 1)]
        sketch.axes.vlines(edges, top, top + _ROW, _GRID, lw=0.6, zorder=0)
        sketch.axes.hlines((top, top + _ROW), _LEFT, edges[-1], _GRID, lw=0.6, zorder=0)
    conflicts = _conflicts(asked)
    for word, lanes in _owners(asked).items():
        x, top = _LEFT + word % BANKS * _BANK, places[word // BANKS]
        label = f"{lanes[0]}+" if len(lanes) > 1 else str(lanes[0])
        _cell(sketch, x, top, label, conflict=word in conflicts)


def _cell(sketch: Sketch, x: float, y: float, label: str, *, conflict: bool) -> None:
    face = _CONFLICT if conflict else _FREE
    sketch.rectangle(x, y, _BANK, _ROW, face=face, hatch=_HATCH if conflict else "")
    text = sketch.text(x + _BANK / 2, y + _ROW / 2, label, size=8, bold=conflict)
    text.set_path_effects([withStroke(linewidth=2.5, foreground=face)])


def _draw_counts(sketch: Sketch, asked: Request, y: float) -> None:
    """Write below each bank how many words it has to serve, a row for each group of lanes."""
    several = len(asked.groups) > 1
    head = "words to serve"
    if several:
        served = f"{head}, for the lanes that are served together"
        sketch.text(_LEFT, y + _ROW / 2, served, size=8, align="left", colour=style.GREY)
        y += _ROW
    for group in asked.groups:
        banks, passes = asked.banks(group), asked.passes(group)
        label = f"lanes {group[0]}–{group[-1]}" if several else head
        sketch.text(_LEFT - 0.1, y + _ROW / 2, label, size=8, align="right")
        for bank, words in enumerate(banks):
            x = _LEFT + bank * _BANK
            if len(words) == passes > 1:
                _cell(sketch, x, y, str(passes), conflict=True)
            elif words:
                sketch.text(x + _BANK / 2, y + _ROW / 2, str(len(words)), size=8)
        end = _LEFT + BANKS * _BANK + 0.08
        result = f"→ {passes} pass{'es' if passes > 1 else ''}"
        sketch.text(end, y + _ROW / 2, result, size=8, align="left", bold=True)
        y += _ROW


def _draw_legend(sketch: Sketch, asked: Request, y: float) -> None:
    """Say what the looks of the cells mean, for those that occur."""
    owners, conflicts = _owners(asked), _conflicts(asked)
    alone = [
        lanes[0] for word, lanes in owners.items() if len(lanes) == 1 and word not in conflicts
    ]
    waiting = [lanes[0] for word, lanes in owners.items() if word in conflicts]
    sharing = [lanes[0] for lanes in owners.values() if len(lanes) > 1]
    entries = []
    if alone:
        entries.append((str(alone[0]), False, f"lane that {asked.verb} the word"))
    if waiting:
        entries.append((str(waiting[0]), True, "lane in a bank conflict"))
    if sharing:
        entries.append(
            (f"{sharing[0]}+", False, f"lane {sharing[0]} and others: one word, one pass")
        )
    x = _LEFT
    for label, conflict, words in entries:
        _cell(sketch, x, y - _ROW / 2, label, conflict=conflict)
        text = sketch.text(x + _BANK + 0.08, y, words, align="left", size=style.SMALL)
        x += _BANK + 0.4 + text.get_window_extent().width / sketch.figure.dpi
