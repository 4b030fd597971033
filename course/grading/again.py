"""Grading into a folder that holds results already: what of them still holds.

A submission that did not change keeps its results, and the points that a person gave. One that
changed is graded again; points that a person gave stay with the answers that did not change.
"""

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from course import ROOT, Problem
from course.grading import cells, intake, results
from course.grading.cells import Blueprint
from course.grading.repair import Submission
from course.grading.results import Graded, Record
from course.grading.score import Question

#: How many names a message lists.
LISTED = 5
#: What grading writes before its results are complete.
UNFINISHED = {"seed.txt", "submitted", "autograded"}


def prepare(
    out: Path, submissions: Path, name: str, blueprint: Blueprint
) -> tuple[str, dict[str, Graded]]:
    """Make the folder `out` ready for results of the set `name`.

    Returns
    -------
    str
        The secret seed: that of COURSE_SECRET_SEED, else that of earlier results, else a new one.
    dict
        What is known of each student from earlier results, by the name of the student's folder.

    Raises
    ------
    Problem
        If `out` cannot be made, lies in `submissions` or around it, or holds anything but results
        of the set with the cells of `blueprint`.
    """
    inner, outer = out.resolve(), submissions.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise Problem(
            f"--out {out} and --from {submissions} lie in each other, and results would mix with "
            "what students handed in. Give --out a folder beside the submissions."
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        there = {path.name for path in out.iterdir()}
    except OSError as error:
        raise Problem(
            f"--out {out} cannot be the folder for the results: {error.strerror}. Give a folder "
            "that is new or empty and may be written to, or one with earlier results."
        ) from None
    earlier: dict[str, Graded] = {}
    if "record.json" in there:
        earlier = known(out, name, blueprint)
    elif there and not ("seed.txt" in there and there <= UNFINISHED):
        raise Problem(
            f"--out {out} holds files that are no results of grade: {some(sorted(there))}. Give a "
            "folder that is new or empty, or one with earlier results."
        )
    return keep_seed(out), earlier


def known(out: Path, name: str, blueprint: Blueprint) -> dict[str, Graded]:
    """Return what is known of each student from the results of the set `name` in `out`."""
    try:
        record = results.read(out)
        if record["assignment"] != name:
            raise Problem(f"{out} holds the results of {record['assignment']}, not of {name}.")
        if {*record["cells"]} ^ blueprint.graded.keys():
            raise Problem(
                f"{name} has other questions than when {out} was graded, and the gradebook there "
                "cannot change them. Give --out a folder that is new or empty."
            )
        return {graded["folder"]: graded for graded in record["graded"] if graded["fingerprint"]}
    except (OSError, ValueError, KeyError):
        raise Problem(
            f"{out}/record.json is damaged, or of an older version of the course: no result can be "
            "kept. Give --out a folder that is new or empty."
        ) from None


def keep_seed(out: Path) -> str:
    """Return the secret seed, and write it to `out`."""
    path, seed = out / "seed.txt", os.environ.get("COURSE_SECRET_SEED", "")
    with contextlib.suppress(FileNotFoundError):
        seed = seed or path.read_text(encoding="utf-8").strip()
    seed = seed or secrets.token_hex(16)
    try:
        path.write_text(seed + "\n", encoding="utf-8")
    except OSError as error:
        raise Problem(
            f"Nothing can be written into --out {out}: {error.strerror}. Give a folder that may be "
            "written to."
        ) from None
    return seed


def basis(blueprint: Blueprint, seed: str | None) -> bytes:
    """Return a hash of what points depend on besides the submission: questions, checks, seed."""
    found = hashlib.sha256(json.dumps([blueprint.notebook, seed]).encode())
    for path in sorted((ROOT / "course" / "checks").rglob("*.py")):
        found.update(path.read_bytes())
    return found.digest()


def fingerprint(folder: Path, common: bytes) -> str:
    """Return a hash of `common` and the notebooks in a student's `folder`, names and contents."""
    found = hashlib.sha256(common)
    for path in [] if folder.is_symlink() else intake.notebooks_in(folder):
        found.update(os.fsencode(path.relative_to(folder).as_posix()) + b"\0")
        # one that cannot be opened is the intake's to complain about
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def holds(earlier: Graded | None, now: str) -> bool:
    """Say whether `earlier` results are those of a submission whose fingerprint is `now`.

    What could not be graded is tried again: the reason may be gone.
    """
    return (
        earlier is not None
        and earlier["fingerprint"] == now
        and earlier["entry"]["status"] != "unreadable"
    )


def answers(questions: Sequence[Question], submission: Submission) -> dict[str, str]:
    """Return a hash of what the student wrote for each question, by the question's id."""
    texts = {cell["id"]: cells.text(cell) for cell in submission.notebook["cells"]}
    return {
        question.id: hashlib.sha256(
            json.dumps([texts[key] for key in question.answers]).encode()
        ).hexdigest()
        for question in questions
    }


def carry_over(graded: Graded, earlier: Graded) -> None:
    """Tell in `graded` which answers are others than in the `earlier` results of the student.

    Also where one of the two could not be read: nobody knows then of an answer what it was.
    """
    now, before = graded["answers"], earlier["answers"]
    changed = {key for key in before if now and now.get(key) != before[key]}
    graded["changed"] = sorted(changed | set(earlier["changed"]))
    if not now:
        graded["answers"] = before


def describe(before: Mapping[str, Graded], after: Record, folders: Sequence[Path]) -> str:
    """Return how many submissions kept their results, were new, and were graded again."""
    names = {folder.name for folder in folders}
    now = {graded["folder"]: graded for graded in after["graded"]}
    kept = sum(holds(before.get(name), now[name]["fingerprint"]) for name in names)
    new = len(names - before.keys())
    text = f"{kept} unchanged, results kept; {new} new; {len(names) - kept - new} graded again."
    if gone := sorted(now[name]["entry"]["student"] for name in now.keys() - names):
        text += f" Not handed in this time, results kept: {some(gone)}."
    return text


def some(names: Sequence[str]) -> str:
    """Return the first of `names`, and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
