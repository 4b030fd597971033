"""The figures of growth over the years, and of races."""

import pytest

from course import figures
from course.history import Point, fit


def point(year, value, name="x"):
    return Point(name, year, value, "", "source", "https://example.org")


def test_growth_draws_what_it_is_given_on_a_logarithmic_scale():
    points = [point(2000, 1e3, "first"), point(2004, 1e9), point(2010, 1e12, "last")]
    trend = fit(points)
    figure = figures.growth(
        {"kind": points, "other": [point(2001, 5)]},
        {"fitted": (trend, 2000, 2012)},
        unit="FLOP",
        names=["first", "last"],
    )
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    kind, other, line = axes.get_lines()
    assert kind.get_xydata().tolist() == [[2000, 1e3], [2004, 1e9], [2010, 1e12]]
    assert kind.get_marker() != other.get_marker()
    assert line.get_linestyle() not in ("-", "None")
    assert line.get_ydata() == pytest.approx([trend.at(2000), trend.at(2012)])
    assert [t.get_text() for t in axes.texts] == ["first", "last"]
    assert axes.get_ylabel() == "FLOP"
    labels = [t.get_text() for t in axes.get_legend().get_texts()]
    assert labels == ["kind", "other", "fitted"]


def test_race_gives_overlapping_tasks_rows_of_their_own():
    figure = figures.race({"one": [(0, 1), (1, 3)], "many": [(0, 4), (0, 4), (4, 5)]})
    (axes,) = figure.axes
    bars = [(p.get_x(), p.get_width(), round(p.get_y(), 3)) for p in axes.patches]
    assert [(x, w) for x, w, _ in bars] == [(0, 1), (1, 2), (0, 4), (0, 4), (4, 1)]
    heights = [y for *_, y in bars]
    assert heights[0] == heights[1]
    assert heights[2] != heights[3]
    assert heights[4] == heights[2]  # the row is free again
    said = [t.get_text() for t in axes.texts]
    assert "one: done at 3 ns" in said
    assert "many: done at 5 ns" in said
    assert len({p.get_hatch() for p in axes.patches}) == 2
