"""Figures of a trace: picture, caption and words say what the trace says."""

import collections
import functools
import itertools
import re

import numpy as np
import pytest
from matplotlib.colors import to_hex
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
from course.figures import style
from course.figures.measures import MEASURES

LANES = range(32)


def pattern(offsets, size=4, space="global", kind="load", array="x", file="cell.cu"):
    """A request as a trace has it."""
    return {
        "file": file,
        "line": 7,
        "space": space,
        "kind": kind,
        "array": array if space == "global" else "",
        "size": size,
        "offsets": tuple(offsets),
    }


def shared(words, size=4, kind="load"):
    """A request to shared memory, by the word at which each lane begins."""
    return pattern([None if w is None else int(4 * w) for w in words], size, "shared", kind)


def scattered(size, seed):
    """Lanes, some of them idle, at random places that their size is aligned to."""
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 4096 // size, 32)
    return [
        int(p) * size if active else None
        for p, active in zip(places, rng.random(32) > 0.2, strict=True)
    ]


ACCESSES = {
    "contiguous": pattern([4 * i for i in LANES]),
    "shifted": pattern([4 * i + 4 for i in LANES]),
    "stride 2": pattern([8 * i for i in LANES]),
    "stride 8": pattern([32 * i for i in LANES]),
    "far apart": pattern([4096 * 1024 * i for i in LANES]),
    "reversed": pattern([4 * (31 - i) for i in LANES]),
    "broadcast": pattern([28] * 32),
    "partial": pattern([4 * i if i < 20 else None for i in LANES], kind="store"),
    "odd lanes": pattern([4 * i if i % 2 else None for i in LANES], kind="atomic"),
    "one lane": pattern([None] * 31 + [1 << 40], size=1),
    "float4": pattern([16 * i for i in LANES], size=16),
    "bytes": pattern(LANES, size=1),
    "halves, two lanes each": pattern([i // 2 * 2 for i in LANES], size=2),
    "doubles": pattern([8 * i for i in LANES], size=8),
    "structures of three": pattern([12 * i for i in LANES]),
    "two half rows": pattern([i // 16 * 256 + i % 16 * 4 for i in LANES]),
    "across sectors": pattern([40 * i + 30 for i in LANES], size=8),
    "all across sectors": pattern([96 * i + 30 for i in LANES], size=16),
    "long names": pattern([4 * i for i in LANES], array="a" * 80, file="/home/me/" + "b" * 90),
    "nameless": pattern([(1 << 46) + 4 * i for i in LANES], array="", file=""),
    **{f"scattered {size}": pattern(scattered(size, size), size) for size in (1, 2, 4, 8, 16)},
}

BANKS = {
    "row": shared(LANES),
    "column of 32": shared([32 * i for i in LANES]),
    "column of 33": shared([33 * i for i in LANES]),
    "swizzled": shared([32 * i + (3 ^ i) for i in LANES]),
    "broadcast": shared([165] * 32),
    "half a warp, far apart": shared([96 * i if i < 16 else None for i in LANES], kind="store"),
    "16 by 16": shared([i % 16 * 16 + i // 16 for i in LANES]),
    "16 by 17": shared([i % 16 * 17 + i // 16 for i in LANES]),
    "stride 2": shared([2 * i for i in LANES], kind="atomic"),
    "two words, both for many": shared([i % 2 * 32 for i in LANES]),
    "float4": shared([4 * i for i in LANES], size=16),
    "float4, in a column": shared([32 * i for i in LANES], size=16),
    "float4, eight lanes": shared([4 * i if i < 8 else None for i in LANES], size=16),
    "doubles, apart": shared([4 * i for i in LANES], size=8),
    "halves": shared([i / 2 for i in LANES], size=2),
    "bytes": shared([i / 4 for i in LANES], size=1),
    "one lane": shared([None] * 31 + [8191]),
    **{
        f"scattered {size}": pattern(scattered(size, 50 + size), size, "shared")
        for size in (1, 2, 4, 8, 16)
    },
}

CODE = [
    "__global__ void k(float* y) {",
    "    __shared__ float tile[32][32];",
    "\tint t = threadIdx.x;  // ümlaut, 中文, $x$ and $",
    "    for (int r = 0; r < 32; r++) tile[r][t] = r * 32 + t;",
    "    __syncthreads();",
    "    y[t] = tile[t][0];" + "  // and a long comment" * 9,
    "}",
]
FIELDS = (
    "instructions lanes flops global_loads global_stores load_sectors store_sectors bytes_loaded "
    "bytes_stored shared_loads shared_stores wavefronts conflicts atomics barriers branches"
)
ZERO = dict.fromkeys(FIELDS.split(" "), 0)


def line(number, file="cell.cu", **counts):
    return {"file": file, "line": number, **ZERO, **counts, "classes": {"memory": 1}}


LINES = [
    line(3, instructions=1, lanes=32),
    line(4, instructions=98, lanes=98 * 32, shared_stores=32, wavefronts=32, flops=64),
    line(5, instructions=2, lanes=24, barriers=1),
    line(6, instructions=7, lanes=7 * 32, shared_loads=1, wavefronts=32, conflicts=31,
         global_stores=1, store_sectors=4, bytes_stored=128),
]  # fmt: skip
HUGE = [line(4, instructions=12_345_678_901, lanes=12_345_678_901 * 20), *LINES]
LONG_CODE = [f"// line {i}" for i in range(1, 101)]
LONG_LINES = [line(i, instructions=i, lanes=20 * i) for i in (2, 40, 44, 50, 100)]
FILES = {"cell.cu": CODE, "other.cu": ["// nothing", "int x;"]}
ELSEWHERE = [
    line(2, "other.cu", instructions=3, lanes=96),
    line(9, "cuda_fp16.hpp", instructions=9),
]

FIGURES = {
    **{f"access, {name}": lambda name=name: access(name) for name in ACCESSES},
    **{f"banks, {name}": lambda name=name: banks(name) for name in BANKS},
    **{
        f"source, {name}": lambda name=name: figures.source_heat(LINES, CODE, name, title=name)
        for name in MEASURES
    },
    "access, title": lambda: figures.access_pattern(ACCESSES["shifted"], title="Shifted by one"),
    "access, long title": lambda: figures.access_pattern(ACCESSES["shifted"], title="long " * 30),
    "banks, title": lambda: figures.bank_map(BANKS["row"], title="A row"),
    "banks, long title": lambda: figures.bank_map(BANKS["row"], title="long " * 30),
    "source, log": lambda: figures.source_heat(HUGE, CODE, log=True),
    "source, huge": lambda: figures.source_heat(HUGE, CODE),
    "source, log, one value": lambda: figures.source_heat(LINES, CODE, "FLOP", log=True),
    "source, long title": lambda: figures.source_heat(LINES, CODE, title="long " * 30),
    "source, cut": lambda: figures.source_heat(LONG_LINES, LONG_CODE, "lanes"),
    "source, files": lambda: figures.source_heat([*LINES, *ELSEWHERE], FILES),
}


@pytest.fixture(params=FIGURES, scope="module")
def figure(request):
    return drawn(FIGURES[request.param]())


def drawn(figure):
    """Return a figure that is laid out once: every look at it would lay it out again."""
    figure.draw_without_rendering()
    figure.draw_without_rendering = lambda: None
    return figure


@functools.cache
def access(name):
    return drawn(figures.access_pattern(ACCESSES[name]))


@functools.cache
def banks(name):
    return drawn(figures.bank_map(BANKS[name]))


def words(figure):
    return [text.get_text() for text, _ in texts(figure)]


def rectangles(figure, colour=None):
    """The rectangles of a figure that are filled with a colour (left, top, width, height)."""
    found = [p for p in figure.findobj(Rectangle) if p.axes and p is not p.axes.patch]
    if colour:
        found = [p for p in found if p.get_facecolor()[3] and to_hex(p.get_facecolor()) == colour]
    return found


def box(patch):
    return patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()


# ---------------------------------------------------------------------------------- global memory


def traffic(pattern):
    """Sectors and different bytes of a request, another way than the figures count them."""
    starts = np.array([o for o in pattern["offsets"] if o is not None])
    touched = np.unique(starts[:, None] + np.arange(pattern["size"]))
    return len(np.unique(touched >> 5)), len(touched)


@pytest.mark.parametrize("name", ACCESSES)
def test_the_caption_says_what_moved_and_what_was_wanted(name):
    sectors, wanted = traffic(ACCESSES[name])
    caption = words(access(name))[-1]
    numbers = [float(n) for n in re.findall(r"[\d.]+", caption)]
    assert numbers == [
        sectors,
        32 * sectors,
        wanted,
        pytest.approx(100 * wanted / 32 / sectors, 5e-3),
    ]
    assert figures.describe_access(ACCESSES[name]).endswith(f": {caption}.")


@pytest.mark.parametrize("name", ACCESSES)
def test_the_drawn_areas_are_in_the_proportion_of_the_bytes(name):
    figure = access(name)
    sectors, wanted = traffic(ACCESSES[name])
    strips = rectangles(figure, style.ORANGE.lower())
    wasted = wanted < 32 * sectors
    strips = strips[: len(strips) - wasted]  # without that of the legend
    blue = rectangles(figure, style.BLUE.lower())[:-1]
    assert len(strips) == sectors
    area = sum(p.get_width() * p.get_height() for p in blue)
    whole = sum(p.get_width() * p.get_height() for p in strips)
    assert area / whole == pytest.approx(wanted / (32 * sectors))
    assert all(p.get_hatch() for p in strips), "waste is hatched too"
    assert not any(p.get_hatch() for p in blue)
    thick = [p for p in rectangles(figure) if p.get_linewidth() == 1.8]
    assert sorted(map(box, thick[:-1])) == sorted(map(box, strips)), "sectors that move are framed"


@pytest.mark.parametrize("name", sorted(set(ACCESSES) - {"across sectors", "all across sectors"}))
def test_each_lane_has_a_line_to_what_it_wants(name):
    """The line ends in the middle of the lane's bytes, above them."""
    figure = access(name)
    lines = [line for line in figure.axes[0].lines if line.get_color() == style.BLUE]
    lines = [line for line in lines if len(line.get_xdata()) == 2]
    lanes = [i for i, start in enumerate(ACCESSES[name]["offsets"]) if start is not None]
    assert len(lines) == len(lanes)
    squares = [p for p in rectangles(figure) if p.get_width() == pytest.approx(0.27)][:32]
    blue = rectangles(figure, style.BLUE.lower())[:-1]
    for lane, fan in zip(lanes, lines, strict=True):
        (x0, x1), (y0, y1) = fan.get_xdata(), fan.get_ydata()
        left, top, width, height = box(squares[lane])
        assert left < x0 < left + width and y0 == pytest.approx(top + height)
        assert any(p.get_x() < x1 < p.get_x() + p.get_width() for p in blue)
        assert 0 < blue[0].get_y() - y1 < 1.3
    idle = [p for p in squares if p.get_linestyle() in (":", "dotted")]
    assert len(idle) == 32 - len(lanes), "idle lanes differ by more than colour"


def test_lanes_stand_in_the_cells_they_want():
    figure = access("reversed")
    cells = [
        (box.x0, text.get_text()) for text, box in texts(figure) if text.get_color() == "white"
    ]
    assert [int(label) for _, label in sorted(cells)] == list(reversed(LANES))


def test_what_lies_between_is_left_out():
    figure = access("far apart")
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "."]
    assert len(dots) == 3 * 31
    assert str(4096 * 1024 * 4) in words(figure)
    assert not any("line" in w for w in words(figure)[:-1] if "128" in w)
    rows = access("two half rows")
    assert len([line for line in rows.axes[0].lines if line.get_marker() == "."]) == 3
    near = access("stride 8")
    assert not [line for line in near.axes[0].lines if line.get_marker() == "."]


def test_lines_are_named_and_what_does_not_move_is_said():
    shifted = words(access("shifted"))
    assert shifted.count("128-byte line") == 2
    assert {"sector that stays", "moved, but nobody wanted it"} <= set(shifted)
    full = words(access("contiguous"))
    assert not {"sector that stays", "moved, but nobody wanted it"} & set(full)


EACH = "Lanes 0 to 31 each load 4 bytes of x, "


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("contiguous", EACH + "one after another from byte 0 on: 4 sectors = "),
        ("stride 2", EACH + "8 bytes apart from byte 0 on: 8 sectors = 256 bytes moved, 128 "),
        ("reversed", EACH + "one after another downwards from byte 124: 4 sectors = "),
        ("broadcast", EACH + "all the same, at byte 28: 1 sector = 32 bytes moved, 4 different "),
        ("two half rows", EACH + "lanes 0 to 15 one after another from byte 0 on, lanes 16 to 31 "),
        ("partial", "Lanes 0 to 19 each store 4 bytes of x, one after another from byte 0 on: 3 "),
        ("odd lanes", "16 lanes (1, 3, 5, …, 31) each update 4 bytes of x, 8 bytes apart from "),
        ("one lane", f"Lane 31 loads 1 byte of x, at byte {1 << 40}: 1 sector = 32 bytes moved, "),
        ("nameless", "Lanes 0 to 31 each load 4 bytes, one after another from byte "),
        (
            "across sectors",
            "Lanes 0 to 31 each load 8 bytes of x, 40 bytes apart from byte 30 on: ",
        ),
    ],
)
def test_accesses_in_words(name, start):
    assert figures.describe_access(ACCESSES[name]).startswith(start)


def test_long_names_are_shortened():
    p = pattern([4 * i for i in LANES], array="a" * 80, file="C:\\me\\cell.py")
    (line,) = [w for w in words(figures.access_pattern(p)) if w.startswith("the 32 lanes")]
    assert re.search(r"of a{19}…a{20}  ·  cell\.py:7$", line)
    assert "a" * 80 not in figures.describe_access(p)


def test_irregular_places_are_listed():
    starts = [o for o in ACCESSES["scattered 4"]["offsets"] if o is not None]
    listed = f"at bytes {', '.join(map(str, starts[:3]))}, …, {starts[-1]}: "
    assert listed in figures.describe_access(ACCESSES["scattered 4"])


# ---------------------------------------------------------------------------------- shared memory


def bank_words(pattern, lanes=LANES):
    """The different words of each bank that lanes touch, another way than the figures do it."""
    touched = collections.defaultdict(set)
    for lane in lanes:
        if (start := pattern["offsets"][lane]) is not None:
            for byte in range(start, start + pattern["size"]):
                touched[byte // 4 % 32].add(byte // 4)
    return touched


def passes(pattern):
    """Passes of each group of lanes that is served together."""
    together = {8: 16, 16: 8}.get(pattern["size"], 32)
    groups = [range(i, i + together) for i in range(0, 32, together)]
    counted = [[len(w) for w in bank_words(pattern, g).values()] for g in groups]
    return [max(counts) for counts in counted if counts]


@pytest.mark.parametrize("name", BANKS)
def test_the_caption_says_how_many_wavefronts(name):
    expected = passes(BANKS[name])
    written = words(banks(name))
    caption = written[-1]
    assert re.match(r"(\d+) wavefronts?\b", caption)[1] == str(sum(expected))
    assert ("conflict" in caption) == (max(expected) > 1)
    assert (f"instead of {len(expected)}:" in caption) == (max(expected) > 1)
    beside = [w for w in written if w.startswith("→")]
    assert beside == [f"→ {n} pass{'es' * (n > 1)}" for n in expected]
    assert figures.describe_banks(BANKS[name]).endswith(f" {caption}.")


@pytest.mark.parametrize("name", BANKS)
def test_each_word_stands_in_its_bank_with_its_lanes(name):
    figure = banks(name)
    offsets, size = BANKS[name]["offsets"], BANKS[name]["size"]
    owners = collections.defaultdict(list)
    for lane, start in enumerate(offsets):
        if start is not None:
            for word in range(start // 4, (start + size - 1) // 4 + 1):
                owners[word].append(lane)
    heads = {
        text.get_text(): (b.x0 + b.x1) / 2
        for text, b in texts(figure)
        if text.get_text().isdigit() and to_hex(text.get_color()) == style.GREY.lower()
    }
    rows = {
        (b.y0 + b.y1) / 2: int(text.get_text()[5:])
        for text, b in texts(figure)
        if re.fullmatch(r"word \d+", text.get_text())
    }
    assert list(heads) == [str(bank) for bank in range(32)]
    found = {}
    for text, b in texts(figure):
        x, y = (b.x0 + b.x1) / 2, (b.y0 + b.y1) / 2
        row = min(rows, key=lambda place: abs(place - y))
        bank = min(heads, key=lambda head: abs(heads[head] - x))
        is_cell = re.fullmatch(r"\d+\+?", text.get_text()) and x > heads["0"] - 5
        if abs(row - y) < 3 and is_cell and to_hex(text.get_color()) != style.GREY.lower():
            assert abs(heads[bank] - x) < 3
            found[rows[row] + int(bank)] = text.get_text()
    assert found == {w: f"{who[0]}{'+' * (len(who) > 1)}" for w, who in owners.items()}


@pytest.mark.parametrize("name", BANKS)
def test_conflicts_are_hatched(name):
    figure = banks(name)
    together = {8: 16, 16: 8}.get(BANKS[name]["size"], 32)
    groups = [range(i, i + together) for i in range(0, 32, together)]
    served = [ws for g in groups for ws in bank_words(BANKS[name], g).values()]
    waiting = {word for ws in served if len(ws) > 1 for word in ws}
    worst = [[len(ws) for ws in bank_words(BANKS[name], g).values()] for g in groups]
    blamed = sum(n == max(ns) > 1 for ns in worst for n in ns)
    hatched = [p for p in rectangles(figure) if p.get_hatch()]
    legend = bool(waiting)
    assert len(hatched) == len(waiting) + blamed + legend
    assert ("lane in a bank conflict" in words(figure)) == legend


@pytest.mark.parametrize(
    ("name", "which", "result"),
    [
        (
            "column of 32",
            "Lanes 0 to 31 load words 0, 32, 64, …, 992",
            "32 wavefronts instead of 1: bank 0 has to serve 32 words, a 32-way conflict",
        ),
        (
            "column of 33",
            "Lanes 0 to 31 load words 0, 33, 66, …, 1023",
            "1 wavefront: no bank has to serve two words",
        ),
        (
            "broadcast",
            "Lanes 0 to 31 load word 165",
            "1 wavefront: all want the same word, read once for all (broadcast)",
        ),
        (
            "16 by 16",
            "Lanes 0 to 15 load words 0, 16, 32, …, 240, "
            "lanes 16 to 31 load words 1, 17, 33, …, 241",
            "8 wavefronts instead of 1: banks 0, 1, 16, 17 have to serve 8 words each, "
            "an 8-way conflict",
        ),
        (
            "16 by 17",
            "Lanes 0 to 15 load words 0, 17, 34, …, 255, "
            "lanes 16 to 31 load words 1, 18, 35, …, 256",
            "2 wavefronts instead of 1: bank 0 has to serve 2 words, a 2-way conflict",
        ),
        (
            "float4",
            "Lanes 0 to 31 load 4 words each, beginning at words 0, 4, 8, …, 124",
            "4 wavefronts, one for every 8 lanes: none serves two words of a bank",
        ),
        (
            "one lane",
            "Lane 31 loads word 8191",
            "1 wavefront: no bank has to serve two words",
        ),
    ],
)
def test_banks_in_words(name, which, result):
    text = figures.describe_banks(BANKS[name])
    assert text == f"{which} of shared memory. {result}."


# ----------------------------------------------------------------------------------------- source


def bars(figure, colour):
    """The bars by row: vertical place and length, without the legend's."""
    return {
        round(p.get_y() + 0.07, 2): p.get_width()
        for p in rectangles(figure, colour.lower())
        if p.get_height() == pytest.approx(0.14) and p.get_width() != pytest.approx(0.32)
    }


def row_of(figure, code):
    """The height at which a line of code stands."""
    (found,) = [t.get_position()[1] for t, _ in texts(figure) if t.get_text().startswith(code)]
    return round(found, 2)


def test_bars_are_as_long_as_the_counts():
    figure = figures.source_heat(LINES, CODE)
    lengths = bars(figure, style.BLUE)
    rows = [row_of(figure, code[:20].expandtabs(4)) for code in CODE[2:6]]
    values = [1, 98, 2, 7]
    assert [lengths[row] for row in rows] == pytest.approx([2 * v / 98 for v in values])
    assert len(lengths) == 4
    assert {"98", "91 %", "108", "warp instructions"} <= set(words(figure))
    assert not bars(figure, style.ORANGE)


def test_a_logarithm_makes_small_counts_visible_and_keeps_steps_equal():
    lines = [line(i + 1, instructions=10**i) for i in range(6)]
    figure = figures.source_heat(lines, CODE, log=True)
    lengths = [length for _, length in sorted(bars(figure, style.BLUE).items())]
    assert np.diff(lengths) == pytest.approx(np.full(5, np.diff(lengths)[0]))
    assert 0.05 < lengths[0] < 0.2 and lengths[-1] == pytest.approx(2)
    assert "warp instructions (logarithmic)" in words(figure)


def test_bank_conflicts_are_a_hatched_part_of_the_wavefronts():
    figure = figures.source_heat(LINES, CODE, "wavefronts")
    conflict = row_of(figure, "    y[t] = tile[t][0];")
    assert bars(figure, style.ORANGE) == {conflict: pytest.approx(2 * 31 / 32)}
    assert bars(figure, style.BLUE)[conflict] == pytest.approx(2 / 32)
    assert all(p.get_hatch() for p in rectangles(figure, style.ORANGE.lower()))
    assert "because of bank conflicts" in words(figure)
    logarithmic = figures.source_heat(LINES, CODE, "wavefronts", log=True)
    assert "because of bank conflicts" not in words(logarithmic)
    assert not bars(logarithmic, style.ORANGE), "parts of a logarithm mean nothing"


def test_divergence_is_what_is_missing_from_32_lanes():
    figure = figures.source_heat(LINES, CODE, "lanes")
    barrier = row_of(figure, "    __syncthreads();")
    assert bars(figure, style.BLUE)[barrier] == pytest.approx(2 * 12 / 32)
    assert bars(figure, style.ORANGE) == {barrier: pytest.approx(2 * 20 / 32)}
    assert {"12.0 of 32", "32.0 of 32", "idle lanes"} <= set(words(figure))
    full = [counts for counts in LINES if counts["line"] != 5]
    assert "idle lanes" not in words(figures.source_heat(full, CODE, "lanes"))


def test_a_long_source_is_cut_to_what_counts():
    figure = figures.source_heat(LONG_LINES, LONG_CODE)
    code = [t.get_text() for t, _ in sorted(texts(figure), key=lambda p: -p[1].y0) if code_of(t)]
    kept = [int(c.split()[-1]) for c in code if c != "…"]
    assert kept == [1, 2, 3, 4, *range(38, 53), 98, 99, 100]
    assert [i for i, c in enumerate(code) if c == "…"] == [4, 20]
    nothing = words(figures.source_heat(LONG_LINES, LONG_CODE, "wavefronts"))
    assert "// line 2" in nothing and "// line 70" not in nothing
    figure = figures.source_heat(LINES, ["", *CODE[1:], "", ""])
    numbers = [t.get_text() for t, _ in texts(figure) if t.get_size() == 8]
    assert numbers == ["2", "3", "4", "5", "6", "7"], "no empty lines at the ends"


def code_of(text):
    return "Mono" in str(text.get_fontfamily())


def test_the_source_is_written_as_it_is():
    written = [t for t, _ in texts(figures.source_heat(LINES, CODE)) if code_of(t)]
    shown = {t.get_text() for t in written}
    assert "    int t = threadIdx.x;  // ümlaut, □□, $x$ and $" in shown
    assert not any(t.get_parse_math() for t in written)
    assert max(map(len, shown)) == 72


def test_other_files_are_summed_up():
    figure = figures.source_heat([*LINES, *ELSEWHERE], FILES)
    assert {"cell.cu", "other.cu", "int x;", "elsewhere", "9", "120"} <= set(words(figure))
    only = [*LINES, line(3, "header.h", instructions=500)]
    figure = figures.source_heat(only, {"cell.cu": CODE})
    assert max(bars(figure, style.BLUE).values()) == pytest.approx(2)
    assert bars(figure, style.BLUE)[row_of(figure, "elsewhere")] == pytest.approx(2)


def test_launches_are_added_up():
    twice = figures.source_heat([*LINES, *LINES], CODE)
    assert {"196", "216"} <= set(words(twice))
    assert figures.describe_source([*LINES, *LINES], CODE).startswith(
        "Warp instructions by source line: 216 in all. Line 4, "
    )


@pytest.mark.parametrize(
    ("counts", "total", "first"),
    [
        ("instructions", "Warp instructions by source line: 108 in all. ", "4, "),
        ("lanes", "Active lanes per instruction by source line: 31.6 of 32 on average. ", "5, "),
        (
            "wavefronts",
            "Wavefronts of shared memory by source line: "
            "64 in all, of which 31 because of bank conflicts. ",
            "4, ",
        ),
        ("wavefronts/request", "Wavefronts per request by source line: 1.9 on average. ", "6, "),
        ("global requests", "Requests to global memory by source line: 1 in all. ", "6, "),
    ],
)
def test_the_source_in_words(counts, total, first):
    assert figures.describe_source(LINES, CODE, counts).startswith(f"{total}Line {first}")


def test_words_name_the_three_lines_that_stand_out():
    text = figures.describe_source(LINES, CODE)
    assert text.endswith(
        'Line 4, "for (int r = 0; r < 32; r++) tile[r][t] = r * 32 + t;": 98; '
        'line 6, "y[t] = tile[t][0];  // and a long comment  // and a long co…": 7; '
        'line 5, "__syncthreads();": 2.'
    )
    assert figures.describe_source(LINES[:1], CODE, "sectors").endswith("by source line: none.")


# ---------------------------------------------------------------------------------------- bad data


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: figures.access_pattern(BANKS["row"]), r"shared memory: bank_map\(\) draws that"),
        (lambda: figures.describe_banks(ACCESSES["bytes"]), r"global memory: access_pattern\(\)"),
        (lambda: figures.access_pattern({"offsets": [0]}), "lacks kind, size, space"),
        (lambda: figures.access_pattern(pattern([0] * 31)), "32 offsets"),
        (lambda: figures.bank_map(pattern([None] * 32, space="shared")), "not all None"),
        (lambda: figures.access_pattern(pattern([-4] * 32)), "none negative"),
        (lambda: figures.access_pattern(pattern([0] * 32, size=33)), "1 to 32 bytes"),
        (lambda: figures.source_heat(LINES, CODE, "speed"), "can draw instructions, .*'speed'"),
        (lambda: figures.source_heat([], CODE), "expects the lines of a launch"),
        (lambda: figures.source_heat([{"line": 1}], CODE), "expects the lines of a launch"),
        (lambda: figures.source_heat(LINES, CODE[:4]), "line 5 of cell.cu, but a source of only 4"),
        (lambda: figures.source_heat(LINES, "\n".join(CODE)), "the source is a str"),
        (lambda: figures.source_heat([*LINES, *ELSEWHERE], CODE), "trace.sources; the counts are"),
        (lambda: figures.source_heat(LINES, {"a.cu": CODE}), "the source of a.cu, and counts of"),
        (lambda: figures.source_heat(LINES, CODE, "lanes", log=True), "from 0 to 32: no log"),
    ],
)  # fmt: skip
def test_bad_data_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


# ------------------------------------------------------------------------------------- real traces

GATHER = """
__global__ void k(const T* in, const int* index, T* out) {
    extern __shared__ char bytes[];
    T* s = (T*) bytes;
    int i = threadIdx.x;
    for (int n = i; n < 4096 / sizeof(T); n += 32) s[n] = in[n];
    __syncthreads();
    int at = index[i];
    if (at < 0) return;
    T first = in[at];
    T second = s[at];
    out[2 * i] = first;
    out[2 * i + 1] = second;
}
"""


@pytest.mark.parametrize("kind", ["char", "short", "float", "double", "float4"])
def test_figures_agree_with_the_counters(kind, tmp_path, monkeypatch):
    """Sectors and wavefronts as drawn are those that the virtual GPU counted, at random places."""
    pytest.importorskip("cuda.bindings.nvrtc")
    from course import gpu

    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    module = gpu.compile(f"typedef {kind} T;{GATHER}")
    dtype = {"char": "i1", "short": "i2", "double": "f8"}.get(kind, "f4")
    size = {"char": 1, "short": 2, "float": 4, "double": 8, "float4": 16}[kind]
    data = np.frombuffer(bytes(4096), dtype)
    for seed, most in itertools.product(range(2), (40, 4096 // size)):
        rng = np.random.default_rng([seed, size, most])
        index = rng.integers(0, most, 32).astype(np.int32)
        index[rng.random(32) < 0.2] = -1
        with gpu.trace() as trace:
            module["k"][1, 32, 4096](data.copy(), index, np.frombuffer(bytearray(64 * size), dtype))
        (launch,) = trace.to_dict()["launches"]
        late = [p for p in launch["patterns"] if p["line"] >= 10 and p["kind"] == "load"]
        load, gather = sorted(late, key=lambda p: p["space"])  # the compiler may swap their lines
        assert list(load["offsets"]) == [None if i < 0 else int(i) * size for i in index]
        assert gather["offsets"] == load["offsets"]
        lines = [entry for entry in launch["lines"] if entry["line"] >= 10]
        sectors = sum(entry["load_sectors"] for entry in lines)
        assert f": {sectors} sector" in figures.describe_access(load)
        wavefronts = sum(entry["wavefronts"] for entry in lines)
        assert f". {wavefronts} wavefront" in figures.describe_banks(gather)
        text = figures.describe_source(lines, trace.sources, "wavefronts")
        assert f"by source line: {wavefronts} in all" in text
