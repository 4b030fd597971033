"""Measurements: curves over a size, and bars of quantities that differ by powers of ten."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from course.figures import style
from course.specs import quantity


@style.styled
def curves(
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x: str,
    y: str,
    x_unit: str = "",
    y_unit: str = "",
    y_from_zero: bool = True,
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Draw values over a size that grows by factors.

    Parameters
    ----------
    series : mapping
        Label -> (size, value) pairs. A label that begins with "predicted" is a dashed line
        without markers.
    x, y : str
        Labels of the axes.
    x_unit, y_unit : str
        Units for the numbers at the axes, as `specs.quantity` knows them; "" for plain numbers.
    y_from_zero : bool
        Whether the value's axis is linear from 0, else logarithmic.
    marks : mapping, optional
        Label -> size at which a vertical line is drawn.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = style.canvas(8, 3.9)
    axes = figure.add_subplot()
    for (label, points), colour, marker in zip(
        series.items(), cycle(style.PALETTE), cycle(style.MARKERS), strict=False
    ):
        guess = label.startswith("predicted")
        axes.plot(
            [size for size, _ in points],
            [value for _, value in points],
            color=style.GREY if guess else colour,
            marker="" if guess else marker,
            linestyle="--" if guess else "-",
            label=label,
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(_apart(sorted({size for points in series.values() for size, _ in points})))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: quantity(v, x_unit, 5)))
    if y_from_zero:
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: quantity(v, y_unit, 3)))
    for label, size in (marks or {}).items():
        axes.axvline(size, color=style.GREY, linestyle=":")
        axes.annotate(
            label, (size, 0.98), (4, 0), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="top", fontsize=style.SMALL,
        )  # fmt: skip
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y")
    if len(series) > 1:
        axes.legend()
    return figure


def _apart(sizes: Sequence[float]) -> list[float]:
    """Return those of `sizes` whose labels have room on a logarithmic axis."""
    least = (sizes[-1] / sizes[0]) ** (1 / 10)
    chosen: list[float] = []
    for size in sizes:
        if not chosen or size >= least * chosen[-1]:
            chosen.append(size)
    return chosen


@style.styled
def points(series: Mapping[str, Sequence[float]], *, x: str, y: str) -> Figure:
    """Draw values by their number: one marker each, no line, as neighbours have no order.

    Parameters
    ----------
    series : mapping
        Label -> values; the first is drawn at 0.
    x, y : str
        Labels of the axes.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = style.canvas(8, 3.4)
    axes = figure.add_subplot()
    for (label, values), colour, marker in zip(
        series.items(), cycle(style.PALETTE), cycle(style.MARKERS), strict=False
    ):
        axes.plot(values, marker, color=colour, label=label, markersize=5)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend()
    return figure


@style.styled
def bars(values: Mapping[str, float], *, unit: str) -> Figure:
    """Draw quantities that differ by powers of ten, one bar each, on a logarithmic scale.

    Parameters
    ----------
    values : mapping
        Label -> value.
    unit : str
        Written behind each value.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no value.
    """
    if not values:
        raise ValueError("bars() expects at least one value, and got none.")
    figure = style.canvas(8, 0.8 + 0.42 * len(values))
    axes = figure.add_subplot()
    rows = range(len(values))
    axes.barh(rows, list(values.values()), height=0.66, color=style.BLUE)
    for row, value in zip(rows, values.values(), strict=True):
        axes.annotate(
            f"{value:,.3g} {unit}", (value, row), (6, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(rows, list(values))
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlim(min(values.values()) / 3, 4 * max(values.values()))
    axes.set_xlabel(unit)
    return figure
