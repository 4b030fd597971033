"""The figure of lanes: who is where, who takes part, who waits."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from course import figures


def cells(figure):
    (axes,) = figure.axes
    return sorted(
        ((round(-p.get_y(), 3), round(p.get_x(), 3), to_hex(p.get_facecolor())) for p in
         axes.findobj(Rectangle) if p.get_width() < 1), reverse=True,
    )  # fmt: skip


def test_each_lane_has_a_cell_that_says_what_it_does():
    rows = [("first", ["a", "", None]), ("second", ["b", "c", "d"])]
    figure = figures.lanes(rows, title="A title")
    (axes,) = figure.axes
    drawn = cells(figure)
    assert len(drawn) == 6
    top = [colour for _, _, colour in sorted(drawn, key=lambda c: (-c[0], c[1]))[:3]]
    assert len(set(top)) == 3  # takes part, waits, no thread
    texts = [t.get_text() for t in axes.texts]
    for word in ("first", "second", "a", "b", "c", "d", "A title", "0", "1", "2"):
        assert word in texts


def test_the_key_explains_what_occurs():
    rows = [("warp 0", ["x", "", None])]
    plain = figures.lanes(rows)
    keyed = figures.lanes(rows, key={"takes part": "runs", "waits": "stands still"})
    assert len(cells(keyed)) == len(cells(plain)) + 2
    texts = [t.get_text() for t in keyed.axes[0].texts]
    assert "runs" in texts
    assert "stands still" in texts


def test_of_a_whole_warp_every_fourth_lane_is_numbered():
    (axes,) = figures.lanes([("w", ["x"] * 32)]).axes
    numbers = [t.get_text() for t in axes.texts if t.get_text().isdigit()]
    assert numbers == [str(n) for n in range(0, 32, 4)]


def test_rows_must_be_of_equal_length():
    with pytest.raises(ValueError, match=r"equal length, and got lengths \[1, 2\]"):
        figures.lanes([("a", ["x"]), ("b", ["x", "x"])])
    with pytest.raises(ValueError, match="equal length"):
        figures.lanes([])
    with pytest.raises(ValueError, match="'takes part', 'waits', 'no thread'"):
        figures.lanes([("a", ["x"])], key={"foo": "bar"})
