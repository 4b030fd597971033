"""Boxes, arrows and words on a sheet measured in inches: what the diagrams are made of."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.text import Text

from course.figures import style
from course.figures.names import shorten

#: The smallest letters of a diagram, in points.
MINIMUM = 8


class Sketch:
    """A figure of `width` × `height` inches, its coordinates inches from the top left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.figure: Figure = style.canvas(width, height, layout=None)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        self.axes.set_axis_off()

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        width: float | None = None,
        size: float = style.NORMAL,
        align: str = "center",
        colour: str = style.INK,
        bold: bool = False,
        code: bool = False,
    ) -> Text:
        """Write `words` at (x, y), centred in height, made to fit into `width` inches."""
        artist = self.axes.text(
            x,
            y,
            words,
            ha=align,
            va="center",
            size=size,
            color=colour,
            weight="bold" if bold else "normal",
            family="DejaVu Sans Mono" if code else None,
            linespacing=1.35,
        )
        if width is not None:
            self._fit(artist, width)
        return artist

    def _fit(self, artist: Text, width: float) -> None:
        """Make a text as small as needed, and if that is too small, leave out its middle."""

        def inches() -> float:
            return artist.get_window_extent().width / self.figure.dpi

        if inches() > width:
            artist.set_size(max(MINIMUM, artist.get_size() * width / inches()))
        words = artist.get_text()
        length = max(map(len, words.split("\n")))
        while inches() > width and length > 5:
            length -= 1
            artist.set_text("\n".join(shorten(line, length) for line in words.split("\n")))

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        words: str = "",
        *,
        face: str = "white",
        edge: str = style.GREY,
        line: float = 1.2,
        size: float = style.NORMAL,
        bold: bool = False,
        colour: str = style.INK,
    ) -> None:
        """Draw a rounded box with its top left corner at (x, y), and `words` in its middle."""
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.07",
                facecolor=face,
                edgecolor=edge,
                linewidth=line,
            )
        )
        if words:
            self.text(
                x + width / 2,
                y + height / 2,
                words,
                width=width - 0.16,
                size=size,
                bold=bold,
                colour=colour,
            )

    def rectangle(
        self, x: float, y: float, width: float, height: float, *, face: str, hatch: str = ""
    ) -> None:
        """Draw a plain rectangle, hatched in white."""
        self.axes.add_patch(
            Rectangle((x, y), width, height, facecolor=face, edgecolor="white", hatch=hatch, lw=0)
        )
        self.axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=style.INK, lw=1))

    def arrow(self, *points: tuple[float, float], colour: str = style.GREY) -> None:
        """Draw an arrow along `points`, with its head at the last one."""
        for start, end in pairwise(points[:-1]):
            self.axes.plot(*zip(start, end, strict=True), color=colour, lw=1.5, clip_on=False)
        self.axes.add_patch(
            FancyArrowPatch(
                points[-2],
                points[-1],
                arrowstyle="-|>",
                mutation_scale=13,
                color=colour,
                lw=1.5,
                shrinkA=0,
                shrinkB=0,
            )
        )
