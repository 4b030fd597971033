"""A folder of submissions -> results.json, results.csv, a page of feedback for each student.

Each submission is graded by itself: what goes wrong with one is in its own entry, and nowhere else.
"""

import csv
import hashlib
import json
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tqdm import tqdm

from course import Problem, notebooks
from course.grading import feedback, intake, score
from course.grading.cells import Blueprint
from course.grading.engine import LIMITS, Engine, EngineError, Limits, run_whole
from course.grading.repair import Submission, Unreadable

Entry = dict[str, Any]

#: Folders that other programs leave among the students'.
NOBODY = {".git", ".ipynb_checkpoints", "__MACOSX"}

#: Bytes that the name of a file may have.
MAX_NAME = 255


def grade(
    name: str,
    blueprint: Blueprint,
    submissions: Path,
    out: Path,
    engine: Engine,
    *,
    seed: str | None,
    limits: Limits = LIMITS,
    workers: int = 1,
) -> list[Entry]:
    """Grade every student's folder in `submissions` and write what came of it to `out`.

    Parameters
    ----------
    name : str
        The problem set's; its notebook is called so.
    blueprint : Blueprint
        The released notebook.
    submissions : pathlib.Path
        Holds a folder for each student, called as the student is.
    out : pathlib.Path
        Gets results.json, results.csv, feedback/STUDENT.html, and the notebooks that ran, in the
        layout of nbgrader: submitted/STUDENT/NAME/NAME.ipynb.
    engine : Engine
        What runs the notebooks.
    seed : str or None
        Secret seed of the inputs.
    workers : int
        How many notebooks the engine runs at a time.

    Returns
    -------
    list of dict
        The students of results.json, by name.

    Raises
    ------
    Problem
        If there is no student's folder.
    """
    folders = students(submissions, out)
    for made in (out / "feedback", out / "submitted"):
        made.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(grade_one, folder, name, blueprint, out, engine, seed, limits)
            for folder in folders
        ]
        bar = tqdm(as_completed(jobs), total=len(jobs), desc=name, unit="submission")
        entries = sorted((job.result() for job in bar), key=lambda entry: entry["student"])
    write_json(out / "results.json", name, entries)
    write_csv(out / "results.csv", blueprint, entries)
    return entries


def students(submissions: Path, out: Path) -> list[Path]:
    """Return the students' folders in `submissions`; `out` may lie among them."""
    if not submissions.is_dir():
        raise Problem(
            f"There is no folder {submissions}: give one that holds a folder per student."
        )
    found = [
        path
        for path in sorted(submissions.iterdir())
        if (path.is_dir() or path.is_symlink())
        and path.name not in NOBODY
        and path.resolve() != out.resolve()
    ]
    if not found:
        raise Problem(
            f"{submissions} holds no folder: expected one for each student, with the student's "
            "notebook in it."
        )
    return found


def grade_one(
    folder: Path,
    name: str,
    blueprint: Blueprint,
    out: Path,
    engine: Engine,
    seed: str | None,
    limits: Limits,
) -> Entry:
    """Grade the submission in one student's folder; return the entry, whatever happens."""
    entry = score.entry(printable(folder.name), blueprint)
    graded: tuple[Any, ...] = ()
    try:
        path, flags = intake.choose(folder, f"{name}.ipynb", blueprint)
        submission = intake.take(path, blueprint)
        entry["flags"] = [*flags, *submission.flags]
        results = run_whole(engine, submission.notebook, seed=seed, limits=limits)
        questions = score.questions(blueprint, submission, results)
        entry |= score.total(questions)
        entry["status"] = "repaired" if entry["flags"] else "graded"
        graded = (questions, submission, results)
    except Unreadable as error:
        entry["reason"] = str(error)
    except EngineError as error:
        entry["reason"] = f"the grader could not run it ({error}); that is no fault of the student"
    except Exception as error:  # one submission never stops the others
        entry["reason"] = f"the grader failed on it ({type(error).__name__}: {error})"
    try:
        if graded:
            keep(out / "submitted" / folder.name / name / f"{name}.ipynb", submission)
        page = feedback.page(name, entry, *graded)
        file = out / "feedback" / page_name(folder.name)
        file.write_text(page, encoding="utf-8", errors="backslashreplace")
    except Exception as error:  # the points are there: better without a page than without them
        complaint = f"The feedback could not be written ({type(error).__name__}: {error})."
        entry["flags"] = [*entry["flags"], complaint]
    return entry


def page_name(student: str) -> str:
    """Return the name of a student's page; a folder's name may fill all that systems allow.

    A name that is too long is cut, and ends in a number of its own.
    """
    raw = os.fsencode(student)
    if len(raw) + len(".html") > MAX_NAME:
        number = hashlib.sha256(raw).hexdigest()[:8]
        student = f"{raw[: MAX_NAME - 20].decode('utf-8', 'ignore')}-{number}"
    return f"{student}.html"


def printable(name: str) -> str:
    """Return a file's `name` with its undecodable bytes spelt out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def keep(path: Path, submission: Submission) -> None:
    """Write the notebook that runs to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    notebooks.write(path, submission.notebook)


def write_json(path: Path, name: str, entries: Sequence[Entry]) -> None:
    """Write results.json."""
    text = json.dumps({"assignment": name, "students": entries}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(path: Path, blueprint: Blueprint, entries: Sequence[Entry]) -> None:
    """Write results.csv: a line for each student, a column for each question.

    An essay's column is empty where a person has still to read it.
    """
    questions = [*blueprint.of("test", "essay")]
    columns = ["student", "status", "score", "max_score", "max_auto", "manual_pending", "reason"]
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow([*columns, "flags", *questions])
        for entry in entries:
            points = {q["id"]: q["score"] for q in entry["questions"]}
            for question in entry["questions"]:
                if question["message"] == score.BY_HAND:
                    points[question["id"]] = ""
            row = [entry[column] for column in columns]
            table.writerow(
                [*row, " ".join(entry["flags"]), *(points.get(q, 0.0) for q in questions)]
            )


def report(name: str, submissions: Path, entries: Sequence[Entry]) -> str:
    """Return what an instructor wants to know at once, in a few lines."""
    count = dict.fromkeys(("graded", "repaired", "unreadable"), 0)
    for entry in entries:
        count[entry["status"]] += 1
    counts = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    lines = [f"{len(entries)} submissions of {name}: {counts}."]
    lines += [
        f"  {entry['student']}: {entry['reason']}."
        for entry in entries
        if entry["status"] == "unreadable"
    ]
    scores = [entry["score"] for entry in entries if entry["status"] != "unreadable"]
    if scores:
        lines.append(
            f"Automatic points: median {statistics.median(scores):g}, from {min(scores):g} to "
            f"{max(scores):g}, of {entries[0]['max_auto']:g}."
        )
    if loose := ", ".join(sorted(path.name for path in submissions.glob("*.ipynb"))):
        lines.append(f"In no student's folder, so not graded: {loose}.")
    waiting = sum(entry["manual_pending"] > 0 for entry in entries)
    if waiting:
        lines.append(f"{waiting} have essays to be graded by hand.")
    return "\n".join(lines)


def worker_count(submissions: int) -> int:
    """Return how many notebooks to run at a time: one for each core, and memory for each."""
    return max(1, min(os.cpu_count() or 1, submissions, 8))
