"""Shares of a whole: what part of the work is whose, at one size or over many."""

import math
from collections.abc import Iterable, Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from course.figures import style


@style.styled
def share_bars(bars: Mapping[str, Mapping[str, float]], *, title: str = "") -> Figure:
    """Draw each of `bars` as a whole of 100 %, divided among the same parts.

    Parameters
    ----------
    bars : mapping of str to mapping of str to float
        By the bar's name, the amount of each part, in whatever unit that bar has.
    title : str
        Heading.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no bar, or a bar's amounts are negative, not finite or all zero.
    """
    if not bars:
        raise ValueError("share_bars() expects at least one bar, and got none.")
    for name, parts in bars.items():
        if not all(math.isfinite(v) and v >= 0 for v in parts.values()) or not sum(parts.values()):
            raise ValueError(f"share_bars() expects amounts above zero, and {name!r} has {parts}.")
    kinds = list(dict.fromkeys(kind for parts in bars.values() for kind in parts))
    figure = style.canvas(8, 0.55 + 0.95 * len(bars) + 0.3 * bool(title))
    axes = figure.add_subplot()
    axes.set(xlim=(0, 1), ylim=(len(bars) - 0.4, -0.55))
    axes.set_axis_off()
    for row, (name, parts) in enumerate(bars.items()):
        left = 0.0
        for index, kind in enumerate(kinds):
            share = parts.get(kind, 0.0) / sum(parts.values())
            axes.barh(
                row,
                share,
                left=left,
                height=0.42,
                color=style.PALETTE[index % len(style.PALETTE)],
                hatch=style.HATCHES[index % len(style.HATCHES)],
                edgecolor="white",
                label=kind if row == 0 else None,
            )
            left += share
        axes.text(0, row - 0.24, name, weight="bold", va="bottom")
        axes.text(0, row + 0.25, "  ·  ".join(_shares(parts, kinds)), size=style.SMALL, va="top")
    figure.legend(loc="outside lower left", ncols=len(kinds), fontsize=style.SMALL)
    if title:
        figure.suptitle(title, x=0.01, ha="left", size=style.LARGE, weight="bold")
    return figure


def describe_bars(bars: Mapping[str, Mapping[str, float]]) -> str:
    """Return in words what `share_bars` draws: the parts of each bar in per cent.

    Parameters
    ----------
    bars
        As for `share_bars`.

    Returns
    -------
    str
        For example ``work: products 99.5 %, sums 0.5 %; bytes: products 40.0 %, sums 60.0 %``.
    """
    return "; ".join(f"{name}: {', '.join(_shares(parts, parts))}" for name, parts in bars.items())


def _shares(parts: Mapping[str, float], kinds: Iterable[str]) -> list[str]:
    whole = sum(parts.values())
    return [f"{kind} {_percent(parts.get(kind, 0.0) / whole)}" for kind in kinds]


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


@style.styled
def share_curves(
    curves: Mapping[str, Mapping[float, float]], *, xlabel: str, ylabel: str, title: str = ""
) -> Figure:
    """Draw shares that change with a size that doubles: one curve for each name.

    Parameters
    ----------
    curves : mapping of str to mapping of float to float
        By the curve's name, the share (0 to 1) at each size.
    xlabel, ylabel, title : str
        What the sizes and the shares are, and a heading.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is no curve, a size is not positive, or a share is not between 0 and 1.
    """
    sizes = sorted({size for curve in curves.values() for size in curve})
    shares = [share for curve in curves.values() for share in curve.values()]
    if not sizes or sizes[0] <= 0 or not all(0 <= share <= 1 for share in shares):
        raise ValueError("share_curves() expects curves of shares, 0 to 1, by positive sizes.")
    figure = style.canvas(8, 4.2 + 0.3 * bool(title))
    axes = figure.add_subplot()
    axes.axhline(0.5, color=style.GREY, lw=1.2, ls=":")
    for index, (name, curve) in enumerate(curves.items()):
        axes.plot(
            list(curve),
            list(curve.values()),
            style.DASHES[index % len(style.DASHES)],
            marker=style.MARKERS[index % len(style.MARKERS)],
            color=style.PALETTE[index % len(style.PALETTE)],
            label=name,
        )
    axes.set(xscale="log", xlabel=xlabel, ylabel=ylabel, ylim=(0, 1))
    axes.xaxis.set_major_locator(FixedLocator(sizes[:: math.ceil(len(sizes) / 10)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:.0f} %"))
    axes.grid()
    figure.legend(loc="outside lower center", ncols=min(3, len(curves)))
    if title:
        figure.suptitle(title, x=0.01, ha="left", size=style.LARGE, weight="bold")
    return figure


def describe_curves(curves: Mapping[str, Mapping[float, float]]) -> str:
    """Return in words what `share_curves` draws: where each curve starts, passes half, and ends.

    Parameters
    ----------
    curves
        As for `share_curves`, each by ascending sizes.

    Returns
    -------
    str
        For example ``width 768: 2.7 % at 128, 96.6 % at 131,072, more than half from 8,192``.
    """
    return "; ".join(f"{name}: {_course(curve)}" for name, curve in curves.items())


def _course(curve: Mapping[float, float]) -> str:
    ends = ", ".join(f"{_percent(curve[size])} at {size:,}" for size in (min(curve), max(curve)))
    half = min((size for size, share in curve.items() if share > 0.5), default=None)
    return f"{ends}, {'never more than half' if half is None else f'more than half from {half:,}'}"
