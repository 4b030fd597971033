"""Figures: everything written is inside the canvas and legible, and colour never speaks alone."""

import base64
import itertools
import re
import xml.etree.ElementTree as ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.text import Text

from course import ROOT, figures
from course.figures import __main__ as pictures
from course.figures import display, style
from course.figures.names import shorten, shorten_all

LONG = "transformer.encoder.layers.{}.self_attention.output_projection.linear"
BLOCK = {
    "qkv": ("(64, 256) × (256, 768)", 25_165_824),
    "scores": ("4 · (64, 64) × (64, 64)", 2_097_152),
    "values": ("4 · (64, 64) × (64, 64)", 2_097_152),
    "out": ("(64, 256) × (256, 256)", 8_388_608),
    "up": ("(64, 256) × (256, 1024)", 33_554_432),
    "down": ("(64, 1024) × (1024, 256)", 33_554_432),
}
STEP = {"forward": 3e9, "backward": 6e9}
TREE = {"block": STEP, "block.attention": STEP, "block.attention.qkv": STEP, "block.mlp": STEP}

FIGURES = {
    "bars, one": lambda: figures.flop_breakdown({"everything": 1e9}),
    "bars, all zero": lambda: figures.flop_breakdown({"a": 0, "b": 0.0}),
    "bars, tree": lambda: figures.flop_breakdown(TREE, total=9e9, title="One training step"),
    "bars, many long": lambda: figures.flop_breakdown(
        {LONG.format(i): 1e12 * (i % 7) for i in range(40)}, total=1e14
    ),
    "roof, none": lambda: figures.roofline({}, 989.4e12, 3.35e12),
    "roof, one": lambda: figures.roofline({"vector add": (1 / 12, 2.7e11)}, 989.4e12, 3.35e12),
    "roof, several": lambda: figures.roofline(
        {"naive": (0.25, 2e11), "tiled": (8, 9e12), "tensor cores": (700, 6e14)},
        {"bf16 tensor cores": 989.4e12, "fp32 CUDA cores": 66.9e12},
        {"HBM3": 3.35e12, "shared memory": 30.9e12},
        title="H100 SXM",
    ),
    "roof, many long": lambda: figures.roofline(
        {LONG.format(i): (10 ** (i / 7), 10 ** (10 + i / 5)) for i in range(19)},
        {LONG.format("peak"): 1e14},
        {LONG.format("memory"): 1e12},
    ),
    "block": lambda: figures.transformer_block(BLOCK, title="One block, forward"),
    "block, one": lambda: figures.transformer_block({"up": BLOCK["up"]}),
    "block, none": lambda: figures.transformer_block({}),
    "block, long": lambda: figures.transformer_block(
        {key: (LONG.format(key), 123456.789e15) for key in figures.MATMULS}
    ),
    "attention": lambda: figures.attention_shapes(
        64, 48, 16, flops={"scores": 98304, "values": 98304}, title="One head"
    ),
    "attention, decode": lambda: figures.attention_shapes(1, 131_072, 128),
    "attention, square": lambda: figures.attention_shapes(512, 512, 512, flops={"scores": 1e18}),
    "toolchain": figures.toolchain,
}


@pytest.fixture(params=FIGURES)
def figure(request):
    return FIGURES[request.param]()


def texts(figure):
    """What is written on the figure, each with its box in pixels."""
    figure.draw_without_rendering()
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    # ticks outside the limits keep their texts, but are not drawn
    for axes in figure.axes:
        for axis, limits in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not min(limits) <= tick.get_loc() <= max(limits):
                    shown = [t for t in shown if t not in (tick.label1, tick.label2)]
    return [(text, text.get_window_extent()) for text in shown]


def test_every_function_returns_a_figure_that_pyplot_does_not_keep(figure):
    assert isinstance(figure, Figure)
    assert plt.get_fignums() == []


def test_all_text_is_inside_the_canvas(figure):
    written = texts(figure)
    assert written
    for text, box in written:
        assert box.x0 >= -0.5 and box.y0 >= -0.5, text
        assert box.x1 <= figure.bbox.x1 + 0.5 and box.y1 <= figure.bbox.y1 + 0.5, text


def test_no_text_lies_on_another(figure):
    level = [(t, box) for t, box in texts(figure) if t.get_rotation() in (0, 90)]
    for (one, a), (other, b) in itertools.combinations(level, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(across, along) < 2, (one.get_text(), other.get_text())


def test_letters_are_large_enough(figure):
    for text, _ in texts(figure):
        assert text.get_size() >= 8, text


def test_the_background_is_opaque_white(figure):
    assert to_hex(figure.get_facecolor(), keep_alpha=True) == "#ffffffff"


def test_series_differ_by_hatch_too():
    figure = figures.flop_breakdown({"a": {str(i): 1.0 for i in range(6)}})
    bars = [p for p in figure.axes[0].patches if isinstance(p, Rectangle)]
    assert len(bars) == 6
    assert len({bar.get_hatch() or "" for bar in bars}) == 6
    assert len({to_hex(bar.get_facecolor()) for bar in bars}) == 6


def test_bars_have_the_lengths_they_were_given():
    figure = figures.flop_breakdown({"a": {"x": 3.0, "y": 5.0}, "b": {"x": 2.0}}, total=10)
    bars = figure.axes[0].patches
    assert [(b.get_x(), b.get_width()) for b in bars] == [(0, 3), (0, 2), (3, 5), (2, 0)]
    words = [text.get_text() for text, _ in texts(figure)]
    assert any("8 FLOP" in w and "80 %" in w for w in words)
    assert any("2 FLOP" in w and "20 %" in w for w in words)


def test_nested_names_are_indented_below_their_parents():
    figure = figures.flop_breakdown(TREE)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["block", "    attention", "        qkv", "    mlp"]
    starts = [box.x0 for text, box in texts(figure) if text.get_text() in labels]
    indents = [len(label) - len(label.lstrip()) for label in labels]
    assert starts == pytest.approx([starts[0]] * 4, abs=1), "spaces indent, the labels start level"
    assert indents == [0, 4, 8, 4]


def test_kernels_differ_by_marker_and_stand_in_the_legend():
    points = {f"kernel {i}": (1 + i, 1e12) for i in range(7)}
    figure = figures.roofline(points, 1e14, 1e12)
    drawn = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
    assert len({line.get_marker() for line in drawn}) == 7
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in drawn] == list(points.values())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(points)


def test_no_two_of_many_kernels_look_alike():
    figure = figures.roofline({f"kernel {i}": (1 + i, 1e12) for i in range(30)}, 1e14, 1e12)
    drawn = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "", None)]
    assert len({(line.get_marker(), line.get_color()) for line in drawn}) == 30


def test_roofs_are_where_they_belong():
    figure = figures.roofline({"a": (1, 1e12)}, {"p": 8e13, "q": 2e13}, {"m": 4e12, "s": 4e13})
    roofs = [line for line in figure.axes[0].lines if line.get_marker() == "None"]
    slopes, flats = roofs[:2], roofs[2:]
    for line, bandwidth in zip(slopes, (4e12, 4e13), strict=True):
        np.testing.assert_allclose(line.get_ydata() / line.get_xdata(), bandwidth)
        assert line.get_ydata()[1] == 8e13
    for line, peak in zip(flats, (8e13, 2e13), strict=True):
        np.testing.assert_allclose(line.get_ydata(), peak)
        assert line.get_xdata()[0] == peak / 4e13
    assert len({line.get_linestyle() for line in slopes}) == 2
    assert len({line.get_linestyle() for line in flats}) == 2
    words = {text.get_text() for text, _ in texts(figure)}
    assert {"p: 80 TFLOP/s", "q: 20 TFLOP/s", "m: 4 TB/s", "s: 40 TB/s"} <= words


def test_the_label_of_a_slope_is_parallel_to_it():
    figure = FIGURES["roof, one"]()
    axes = figure.axes[0]
    label = next(t for t, _ in texts(figure) if t.get_text().startswith("memory"))
    ends = axes.transData.transform([(1, 3.35e12), (10, 3.35e13)])
    slope = np.degrees(np.arctan2(*(ends[1] - ends[0])[::-1]))
    assert label.get_rotation() == pytest.approx(slope, abs=0.5)


def test_block_writes_every_number_it_was_given():
    words = [text.get_text() for text, _ in texts(figures.transformer_block(BLOCK))]
    for shapes, _ in BLOCK.values():
        assert shapes in words
    for flops in ("25.17 MFLOP", "2.097 MFLOP", "8.389 MFLOP", "33.55 MFLOP"):
        assert flops in words
    assert words.count("LayerNorm") == 2 and words.count("+") == 2


def test_boxes_of_the_block_stand_apart():
    figure = figures.transformer_block(BLOCK)
    boxes = [p.get_window_extent() for p in figure.findobj(FancyBboxPatch)]
    assert len(boxes) == 12
    boxes.sort(key=lambda box: -box.y1)
    for above, below in itertools.pairwise(boxes):
        assert above.y0 - below.y1 > 10


def test_attention_writes_every_shape():
    words = " ".join(text.get_text() for text, _ in texts(FIGURES["attention"]()))
    for shape in ("64 × 16", "16 × 48", "64 × 48", "48 × 16"):
        assert shape in words
    assert words.count("98.3 kFLOP") == 2
    assert "not to scale" in words


def test_both_figures_of_attention_scale_the_scores_before_the_softmax():
    for name in ("attention", "block"):
        words = " ".join(text.get_text() for text, _ in texts(FIGURES[name]()))
        assert words.count("/ √d") == 1
        assert "P = softmax(S)" in words


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.flop_breakdown({}), "at least one part"),
        (lambda: figures.flop_breakdown({"a": -1}), "expects counts, and 'a'"),
        (lambda: figures.flop_breakdown({"a": float("nan")}), "expects counts"),
        (lambda: figures.roofline({"a": (0, 1)}, 1, 1), "positive, finite"),
        (lambda: figures.roofline({}, float("inf"), 1), "positive, finite"),
        (lambda: figures.transformer_block({"mlp": ("", 1)}), "qkv, scores.*not 'mlp'"),
        (lambda: figures.transformer_block({"up": ("", -1)}), "not 'up': -1"),
        (lambda: figures.attention_shapes(0, 1, 1), "positive sizes"),
    ],
)
def test_bad_data_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


# ----------------------------------------------------------------------------------------- showing


@pytest.fixture
def shown(monkeypatch):
    """What `show` hands to a notebook."""
    bundles = []
    monkeypatch.setattr(display, "get_ipython", lambda: object())
    monkeypatch.setattr(display, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def test_show_displays_an_image_with_its_alternative(shown):
    alt = 'Bars: "mlp" < attention & the rest'
    figures.show(figures.flop_breakdown({"mlp": 2e9, "attention": 3e9}), alt=alt)
    (bundle,) = shown
    assert bundle["text/plain"] == alt
    image = ElementTree.fromstring(re.sub(r">$", "/>", bundle["text/html"]))
    assert image.tag == "img"
    assert image.get("alt") == alt
    kind, data = image.get("src").split(",")
    assert kind == "data:image/svg+xml;base64"
    svg = ElementTree.fromstring(base64.b64decode(data))
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert svg.findall(".//{http://www.w3.org/2000/svg}path")


def test_show_closes_a_pyplot_figure(shown):
    figure, axes = plt.subplots()
    axes.plot([1, 2])
    figures.show(figure, alt="A line that rises from 1 to 2.")
    assert plt.get_fignums() == []
    assert len(shown) == 1


def test_show_outside_a_notebook_only_closes():
    figure = plt.figure()
    assert figures.show(figure, alt="Nothing at all.") is None
    assert not plt.fignum_exists(figure.number)


@pytest.mark.parametrize("alt", ["", "  \n", None])
def test_show_needs_words(alt):
    with pytest.raises(ValueError, match="says what the figure shows"):
        figures.show(figures.toolchain(), alt=alt)


def test_show_needs_a_figure():
    figure, axes = plt.subplots()
    with pytest.raises(TypeError, match=r"axes\.figure"):
        figures.show(axes, alt="An axes.")
    plt.close(figure)


def test_the_style_leaves_no_trace():
    before = dict(plt.rcParams)
    figures.toolchain()
    with figures.context():
        assert plt.rcParams["font.size"] == style.NORMAL
    assert dict(plt.rcParams) == before


# ---------------------------------------------------------------------- pictures in the repository


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_pictures_in_docs_are_up_to_date(name):
    """The words and the size, not every curve: those differ a little between font libraries."""
    stored = (ROOT / name).read_text(encoding="utf-8")
    fresh = display.as_svg(pictures.PICTURES[name]())
    ElementTree.fromstring(stored)
    assert "<dc:date>" not in stored
    for pattern in (r"<!--.*?-->", r"viewBox=\"[^\"]*\""):
        found = re.findall(pattern, stored, re.DOTALL)
        assert found
        assert found == re.findall(pattern, fresh, re.DOTALL), (
            f"{name} is out of date: python3 -m course.figures draws it again"
        )


# ------------------------------------------------------------------------------------------- names


def test_shorten():
    assert shorten("abc", 3) == "abc"
    assert shorten("abcdefgh", 5) == "ab…gh"
    assert all(len(shorten("x" * 50, n)) == n for n in range(1, 60) if n < 50)


def test_short_names_stay_different():
    names = [LONG.format(i) for i in range(120)]
    for length in (12, 20, 40):
        short = shorten_all(names, length)
        assert len(set(short)) == len(names)
        assert max(map(len, short)) <= length
        assert any("17" in name for name in short)
    assert shorten_all(["a", "b"], 10) == ["a", "b"]
    twins = ["aaaaXaaaaaaaaaaYaaaa", "aaaaXaaaaaaaaaaZaaaa", "aaaaWaaaaaaaaaaYaaaa"]
    assert len(set(shorten_all(twins, 8))) == 3
