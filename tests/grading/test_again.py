"""Grading again into a folder with results: what is kept, what is graded, what is refused."""

import copy
import json
import os
from argparse import Namespace

import pytest
import toy
from harness import put

from course import Problem, notebooks
from course.commands import grade as command
from course.grading import again, gradebook, release, results, sets, stock
from course.grading.cells import Blueprint
from course.grading.grade import grade, students

#: A set without cells.
PLAN = Blueprint({"cells": []})


class Counting:
    """An engine that counts the notebooks it runs."""

    def __init__(self, engine):
        self.engine, self.runs = engine, 0

    def run(self, notebook, *, seed, limits):
        self.runs += 1
        return self.engine.run(notebook, seed=seed, limits=limits)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "handed in"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "graded ä"


@pytest.fixture
def run(folder, out, toy_set, blueprint, fast):
    """Return a function that grades as the command does; the entries, its words, the runs."""

    def run(plan=blueprint, problem_set=toy_set):
        engine = Counting(fast)
        seed, earlier = again.prepare(out, folder, "toy", plan)
        grade("toy", plan, folder, out, engine, seed=seed, earlier=earlier)
        said = again.describe(earlier, results.read(out), students(folder))
        gradebook.build(out, problem_set)
        entries = results.write(out, gradebook.collect(out, "toy"))
        return {entry["student"]: entry for entry in entries}, said, engine.runs

    return run


def changed(notebook, **sources):
    notebook = copy.deepcopy(notebook)
    for cell in notebook["cells"]:
        cell["source"] = sources.get(cell["id"], cell["source"])
    return notebook


def give(out, student, question, points, comment=""):
    with gradebook.opened(out) as book:
        found = book.find_grade(question, "toy", "toy", student)
        found.manual_score, found.needs_manual_grade = points, False
        if comment:
            book.find_comment(question, "toy", "toy", student).manual_comment = comment
        book.db.commit()


def points(entry):
    return {question["id"]: question["score"] for question in entry["questions"]}


def test_late_and_corrected_submissions(run, folder, out, solution):
    wrong = changed(solution, ridge="ridge = 1")
    for student in ("ada", "bob", "cyd"):
        put(folder / student / "toy.ipynb", wrong)
    _, said, runs = run()
    assert (said, runs) == ("0 unchanged, results kept; 3 new; 0 graded again.", 3)
    for student in ("ada", "bob", "cyd"):
        give(out, student, "why", 3, "Well said.")
    give(out, "bob", "test_ridge", 1)

    put(folder / "bob" / "toy.ipynb", solution)  # its essay is as it was, its ridge is not
    put(folder / "cyd" / "toy.ipynb", changed(wrong, why="Because of the weather."))
    put(folder / "dan" / "toy.ipynb", solution)
    entries, said, runs = run()
    assert (said, runs) == ("1 unchanged, results kept; 1 new; 2 graded again.", 3)
    assert {s: (e["score"], e["manual_pending"]) for s, e in entries.items()} == {
        "ada": (9.0, 0.0), "bob": (11.0, 0.0), "cyd": (6.0, 4.0), "dan": (8.0, 4.0),
    }  # fmt: skip
    assert points(entries["bob"])["test_ridge"] == 2.0
    assert entries["ada"]["questions"][-1]["message"] == "Well said."
    assert entries["ada"]["flags"] == []
    assert entries["bob"]["flags"] == [
        "test_ridge: graded again: the answer changed. A person had given 1 points."
    ]
    (flag,) = entries["cyd"]["flags"]
    assert flag == (
        "why: graded again: the answer changed. A person had given 3 points: Well said."
    )
    assert flag in (out / "feedback" / "cyd.html").read_text(encoding="utf-8")
    with gradebook.opened(out) as book:
        waiting = {s.student.id: s.needs_manual_grade for s in book.assignment_submissions("toy")}
    assert waiting == {"ada": False, "bob": False, "cyd": True, "dan": True}

    give(out, "cyd", "why", 1)
    entries, said, runs = run()
    assert (said, runs) == ("4 unchanged, results kept; 0 new; 0 graded again.", 0)
    assert (entries["cyd"]["score"], entries["cyd"]["flags"]) == (7.0, [flag])


def test_who_hands_in_nothing_this_time_keeps_the_results(run, folder, solution):
    put(folder / "ada" / "toy.ipynb", solution)
    run()
    (folder / "ada").rename(folder.parent / "ada, last week")
    put(folder / "bob" / "toy.ipynb", solution)
    entries, said, _ = run()
    assert said == (
        "0 unchanged, results kept; 1 new; 0 graded again. "
        "Not handed in this time, results kept: ada."
    )
    assert [e["score"] for e in entries.values()] == [8.0, 8.0]


def test_what_could_not_be_read_is_tried_again(run, folder, out, solution):
    path = put(folder / "ada" / "toy.ipynb", solution)
    run()
    give(out, "ada", "why", 3)
    path.write_text("{", encoding="utf-8")
    for _ in range(2):
        entries, said, _ = run()
        assert entries["ada"]["status"] == "unreadable"
        assert said == "0 unchanged, results kept; 0 new; 1 graded again."
    put(path, changed(solution, why="Other words."))
    entries, _, _ = run()  # what the essay was before the file broke is still known
    assert (entries["ada"]["score"], entries["ada"]["manual_pending"]) == (8.0, 4.0)
    assert "A person had given 3 points" in entries["ada"]["flags"][0]


def test_other_questions_or_inputs_grade_everything_again(
    run, folder, blueprint, solution, monkeypatch
):
    put(folder / "ada" / "toy.ipynb", solution)
    run()
    other = Blueprint(changed(blueprint.notebook, demo="print(1)"))
    assert run(other)[2] == 1
    assert run(other)[2] == 0
    monkeypatch.setenv("COURSE_SECRET_SEED", "another")
    assert run(other)[2] == 1
    monkeypatch.delenv("COURSE_SECRET_SEED")
    assert run(other)[2] == 0  # the seed of the results goes on


def test_other_words_keep_points_and_other_questions_need_another_folder(
    run, folder, out, solution, tmp_path
):
    """nbgrader's gradebook takes no question more once there are submissions."""
    put(folder / "ada" / "toy.ipynb", solution)
    run()
    give(out, "ada", "why", 3)
    later = toy.make_course(tmp_path / "later")
    source = toy.source_notebook()
    notebooks.write(later.source, changed(source, ask_why="## Essay\n\nWhy so?"))
    entries, said, _ = run(Blueprint(notebooks.parse(release.build(later))), later)
    assert said == "0 unchanged, results kept; 0 new; 1 graded again."
    assert (entries["ada"]["score"], entries["ada"]["manual_pending"]) == (11.0, 0.0)
    source["cells"] = [c for c in source["cells"] if not c["id"].endswith("ridge")]
    notebooks.write(later.source, source)
    with pytest.raises(Problem, match=r"toy has other questions than when .* was graded"):
        run(Blueprint(notebooks.parse(release.build(later))), later)


def test_an_interrupted_change_is_still_a_change(run, folder, out, toy_set, solution, monkeypatch):
    """The gradebook was not brought up to date; the next grading does it."""
    put(folder / "ada" / "toy.ipynb", solution)
    run()
    give(out, "ada", "why", 3)
    put(folder / "ada" / "toy.ipynb", changed(solution, why="Other words."))
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(gradebook, "build", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        run()
    entries, _, runs = run()
    assert runs == 0
    assert (entries["ada"]["score"], entries["ada"]["manual_pending"]) == (8.0, 4.0)


# --- the folder for the results ---------------------------------------------------------------


def refused(out, folder):
    before = sorted(out.parent.rglob("*")) if out.parent.is_dir() else None
    with pytest.raises(Problem) as caught:
        again.prepare(out, folder, "toy", PLAN)
    assert (sorted(out.parent.rglob("*")) if out.parent.is_dir() else None) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_folders_that_cannot_be_made(tmp_path, folder):
    file = tmp_path / "file"
    file.write_text("x", encoding="utf-8")
    for out in (file, file / "below"):
        assert "cannot be the folder for the results" in refused(out, folder)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="Linux has folders that nobody makes")
def test_a_folder_that_nobody_may_make(folder):
    with pytest.raises(Problem, match="cannot be the folder for the results"):
        again.prepare(command.Path("/proc/nowhere/graded"), folder, "toy", PLAN)


def test_folders_of_others(tmp_path, folder, out):
    out.mkdir()
    (out / "thesis.txt").write_text("mine", encoding="utf-8")
    assert "no results of grade: thesis.txt. Give" in refused(out, folder)
    (out / "seed.txt").write_text("s", encoding="utf-8")
    assert "no results of grade: seed.txt, thesis.txt. Give" in refused(out, folder)
    (out / "thesis.txt").unlink()
    assert again.prepare(out, folder, "toy", PLAN) == ("s", {})  # an earlier run was stopped
    (out / "record.json").write_text('{"assignment": "other", "graded": []}', encoding="utf-8")
    assert "holds the results of other, not of toy" in refused(out, folder)
    for damage in ("{", '{"assignment": "toy", "cells": [], "graded": [{"folder": "ada"}]}'):
        (out / "record.json").write_text(damage, encoding="utf-8")
        assert "record.json is damaged, or of an older version" in refused(out, folder)


def test_submissions_and_results_do_not_mix(folder):
    folder.mkdir()
    for out in (folder, folder / "graded", folder.parent, folder / ".." / "handed in" / "x"):
        assert "lie in each other" in refused(out, folder)


def test_the_command_says_how_many_of_each(
    toy_set, folder, out, fast, solution, monkeypatch, capsys
):
    class Engine(Counting):
        def __init__(self, *_):
            super().__init__(fast)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(sets, "find", lambda name: toy_set)
    monkeypatch.setattr(stock, "Stock", Engine)
    put(folder / "ada" / "toy.ipynb", solution)
    args = Namespace(set="toy", submissions=folder, out=out, by_hand=False)
    assert command.run(args) == 0
    assert "unchanged" not in capsys.readouterr().out
    give(out, "ada", "why", 4)
    put(folder / "bob" / "toy.ipynb", solution)
    assert command.run(args) == 0
    said = capsys.readouterr().out
    assert "\n1 unchanged, results kept; 1 new; 0 graded again.\n1 have essays" in said
    data = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert [entry["score"] for entry in data["students"]] == [12.0, 8.0]
