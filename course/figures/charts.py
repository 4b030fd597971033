"""Charts: quantities that somebody else counted or measured."""

import math
from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter

from course.figures import style
from course.figures.names import shorten, shorten_all
from course.specs import quantity

#: Room for a name, in characters: beside a bar, in one column of a legend or of two, on a roof.
ROW, COLUMN, HALF, ROOF = 40, 84, 36, 34


@style.styled
def flop_breakdown(
    flops: Mapping[str, float | Mapping[str, float]],
    *,
    total: float | None = None,
    title: str = "",
    unit: str = "FLOP",
) -> Figure:
    """Draw how much of the work each part does, one bar a part.

    Parameters
    ----------
    flops : mapping
        FLOPs by part, in the order of the rows; or FLOPs by part and series, for example
        ``{"mlp": {"forward": 8e6, "backward": 16e6}}``, drawn as one stacked bar. A part whose
        dotted name begins with that of another row (``mlp.up`` after ``mlp``) is indented below it.
    total : float, optional
        What 100 % is; without it no percentages are written.
    title, unit : str
        Heading, and the unit of all numbers.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no part, or a number is negative or not finite.
    """
    if not flops:
        raise ValueError("flop_breakdown() expects at least one part, and got none.")
    parts = {
        name: dict(value) if isinstance(value, Mapping) else {"": float(value)}
        for name, value in flops.items()
    }
    for name, series in parts.items():
        if not all(math.isfinite(value) and value >= 0 for value in series.values()):
            raise ValueError(f"flop_breakdown() expects counts, and {name!r} has {series}.")
    names = list(parts)
    kinds = list(dict.fromkeys(kind for series in parts.values() for kind in series))
    pitch = 0.42 if len(names) <= 20 else 0.3
    figure = style.canvas(8, 0.9 + pitch * len(names) + 0.3 * bool(title) + 0.3 * (len(kinds) > 1))
    axes = figure.add_subplot()
    rows = range(len(names))
    left = [0.0] * len(names)
    for index, kind in enumerate(kinds):
        widths = [parts[name].get(kind, 0.0) for name in names]
        axes.barh(
            rows,
            widths,
            left=left,
            height=0.66,
            color=style.PALETTE[index % len(style.PALETTE)],
            hatch=style.HATCHES[index % len(style.HATCHES)],
            edgecolor="white",
            label=kind,
        )
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(rows, _indented(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, max(*left, 1e-300) if max(left) else 1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: quantity(x, unit, 3)))
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x")
    right = axes.secondary_yaxis("right")
    right.set_yticks(rows, [_amount(value, total, unit) for value in left])
    right.spines["right"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    right.tick_params(axis="y", length=0)
    if kinds != [""]:
        figure.legend(loc="outside lower center", ncols=min(4, len(kinds)))
    if title:
        figure.suptitle(title, x=0.01, ha="left", size=style.LARGE, weight="bold")
    _align(axes, "left")
    _align(right, "right")
    return figure


def _indented(names: list[str]) -> list[str]:
    """Return the last part of each dotted name, moved in below the rows that it belongs to."""
    above = [[other for other in names if other and n.startswith(f"{other}.")] for n in names]
    own = [
        name.removeprefix(f"{max(others, key=len)}.") if others else name
        for name, others in zip(names, above, strict=True)
    ]
    deepest = 4 * max(map(len, above))
    short = shorten_all(own, ROW - deepest)
    return ["    " * len(others) + name for others, name in zip(above, short, strict=True)]


def _amount(value: float, total: float | None, unit: str) -> str:
    shown = quantity(value, unit, 4)
    if not total:
        return shown
    percent = f"{100 * value / total:.0f}".rjust(3, "\u2007")  # a space as wide as a digit
    return f"{shown}  {percent} %"


def _align(axes: Axes, side: str) -> None:
    """Make the labels of a vertical axis flush with its outer side."""
    axes.figure.draw_without_rendering()
    labels = axes.get_yticklabels()
    widest = max(label.get_window_extent().width for label in labels)
    axes.tick_params(axis="y", pad=6 + 72 * widest / axes.figure.dpi)
    for label in labels:
        label.set_ha(side)


@style.styled
def roofline(
    points: Mapping[str, tuple[float, float]],
    peak: float | Mapping[str, float],
    bandwidth: float | Mapping[str, float],
    *,
    title: str = "",
) -> Figure:
    """Draw kernels under the roofs of a chip, both axes logarithmic.

    Parameters
    ----------
    points : mapping of str to (float, float)
        Kernels: arithmetic intensity in FLOP/byte and performance in FLOP/s.
    peak : float or mapping of str to float
        Peak arithmetic in FLOP/s, or several by name (``{"bf16 tensor cores": 989.4e12, ...}``).
    bandwidth : float or mapping of str to float
        Bandwidth in bytes/s, or several by name.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a number is not positive and finite.
    """
    peaks = dict(peak) if isinstance(peak, Mapping) else {"peak": float(peak)}
    bandwidths = dict(bandwidth) if isinstance(bandwidth, Mapping) else {"memory": float(bandwidth)}
    numbers = [
        *peaks.values(),
        *bandwidths.values(),
        *(v for pair in points.values() for v in pair),
    ]
    if not all(math.isfinite(value) and value > 0 for value in numbers):
        raise ValueError("roofline() expects positive, finite numbers everywhere.")
    narrow = all(len(name) <= HALF for name in points)
    labels = shorten_all(list(points), HALF if narrow else COLUMN)
    rows = math.ceil(len(points) / (2 if narrow else 1))
    figure = style.canvas(8, 4.6 + 0.26 * rows + 0.3 * bool(title))
    axes = figure.add_subplot()
    ridges = [p / b for p in peaks.values() for b in bandwidths.values()]
    xs = [x for x, _ in points.values()] + ridges
    ys = [y for _, y in points.values()] + list(peaks.values())
    low, high = min(xs) / 5, max(xs) * 5
    axes.set(xscale="log", yscale="log", xlim=(low, high))
    axes.set_ylim(min(*ys, max(bandwidths.values()) * min(xs)) / 3, max(ys) * 3)
    axes.set_xlabel("arithmetic intensity [FLOP/byte]")
    axes.set_ylabel("performance")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: quantity(y, "FLOP/s", 3)))
    axes.grid()
    _draw_roofs(axes, peaks, bandwidths)
    for index, (name, (x, y)) in enumerate(zip(labels, points.values(), strict=True)):
        axes.plot(
            x,
            y,
            marker=style.MARKERS[index % len(style.MARKERS)],
            color=style.PALETTE[index % len(style.PALETTE)],
            markeredgecolor=style.INK,
            linestyle="none",
            label=name,
            zorder=3,
        )
    if points:
        figure.legend(loc="outside lower center", ncols=2 if narrow else 1)
    if title:
        figure.suptitle(title, x=0.01, ha="left", size=style.LARGE, weight="bold")
    figure.draw_without_rendering()  # the slope of the labels needs the finished layout
    _label_slopes(axes, peaks, bandwidths)
    return figure


def _draw_roofs(axes: Axes, peaks: Mapping[str, float], bandwidths: Mapping[str, float]) -> None:
    """Draw each bandwidth as a slope up to the highest peak, and each peak from its first ridge."""
    low, high = axes.get_xlim()
    highest, fastest = max(peaks.values()), max(bandwidths.values())
    for index, value in enumerate(bandwidths.values()):
        dash = style.DASHES[index % len(style.DASHES)]
        axes.plot([low, highest / value], [low * value, highest], dash, color=style.INK)
    for index, (name, value) in enumerate(peaks.items()):
        dash = style.DASHES[index % len(style.DASHES)]
        axes.plot([value / fastest, high], [value, value], dash, color=style.INK)
        axes.annotate(
            f"{shorten(name, ROOF)}: {quantity(value, 'FLOP/s', 4)}",
            (high, value),
            (-4, 4),
            textcoords="offset points",
            ha="right",
            size=style.SMALL,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )


def _label_slopes(axes: Axes, peaks: Mapping[str, float], bandwidths: Mapping[str, float]) -> None:
    """Write each bandwidth along its slope, at the angle that the slope has on paper."""
    low, _ = axes.get_xlim()
    floor, _ = axes.get_ylim()
    highest = max(peaks.values())
    for name, value in bandwidths.items():
        start, end = max(low, floor / value), highest / value
        middle = math.sqrt(start * end)
        (x0, y0), (x1, y1) = axes.transData.transform([(start, start * value), (end, highest)])
        axes.annotate(
            f"{shorten(name, ROOF)}: {quantity(value, 'bytes/s', 4)}",
            (middle, middle * value),
            (-5, 5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=math.degrees(math.atan2(y1 - y0, x1 - x0)),
            rotation_mode="anchor",
            size=style.SMALL,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )
