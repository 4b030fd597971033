"""The course as a map: one question a row, its lectures from left to right."""

import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure

from course.figures import style
from course.figures.sketch import Sketch
from course.syllabus import Lecture, Part

#: Inches: the column of questions, a lecture's box and what is between two, a problem set's box.
_LEFT, _WIDE, _HIGH, _GAP = 1.5, 1.2, 0.66, 0.18
_SET_WIDE, _SET_HIGH, _ROW = 0.9, 0.26, 1.24


@style.styled
def course_map(parts: Sequence[Part]) -> Figure:
    """Draw the lectures in their order, the problem sets below them, and which are ready.

    Parameters
    ----------
    parts : sequence of Part
        `course.syllabus.PARTS`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    most = max(4, *(len(part.lectures) for part in parts))  # the key needs room, too
    sketch = Sketch(_LEFT + most * (_WIDE + _GAP), len(parts) * _ROW + 0.55)
    for row, part in enumerate(parts):
        y = 0.15 + row * _ROW
        sketch.text(0.1, y + _HIGH / 2, _lines(part.question, 13), align="left", bold=True)
        for column, lecture in enumerate(part.lectures):
            x = _LEFT + column * (_WIDE + _GAP)
            if column:
                sketch.arrow((x - _GAP, y + _HIGH / 2), (x, y + _HIGH / 2))
            _lecture(sketch, x, y, lecture)
    _key(sketch, len(parts) * _ROW + 0.15)
    return sketch.figure


def _lecture(sketch: Sketch, x: float, y: float, lecture: Lecture) -> None:
    """Draw a lecture with its problem set, if it has one, hanging below."""
    words = f"{lecture.number}\n{_lines(lecture.title, 15)}"
    _box(sketch, x, y, _WIDE, _HIGH, words, lecture.ready)
    if lecture.problem_set:
        left, top = x + (_WIDE - _SET_WIDE) / 2, y + _HIGH + 0.05
        words = lecture.problem_set.split("_")[0]
        _box(sketch, left, top, _SET_WIDE, _SET_HIGH, words, lecture.problem_set_ready)


def _box(
    sketch: Sketch, x: float, y: float, width: float, height: float, words: str, ready: bool
) -> None:
    """Draw a box: blue with a thick edge and bold letters if it is ready, thin and grey if not."""
    face, edge, line = ("#DCEBF5", style.BLUE, 2.2) if ready else ("white", style.GREY, 0.8)
    colour = style.INK if ready else style.GREY
    sketch.box(x, y, width, height, face=face, edge=edge, line=line)
    centre = (x + width / 2, y + height / 2)
    sketch.text(*centre, words, width=width - 0.1, size=style.SMALL, bold=ready, colour=colour)


def _key(sketch: Sketch, y: float) -> None:
    """Explain the two kinds of boxes."""
    for x, words, ready in ((_LEFT, "ready", True), (_LEFT + 1.1, "planned", False)):
        _box(sketch, x, y, _SET_WIDE, _SET_HIGH, words, ready)
    x = _LEFT + 1.1 + _SET_WIDE + _GAP
    words = "ps: the problem set that follows a lecture"
    sketch.text(x, y + _SET_HIGH / 2, words, align="left", size=style.SMALL, colour=style.GREY)


def _lines(words: str, length: int) -> str:
    """Return `words` broken into lines of at most `length` letters where that is possible."""
    return "\n".join(textwrap.wrap(words, length, break_long_words=False))
