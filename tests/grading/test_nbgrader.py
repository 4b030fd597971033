"""nbgrader's own commands with the course's settings, in a copy of a course."""

import copy
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import toy
from harness import put

from course import ROOT

pytestmark = pytest.mark.slow


def nbgrader(root, *words):
    """Run ``nbgrader WORDS`` in the folder `root`."""
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        [programs / "nbgrader", *words], cwd=root, env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True, encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip


def set_cell(notebook, cell_id, source):
    next(c for c in notebook["cells"] if c["id"] == cell_id)["source"] = source


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course whose students nbgrader has graded and given feedback."""
    root = tmp_path_factory.mktemp("course")
    shutil.copyfile(ROOT / "nbgrader_config.py", root / "nbgrader_config.py")
    toy.make_course(root)
    released = nbgrader(root, "generate_assignment", "toy")
    assert released.returncode == 0, released.stderr
    import nbformat

    whole = nbformat.read(root / "assignments" / "toy" / "toy.ipynb", as_version=4)
    for cell_id, answer in toy.ANSWERS.items():
        set_cell(whole, cell_id, f"# cell: {cell_id}\n{answer}")
    set_cell(whole, "why", "An essay <img src=x onerror=alert(1)>")

    duplicated, deleted, noisy = (copy.deepcopy(whole) for _ in range(3))
    extra = copy.deepcopy(next(c for c in whole["cells"] if c["id"] == "test_ridge"))
    duplicated["cells"].append(extra | {"id": "f00"})
    deleted["cells"] = [c for c in deleted["cells"] if c["id"] != "test_ridge"]
    noise = "import sys, warnings\ndef square_bytes(n):\n    warnings.warn('careful')\n"
    noise += "    print('x' * 10**7)\n    print('y', file=sys.stderr)\n    return 4 * n * n"
    set_cell(noisy, "square_bytes", noise)
    scripted = "from IPython.display import HTML\ndisplay(HTML('<script>alert(2)</script>'))\n"
    set_cell(noisy, "ridge", scripted + "ridge = 295.2")
    students = {"ann": duplicated, "bob": deleted, "cat": noisy, "dan": whole}
    for student, notebook in students.items():
        put(root / "submitted" / student / "toy" / "toy.ipynb", notebook)
    (root / "submitted" / "cat" / "toy" / "numpy.py").write_text("1 / 0", encoding="utf-8")
    for command in ("autograde", "generate_feedback"):
        run = nbgrader(root, command, "toy")
        assert run.returncode == 0, run.stderr
    return root


@pytest.fixture(scope="module")
def scores(course):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {
            s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
            for s in gradebook.assignment_submissions("toy")
        }


def test_what_is_released_is_what_release_makes(course, toy_set):
    from course import notebooks

    released = notebooks.read(course / "assignments" / "toy" / "toy.ipynb")
    assert notebooks.canonical(released) == toy_set.release.read_text(encoding="utf-8")
    assert [p.name for p in (course / "assignments" / "toy").iterdir()] == ["toy.ipynb"]


@pytest.mark.parametrize("student", ["ann", "bob", "cat", "dan"])
def test_nothing_costs_points_that_should_not(scores, student):
    """A copied test, a deleted one, warnings, floods of output, a numpy.py of one's own."""
    automatic = {f"test_{name}": float(points) for name, points in toy.POINTS.items()}
    assert scores[student] == automatic | {"why": None}


def test_output_does_not_fill_the_disk(course):
    assert (course / "autograded" / "cat" / "toy" / "toy.ipynb").stat().st_size < 200_000
    assert (course / "feedback" / "cat" / "toy" / "toy.html").stat().st_size < 1_000_000


def test_feedback_runs_nothing_of_a_students(course):
    page = (course / "feedback" / "cat" / "toy" / "toy.html").read_text(encoding="utf-8")
    assert "An essay" in page
    assert "<script>alert(2)" not in page
    (essay,) = [line for line in page.splitlines() if "An essay" in line]
    assert "<img" not in essay
    assert "alert(1)" in essay


def test_only_notebooks_are_taken(course):
    assert not (course / "autograded" / "cat" / "toy" / "numpy.py").exists()
