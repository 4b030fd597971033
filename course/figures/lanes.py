"""Lanes of warps: which thread sits where, and who takes part in an instruction."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course.figures import style

#: Inches of a lane's cell, and of the room for the labels of rows.
_CELL, _ROW = 0.3, 0.3
_LABEL = 1.9
#: The kinds of cells, with an example each.
_KINDS = {"takes part": "x", "waits": "", "no thread": None}


@style.styled
def lanes(
    rows: Sequence[tuple[str, Sequence[str | None]]],
    *,
    key: Mapping[str, str] | None = None,
    title: str = "",
) -> Figure:
    """Draw rows of lanes, from top to bottom.

    Parameters
    ----------
    rows : sequence of (label, cells)
        A row is a warp, or an instruction. A cell is a lane: a short text where it takes part, ""
        where it waits, None where there is no thread. All rows have the same number of lanes.
    key : mapping, optional
        Kind of cell ("takes part", "waits", "no thread") -> what it means here; only these are
        explained below the rows.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no row, rows differ in length, or the key has another kind.
    """
    sizes = {len(cells) for _, cells in rows}
    if len(sizes) != 1:
        raise ValueError(f"lanes() expects rows of equal length, and got lengths {sorted(sizes)}.")
    if not set(key or ()) <= set(_KINDS):
        raise ValueError(f"lanes() explains the kinds {list(_KINDS)}, and got {list(key)}.")
    (count,) = sizes
    below = 0.45 if key else 0.0
    above = 0.35 + 0.3 * bool(title)
    width, height = _LABEL + count * _CELL + 0.2, above + len(rows) * _ROW + below + 0.1
    figure = style.canvas(width, height, layout=None)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-_LABEL, width - _LABEL)
    axes.set_ylim(height - above, -above)
    axes.set_axis_off()
    if title:
        axes.text(-_LABEL + 0.1, -0.42, title, fontsize=style.LARGE, fontweight="bold")
    axes.text(-0.12, -0.1, "lane", ha="right", fontsize=style.SMALL, color=style.GREY)
    for lane in range(0, count, 4 if count > 16 else 1):
        axes.text(
            (lane + 0.5) * _CELL, -0.1, str(lane), ha="center", fontsize=style.SMALL,
            color=style.GREY,
        )  # fmt: skip
    for number, (label, cells) in enumerate(rows):
        top = number * _ROW
        axes.text(-0.12, top + _ROW / 2, label, ha="right", va="center", fontsize=style.SMALL)
        for lane, text in enumerate(cells):
            _cell(axes, lane * _CELL, top, text)
    if key:
        _explain(axes, key, len(rows) * _ROW + 0.14)
    return figure


def _cell(axes, left: float, top: float, text: str | None) -> None:  # noqa: ANN001
    looks = {"facecolor": style.SKY} if text else {"facecolor": style.PALE}
    if text is None:
        looks = {"facecolor": "white", "edgecolor": style.GREY}
    axes.add_patch(Rectangle((left, top), _CELL, _ROW, **{"edgecolor": "white", "lw": 1} | looks))
    if text:
        size = style.SMALL if len(text) < 4 else style.SMALL - 2
        axes.text(
            left + _CELL / 2, top + _ROW / 2, text, ha="center", va="center", fontsize=size,
            color=style.INK,
        )  # fmt: skip


def _explain(axes, key: Mapping[str, str], top: float) -> None:  # noqa: ANN001
    left = 0.0
    for kind, meaning in key.items():
        _cell(axes, left, top, _KINDS[kind])
        axes.text(left + _CELL + 0.08, top + _ROW / 2, meaning, va="center", fontsize=style.SMALL)
        left += _CELL + 0.3 + 0.085 * len(meaning)
