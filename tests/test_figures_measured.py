"""Curves and bars of measurements."""

import pytest

from course import figures


def test_curves_draw_measurements_and_predictions_differently():
    series = {"measured": [(1, 4.0), (2, 2.0), (32, 0.5)], "predicted": [(1, 4.0), (32, 0.25)]}
    figure = figures.curves(series, x="gap", y="rate", y_unit="bytes/s", y_from_zero=False)
    (axes,) = figure.axes
    ours, guess = axes.get_lines()
    assert ours.get_xydata().tolist() == [[1, 4.0], [2, 2.0], [32, 0.5]]
    assert ours.get_marker() not in ("", "None")
    assert guess.get_marker() in ("", "None")
    assert guess.get_linestyle() == "--"
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("gap", "rate")
    assert [t.get_text() for t in axes.get_legend().get_texts()] == list(series)


def test_labels_of_sizes_have_room():
    points = [(2**n * 3 / (2 + n % 2), 1.0) for n in range(40)]
    (axes,) = figures.curves({"x": points}, x="", y="").axes
    ticks = axes.get_xticks()
    assert 5 <= len(ticks) <= 11
    assert set(ticks) <= {size for size, _ in points}
    assert axes.get_legend() is None
    assert axes.get_ylim()[0] == 0


def test_marks_stand_at_their_sizes():
    marks = {"L2": 64}
    (axes,) = figures.curves({"x": [(1, 1.0), (256, 2.0)]}, x="", y="", marks=marks).axes
    assert list(axes.get_lines()[1].get_xdata()) == [64, 64]
    assert [t.get_text() for t in axes.texts] == ["L2"]


def test_bars_say_their_values():
    (axes,) = figures.bars({"near": 23.02, "far": 690.3}, unit="cycles").axes
    assert [p.get_width() for p in axes.patches] == [23.02, 690.3]
    assert [t.get_text() for t in axes.texts] == ["23 cycles", "690 cycles"]
    assert axes.get_xscale() == "log"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["near", "far"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]
    assert axes.get_xlim()[0] < 23 < 690 < axes.get_xlim()[1]


def test_a_single_point_is_a_curve():
    figures.curves({"x": [(5, 1.0)]}, x="", y="")
    with pytest.raises(ValueError, match="at least one value"):
        figures.bars({}, unit="s")


def test_points_stand_at_their_numbers():
    (axes,) = figures.points({"one": [5.0, 7.0], "other": [6.0, 4.0]}, x="SM", y="cycles").axes
    one, other = axes.get_lines()
    assert one.get_xydata().tolist() == [[0, 5], [1, 7]]
    assert other.get_xydata().tolist() == [[0, 6], [1, 4]]
    assert one.get_marker() != other.get_marker()
    assert {line.get_linestyle() for line in (one, other)} == {"None"}
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["one", "other"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("SM", "cycles")
