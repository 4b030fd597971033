"""Figures for the first kernel: which thread does which element, and how little it is."""

import math

from matplotlib.figure import Figure

from course.figures import style
from course.figures.sketch import Sketch

#: Inches: the column of labels, a thread or an element, what is between two blocks.
_LEFT, _SQUARE, _BETWEEN = 1.4, 0.44, 0.5


@style.styled
def threads_and_elements(elements: int, block: int) -> Figure:
    """Draw the blocks of a launch, their threads, and the array element that each thread takes.

    Parameters
    ----------
    elements : int
        Length of the array, at least 1.
    block : int
        Threads in a block, at least 1; the grid has as many blocks as are needed.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a number is not positive.
    """
    if elements < 1 or block < 1:
        raise ValueError(f"Expected positive numbers of elements and threads: {elements}, {block}.")
    blocks = math.ceil(elements / block)
    sketch = Sketch(_LEFT + blocks * (block * _SQUARE + _BETWEEN), 2.4)
    for words, y in (("blockIdx.x", 0.2), ("threadIdx.x", 0.78), ("element i", 2.0)):
        sketch.text(0.1, y, words, align="left", size=style.SMALL, code=True)
    array = _LEFT + (blocks - 1) * _BETWEEN / 2  # one array, in the middle below the blocks
    for number in range(blocks):
        x = _LEFT + number * (block * _SQUARE + _BETWEEN)
        sketch.text(x + block * _SQUARE / 2, 0.2, str(number), bold=True)
        sketch.box(x - 0.08, 0.48, block * _SQUARE + 0.16, 0.6, edge=style.INK, line=1.5)
        for thread in range(block):
            i, left = number * block + thread, x + thread * _SQUARE
            _cell(sketch, left, 0.56, str(thread), filled=i < elements)
            if i < elements:
                target = array + i * _SQUARE
                _cell(sketch, target, 1.78, str(i), filled=True)
                sketch.arrow((left + _SQUARE / 2, 1.08), (target + _SQUARE / 2, 1.77))
            else:
                sketch.text(left + _SQUARE / 2, 1.24, "idle", size=style.SMALL)
    return sketch.figure


def _cell(sketch: Sketch, x: float, y: float, words: str, *, filled: bool) -> None:
    """Draw a square with `words` in it."""
    sketch.rectangle(x, y, _SQUARE, _SQUARE, face="#BFE0F3" if filled else "white")
    sketch.text(x + _SQUARE / 2, y + _SQUARE / 2, words, size=style.SMALL)


@style.styled
def unit_chart(done: int, possible: float, *, title: str = "", columns: int = 20) -> Figure:
    """Draw `possible` squares, each one thing that could have been done, and fill the `done` ones.

    Parameters
    ----------
    done, possible : int, float
        Counts; `possible` is rounded.
    title : str
        Heading.
    columns : int
        Squares in a row.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is less possible than was done, or nothing.
    """
    count = round(possible)
    if not 0 <= done <= count or count < 1:
        raise ValueError(f"unit_chart() expects 0 <= done <= possible, not {done} and {possible}.")
    pitch, size = 0.36, 0.3
    top = 0.55 if title else 0.1
    rows = math.ceil(count / columns)
    sketch = Sketch(columns * pitch + 0.2, top + rows * pitch + 0.1)
    if title:
        sketch.text(0.1, 0.25, title, align="left", size=style.LARGE, bold=True)
    for i in range(count):
        row, column = divmod(i, columns)
        x, y = 0.13 + column * pitch, top + row * pitch
        sketch.rectangle(x, y, size, size, face=style.RED if i < done else "white")
    return sketch.figure
