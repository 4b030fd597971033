"""The clean process behind the fast engine: it has the slow imports done and forks for a notebook.

``python -m course.grading.zygote FD`` waits on the socket FD; each message on it carries one end of
a connection, and a forked child runs the notebook that comes over that connection. The zygote
itself never reads one, so a student's code finds neither tests nor other students in its memory.
It runs no torch operation before the fork: a child would hang in OpenMP's dead threads.

``python -m course.grading.zygote once`` runs the one notebook on stdin (where fork is not safe).

A request is one JSON line, ``{"cells": [[id, source], ...], "seed", "limits", "folder"}``; the
answer is JSON lines, see `course.grading.engine.collect`.
"""

import contextlib
import functools
import importlib
import io
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn, TextIO

from course.grading import processes
from course.grading.engine import Limits
from course.grading.kernel import forbid_exit
from course.grading.output import Kept

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def preload() -> Any:
    """Import what most notebooks import, and return a shell that has run nothing yet."""
    import numba  # noqa: F401
    import numpy  # noqa: F401
    import torch  # noqa: F401
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        """A shell that keeps the last traceback instead of printing it."""

        last_traceback = ""

        def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
            self.last_traceback = ESCAPES.sub("", "\n".join(stb))

        def _tee(self, channel: str) -> contextlib.AbstractContextManager[None]:
            return contextlib.nullcontext()  # IPython's own would keep all that is printed

        def enable_gui(self, gui: str | None = None) -> None:
            """Do nothing: ``%matplotlib`` asks for the event loop of windows, and none is shown."""

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell = Shell.instance(config=config)
    forbid_exit(shell)
    return shell


class TimeLimit(BaseException):
    """The cell has used up its time; no ``except Exception`` catches it."""


class Clock:
    """A context in which a cell runs: ends it after some seconds of computing.

    Three times as long on the wall clock ends it too, for a cell that sleeps. A cell that catches
    the exception and goes on has two seconds for that; then `give_up` is called and the process
    ends. Without interval timers (Windows) the engine's own patience is the only limit.
    """

    def __init__(self, seconds: float, give_up: Callable[[], None]) -> None:
        self._seconds, self._give_up, self._strikes = seconds, give_up, 0

    def _strike(self, signum: int, frame: FrameType | None) -> None:
        self._strikes += 1
        if self._strikes > 1:
            self._give_up()
            os._exit(1)
        self._set(2.0)
        raise TimeLimit

    def _set(self, seconds: float) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, seconds)
            signal.setitimer(signal.ITIMER_REAL, 3 * seconds)

    def __enter__(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGPROF, self._strike)
            signal.signal(signal.SIGALRM, self._strike)
        self._set(self._seconds)

    def __exit__(self, *exception: object) -> None:
        self._set(0)


def run_cell(shell: Any, cell: str, source: str, output_bytes: int) -> dict[str, Any]:
    """Run one cell and return its result as plain data."""
    kept = sys.stdout = sys.stderr = Kept(output_bytes)
    shell.last_traceback = ""
    outcome = shell.run_cell(source, store_history=True)
    error = outcome.error_before_exec or outcome.error_in_exec
    status = "ok" if error is None else "timeout" if isinstance(error, TimeLimit) else "error"
    return {
        "id": cell,
        "status": status,
        "error": "" if error is None else type(error).__name__,
        "message": "" if error is None else plain(lambda: str(error), output_bytes),
        "traceback": plain(lambda: shell.last_traceback, output_bytes),
        "output": plain(kept.text, 2 * output_bytes),
    }


def plain(make: Callable[[], object], limit: int) -> str:
    """Return the text that `make` makes; an exception's __str__ may do anything."""
    try:
        made = make()
    except BaseException as error:
        return f"(no message: {type(error).__name__} while it was written)"
    return str(made)[:limit].encode("utf-8", "replace").decode()


def serve(requests: TextIO, answers: TextIO, shell: Any) -> None:
    """Run the notebook that comes on `requests`, and tell `answers` about each cell."""
    request = json.loads(requests.readline())
    os.environ.pop("COURSE_SECRET_SEED", None)
    if request["seed"] is not None:
        os.environ["COURSE_SECRET_SEED"] = request["seed"]
    os.chdir(request["folder"])
    sys.stdin = io.StringIO("")  # input() meets the end of the file
    own, limits = os.getpid(), Limits(**request["limits"])
    end = time.monotonic() + limits.notebook_seconds

    def tell(event: dict[str, Any]) -> None:
        answers.write(json.dumps(event) + "\n")
        answers.flush()

    for cell, source in request["cells"]:
        tell({"start": cell})
        try:
            seconds = limits.cell(end - time.monotonic())
            with Clock(seconds, functools.partial(tell, {"ended": "timeout"})):
                result = run_cell(shell, cell, source, limits.output_bytes)
        except TimeLimit:  # it struck between the student's code and the end of the cell
            result = {"id": cell, "status": "timeout"}
        if os.getpid() != own:
            os._exit(0)  # the cell has forked, and this is the child: the rest is its parent's
        tell({"result": result})
    tell({"done": 1})


def serve_forks(control: socket.socket, shell: Any) -> None:
    """Fork a child for each connection that comes over `control`, until that is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel
    control.send(b"r")
    while True:
        message, connections, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            control.close()
            serve_fork(connections[0], shell)
        os.close(connections[0])
        # what torch imports when a class derives from TorchDispatchMode: two seconds that the
        # first notebook should not wait for if it does without, and no later one should pay
        with contextlib.suppress(ImportError):
            importlib.import_module("torch._dynamo")


def serve_fork(connection: int, shell: Any) -> NoReturn:
    """Run the notebook that comes over `connection` in a child, and clear up after it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    silence()
    with open(connection, "w", encoding="utf-8", closefd=False) as file:
        file.write(json.dumps({"pid": os.getpid()}) + "\n")
    try:
        if not processes.keep():
            close_in_forks(connection)
            with socket.socket(fileno=connection) as plug:
                file = plug.makefile("rw", encoding="utf-8")
                serve(file, file, shell)
    finally:
        os._exit(0)  # no atexit function of the student's runs


def close_in_forks(descriptor: int) -> None:
    """Have what the notebook forks not hold the connection open: its end says that we ended."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=functools.partial(os.close, descriptor))


def take_pipes() -> tuple[TextIO, TextIO]:
    """Return stdin and stdout for the protocol alone; what else is written there goes nowhere."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence()
    return requests, answers


def silence() -> None:
    """Send what is written to the process's own output, past Python, to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


if __name__ == "__main__":
    if sys.argv[1] == "once":
        requests, answers = take_pipes()
        print(json.dumps({"pid": os.getpid()}), file=answers, flush=True)
        close_in_forks(answers.fileno())
        serve(requests, answers, preload())
        os._exit(0)
    else:
        serve_forks(socket.socket(fileno=int(sys.argv[1])), preload())
