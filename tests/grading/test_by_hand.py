"""Points that a person gives in nbgrader's formgrader come into results and feedback."""

import copy
import csv
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from harness import put
from toy import ESSAY

from course import Problem
from course.grading import gradebook, results
from course.grading.grade import grade
from course.grading.gradebook import opened


@pytest.fixture
def out(tmp_path, toy_set, blueprint, fast, solution, untouched):
    """Three graded submissions: with an essay, untouched, and one that cannot be read."""
    folder, out = tmp_path / "handed in", tmp_path / "graded ä"
    wrong = copy.deepcopy(solution)
    for cell in wrong["cells"]:
        if cell["id"] == "ridge":
            cell["source"] = "ridge = 1"
        if cell["id"] == "why":
            cell["source"] = "My essay <script>alert(1)</script>"
    put(folder / "ada [x] é" / "toy.ipynb", wrong)
    put(folder / "bob" / "toy.ipynb", untouched)
    put(folder / "zoe" / "toy.ipynb", solution)
    (folder / "dan").mkdir()
    grade("toy", blueprint, folder, out, fast, seed="s")
    gradebook.build(out, toy_set)
    return out


def give(out, student, question, points, comment=""):
    with opened(out) as book:
        found = book.find_grade(question, "toy", "toy", student)
        found.manual_score, found.needs_manual_grade = points, points is None
        if comment:
            book.find_comment(question, "toy", "toy", student).manual_comment = comment
        book.db.commit()


def written(out):
    """Take the points into the results, and return the entries as they are on the disk."""
    results.write(out, gradebook.collect(out, "toy"))
    data = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return {entry["student"]: entry for entry in data["students"]}


def test_what_waits_for_a_person(out):
    with opened(out) as book:
        submissions = {s.student.id: s for s in book.assignment_submissions("toy")}
        assert {k: s.needs_manual_grade for k, s in submissions.items()} == {
            "ada [x] é": True, "bob": False, "zoe": True,
        }  # fmt: skip
        assert [submissions[s].score for s in ("ada [x] é", "bob", "zoe")] == [6.0, 0.0, 8.0]
        assert submissions["bob"].max_score == 12.0


def test_without_points_nothing_changes(out):
    before = (out / "results.json").read_bytes()
    written(out)
    assert (out / "results.json").read_bytes() == before


def test_points_and_comments_come_back(out):
    give(out, "ada [x] é", "why", 2.5, "Well said <b>.")
    entry = written(out)["ada [x] é"]
    assert (entry["score"], entry["manual_pending"], entry["max_score"]) == (8.5, 0.0, 12.0)
    assert entry["questions"][-1] == {
        "id": "why", "score": 2.5, "max": float(ESSAY), "message": "Well said <b>.",
    }  # fmt: skip
    with (out / "results.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert (rows["ada [x] é"]["why"], rows["ada [x] é"]["score"]) == ("2.5", "8.5")
    assert rows["zoe"]["why"] == ""
    page = (out / "feedback" / "ada [x] é.html").read_text(encoding="utf-8")
    assert "<strong>8.5 of 12 points</strong>" in page
    assert "Essay: graded by hand" in page
    assert "Well said &lt;b&gt;." in page
    assert "4 more are given by hand" in (out / "feedback" / "zoe.html").read_text(encoding="utf-8")


def test_points_may_change_and_go_again(out):
    give(out, "zoe", "why", 4)
    assert written(out)["zoe"]["score"] == 12.0
    give(out, "zoe", "why", 0)
    entry = written(out)["zoe"]
    assert (entry["score"], entry["manual_pending"]) == (8.0, 0.0)
    assert entry["questions"][-1]["message"] == "Graded by hand."
    give(out, "zoe", "why", None)
    entry = written(out)["zoe"]
    assert (entry["score"], entry["manual_pending"]) == (8.0, 4.0)


def test_a_person_may_overrule_a_test(out):
    give(out, "ada [x] é", "test_ridge", 1.5)
    entry = written(out)["ada [x] é"]
    (question,) = [q for q in entry["questions"] if q["id"] == "test_ridge"]
    assert (entry["score"], question["score"]) == (7.5, 1.5)
    assert question["message"] == ("Graded by hand. The test gave 0.\n1 is not the ridge point.")


def test_what_is_no_graded_folder(out, tmp_path):
    with pytest.raises(Problem, match=r"holds no gradebook.db and record.json"):
        gradebook.collect(tmp_path, "toy")
    with pytest.raises(Problem, match="holds the results of toy, not of other"):
        gradebook.collect(out, "other")


@pytest.mark.slow
def test_formgrader_shows_the_essay_and_takes_the_points(out, tmp_path):
    """The server and the requests of nbgrader's own page."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {f"JUPYTER_{k}_DIR": str(tmp_path / k) for k in ("RUNTIME", "CONFIG", "DATA")}
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
         "--IdentityProvider.token=t", "--ServerApp.disable_check_xsrf=True"],
        cwd=out, env=os.environ | places, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def ask(path, data=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/formgrader/{path}", headers={"Authorization": "token t"},
            data=data and json.dumps(data).encode(), method="PUT" if data else "GET",
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    try:
        waiting = wait_for(lambda: json.loads(ask("api/submitted_notebooks/toy/toy")))
        assert sorted(s["student"] for s in waiting) == ["ada [x] é", "bob", "zoe"]
        (ada,) = [s for s in waiting if s["student"].startswith("ada")]
        assert ada["needs_manual_grade"]
        page = ask(f"submissions/{ada['id']}/")
        assert "My essay" in page
        assert "1 is not the ridge point." in page
        assert "<script>alert(1)" not in page
        grades = json.loads(ask(f"api/grades?submission_id={ada['id']}"))
        (essay,) = [g for g in grades if g["name"] == "why"]
        ask(f"api/grade/{essay['id']}", {"manual_score": 3})
        (comment,) = [
            c for c in json.loads(ask(f"api/comments?submission_id={ada['id']}"))
            if c["name"] == "why"
        ]  # fmt: skip
        ask(f"api/comment/{comment['id']}", {"manual_comment": "Good."})
    finally:
        server.kill()
        server.wait()
    entry = written(out)["ada [x] é"]
    assert (entry["score"], entry["manual_pending"]) == (9.0, 0.0)
    assert entry["questions"][-1]["message"] == "Good."


def wait_for(ask):
    """Return what `ask` returns once the server is there."""
    end = time.monotonic() + 120
    while True:
        try:
            return ask()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)
