"""The stock engine: nbgrader's own autograding, in processes of its own.

It does what ``nbgrader autograde`` does with the settings of nbgrader_config.py, each worker in a
temporary course folder. Every notebook gets a fresh kernel, which takes about as long as all the
rest together.
"""

import contextlib
import dataclasses
import json
import queue
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from course.grading import engine, processes
from course.grading.cells import Notebook
from course.grading.engine import LIMITS, CellResult, EngineError, Limits, Lines
from course.grading.fast import environment
from course.grading.sets import ProblemSet

#: Importing nbgrader, releasing the set and starting a kernel, on a slow and busy machine.
START_SECONDS = 300.0


class Worker:
    """One process that autogrades notebook after notebook."""

    def __init__(self, source: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "course.grading.stock_worker", str(source)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self._lines = Lines(self.process.stdout)
        if not self._ready(START_SECONDS):
            self.close()
            raise EngineError("nbgrader could not be started")

    def _ready(self, seconds: float) -> bool:
        """Say whether the process asks for a notebook within `seconds`."""
        try:
            return self._lines.get(seconds) == {"ready": 1}
        except TimeoutError:
            return False

    def run(self, request: dict[str, Any], patience: float) -> tuple[list[CellResult], bool]:
        """Return the results of a notebook, and whether the process is fit for another one."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        results = engine.collect(self._lines, patience=patience)
        return results, self._ready(10.0)

    def close(self) -> None:
        """End the process and its kernel."""
        processes.kill_tree(self.process.pid)
        self.process.wait()
        with contextlib.suppress(OSError):
            self.process.stdin.close()


class Stock:
    """Runs notebooks of one problem set with nbgrader, `workers` of them at a time."""

    def __init__(self, problem_set: ProblemSet, workers: int = 1) -> None:
        self._source = problem_set.source
        self._idle: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(workers):
            self._idle.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        while not self._idle.empty():
            if (worker := self._idle.get()) is not None:
                worker.close()

    def run(
        self, notebook: Notebook, *, seed: str | None = None, limits: Limits = LIMITS
    ) -> list[CellResult]:
        """Run the code cells of `notebook`; see `course.grading.engine.Engine.run`."""
        request = {"notebook": notebook, "seed": seed, "limits": dataclasses.asdict(limits)}
        worker, fit = self._idle.get(), False
        try:
            worker = worker or Worker(self._source)
            # the cell's own limit is nbgrader's to keep; the rest is for a kernel that hangs
            results, fit = worker.run(request, patience=limits.cell_seconds + 60)
            return results
        finally:
            if worker is not None and not fit:
                worker.close()
            self._idle.put(worker if fit else None)
