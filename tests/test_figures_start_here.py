"""The figures of the first lecture: the map of the course, threads and elements, the unit chart."""

import itertools

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from test_figures import texts

from course import figures, syllabus
from course.syllabus import Lecture, Part

LAYOUTS = {
    "map": lambda: figures.course_map(syllabus.PARTS),
    "map, one lecture": lambda: figures.course_map([Part("Why?", (Lecture("00_a", "A"),))]),
    "threads, some idle": lambda: figures.threads_and_elements(10, 4),
    "threads, one": lambda: figures.threads_and_elements(1, 1),
    "threads, none idle": lambda: figures.threads_and_elements(8, 8),
    "units": lambda: figures.unit_chart(1, 119.8, title="One addition of 120"),
    "units, all": lambda: figures.unit_chart(3, 3, columns=5),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_text_is_legible(name):
    figure = LAYOUTS[name]()
    written = texts(figure)
    for text, box in written:
        assert text.get_size() >= 8
        assert box.x0 >= 0 and box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, text
    for (one, a), (other, b) in itertools.combinations(written, 2):
        assert not a.overlaps(b), (one.get_text(), other.get_text())


# -------------------------------------------------------------------------------- map of the course


def boxes(figure):
    """The boxes of the map by what stands in them: line width and letters."""
    found = {}
    for box in figure.findobj(FancyBboxPatch):
        (inside,) = [t for t, b in texts(figure) if box.get_window_extent().contains(*middle(b))]
        found[" ".join(inside.get_text().split())] = (box.get_linewidth(), inside.get_weight())
    return found


def middle(box):
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def test_map_has_every_lecture_and_problem_set_once():
    expected = [f"{lecture.number} {lecture.title}" for lecture in syllabus.LECTURES]
    expected += [s.problem_set.split("_")[0] for s in syllabus.LECTURES if s.problem_set]
    expected += ["ready", "planned"]
    figure = figures.course_map(syllabus.PARTS)
    assert len(figure.findobj(FancyBboxPatch)) == len(expected)
    assert sorted(boxes(figure)) == sorted(expected)


def test_map_shows_what_is_ready_by_more_than_colour(tmp_path, monkeypatch):
    monkeypatch.setattr(syllabus, "ROOT", tmp_path)
    for file in ("notebooks/00_a.ipynb", "assignments/ps2_d/ps2_d.ipynb"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
    lectures = (Lecture("00_a", "A", "ps1_c"), Lecture("01_b", "B", "ps2_d"))
    found = boxes(figures.course_map([Part("Why?", lectures)]))
    for name in ("00 A", "ps2"):
        assert found[name] == found["ready"]
    for name in ("01 B", "ps1"):
        assert found[name] == found["planned"]
    assert found["ready"] != found["planned"]
    words = syllabus.describe()
    assert words.startswith("How does a GPU work? 00 Start here; 01 The Bitter Lesson; ")


def test_description_says_what_is_ready(tmp_path, monkeypatch):
    monkeypatch.setattr(syllabus, "ROOT", tmp_path)
    assert "ready" not in syllabus.describe()
    for name in ("06_counting_flops", "07_roofline"):
        (tmp_path / "notebooks").mkdir(exist_ok=True)
        (tmp_path / "notebooks" / f"{name}.ipynb").touch()
    set_ = tmp_path / "assignments" / "ps3_theory" / "ps3_theory.ipynb"
    set_.parent.mkdir(parents=True)
    set_.touch()
    expected = "06 Counting FLOPs (ready), then ps2_flop_counter; 07 Roofline (ready), then "
    assert expected + "ps3_theory (ready). " in syllabus.describe()


# ---------------------------------------------------------------------------- threads and elements


@pytest.mark.parametrize(("elements", "block", "blocks"), [(10, 4, 3), (8, 4, 2), (1, 5, 1)])
def test_each_element_gets_one_thread(elements, block, blocks):
    figure = figures.threads_and_elements(elements, block)
    threads = blocks * block
    words = [text.get_text() for text, _ in texts(figure)]
    assert words.count("idle") == threads - elements
    arrows = [a for a in figure.findobj(FancyArrowPatch) if not isinstance(a, FancyBboxPatch)]
    cells = sorted(filled(figure), key=lambda cell: (cell.get_y(), cell.get_x()))
    assert len(arrows) == elements
    assert len(cells) == 2 * elements
    for i, arrow in enumerate(arrows):
        path = arrow.get_path()
        vertices = path.vertices[path.codes != path.CLOSEPOLY]
        top, tip = vertices[vertices[:, 1].argmin()], vertices[vertices[:, 1].argmax()]
        for point, cell in ((top, cells[i]), (tip, cells[elements + i])):
            assert cell.get_x() < point[0] < cell.get_x() + cell.get_width()


def filled(figure):
    """The rectangles with a colour in them."""
    squares = [p for p in figure.axes[0].patches if isinstance(p, Rectangle) and p.get_fill()]
    return [square for square in squares if to_hex(square.get_facecolor()) != "#ffffff"]


@pytest.mark.parametrize(("elements", "block"), [(0, 4), (4, 0), (-1, 2)])
def test_threads_need_elements(elements, block):
    with pytest.raises(ValueError, match=rf"positive .*: {elements}, {block}"):
        figures.threads_and_elements(elements, block)


# ------------------------------------------------------------------------------------- unit chart


@pytest.mark.parametrize(("done", "possible", "squares"), [(1, 119.8, 120), (0, 3, 3), (5, 5.4, 5)])
def test_unit_chart_has_a_square_for_each_unit(done, possible, squares):
    figure = figures.unit_chart(done, possible)
    drawn = [p for p in figure.axes[0].patches if isinstance(p, Rectangle) and p.get_fill()]
    assert len(drawn) == squares
    assert len(filled(figure)) == done


@pytest.mark.parametrize(("done", "possible"), [(2, 1), (-1, 5), (0, 0.2)])
def test_unit_chart_refuses_what_cannot_be(done, possible):
    with pytest.raises(ValueError, match="0 <= done <= possible"):
        figures.unit_chart(done, possible)
