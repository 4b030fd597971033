"""A folder of submissions, from files to results and feedback."""

import copy
import csv
import json
import os

import harness
import pytest
from harness import put
from sheet import submissions

from course import Problem, notebooks
from course.grading import grade as module
from course.grading import results, sets
from course.grading.engine import CellResult, EngineError
from course.grading.fast import Fast
from course.grading.grade import grade
from course.grading.stock import Stock


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "handed in"


@pytest.fixture
def graded(folder, tmp_path, blueprint, fast):
    """Return a function that grades the folder and returns the entries by student."""

    def run(engine=fast, **how):
        entries = grade("toy", blueprint, folder, tmp_path / "out", engine, seed="s", **how)
        return {entry["student"]: entry for entry in entries}

    return run


def change(notebook, cell_id, source):
    next(c for c in notebook["cells"] if c["id"] == cell_id)["source"] = source
    return notebook


def test_what_is_written(folder, tmp_path, graded, solution, untouched):
    put(folder / "ada" / "toy.ipynb", solution)
    put(folder / "bob" / "toy.ipynb", untouched)
    put(folder / "cyd" / "toy (1).ipynb", change(copy.deepcopy(solution), "ridge", "ridge = 1"))
    (folder / "dan").mkdir()
    (folder / "dan" / "toy.ipynb").write_text("{", encoding="utf-8")
    (folder / "readme.txt").write_text("not a student", encoding="utf-8")
    (folder / ".git").mkdir()
    entries = graded(workers=2)
    out = tmp_path / "out"

    written = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert written == {"assignment": "toy", "students": [*entries.values()]}
    assert [*entries] == ["ada", "bob", "cyd", "dan"]
    for entry in entries.values():
        assert [*entry] == [
            "student", "status", "reason", "score", "max_score", "max_auto", "manual_pending",
            "flags", "questions",
        ]  # fmt: skip
        assert (entry["max_score"], entry["max_auto"]) == (12.0, 8.0)
    assert [(e["status"], e["score"], e["manual_pending"]) for e in entries.values()] == [
        ("graded", 8.0, 4.0),
        ("graded", 0.0, 0.0),
        ("repaired", 6.0, 4.0),
        ("unreadable", 0.0, 0.0),
    ]
    assert entries["ada"]["questions"][3] == {
        "id": "test_ridge", "score": 2.0, "max": 2.0, "message": "ridge: right",
    }  # fmt: skip
    assert "JSON breaks off" in entries["dan"]["reason"]

    assert (out / "results.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # for Excel
    with (out / "results.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert rows["ada"]["test_ridge"] == "2.0"
    assert [rows[s]["why"] for s in ("ada", "bob", "dan")] == ["", "0.0", "0.0"]
    assert rows["cyd"]["flags"] == "The file was called 'toy (1).ipynb', not 'toy.ipynb'."
    assert rows["dan"]["reason"] == entries["dan"]["reason"]

    assert sorted(p.name for p in (out / "feedback").iterdir()) == [
        "ada.html", "bob.html", "cyd.html", "dan.html",
    ]  # fmt: skip
    ran = notebooks.read(out / "submitted" / "cyd" / "toy" / "toy.ipynb")
    assert "ridge = 1" in json.dumps(ran)
    assert not (out / "submitted" / "dan").exists()


def test_the_report(folder, graded, solution, capsys):
    put(folder / "ada" / "toy.ipynb", solution)
    (folder / "dan").mkdir()
    put(folder / "eve.ipynb", solution)
    said = module.report("toy", folder, [*graded().values()])
    assert said.splitlines() == [
        "2 submissions of toy: 1 graded, 1 unreadable.",
        "  dan: there is no notebook 'toy.ipynb'; the folder holds nothing.",
        "Automatic points: median 8, from 8 to 8, of 8.",
        "In no student's folder, so not graded: eve.ipynb.",
    ]
    assert module.waiting([*graded().values()]) == "1 have essays to be graded by hand."
    assert "2/2" in capsys.readouterr().err  # a progress bar


@pytest.mark.parametrize("name", [
    "o'brien josé", "李", "[x]", "-rf", "{}", "%s", "..x", "a" * 200, "a.ipynb",
    pytest.param("<img src=x>", marks=pytest.mark.skipif(os.name == "nt", reason="no such names")),
])  # fmt: skip
def test_names_of_students(folder, tmp_path, graded, solution, name):
    put(folder / name / "toy.ipynb", solution)
    entries = graded()
    assert entries[name]["score"] == 8.0
    assert (tmp_path / "out" / "feedback" / f"{name}.html").is_file()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "autograded", "feedback", "record.json", "results.csv", "results.json", "submitted",
    ]  # fmt: skip


@pytest.mark.skipif(
    os.name == "nt" or os.uname().sysname == "Darwin", reason="names are text there"
)
def test_a_name_that_is_no_text(folder, graded, solution):
    name = os.fsdecode(b"caf\xe9")
    put(folder / name / "toy.ipynb", solution)
    assert graded()["caf\\udce9"]["score"] == 8.0


@pytest.mark.parametrize("letter", ["漢", "é", "a"])
def test_names_that_fill_what_systems_allow(folder, tmp_path, graded, solution, letter):
    size = len(letter.encode())
    names = sorted(letter * (252 // size - 1) + tail for tail in ("xy", "xz"))
    for name in names:
        put(folder / name / "toy.ipynb", solution)
    entries = graded()
    assert [(name, e["score"], e["flags"]) for name, e in entries.items()] == [
        (name, 8.0, []) for name in names
    ]
    pages = [*(tmp_path / "out" / "feedback").iterdir()]
    titles = [page.read_text(encoding="utf-8") for page in pages]
    assert [sum(name in title for title in titles) for name in names] == [1, 1]
    assert all(page.name.startswith(letter * 70) for page in pages)


def test_a_page_that_cannot_be_written_costs_no_points(folder, graded, solution, monkeypatch):
    def page(title, entry, sections):
        if entry["student"] == "bob":
            raise ZeroDivisionError("a bug")
        return "a page"

    monkeypatch.setattr(results.feedback, "page", page)
    for student in ("ada", "bob", "cyd"):
        put(folder / student / "toy.ipynb", solution)
    entries = graded()
    assert [e["score"] for e in entries.values()] == [8.0] * 3
    assert [e["status"] for e in entries.values()] == ["graded"] * 3
    assert entries["bob"]["flags"] == [
        "The feedback could not be written (ZeroDivisionError: a bug)."
    ]
    assert entries["cyd"]["flags"] == []


class Broken:
    """An engine that fails on one student and returns nonsense for another."""

    def run(self, notebook, *, seed, limits):
        text = json.dumps(notebook)
        if "first" in text:
            raise EngineError("no memory")
        if "second" in text:
            raise ZeroDivisionError("a bug")
        if "third" in text:
            return [CellResult("setup", "ok")]
        with Fast() as engine:
            return engine.run(notebook, seed=seed, limits=limits)


def test_one_never_stops_the_others(folder, graded, solution):
    for student in ("first", "second", "third", "zoe"):
        put(folder / student / "toy.ipynb", change(copy.deepcopy(solution), "why", student))
    entries = graded(engine=Broken())
    assert [e["status"] for e in entries.values()] == ["unreadable"] * 3 + ["graded"]
    assert "could not run it (no memory); that is no fault" in entries["first"]["reason"]
    assert "failed on it (ZeroDivisionError: a bug)" in entries["second"]["reason"]
    assert "returned 1 of 10 cells" in entries["third"]["reason"]


def test_folders_that_hold_no_submissions(folder, tmp_path, graded):
    with pytest.raises(Problem, match="There is no folder"):
        graded()
    folder.mkdir()
    (folder / "toy.ipynb").write_text("{}", encoding="utf-8")
    with pytest.raises(Problem, match="holds no folder: expected one for each student"):
        graded()


# --- feedback ------------------------------------------------------------------------------

EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>"


def test_nothing_of_a_students_is_markup(folder, tmp_path, graded, solution):
    change(solution, "why", EVIL)
    change(solution, "ridge", f"ridge = 1  # {EVIL}")
    code = f"print({EVIL!r})\nclass E(Exception): pass\nE.__name__ = {EVIL!r}\n"
    change(solution, "square_bytes", f"{code}def square_bytes(n):\n    raise E({EVIL!r})")
    change(solution, "block_flops", f"raise ValueError({EVIL!r})")
    name = "<script>alert(0)<" if os.name != "nt" else "ada"
    put(folder / name / "toy.ipynb", solution)
    (entry,) = graded().values()
    page = (tmp_path / "out" / "feedback" / f"{name}.html").read_text(encoding="utf-8")
    assert entry["score"] == 2.0
    assert page.count("alert(1)") >= 4
    for bad in ("<script", "<img", "</pre><"):
        assert bad not in page.replace("</pre></details>", "")


def test_feedback_says_what_to_look_at(folder, tmp_path, graded, solution):
    change(
        solution, "square_bytes", "def square_bytes(n):\n    print('here', n)\n    return undefined"
    )
    put(folder / "ada" / "toy.ipynb", solution)
    graded()
    page = (tmp_path / "out" / "feedback" / "ada.html").read_text(encoding="utf-8")
    assert "<strong>5 of 8 points</strong>" in page
    assert "4 more are given by hand" in page
    assert "<h2>Essay: by hand</h2>" in page
    assert "Your cell square_bytes" in page
    assert "return undefined" in page
    assert "Printed by test_square_bytes" in page
    assert "Because of the caches." in page  # the essay, for who grades it
    assert "return 2 * m * n * k" not in page  # what is right needs no look


def test_the_page_of_a_cell_that_calls_exit(folder, tmp_path, graded, solution):
    change(solution, "square_bytes", "print('before')\nexit()\ndef square_bytes(n):\n    return 1")
    put(folder / "ada" / "toy.ipynb", solution)
    graded()
    page = (tmp_path / "out" / "feedback" / "ada.html").read_text(encoding="utf-8")
    assert "SystemExit: a cell cannot end the session here: remove exit()" in page
    assert "<pre>before\n</pre>" in page
    for noise in ("%tb", "NameError", "To exit", "UserWarning", "stopped"):
        assert noise not in page


def test_feedback_calls_questions_as_the_notebook_does():
    plan = harness.blueprint_of(PS2)
    titles = [plan.title_of(key) for key in plan.of("test", "essay")]
    assert [title.split(".")[0] for title in titles] == [
        f"Question {number}" for number in range(1, len(titles) + 1)
    ]
    assert titles[0] == "Question 1. A matrix product"
    assert not any("point" in title for title in titles)


def test_a_page_stays_small(folder, tmp_path, graded, solution):
    change(
        solution, "square_bytes", "print('x' * 10**7)\ndef square_bytes(n):\n    return 'y' * 10**7"
    )
    put(folder / "ada" / "toy.ipynb", solution)
    graded()
    assert (tmp_path / "out" / "feedback" / "ada.html").stat().st_size < 100_000


def test_the_page_of_an_unreadable_submission(folder, tmp_path, graded):
    (folder / "dan").mkdir(parents=True)
    graded()
    page = (tmp_path / "out" / "feedback" / "dan.html").read_text(encoding="utf-8")
    assert "<strong>Not graded:</strong> there is no notebook" in page


# --- problem set 2, as an instructor meets it -----------------------------------------------

PS2 = sets.find("ps2")


def twelve(folder):
    """Hand in twelve submissions of problem set 2; return what each of them deserves.

    The status, the questions that lose their points, and a word of the reason or of the flags.
    """
    reference, plan = harness.hand_in(PS2, {}), harness.blueprint_of(PS2)
    tests = [*plan.of("test")]
    deserved = {"reference": ("graded", [], "")}
    put(folder / "reference" / PS2.filename, reference)
    put(folder / "untouched" / PS2.filename, plan.notebook)
    deserved["untouched"] = ("graded", tests, "")
    right, wrong = (submissions(PS2.name, kind) for kind in ("right", "wrong"))
    for submission in right[:2] + [w for w in wrong if not w.seed][::12][:4]:
        put(folder / submission.name / PS2.filename, harness.hand_in(PS2, submission.cells))
        deserved[submission.name] = ("graded", submission.loses, "")
    put(folder / "renamed" / "ps2_flop_counter (1).ipynb", reference)
    deserved["renamed"] = ("repaired", [], "was called")
    duplicated = copy.deepcopy(reference)
    duplicated["cells"] += [next(c for c in duplicated["cells"] if c["id"] == tests[0])]
    put(folder / "duplicated" / PS2.filename, duplicated)
    deserved["duplicated"] = ("repaired", [], "is there 2 times; it runs once")
    path = put(folder / "stripped" / PS2.filename, reference)
    data = json.loads(path.read_text(encoding="utf-8"))
    for cell in data["cells"]:
        for key in ("outputs", "execution_count"):
            cell.pop(key, None)
    path.write_text(json.dumps(data), encoding="utf-8")
    deserved["stripped"] = ("graded", [], "")
    text = put(folder / "truncated" / PS2.filename, reference).read_text(encoding="utf-8")
    (folder / "truncated" / PS2.filename).write_text(text[: len(text) // 2], encoding="utf-8")
    deserved["truncated"] = ("unreadable", None, "its JSON breaks off")
    assert len(deserved) == 12
    return deserved


@pytest.mark.parametrize(
    "name", ["fast", pytest.param("stock", marks=pytest.mark.slow, id="stock")]
)
def test_twelve_submissions_get_what_they_deserve(name, folder, tmp_path, fast):
    deserved, plan = twelve(folder), harness.blueprint_of(PS2)
    if name == "fast":
        entries = grade(PS2.name, plan, folder, tmp_path / "out", fast, seed="s", workers=2)
    else:
        with Stock(PS2, workers=2) as engine:
            entries = grade(PS2.name, plan, folder, tmp_path / "out", engine, seed="s", workers=2)
    assert {entry["student"] for entry in entries} == deserved.keys()
    points = {key: q["metadata"]["nbgrader"]["points"] for key, q in plan.of("test").items()}
    for entry in entries:
        status, lost, word = deserved[entry["student"]]
        assert entry["status"] == status, entry
        assert word in entry["reason"] + " ".join(entry["flags"])
        if lost is None:
            assert entry["score"] == 0
            continue
        assert [
            q["id"] for q in entry["questions"] if q["score"] < q["max"] and q["id"] in points
        ] == lost
        assert entry["score"] == sum(points.values()) - sum(points[key] for key in lost)
        assert entry["manual_pending"] == (0 if entry["student"] == "untouched" else 4)
