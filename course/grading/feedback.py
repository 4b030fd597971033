"""One page of HTML for a student: what each question brought, why, and what to look at.

The template escapes everything, names and messages too: what a student wrote is shown, never
interpreted.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from course.grading.engine import CellResult
from course.grading.output import LIMIT, shorten
from course.grading.repair import Submission
from course.grading.score import NOT_ANSWERED, Question

TEMPLATE = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(
    Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
)


def page(
    title: str,
    entry: Mapping[str, Any],
    questions: Sequence[Question] = (),
    submission: Submission | None = None,
    results: Mapping[str, CellResult] | None = None,
) -> str:
    """Return the feedback page for a student.

    Parameters
    ----------
    title : str
        What the problem set is called.
    entry : mapping
        The student's entry in results.json.
    questions, submission, results
        What was graded; left out for a submission that could not be read.
    """
    parts = [[*look_at(question, submission, results or {})] for question in questions]
    return TEMPLATE.render(
        title=title,
        entry=entry,
        sections=[*zip(questions, parts, strict=True)],
        not_answered=NOT_ANSWERED,
    )


def look_at(
    question: Question, submission: Submission, results: Mapping[str, CellResult]
) -> Iterator[tuple[str, str]]:
    """Yield what helps with a question: the student's text, what was printed, what was raised."""
    if question.state not in ("wrong", "by hand"):
        return
    texts = {cell["id"]: cell["source"] for cell in submission.notebook["cells"]}
    for key in question.answers:
        yield f"Your cell {key}", shorten(texts[key], LIMIT)
    for key in [*question.answers, question.id]:
        result = results.get(key)
        if result and result.output.strip():
            yield f"Printed by {key}", shorten(result.output, LIMIT)
        if result and result.traceback and result.error != "Wrong":
            yield f"Where {key} stopped", shorten(result.traceback, LIMIT)
