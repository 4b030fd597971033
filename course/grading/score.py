"""Results of cells -> points and messages; the same for every engine."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from course.grading import cells
from course.grading.cells import Blueprint
from course.grading.engine import CellResult
from course.grading.output import left_out
from course.grading.repair import Submission

State = Literal["right", "wrong", "not answered", "by hand"]

NOT_ANSWERED = "Not answered."
BY_HAND = "To be graded by hand."
#: Characters that nobody prints on purpose.
FLOOD = 1_000_000
#: Where Python says that an error is; line 0 is its word for nowhere.
PLACE = re.compile(r"\s*\((?:<?[\w.-]+>?, )?line (\d+)\)")
FRAME = re.compile(r"Cell In\[\d+\], line (\d+)(?:, in (\w+))?")


@dataclass(frozen=True)
class Question:
    """What one graded cell brought."""

    id: str
    """Id of the test cell, or of the essay."""
    state: State
    score: float
    """Automatic points; 0 for an essay."""
    max: float
    message: str
    """For the student: why it is wrong, or what was checked."""
    answers: list[str] = field(default_factory=list)
    """Ids of the cells in which the student answered it."""


def questions(
    blueprint: Blueprint, submission: Submission, results: Mapping[str, CellResult]
) -> list[Question]:
    """Return what each test and essay of the set brought, in order."""
    return [
        essay(key, cell, submission)
        if cells.role(cell) == "essay"
        else test(key, cell, blueprint, submission, results)
        for key, cell in blueprint.of("test", "essay").items()
    ]


def essay(key: str, cell: cells.Cell, submission: Submission) -> Question:
    """Return the question that a person reads."""
    points = float(cells.metadata(cell)["points"])
    if key in submission.untouched | submission.missing:
        return Question(key, "not answered", 0.0, points, NOT_ANSWERED, [key])
    return Question(key, "by hand", 0.0, points, BY_HAND, [key])


def test(
    key: str,
    cell: cells.Cell,
    blueprint: Blueprint,
    submission: Submission,
    results: Mapping[str, CellResult],
) -> Question:
    """Return the question that the test cell `key` judges."""
    points = float(cells.metadata(cell)["points"])
    answers = blueprint.answers_of(key)
    result = results[key]
    if result.status == "ok":
        return Question(key, "right", points, points, result.output.strip(), answers)
    gone = submission.missing & set(answers)
    if gone:
        message = f"The answer cell {' and '.join(sorted(gone))} is missing from the notebook."
        return Question(key, "not answered", 0.0, points, message, answers)
    if answers and submission.untouched.issuperset(answers):
        return Question(key, "not answered", 0.0, points, NOT_ANSWERED, answers)
    failed = [results[a] for a in answers if results[a].status != "ok"]
    cause = failed[0] if failed else result
    subject = f"Your cell {cause.id}" if failed else f"Your {' or '.join(answers) or 'answer'}"
    message = explain(cause, subject, own=bool(failed)) + misspelt(cause, blueprint, submission)
    return Question(key, "wrong", 0.0, points, message, answers)


def misspelt(result: CellResult, blueprint: Blueprint, submission: Submission) -> str:
    """Return what to say if a name is missing because an answer defines a similar one, else ""."""
    missing = re.search(r"\bname '(\w+)' is not defined", result.message)
    if missing is None:
        return ""
    written = {cell["id"]: cell for cell in submission.notebook["cells"]}
    for key, released in blueprint.of("answer").items():
        wanted, found = cells.defines(released), cells.defines(written[key])
        close = difflib.get_close_matches(missing[1], found - wanted, n=1, cutoff=0.7)
        if missing[1] in wanted - found and close:
            return f"\nYour cell {key} defines {close[0]}: call it {missing[1]}."
    return ""


def explain(result: CellResult, subject: str, *, own: bool) -> str:
    """Return why a cell failed, in words for the student.

    Parameters
    ----------
    result
        The result of the cell.
    subject : str
        What of the student's ran there, to begin a sentence with.
    own : bool
        Whether the cell is the student's own, rather than a test.
    """
    if result.status == "timeout":
        if (printed := left_out(result.output)) > FLOOD:
            return (
                f"{subject} printed over {printed:,} characters and was stopped after its time: "
                "print less, or is there a loop that never ends?"
            )
        return f"{subject} did not come to an end in time. Is there a loop that never ends?"
    if result.status == "unrun":
        return f"{subject} did not run: other cells had used all the time of the notebook."
    if result.status == "died":
        return (
            f"{subject} ended the whole Python process: a crash, or a call that ends the program."
        )
    if result.error == "Wrong":
        return result.message
    if result.error in ("EOFError", "StdinNotImplementedError"):
        return (
            "input() cannot be used here: nobody is there to type. Take the function's arguments."
        )
    text = PLACE.sub(lambda at: f" (line {at[1]})" if int(at[1]) else "", result.message)
    fault = f"{result.error}: {text}" if text else result.error
    if own and result.error == "IndexError" and not FRAME.search(result.traceback):
        # it did not arise in the cell: IPython failed before Python saw that
        fault = "SyntaxError: a line with % or ! in it cannot be read"
    return f"{subject} stops with {fault}{where(result)}" if own else fault + where(result)


def where(result: CellResult) -> str:
    """Return in which line of a cell of the notebook the error arose, if the traceback tells."""
    frames = FRAME.findall(result.traceback)
    if not frames or result.error == "SyntaxError" or not int(frames[-1][0]):
        return ""
    line, function = frames[-1]
    return f" (line {line} of {function})" if function else f" (line {line})"


def entry(student: str, blueprint: Blueprint) -> dict[str, Any]:
    """Return a student's entry in results.json with nothing in it yet: 0 points, unreadable."""
    points = {key: cells.metadata(c)["points"] for key, c in blueprint.of("test", "essay").items()}
    return {
        "student": student,
        "status": "unreadable",
        "reason": "",
        "score": 0.0,
        "max_score": float(sum(points.values())),
        "max_auto": float(sum(points[key] for key in blueprint.of("test"))),
        "manual_pending": 0.0,
        "flags": [],
        "questions": [],
    }


def total(questions: Sequence[Question]) -> dict[str, Any]:
    """Return what the questions add to a student's entry."""
    return {
        "score": float(sum(q.score for q in questions)),
        "manual_pending": float(sum(q.max for q in questions if q.state == "by hand")),
        "questions": [
            {"id": q.id, "score": q.score, "max": q.max, "message": q.message} for q in questions
        ],
    }
