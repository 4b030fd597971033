"""Exponential growth over the years, and who finishes first."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
from matplotlib.figure import Figure

from course.figures import style
from course.history import Point, Trend


@style.styled
def growth(
    series: Mapping[str, Sequence[Point]],
    trends: Mapping[str, tuple[Trend, float, float]] | None = None,
    *,
    unit: str,
    names: Sequence[str] = (),
) -> Figure:
    """Draw quantities that grow exponentially, on a logarithmic scale over the years.

    Parameters
    ----------
    series : mapping
        The points of each kind; each kind has a colour and a marker.
    trends : mapping, optional
        Label -> a fitted trend, and the years from and to which its line is drawn.
    unit : str
        Of the values, for example ``"FLOP"``.
    names : sequence of str
        Which points carry their names.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = style.canvas(8, 4.2)
    axes = figure.add_subplot()
    for (kind, points), colour, marker in zip(
        series.items(), cycle(style.PALETTE), cycle(style.MARKERS), strict=False
    ):
        years, values = [p.year for p in points], [p.value for p in points]
        axes.semilogy(years, values, marker, color=colour, label=kind, linestyle="none")
        for point in points:
            if point.name in names:
                axes.annotate(
                    point.name,
                    (point.year, point.value),
                    (-8, 6),
                    textcoords="offset points",
                    ha="right",
                    fontsize=style.SMALL,
                )
    for (label, (trend, first, last)), dashes in zip(
        (trends or {}).items(), cycle(style.DASHES[1:]), strict=False
    ):
        ends = np.array([first, last])
        axes.semilogy(ends, [trend.at(y) for y in ends], dashes, color=style.GREY, label=label)
    axes.set_ylabel(unit)
    axes.grid(axis="y")
    axes.legend(loc="upper left")
    return figure


@style.styled
def race(finishes: Mapping[str, Sequence[tuple[float, float]]], *, unit: str = "ns") -> Figure:
    """Draw when workers work on which task, and where the last one ends.

    Parameters
    ----------
    finishes : mapping
        Machine -> for each task, in order, when it begins and when it ends. Tasks that overlap get
        rows of their own.
    unit : str
        Of time.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = {name: _rows(tasks) for name, tasks in finishes.items()}
    height = sum(max(row for row, *_ in placed) + 1 for placed in rows.values())
    figure = style.canvas(8, 0.9 + 0.24 * height + 0.35 * len(rows))
    axes = figure.add_subplot()
    top = 0
    for (name, placed), colour, hatch in zip(
        rows.items(), cycle(style.PALETTE), cycle(style.HATCHES), strict=False
    ):
        for number, (row, begin, end) in enumerate(placed):
            axes.barh(
                top + row, end - begin, left=begin, height=0.8, color=colour, hatch=hatch,
                edgecolor="white",
            )  # fmt: skip
            if len(placed) <= 24:
                axes.text(
                    (begin + end) / 2, top + row, str(number + 1), ha="center", va="center",
                    fontsize=style.SMALL, bbox={"facecolor": "white", "pad": 0.6, "lw": 0},
                )  # fmt: skip
        used = max(row for row, *_ in placed) + 1
        last = max(end for _, _, end in placed)
        axes.plot([last, last], [top - 0.5, top + used - 0.5], color=style.INK)
        axes.annotate(
            f"{name}: done at {last:g} {unit}", (0, top - 0.5), (0, 3),
            textcoords="offset points", va="bottom", fontweight="bold",
        )  # fmt: skip
        top += used + 1.4
    axes.set_ylim(top - 1.6, -1.9)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"time in {unit}")
    return figure


def _rows(tasks: Sequence[tuple[float, float]]) -> list[tuple[int, float, float]]:
    """Give each task the first row that is free when it begins."""
    free: list[float] = []
    placed = []
    for begin, end in tasks:
        row = next((n for n, until in enumerate(free) if until <= begin), len(free))
        free[row : row + 1] = [end]
        placed.append((row, begin, end))
    return placed
