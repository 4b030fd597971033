"""A folder of submissions -> results.json, results.csv, a page of feedback for each student.

Each submission is graded by itself: what goes wrong with one is in its own entry, and nowhere else.
"""

import os
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tqdm import tqdm

from course import Problem, notebooks
from course.grading import again, feedback, gradebook, intake, results, score
from course.grading.cells import Blueprint
from course.grading.engine import LIMITS, Engine, EngineError, Limits, run_whole
from course.grading.repair import Submission, Unreadable

#: Folders that other programs leave among the students'.
NOBODY = {".git", ".ipynb_checkpoints", "__MACOSX"}


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
    earlier: Mapping[str, results.Graded] | None = None,
) -> list[results.Entry]:
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
        layout of nbgrader: submitted/STUDENT/NAME/NAME.ipynb, and with outputs in autograded/.
    engine : Engine
        What runs the notebooks.
    seed : str or None
        Secret seed of the inputs.
    workers : int
        How many notebooks the engine runs at a time.
    earlier : mapping, optional
        What `course.grading.again.prepare` knows from earlier results: who changed nothing keeps
        them.

    Returns
    -------
    list of dict
        The students of results.json, by name.

    Raises
    ------
    Problem
        If there is no student's folder.
    """
    folders, known, common = (
        students(submissions),
        dict(earlier or {}),
        again.basis(blueprint, seed),
    )
    prints = {folder: again.fingerprint(folder, common) for folder in folders}
    todo = [path for path in folders if not again.holds(known.get(path.name), prints[path])]
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(grade_one, folder, name, blueprint, out, engine, seed, limits)
            for folder in todo
        ]
        bar = tqdm(as_completed(jobs), total=len(jobs), desc=name, unit="submission")
        found = {graded["folder"]: graded for graded in (job.result() for job in bar)}
    for folder in todo:
        found[folder.name]["fingerprint"] = prints[folder]
        if folder.name in known:
            again.carry_over(found[folder.name], known[folder.name])
    graded = sorted((known | found).values(), key=lambda each: each["entry"]["student"])
    record = {
        "assignment": name,
        "questions": [*blueprint.of("test", "essay")],
        "cells": [*blueprint.graded],
        "graded": graded,
    }
    results.keep(out, record)
    return results.write(out, record)


def students(submissions: Path) -> list[Path]:
    """Return the students' folders in `submissions`."""
    if not submissions.is_dir():
        raise Problem(
            f"There is no folder {submissions}: give one that holds a folder per student."
        )
    found = [
        path
        for path in sorted(submissions.iterdir())
        if (path.is_dir() or path.is_symlink()) and path.name not in NOBODY
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
) -> results.Graded:
    """Grade the submission in one student's folder; return what is known, whatever happens."""
    entry = score.entry(printable(folder.name), blueprint)
    graded = {
        "folder": folder.name, "entry": entry, "sections": [], "answers": {}, "changed": [],
    }  # fmt: skip
    try:
        path, flags = intake.choose(folder, f"{name}.ipynb", blueprint)
        submission = intake.take(path, blueprint)
        entry["flags"] = [*flags, *submission.flags]
        ran = run_whole(engine, submission.notebook, seed=seed, limits=limits)
        questions = score.questions(blueprint, submission, ran)
        entry |= score.total(questions)
        graded["answers"] = again.answers(questions, submission)
        entry["status"] = "repaired" if entry["flags"] else "graded"
    except Unreadable as error:
        entry["reason"] = str(error)
        return graded
    except EngineError as error:
        entry["reason"] = f"the grader could not run it ({error}); that is no fault of the student"
        return graded
    except Exception as error:  # one submission never stops the others
        entry["reason"] = f"the grader failed on it ({type(error).__name__}: {error})"
        return graded
    with results.guarded(entry):
        graded["sections"] = feedback.sections(blueprint, questions, submission, ran)
    with results.guarded(entry):
        keep(out / "submitted" / folder.name / name / f"{name}.ipynb", submission)
        autograded = out / "autograded" / entry["student"] / name / f"{name}.ipynb"
        gradebook.keep(autograded, submission.notebook, ran)
    return graded


def printable(name: str) -> str:
    """Return a file's `name` with its undecodable bytes spelt out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def keep(path: Path, submission: Submission) -> None:
    """Write the notebook that runs to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    notebooks.write(path, submission.notebook)


def report(name: str, submissions: Path, entries: Sequence[results.Entry]) -> str:
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
    return "\n".join(lines)


def waiting(entries: Sequence[results.Entry]) -> str:
    """Return how many students' essays a person has still to read; nothing if there are none."""
    count = sum(entry["manual_pending"] > 0 for entry in entries)
    return f"{count} have essays to be graded by hand." if count else ""


def worker_count(submissions: int) -> int:
    """Return how many notebooks to run at a time: one for each core, and memory for each."""
    return max(1, min(os.cpu_count() or 1, submissions, 8))
