"""The fast engine: a process forked from the zygote for each notebook, for code that we trust.

It isolates nothing. Our own tests and a student's own `check` use it.
"""

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import Self, TextIO

from course import ROOT
from course.grading import engine, processes
from course.grading.cells import Notebook
from course.grading.engine import LIMITS, CellResult, EngineError, Limits, Lines

#: Forking is safe after the imports of the zygote here; macOS's libraries do not allow it.
CAN_FORK = sys.platform == "linux"

#: The zygote's imports, cold, from a slow disk.
START_SECONDS = 180.0


class Fast:
    """Runs notebooks in forks of one preloaded process; in a fresh process where that is unsafe."""

    def __init__(self) -> None:
        self._zygote: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._zygote is not None:
            self._control.close()
            processes.kill_tree(self._zygote.pid)
            self._zygote.wait()
            self._zygote = None

    def run(
        self, notebook: Notebook, *, seed: str | None = None, limits: Limits = LIMITS
    ) -> list[CellResult]:
        """Run the code cells of `notebook`; see `course.grading.engine.Engine.run`."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            request = {
                "cells": [[c["id"], c["source"]] for c in engine.code_cells(notebook)],
                "seed": seed,
                "limits": dataclasses.asdict(limits),
                "folder": folder,
            }
            with self._fork() if CAN_FORK else fresh_process() as (requests, answers):
                requests.write(json.dumps(request) + "\n")
                requests.flush()
                lines, hello = Lines(answers), None
                with contextlib.suppress(TimeoutError):
                    hello = lines.get(START_SECONDS)
                if not hello:
                    raise EngineError("the process that runs the notebook did not start")
                try:
                    return engine.collect(lines, patience=3 * limits.cell_seconds + 10)
                finally:
                    processes.kill_tree(hello["pid"])

    @contextlib.contextmanager
    def _fork(self) -> Iterator[tuple[TextIO, TextIO]]:
        """Have the zygote fork, and yield the connection to the child."""
        with self._lock:
            if self._zygote is None or self._zygote.poll() is not None:
                self._start()
        ours, theirs = socket.socketpair()
        with ours, ours.makefile("rw", encoding="utf-8") as file:
            with theirs:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            yield file, file

    def _start(self) -> None:
        """Start the zygote and wait until its imports are done."""
        self._control, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
            self._zygote = subprocess.Popen(
                [*COMMAND, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
            )
            theirs.close()
            self._control.settimeout(START_SECONDS)
            if self._control.recv(1) != b"r":
                complaints.seek(0)
                raise EngineError(
                    f"the preloaded process did not start: {complaints.read()[-2000:]}"
                )


# -P keeps the folder we happen to be in off the path: a numpy.py there would be imported
COMMAND = [sys.executable, "-P", "-m", "course.grading.zygote"]


@contextlib.contextmanager
def fresh_process() -> Iterator[tuple[TextIO, TextIO]]:
    """Start a process for one notebook and yield its stdin and stdout."""
    process = subprocess.Popen(
        [*COMMAND, "once"],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    try:
        yield process.stdin, process.stdout
    finally:
        processes.kill_tree(process.pid)
        process.wait()


def environment() -> dict[str, str]:
    """Return the environment of a process that runs notebooks."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(path),
        "MPLBACKEND": "agg",
        # the kernel of this environment, not one of the same name in the home directory
        "JUPYTER_PREFER_ENV_PATH": "1",
        # one thread each: several notebooks share the cores, and limits count computing time
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
