"""What is known of each student after grading -> results.json, results.csv and the pages.

All three are written from one record, record.json, which also holds what the pages show of each
question. When a person has given points, `course.grading.gradebook` changes a copy of the record
and they are written again.
"""

import contextlib
import csv
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from course.grading import feedback, score

#: A student's entry in results.json.
Entry = dict[str, Any]
#: What is known of a student: the name of the folder, the entry, the sections of the page; a
#: fingerprint of what was handed in, a hash of each answer, and the ids of the questions whose
#: answers changed after a person may have given points. The last three serve `again`.
Graded = dict[str, Any]
#: The assignment, the ids of its questions and of all cells that nbgrader knows, and what
#: is known of each student.
Record = dict[str, Any]

#: Bytes that the name of a file may have.
MAX_NAME = 255


def write(out: Path, record: Record) -> list[Entry]:
    """Write results.json, results.csv and feedback/ to `out`.

    Returns
    -------
    list of dict
        The students of results.json, by name.
    """
    (out / "feedback").mkdir(parents=True, exist_ok=True)
    for graded in record["graded"]:
        with guarded(graded["entry"]):
            page = feedback.page(record["assignment"], graded["entry"], graded["sections"])
            file = out / "feedback" / page_name(graded["folder"])
            file.write_text(page, encoding="utf-8", errors="backslashreplace")
    entries = [graded["entry"] for graded in record["graded"]]
    whole = {"assignment": record["assignment"], "students": entries}
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    (out / "results.json").write_text(text + "\n", encoding="utf-8")
    write_csv(out / "results.csv", record["questions"], entries)
    return entries


def keep(out: Path, record: Record) -> None:
    """Write record.json to `out`, before a person changes anything."""
    # in ASCII: the name of a folder may be no text
    (out / "record.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read(out: Path) -> Record:
    """Return the record that grading has left in `out`."""
    return json.loads((out / "record.json").read_text(encoding="utf-8"))


@contextlib.contextmanager
def guarded(entry: Entry) -> Iterator[None]:
    """Note an error in the student's entry: better without a page than without the points."""
    try:
        yield
    except Exception as error:
        complaint = f"The feedback could not be written ({type(error).__name__}: {error})."
        entry["flags"] = [*entry["flags"], complaint]


def page_name(student: str) -> str:
    """Return the name of a student's page; a folder's name may fill all that systems allow.

    A name that is too long is cut, and ends in a number of its own.
    """
    raw = os.fsencode(student)
    if len(raw) + len(".html") > MAX_NAME:
        number = hashlib.sha256(raw).hexdigest()[:8]
        student = f"{raw[: MAX_NAME - 20].decode('utf-8', 'ignore')}-{number}"
    return f"{student}.html"


def write_csv(path: Path, questions: Sequence[str], entries: Sequence[Entry]) -> None:
    """Write results.csv: a line for each student, a column for each question.

    An essay's column is empty where a person has still to read it. The file begins with the mark
    by which Excel knows UTF-8.
    """
    columns = ["student", "status", "score", "max_score", "max_auto", "manual_pending", "reason"]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
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
