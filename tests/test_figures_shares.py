"""Figures of shares: the checks of all figures, and that the drawn shares are those given."""

import pytest
from matplotlib.patches import Rectangle

# the checks that hold for all figures: pytest collects them here, with the figures below
from test_figures import (  # noqa: F401
    test_all_text_is_inside_the_canvas,
    test_every_function_returns_a_figure_that_pyplot_does_not_keep,
    test_letters_are_large_enough,
    test_no_text_lies_on_another,
    test_the_background_is_opaque_white,
    texts,
)

from course import figures

PARTS = {"matrix products": 994.0, "softmax and norms": 4.0, "everything else": 2.0}
SIZES = [2**i for i in range(7, 18)]
FIGURES = {
    "bars, two": lambda: figures.share_bars({"arithmetic": PARTS, "bytes": PARTS}, title="A block"),
    "bars, one": lambda: figures.share_bars({"everything": {"a": 1}}),
    "curves": lambda: figures.share_curves(
        {f"width {w}": {n: n / (w + n) for n in SIZES} for w in (768, 4096, 12288)},
        xlabel="tokens in the sequence",
        ylabel="share of attention",
        title="Attention grows",
    ),
    "curves, one point": lambda: figures.share_curves({"a": {3: 0.5}}, xlabel="n", ylabel="s"),
}


@pytest.fixture(params=FIGURES)
def figure(request):
    return FIGURES[request.param]()


def test_bars_have_the_shares_they_were_given():
    figure = figures.share_bars({"a": {"x": 3, "y": 1}, "b": {"y": 5}})
    bars = [p for p in figure.axes[0].patches if isinstance(p, Rectangle)]
    assert [bar.get_width() for bar in bars] == [0.75, 0.25, 0, 1]
    assert len({bar.get_hatch() or "" for bar in bars}) == 2
    words = [text.get_text() for text, _ in texts(figure)]
    assert "x 75.0 %  ·  y 25.0 %" in words
    assert "x 0.0 %  ·  y 100.0 %" in words


def test_bars_in_words():
    words = figures.describe_bars({"a": {"x": 3, "y": 1}, "b": {"y": 5}})
    assert words == "a: x 75.0 %, y 25.0 %; b: y 100.0 %"


def test_curves_in_words():
    words = figures.describe_curves({"a": {128: 0.1, 256: 0.5, 1024: 0.625}, "b": {7: 0.25}})
    a, b = words.split("; ")
    assert a == "a: 10.0 % at 128, 62.5 % at 1,024, more than half from 1,024"
    assert b == "b: 25.0 % at 7, 25.0 % at 7, never more than half"


def test_curves_differ_by_more_than_colour():
    figure = FIGURES["curves"]()
    lines = figure.axes[0].lines[1:]
    assert [list(line.get_ydata()) for line in lines][1][0] == pytest.approx(128 / (4096 + 128))
    assert (
        len({line.get_marker() for line in lines})
        == len({line.get_linestyle() for line in lines})
        == 3
    )


@pytest.mark.parametrize(
    "bars", [{}, {"a": {"x": 0}}, {"a": {"x": -1}}, {"a": {"x": float("nan")}}]
)
def test_wrong_bars_are_refused(bars):
    with pytest.raises(ValueError, match=r"share_bars\(\) expects"):
        figures.share_bars(bars)


@pytest.mark.parametrize("curves", [{}, {"a": {0: 0.5}}, {"a": {1: 1.5}}, {"a": {1: float("nan")}}])
def test_wrong_curves_are_refused(curves):
    with pytest.raises(ValueError, match=r"share_curves\(\) expects"):
        figures.share_curves(curves, xlabel="n", ylabel="s")
