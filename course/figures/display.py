"""Showing a figure in a notebook, with words for those who do not see it."""

import base64
import html
import io

import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.display import display
from matplotlib.figure import Figure

from course.figures import style


def show(figure: Figure, alt: str) -> None:
    """Display `figure` as an image with the text alternative `alt`, and close it.

    Outside IPython nothing is displayed; the figure is closed all the same.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to show.
    alt : str
        What the figure says, for somebody who cannot see it: what is compared with what, and what
        comes out. Not "a plot".

    Raises
    ------
    TypeError
        If `figure` is no figure.
    ValueError
        If `alt` is empty.
    """
    if not isinstance(figure, Figure):
        raise TypeError(
            f"show() expects a matplotlib Figure, not {type(figure).__name__}. An Axes knows its "
            "figure: show(axes.figure, alt=...)."
        )
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(
            "show() needs alt=..., a sentence that says what the figure shows, for readers who "
            "cannot see it."
        )
    try:
        if get_ipython() is not None:
            display({"text/html": as_html(figure, alt), "text/plain": alt}, raw=True)
    finally:
        plt.close(figure)


def as_html(figure: Figure, alt: str) -> str:
    """Return `figure` as an ``<img>`` with its SVG inside, as wide as the figure or the page."""
    source = base64.b64encode(as_svg(figure).encode("utf-8")).decode("ascii")
    width = round(96 * figure.get_figwidth())
    return (
        f'<img src="data:image/svg+xml;base64,{source}" alt="{html.escape(alt, quote=True)}" '
        f'style="width: {width}px; max-width: 100%; height: auto; background: white">'
    )


def as_svg(figure: Figure) -> str:
    """Return `figure` as SVG, letters as outlines, the same text for the same figure."""
    buffer = io.StringIO()
    with style.context():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
