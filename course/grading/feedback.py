"""One page of HTML for a student: what each question brought, why, and what to look at.

The template escapes everything, names and messages too: what a student wrote is shown, never
interpreted.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from course.grading.cells import Blueprint
from course.grading.engine import CellResult
from course.grading.output import LIMIT, shorten
from course.grading.repair import Submission
from course.grading.score import NOT_ANSWERED, Question

TEMPLATE = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(
    Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
)


#: Errors of which the message says all; a traceback would add the names of our own files.
SAID = ("Wrong", "SystemExit")

#: A section of the page: what one question brought, and what to look at.
Section = dict[str, Any]


def page(title: str, entry: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """Return the feedback page for a student.

    Parameters
    ----------
    title : str
        What the problem set is called.
    entry : mapping
        The student's entry in results.json.
    sections : sequence
        What `sections` returns; empty for a submission that could not be read.
    """
    by_hand = any(section["state"] == "graded by hand" for section in sections)
    return TEMPLATE.render(
        title=title, entry=entry, sections=sections, by_hand=by_hand, not_answered=NOT_ANSWERED
    )


def sections(
    blueprint: Blueprint,
    questions: Sequence[Question],
    submission: Submission,
    results: Mapping[str, CellResult],
) -> list[Section]:
    """Return the sections of a page, as plain data."""
    return [
        {
            "id": question.id,
            "title": blueprint.title_of(question.id),
            "state": question.state,
            "score": question.score,
            "max": question.max,
            "message": question.message,
            "parts": [*look_at(question, submission, results)],
        }
        for question in questions
    ]


def look_at(
    question: Question, submission: Submission, results: Mapping[str, CellResult]
) -> Iterator[tuple[str, str]]:
    """Yield what helps with a question: the student's text, what was printed, what was raised."""
    if question.state not in ("wrong", "by hand"):
        return
    texts = {cell["id"]: cell["source"] for cell in submission.notebook["cells"]}
    for key in question.answers:
        yield f"Your cell {key}", shorten(texts[key], LIMIT)
    ran = [results[key] for key in question.answers if key in results]
    stopped = any(result.status != "ok" for result in ran)  # what the test says follows from that
    for key in question.answers if stopped else [*question.answers, question.id]:
        result = results.get(key)
        if result and result.output.strip():
            yield f"Printed by {key}", shorten(result.output, LIMIT)
        if result and result.traceback and result.error not in SAID:
            yield f"Where {key} stopped", shorten(result.traceback, LIMIT)
