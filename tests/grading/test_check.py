"""What a student sees: `check`, `start`, and how sets are named."""

import argparse
import json
import os
import subprocess
import sys
import time

import pytest
import toy
from harness import put

from course import ROOT, Problem
from course.commands import lab
from course.commands import start as start_command
from course.grading import check, sets
from course.grading.engine import Limits
from course.grading.sets import ProblemSet

# --- sets ----------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path):
    for name in ("ps1_puzzles", "ps2_counting", "ps2_flops", "ps3_tiles"):
        path = tmp_path / "solutions" / name / f"{name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text("{}", encoding="utf-8")
    (tmp_path / "solutions" / "ps3_tiles" / "other.ipynb").write_text("{}", encoding="utf-8")
    (tmp_path / "solutions" / "ps9_empty").mkdir()
    return tmp_path


def test_sets_are_found_by_a_prefix(several):
    assert [s.name for s in sets.all_sets(several)] == [
        "ps1_puzzles", "ps2_counting", "ps2_flops", "ps3_tiles",
    ]  # fmt: skip
    assert sets.find("ps1", several).name == "ps1_puzzles"
    assert sets.find("ps2_flops", several).name == "ps2_flops"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ps2", "'ps2' could be any of: ps2_counting, ps2_flops."),
        (
            "ps3_tile5",
            "There is no problem set 'ps3_tile5'. Did you mean ps3_tiles? The sets are: ps1",
        ),
        ("ps4", "ps4_matmul: planned, and not here yet. The sets that are here: ps1_puzzles, ps2"),
        ("ps5_flash_attention", "ps5_flash_attention: planned, and not here yet."),
        ("", "There is no problem set ''. The sets are:"),
        ("../x", "There is no problem set '../x'."),
    ],
)
def test_unknown_sets_are_told_apart(several, name, message):
    with pytest.raises(Problem) as caught:
        sets.find(name, several)
    assert message in str(caught.value)


# --- start ---------------------------------------------------------------------------------


@pytest.fixture
def course(tmp_path, toy_set):
    """A course in which nothing was started yet."""
    problem_set = toy.make_course(tmp_path / "course")
    problem_set.release.parent.mkdir(parents=True)
    problem_set.release.write_bytes(toy_set.release.read_bytes())
    return problem_set


def test_start_copies_once_and_never_overwrites(course):
    assert sets.start(course)
    assert course.work.read_bytes() == course.release.read_bytes()
    assert course.work == course.root / "my" / "toy" / "toy.ipynb"
    course.work.write_text("mine", encoding="utf-8")
    assert not sets.start(course)
    assert course.work.read_text(encoding="utf-8") == "mine"


def test_start_says_when_nothing_is_released(course):
    course.release.unlink()
    with pytest.raises(Problem, match=r"assignments/toy/toy.ipynb is not there"):
        sets.start(course)


def test_the_start_command_opens_the_copy(course, monkeypatch, capsys):
    opened = []
    for name in start_command.INSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sets, "find", lambda name: course)
    monkeypatch.setattr(lab, "serve", lambda path, browser: opened.append((path, browser)) or 0)
    args = argparse.Namespace(set="toy", no_browser=True)
    assert start_command.run(args) == 0
    assert start_command.run(args) == 0
    assert opened == [(course.work, False)] * 2
    assert capsys.readouterr().out.splitlines() == [
        "my/toy/toy.ipynb is your copy.",
        "my/toy/toy.ipynb was there: you go on with it.",
    ]


START = argparse.Namespace(set="toy", no_browser=True)


@pytest.fixture
def started(course, monkeypatch, tmp_path):
    """Return a function that starts the toy and says whether a JupyterLab was started for it."""
    monkeypatch.setattr(sets, "find", lambda name: course)
    for name in start_command.INSIDE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    served = []
    monkeypatch.setattr(lab, "serve", lambda path, browser: served.append(path) or 0)

    def start():
        served.clear()
        assert start_command.run(START) == 0
        return bool(served)

    return start


def test_start_finds_the_jupyterlab_that_runs(course, started, tmp_path, capsys):
    """A real one, in a folder with a space; its address opens without a password."""
    import urllib.request

    assert started()
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0",
         f"--ServerApp.root_dir={course.root}"],
        cwd=course.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + 120
        while started() and time.monotonic() < end:
            time.sleep(0.2)
        capsys.readouterr()
        assert not started()
        address = capsys.readouterr().out.split("There it is")[1].strip()
        assert "/lab/tree/my/toy/toy.ipynb?token=" in address
        with urllib.request.urlopen(address) as page:
            assert page.status == 200
            assert "login" not in page.url
        other = course.root.parent / "other"
        other.mkdir()
        assert start_command.served_at(other / "x.ipynb", other) is None
    finally:
        server.kill()
        server.wait()
    assert started()  # it was killed: its note says that it runs


@pytest.mark.parametrize("name", start_command.INSIDE)
def test_start_inside_jupyter_starts_no_other(started, monkeypatch, capsys, name):
    monkeypatch.setenv(name, "x")
    assert not started()
    assert "You are in Jupyter already: open my/toy/toy.ipynb" in capsys.readouterr().out


def test_git_does_not_see_what_students_write():
    ignored = subprocess.run(
        ["git", "check-ignore", "my/toy/toy.ipynb"], cwd=ROOT, capture_output=True, check=False
    )
    if ignored.returncode == 128:
        pytest.skip("not a git checkout")
    assert ignored.returncode == 0


# --- check ---------------------------------------------------------------------------------


def checked(path, problem_set, fast, capsys):
    code = check.check(check.Target(path, problem_set), fast)
    return code, capsys.readouterr().out


def changed(solution, cell_id, source):
    next(c for c in solution["cells"] if c["id"] == cell_id)["source"] = source
    return solution


def test_the_solution_passes(course, fast, capsys):
    code, said = checked(course.source, course, fast, capsys)
    assert code == 0
    assert said == (
        "solutions/toy/toy.ipynb\n"
        "  right            2 / 2    Question (test_matmul_flops)\n"
        "  right            3 / 3    Question (test_square_bytes)\n"
        "  right            1 / 1    Question (test_block_flops)\n"
        "  right            2 / 2    Question (test_ridge)\n"
        "  by hand          – / 4    Essay (why)\n"
        "  8 of 8 points; 4 more are graded by hand\n"
    )


def test_the_release_does_not(course, fast, capsys):
    code, said = checked(course.release, course, fast, capsys)
    assert code == 1
    assert said.count("not answered ") == 4
    assert "by hand          – / 4    Essay (why)\n                Not answered." in said
    assert "0 of 8 points" in said


def test_a_wrong_answer_is_explained(course, fast, solution, capsys, tmp_path):
    path = put(tmp_path / "toy.ipynb", changed(solution, "ridge", "ridge = 12"))
    code, said = checked(path, course, fast, capsys)
    assert code == 1
    assert (
        "  wrong            0 / 2    Question (test_ridge)\n"
        "                12 is not the ridge point.\n" in said
    )
    assert "6 of 8 points" in said


def test_damage_gets_a_line_each(course, fast, solution, capsys, tmp_path, monkeypatch):
    changed(solution, "square_bytes", "def square_bytes(n):\n    return (n")
    changed(solution, "ridge", "while True: pass")
    solution["cells"] = [c for c in solution["cells"] if c["id"] != "matmul_flops"]
    path = put(tmp_path / "toy (1).ipynb", solution)
    monkeypatch.setattr(check, "LIMITS", Limits(cell_seconds=0.5))
    code, said = checked(path, course, fast, capsys)
    assert code == 1
    for line in (
        "  note: Hand it in as toy.ipynb; it is called toy (1).ipynb.",
        "  note: The answer cell matmul_flops is missing.",
        "The answer cell matmul_flops is missing from the notebook.",
        "Your cell square_bytes stops with SyntaxError",
        "Your cell ridge did not come to an end in time. Is there a loop that never ends?",
    ):
        assert line in said


def test_a_flood_of_output_is_told_from_a_stuck_loop(
    course, fast, solution, capsys, tmp_path, monkeypatch
):
    changed(solution, "ridge", "while True: print('x' * 1000)")
    monkeypatch.setattr(check, "LIMITS", Limits(cell_seconds=0.5))
    _, said = checked(put(tmp_path / "toy.ipynb", solution), course, fast, capsys)
    words = " ".join(said.split())
    assert "Your cell ridge printed over" in words
    assert "print less, or is there a loop that never ends?" in words


def test_a_cell_that_ipython_cannot_read(course, fast, solution, capsys, tmp_path):
    """Its own translator raises IndexError there; the other answers keep their points."""
    changed(solution, "ridge", 'x = %"""')
    code, said = checked(put(tmp_path / "toy.ipynb", solution), course, fast, capsys)
    assert code == 1
    assert "6 of 8 points" in said
    assert "Your cell ridge stops with SyntaxError: a line with % or ! in it" in said


def test_a_name_of_pythons_own_that_is_taken(course, fast, solution, capsys, tmp_path):
    changed(solution, "matmul_flops", "def sum(a, b):\n    return a + b\n"
            "def matmul_flops(m, n, k):\n    id = 2\n    return id * m * n * k")  # fmt: skip
    changed(solution, "square_bytes", "def square_bytes(n):\n    return sum([n * n] * 4)")
    _, said = checked(put(tmp_path / "toy.ipynb", solution), course, fast, capsys)
    assert said.count("note: ") == 1
    assert (
        "note: The cell matmul_flops defines sum, and so sum in square_bytes is no longer" in said
    )
    changed(solution, "square_bytes", "def square_bytes(n):\n    return 4 * n * n")
    _, said = checked(put(tmp_path / "toy.ipynb", solution), course, fast, capsys)
    assert "note: " not in said


def test_an_unreadable_file(course, fast, capsys, tmp_path):
    (tmp_path / "toy.ipynb").write_text('{"cells": [', encoding="utf-8")
    code, said = checked(tmp_path / "toy.ipynb", course, fast, capsys)
    assert code == 1
    assert "It cannot be checked: the file is not a whole notebook" in said


def test_what_is_checked(course, tmp_path, solution):
    root = course.root
    with pytest.raises(Problem, match=r"Begin with: python3 -m course start toy"):
        check.targets(None, root)
    with pytest.raises(Problem, match=r"no my/toy/toy.ipynb yet. Begin with: .* start to$"):
        check.targets("to", root)
    sets.start(course)
    mine = [check.Target(course.work, course)]
    assert check.targets(None, root) == check.targets("to", root) == mine
    renamed = put(tmp_path / "mine (2).ipynb", solution)
    assert check.targets(str(renamed), root) == [check.Target(renamed, course)]
    other = put(tmp_path / "other.ipynb", {"cells": [toy.free("a", "1")]})
    with pytest.raises(Problem, match="holds no answers of any problem set"):
        check.targets(str(other), root)
    with pytest.raises(Problem, match=r"There is no notebook nowhere\.ipynb: check takes the path"):
        check.targets("nowhere.ipynb", root)
    with pytest.raises(Problem, match=r"my is a folder, and check takes .* set, for example toy\."):
        check.targets(str(root / "my"), root)


def test_a_copy_under_another_name(course, solution, fast, capsys):
    root, folder = course.root, course.work.parent
    put(folder / "scratch.ipynb", {"cells": [toy.free("a", "1")]})
    with pytest.raises(Problem) as caught:
        check.targets("toy", root)
    assert "no my/toy/toy.ipynb yet, and no answers of the set in my/toy/scratch.ipynb. Beg" in str(
        caught.value
    )
    renamed = put(folder / "toy (1).ipynb", solution)
    for what in (None, "toy"):
        assert check.targets(what, root) == [check.Target(renamed, course)]
    put(root / "my" / "old.ipynb", solution)
    with pytest.raises(Problem) as caught:
        check.targets("toy", root)
    assert "several files hold answers of the set: my/old.ipynb, my/toy/toy (1).ipynb." in str(
        caught.value
    )
    sets.start(course)
    (target,) = check.targets("toy", root)
    assert target.path == course.work
    check.check(target, fast)
    said = capsys.readouterr().out
    assert "note: Not checked: my/old.ipynb and my/toy/toy (1).ipynb.\n" in said


def test_the_secret_seed_is_the_graders_own(course, fast, capsys, monkeypatch):
    """A student who has it in the environment is still asked with the public numbers."""
    monkeypatch.setenv("COURSE_SECRET_SEED", "s")
    code, _ = checked(course.source, course, fast, capsys)
    assert code == 0


# --- the commands themselves ----------------------------------------------------------------


def command(*words):
    environment = os.environ | {"COURSE_ENV": "active", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "course", *words],
        cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


PS2 = ProblemSet("ps2_flop_counter")


@pytest.mark.parametrize(("path", "code"), [(PS2.release, 1), (PS2.source, 0)])
def test_check_ends_with_its_verdict(path, code):
    run = command("check", str(path))
    assert run.returncode == code, run.stdout + run.stderr
    assert "points; 4 more are graded by hand" in run.stdout
    assert run.stderr == ""
    assert "/ 2    Question 4. A convolution (test_conv2d_flops)\n" in run.stdout


@pytest.mark.slow
def test_grade_from_files_to_results(tmp_path):
    """With nbgrader, as an instructor types it; a folder with a space and other letters."""
    folder, out = tmp_path / "abgegeben ä ö", tmp_path / "ergebnis ü"
    put(folder / "ada" / PS2.filename, json.loads(PS2.source.read_text(encoding="utf-8")))
    (folder / "dan").mkdir()
    run = command("grade", "ps2", "--from", str(folder), "--out", str(out))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 submissions of ps2_flop_counter: 1 graded, 1 unreadable." in run.stdout
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [s["score"] for s in results["students"]] == [26.0, 0.0]
    assert len((out / "seed.txt").read_text(encoding="utf-8").strip()) == 32
    assert not (ROOT / "gradebook.db").exists()
    before = (out / "results.csv").read_bytes()
    again = command("grade", "ps2", "--by-hand", "--out", str(out))
    assert again.returncode == 0, again.stdout + again.stderr
    assert "1 have essays to be graded by hand." in again.stdout
    assert (out / "results.csv").read_bytes() == before


def test_commands_say_what_is_wrong():
    run = command("grade", "ps2", "--from", "nowhere", "--out", "x")
    assert run.returncode == 1
    assert "There is no folder nowhere" in run.stderr
    assert not (ROOT / "x").exists()
    run = command("check", "ps77")
    assert run.returncode == 1
    assert "There is no problem set 'ps77'" in run.stderr
