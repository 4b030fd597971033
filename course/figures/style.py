"""How the course's figures look: one palette, one set of sizes, and never colour alone.

The palette is that of Okabe and Ito ("Color Universal Design", 2008), which people with any kind of
colour vision can tell apart; black and yellow are left out, as they are no areas on white.
Every figure gives a hatch, a marker, a dash pattern or a label to whatever has a colour. The
background is opaque white, so that a figure reads the same in a light and in a dark JupyterLab.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

P = ParamSpec("P")

BLUE, ORANGE, GREEN, PINK, SKY, RED = PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
)
INK, GREY, PALE = "#1A1A1A", "#6B6B6B", "#F2F2F2"

HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "oo")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")

#: Sizes in points, for a figure 8 inches wide that is shown at its own size.
SMALL, NORMAL, LARGE = 9, 11, 13

RC = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": LARGE,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
    "font.family": "DejaVu Sans",
    "font.size": NORMAL,
    "legend.frameon": False,
    "legend.fontsize": NORMAL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": NORMAL,
    "text.color": INK,
    "text.usetex": False,
    "grid.color": "#D9D9D9",
    "grid.linewidth": 0.8,
    "hatch.color": "white",
    "hatch.linewidth": 1.2,
    "lines.linewidth": 2.0,
    "lines.markersize": 9,
    "svg.fonttype": "path",
    "svg.hashsalt": "course",
}


def context() -> AbstractContextManager:
    """Return a context in which everything that matplotlib draws has the style of the course."""
    return matplotlib.rc_context(RC)


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function that returns a figure draw it in the style of the course."""

    @functools.wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with context():
            figure = draw(*args, **kwargs)
            figure.draw_without_rendering()  # ticks are made here, while the style holds
        return figure

    return wrapper


def canvas(width: float, height: float, layout: str | None = "constrained") -> Figure:
    """Return an empty figure of `width` × `height` inches that pyplot does not know about."""
    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure
