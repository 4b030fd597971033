"""What an engine is: it runs a notebook and says what became of each cell.

Scores come from `CellResult` alone, so an engine may be nbgrader, a forked process or, later, a
sandbox. `run_whole` adds what all of them lack: a cell that ends the process costs itself only.
"""

import contextlib
import json
import queue
import threading
import time
from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, TextIO

from course.grading import output
from course.grading.cells import Cell, Notebook


@dataclass(frozen=True)
class Limits:
    """How much a notebook and each of its cells may use."""

    cell_seconds: float = 60.0
    """Computing time where the engine can measure it, time on the clock where it cannot."""
    notebook_seconds: float = 300.0
    """Time on the clock for all cells, together with the runs that follow a stopped cell."""
    least_seconds: float = 5.0
    """What a cell may use in any case; a right answer takes less."""
    output_bytes: int = output.LIMIT
    """Kept of what the cell prints: the head and the tail."""

    def cell(self, left: float) -> float:
        """Return the seconds of a cell that begins when the notebook has `left` seconds left.

        A quarter of them: however many cells are stuck, the next one has some time.
        """
        return min(self.cell_seconds, max(self.least_seconds, left / 4))


LIMITS = Limits()

SKIP = "skip-execution"


@dataclass(frozen=True)
class CellResult:
    """What became of a code cell."""

    id: str
    status: Literal["ok", "error", "timeout", "died", "unrun"]
    """"unrun" if others had used all the time of the notebook."""
    error: str = ""
    """Name of the exception's class."""
    message: str = ""
    """Text of the exception."""
    traceback: str = ""
    output: str = ""
    """What the cell printed."""


class Engine(Protocol):
    """Runs notebooks; a context manager that ends its processes on leaving."""

    def run(self, notebook: Notebook, *, seed: str | None, limits: Limits) -> list[CellResult]:
        """Run the cells that `code_cells` names in order, in a process of their own.

        Parameters
        ----------
        notebook : dict
            A clean notebook, as `course.grading.intake` makes it.
        seed : str or None
            The secret seed of the inputs (COURSE_SECRET_SEED); None for the public one.
        limits : Limits
            What each cell may use.

        Returns
        -------
        list of CellResult
            In order. When a cell ended the process, or had to be stopped with it, its result
            ("died", "timeout") is the last.

        Raises
        ------
        EngineError
            If the engine itself failed; no fault of the notebook.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class EngineError(RuntimeError):
    """The engine failed, for no fault of the notebook's."""


def run_whole(
    engine: Engine, notebook: Notebook, *, seed: str | None = None, limits: Limits = LIMITS
) -> dict[str, CellResult]:
    """Run `notebook` to its end and return the results by cell id, in order.

    After a cell that ended the process the notebook runs again without that cell, so the other
    answers keep their points. When the time of the notebook is up, the cells below the one that was
    running do not run; those above it do, once more, for an engine that tells its results at the
    end.
    """
    found: dict[str, CellResult] = {}
    skipped: set[str] = set()
    end = time.monotonic() + limits.notebook_seconds
    while True:
        cells = code_cells(without(notebook, skipped))
        seconds = end - time.monotonic()
        left = replace(limits, cell_seconds=limits.cell(seconds), notebook_seconds=seconds)
        results = engine.run(without(notebook, skipped), seed=seed, limits=left)
        found |= {r.id: r for r in results if r.id not in skipped}
        if len(results) == len(cells):
            break
        if not results or results[-1].status not in ("died", "timeout"):
            raise EngineError(f"the engine returned {len(results)} of {len(cells)} cells")
        skipped.add(results[-1].id)
        if time.monotonic() > end:
            ids = [cell["id"] for cell in cells]
            skipped |= {*ids[ids.index(results[-1].id) :]}
    return {c["id"]: found.get(c["id"], CellResult(c["id"], "unrun")) for c in code_cells(notebook)}


def code_cells(notebook: Notebook) -> list[Cell]:
    """Return the cells that an engine runs: nbclient's tag takes a code cell out."""
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and SKIP not in cell["metadata"].get("tags", ())
    ]


def without(notebook: Notebook, stopped: Container[str]) -> Notebook:
    """Return `notebook` with the tag that takes them out on the cells in `stopped`."""
    return notebook | {
        "cells": [
            cell | {"metadata": cell["metadata"] | {"tags": [SKIP]}}
            if cell["id"] in stopped
            else cell
            for cell in notebook["cells"]
        ]
    }


class Lines:
    """The JSON lines that another process writes, read with patience but not for ever."""

    def __init__(self, stream: TextIO) -> None:
        self._queue: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: TextIO) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in stream:
                self._queue.put(line)
        self._queue.put("")

    def get(self, seconds: float) -> dict[str, Any] | None:
        """Return the next line, or None at the end of the stream.

        Raises
        ------
        TimeoutError
            If none came within `seconds`.
        """
        try:
            line = self._queue.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        return json.loads(line) if line else None


def collect(lines: Lines, *, patience: float) -> list[CellResult]:
    """Return the results that come as ``{"start": id}``, ``{"result": ...}`` and ``{"done": 1}``.

    A stream that ends early, or is silent for `patience` seconds, ends with a result for the cell
    that was running; so does ``{"ended": "died"}`` or ``{"ended": "timeout"}``.
    """
    results: list[CellResult] = []
    running = ""
    while True:
        try:
            event = lines.get(patience) or {"ended": "died"}
        except TimeoutError:
            event = {"ended": "timeout"}
        match event:
            case {"start": running}:
                pass
            case {"result": result}:
                results.append(CellResult(**result))
            case {"done": _}:
                return results
            case {"failed": reason}:
                raise EngineError(reason)
            case {"ended": status} if running and running not in {r.id for r in results}:
                return [*results, CellResult(running, status)]
            case _:
                raise EngineError("the process that runs the notebook ended outside its cells")
