"""The process behind the stock engine: ``python -m course.grading.stock_worker SOURCE``.

It releases the set in a temporary course folder, then autogrades one notebook after the other as
they come on stdin, as JSON lines; see `course.grading.engine.collect` for what it answers.
"""

import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from course import notebooks
from course.grading import processes, release
from course.grading.engine import Limits, code_cells
from course.grading.sets import ProblemSet
from course.grading.zygote import ESCAPES, take_pipes

STUDENT = "student"


def main(source: Path) -> None:
    """Serve until stdin ends."""
    requests, answers = take_pipes()

    def tell(event: dict[str, Any]) -> None:
        answers.write(json.dumps(event) + "\n")
        answers.flush()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        there = ProblemSet(source.stem, Path(folder))
        release.generate(ProblemSet(source.stem, source.parent.parent.parent), there.root)
        processes.adopt_orphans()
        tell({"ready": 1})
        for line in requests:
            grade(json.loads(line), there, tell)
            processes.kill_children(psutil.Process())
            tell({"ready": 1})


def grade(
    request: dict[str, Any], there: ProblemSet, tell: Callable[[dict[str, Any]], None]
) -> None:
    """Autograde one notebook and tell the result of each cell."""
    submitted, autograded = (
        there.root / step / STUDENT / there.name for step in ("submitted", "autograded")
    )
    for folder in (submitted, autograded):
        shutil.rmtree(folder, ignore_errors=True)
    submitted.mkdir(parents=True)
    notebooks.write(submitted / there.filename, request["notebook"])
    os.environ.pop("COURSE_SECRET_SEED", None)
    if request["seed"] is not None:
        os.environ["COURSE_SECRET_SEED"] = request["seed"]
    settings = release.config(there.root)
    limits = Limits(**request["limits"])
    end = time.monotonic() + limits.notebook_seconds
    settings.Execute.timeout_func = lambda cell: math.ceil(limits.cell(end - time.monotonic()))
    settings.Execute.interrupt_on_timeout = False  # a cell may ignore it, and hold up all others
    execute = watched(tell)
    settings.Autograde.autograde_preprocessors[0] = execute
    try:
        release.run(
            release.import_nbgrader().converters.Autograde, settings, there, student=STUDENT
        )
    except release.ReleaseError as error:
        tell({"ended": execute.ended} if execute.ended else {"failed": str(error)})
        return
    scores = read_scores(there)
    wanted = {cell["id"] for cell in code_cells(request["notebook"])}
    for cell in notebooks.read(autograded / there.filename)["cells"]:
        if cell["id"] in wanted:
            tell({"result": result(cell, scores.get(cell["id"]))})
    tell({"done": 1})


def watched(tell: Callable[[dict[str, Any]], None]) -> Any:
    """Return nbgrader's Execute, but one that tells which cell runs and how its kernel ended."""
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from nbgrader.preprocessors import Execute

    class Watched(Execute):
        ended = ""

        def preprocess(self, *args: Any, **kwargs: Any) -> Any:
            self.on_cell_start = lambda cell, cell_index: tell({"start": cell.id})
            try:
                return super().preprocess(*args, **kwargs)
            except CellTimeoutError:
                Watched.ended = "timeout"
                raise
            except DeadKernelError:
                Watched.ended = "died"
                raise

    return Watched


def read_scores(there: ProblemSet) -> dict[str, float]:
    """Return the share of its points that nbgrader gave to each test cell, by id."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{there.root / 'gradebook.db'}") as gradebook:
        notebook = gradebook.find_submission_notebook(there.name, there.name, STUDENT)
        return {
            grade.name: grade.auto_score / grade.max_score
            for grade in notebook.grades
            if grade.auto_score is not None
        }


def result(cell: dict[str, Any], share: float | None) -> dict[str, Any]:
    """Return the result of one executed cell; whether a test passed is for nbgrader to say."""
    error = next((o for o in cell["outputs"] if o["output_type"] == "error"), None)
    passed = error is None if share is None else share == 1.0
    return {
        "id": cell["id"],
        "status": "ok" if passed else "error",
        "error": error["ename"] if error else "",
        "message": error["evalue"] if error else "",
        "traceback": ESCAPES.sub("", "\n".join(error["traceback"])) if error else "",
        "output": "".join(
            "".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream"
        ),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
