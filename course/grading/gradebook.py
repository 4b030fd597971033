"""Points that a person gives: to nbgrader's formgrader, and back into the results.

The folder that `grade` writes becomes a course folder of nbgrader: autograded/ holds what ran, and
gradebook.db what it brought. In formgrader a person reads the essays there, gives points and writes
comments; `course.grading.results` then writes everything again with them.
"""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import ROOT, Problem
from course.grading import release, results, score
from course.grading.cells import Notebook
from course.grading.engine import CellResult
from course.grading.results import Record
from course.grading.sets import ProblemSet

GRADED = "Graded by hand."


def keep(path: Path, notebook: Notebook, ran: Mapping[str, CellResult]) -> None:
    """Write `notebook` to `path` with the outputs in `ran`, as formgrader shows it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    code = {"outputs": [], "execution_count": None}
    cells = [
        cell | (code | {"outputs": outputs(ran.get(cell["id"]))} if is_code(cell) else {})
        for cell in notebook["cells"]
    ]
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}} | notebook | {"cells": cells}
    path.write_text(json.dumps(whole, indent=1), encoding="utf-8")


def is_code(cell: dict[str, Any]) -> bool:
    """Say whether `cell` has outputs."""
    return cell["cell_type"] == "code"


def outputs(result: CellResult | None) -> list[dict[str, Any]]:
    """Return the outputs of a cell in nbformat's words."""
    found: list[dict[str, Any]] = []
    if result and result.output:
        found.append({"output_type": "stream", "name": "stdout", "text": result.output})
    if result and result.status != "ok":
        name, lines = result.error or result.status, result.traceback.splitlines()
        found.append(
            {"output_type": "error", "ename": name, "evalue": result.message, "traceback": lines}
        )
    return found


def build(out: Path, problem_set: ProblemSet) -> None:
    """Make a gradebook of nbgrader's in `out` from the record there, or bring it up to date.

    Points that a person gave stay, but for answers that have changed since: the entry says so.
    """
    record = results.read(out)
    release.generate(problem_set, out)
    shutil.copyfile(ROOT / "nbgrader_config.py", out / "nbgrader_config.py")
    with opened(out) as gradebook:
        for graded in record["graded"]:
            if graded["entry"]["questions"]:
                enter(gradebook, problem_set.name, graded["entry"])
                withdraw(gradebook, problem_set.name, graded)
    results.keep(out, record)


def enter(gradebook: Any, name: str, entry: results.Entry) -> None:
    """Enter a student's automatic points, and which questions wait for a person."""
    student = entry["student"]
    gradebook.update_or_create_student(student)
    with gradebook.db.no_autoflush:  # SQLAlchemy warns of what nbgrader does there
        gradebook.update_or_create_submission(name, student)
    for question in entry["questions"]:
        grade = gradebook.find_grade(question["id"], name, name, student)
        by_hand = question["message"] == score.BY_HAND
        grade.auto_score = None if by_hand else question["score"]
        grade.needs_manual_grade = by_hand and grade.manual_score is None
    gradebook.db.commit()


def withdraw(gradebook: Any, name: str, graded: results.Graded) -> None:
    """Take back what a person said of answers that have changed since; it stands in the flags."""
    entry, student = graded["entry"], graded["entry"]["student"]
    comments = {
        comment.name: comment
        for notebook in gradebook.find_submission(name, student).notebooks
        for comment in notebook.comments
    }
    for key in graded["changed"]:
        grade, comment = gradebook.find_grade(key, name, name, student), comments.get(key)
        if grade.manual_score is None and not grade.extra_credit:
            continue
        said = f": {comment.comment}" if comment and comment.comment else "."
        given = f"A person had given {grade.score:g} points{said}"
        entry["flags"] = [*entry["flags"], f"{key}: graded again: the answer changed. {given}"]
        grade.needs_manual_grade = grade.auto_score is None
        grade.manual_score = grade.extra_credit = None
        if comment:
            comment.manual_comment = None
    graded["changed"] = []
    gradebook.db.commit()


@contextlib.contextmanager
def opened(out: Path) -> Iterator[Any]:
    """Yield the gradebook in `out`."""
    release.import_nbgrader()
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{out / 'gradebook.db'}") as gradebook:
        yield gradebook


@dataclass(frozen=True)
class Verdict:
    """What a person said of one question."""

    points: float | None
    """None if no points were given."""
    comment: str


def collect(out: Path, name: str) -> Record:
    """Return the record in `out` with the points and comments that a person gave.

    Raises
    ------
    Problem
        If `out` is not what grading the set `name` has written.
    """
    if not (out / "gradebook.db").is_file() or not (out / "record.json").is_file():
        raise Problem(
            f"{out} holds no gradebook.db and record.json: give --out the folder that grade has "
            "written."
        )
    record = results.read(out)
    if record["assignment"] != name:
        raise Problem(f"{out} holds the results of {record['assignment']}, not of {name}.")
    found = verdicts(out, name)
    for graded in record["graded"]:
        apply(graded, found.get(graded["entry"]["student"], {}))
    return record


def verdicts(out: Path, name: str) -> dict[str, dict[str, Verdict]]:
    """Return what a person said, by student and question."""
    with opened(out) as gradebook:
        return {
            submission.student.id: {
                grade.name: Verdict(
                    None if grade.manual_score is None and not grade.extra_credit else grade.score,
                    comments.get(grade.name) or "",
                )
                for notebook in submission.notebooks
                for comments in [{c.name: c.comment for c in notebook.comments}]
                for grade in notebook.grades
            }
            for submission in gradebook.assignment_submissions(name)
        }


def apply(graded: results.Graded, found: Mapping[str, Verdict]) -> None:
    """Change a student's entry and sections to what a person said."""
    entry, sections = graded["entry"], {s["id"]: s for s in graded["sections"]}
    for question in entry["questions"]:
        verdict = found.get(question["id"])
        if verdict is None or verdict.points is None:
            continue
        if question["message"] == score.BY_HAND:
            entry["manual_pending"] -= question["max"]
            question["message"] = verdict.comment or GRADED
        else:
            was = f"{GRADED} The test gave {question['score']:g}. {verdict.comment}".strip()
            question["message"] = f"{was}\n{question['message']}".strip()
        question["score"] = verdict.points
        changed = {"score": verdict.points, "message": question["message"]}
        sections.get(question["id"], {}).update(changed, state="graded by hand")
    entry["score"] = float(sum(question["score"] for question in entry["questions"]))
