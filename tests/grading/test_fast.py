"""The fast engine: what becomes of cells that behave and of cells that do not."""

import os
import sys
from pathlib import Path

import pytest
import toy
from harness import DAEMON, ends

from course.grading import fast as module
from course.grading import processes
from course.grading.engine import EngineError, Limits, run_whole
from course.grading.fast import Fast

needs_timers = pytest.mark.skipif(sys.platform == "win32", reason="needs interval timers")
SHORT = Limits(cell_seconds=0.5)


def notebook(*sources):
    return {"cells": [toy.free(f"c{i}", source) for i, source in enumerate(sources)]}


@pytest.fixture
def run(fast):
    def run(*sources, seed=None, limits=SHORT):
        return [*run_whole(fast, notebook(*sources), seed=seed, limits=limits).values()]

    return run


def states(results):
    return [result.status for result in results]


def test_cells_run_in_order_in_one_namespace(run):
    results = run("a = 1", "a += 1", "print(a)\na")
    assert states(results) == ["ok"] * 3
    assert [r.id for r in results] == ["c0", "c1", "c2"]
    assert results[2].output == "2\nOut[3]: 2\n"


def test_text_cells_do_not_run(fast):
    whole = notebook("1") | {"cells": [toy.free("t", "1 / 0", "markdown"), toy.free("c", "1")]}
    assert [*run_whole(fast, whole)] == ["c"]


def test_notebooks_do_not_see_each_other(run):
    run("import builtins\nbuiltins.leak = 7", "x = 7")
    results = run("leak", "x")
    assert [r.error for r in results] == ["NameError", "NameError"]


def test_errors(run):
    results = run(
        "1 / 0", "def f(:", "import sys\nsys.exit(3)", "exit()", "raise KeyboardInterrupt"
    )
    assert states(results) == ["error"] * 5
    assert [r.error for r in results] == [
        "ZeroDivisionError", "SyntaxError", "SystemExit", "SystemExit", "KeyboardInterrupt",
    ]  # fmt: skip
    assert results[0].message == "division by zero"
    assert "Cell In[1], line 1" in results[0].traceback
    assert "\x1b" not in results[0].traceback


def test_an_exception_that_cannot_be_written(run):
    source = "class E(Exception):\n    def __str__(self): raise E\nraise E"
    (result,) = run(source)
    assert (result.status, result.error) == ("error", "E")
    assert "no message" in result.message


def test_ipython_is_there(run):
    results = run(
        "get_ipython().run_line_magic('time', '1')", "%time 1", "display(3)", "!echo hi",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        "import asyncio\nawait asyncio.sleep(0)",
        "%matplotlib inline\nplt.plot([1, 2])\nplt.show()",
        limits=Limits(cell_seconds=60),
    )  # fmt: skip
    assert states(results) == ["ok"] * 7
    assert "3" in results[2].output


def test_input_has_nobody_to_ask(run):
    (result,) = run("input('?')")
    assert result.error == "EOFError"


def test_warnings_and_logging_cost_nothing(run):
    results = run(
        "import warnings\nwarnings.warn('careful')",
        "import sys\nprint('to stderr', file=sys.stderr)",
        "import logging\nlogging.error('bad')",
    )
    assert states(results) == ["ok"] * 3
    assert "careful" in results[0].output
    assert "to stderr" in results[1].output


@pytest.mark.parametrize("source", [
    "print('x' * 100_000_000)",
    "for i in range(200_000): print('line', i)",
    "display(type('H', (), {'__repr__': lambda self: 'y' * 50_000_000})())",
])  # fmt: skip
def test_a_flood_of_output_keeps_its_head_and_tail(run, source):
    (result,) = run(source, limits=Limits(cell_seconds=60, output_bytes=1000))
    assert result.status == "ok"
    assert 1000 < len(result.output) < 1100
    assert "characters left out" in result.output


def test_a_little_output_is_whole(run):
    (result,) = run("for i in range(30): print(i)", limits=Limits(output_bytes=1000))
    assert result.output == "".join(f"{i}\n" for i in range(30))


def test_the_seed_reaches_the_notebook_and_does_not_stay(run, monkeypatch):
    show = "import os\nprint(os.environ.get('COURSE_SECRET_SEED'))"
    assert run(show, seed="s3cret")[0].output == "s3cret\n"
    assert run(show)[0].output == "None\n"


def test_the_folder_is_empty_and_goes_away(run):
    where = "import os\nprint(os.getcwd())\nprint(os.listdir())\nopen('mess', 'w').close()"
    folder, listed = run(where)[0].output.splitlines()
    assert listed == "[]"
    assert not os.path.exists(folder)


def test_our_own_folder_is_not_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise RuntimeError('a stranger')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with Fast() as engine:
        (result,) = engine.run(notebook("import numpy\nprint(numpy.__name__)"))
    assert result.status == "ok", result.traceback


# --- cells that do not come to an end ------------------------------------------------------


@needs_timers
@pytest.mark.parametrize("source", [
    "while True: pass",
    "while True:\n    try:\n        while True: pass\n    except Exception: pass",
    "import time\ntime.sleep(10**6)",
    "x = 10**10**8",
])  # fmt: skip
def test_the_time_limit(run, source):
    results = run("a = 1", source, "print(a)")
    assert states(results) == ["ok", "timeout", "ok"]
    assert results[2].output == "1\n"


@needs_timers
def test_a_cell_that_catches_everything_is_ended_with_its_process(run):
    stubborn = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    results = run("a = 1", stubborn, "print(a)", stubborn)
    assert states(results) == ["ok", "timeout", "ok", "timeout"]


def test_code_that_python_cannot_interrupt_is_ended_too(run, monkeypatch):
    lines = module.engine.collect
    monkeypatch.setattr(
        module.engine, "collect", lambda found, patience: lines(found, patience=2.0)
    )
    stuck = "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')"
    assert states(run("a = 1", stuck, "print(a)")) == ["ok", "timeout", "ok"]


@pytest.mark.parametrize("source", [
    "import os\nos._exit(0)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "import ctypes\nctypes.string_at(0)",
])  # fmt: skip
def test_a_cell_that_ends_the_process_costs_itself_only(run, source):
    results = run("a = 1", source, "print(a)", limits=Limits(cell_seconds=20))
    assert states(results) == ["ok", "died", "ok"]
    assert results[2].output == "1\n"


def test_threads_and_exit_functions_do_not_outlive_the_notebook(run, tmp_path):
    mark = tmp_path / "mark"
    source = (
        "import atexit, subprocess, sys, threading\n"
        f"atexit.register(lambda: open({str(mark)!r}, 'w').close())\n"
        "threading.Thread(target=lambda: [print('x') for _ in iter(int, 1)]).start()\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print('child', child.pid)"
    )
    (result,) = run(source, limits=Limits(cell_seconds=20))
    assert result.status == "ok"
    assert ends(int(result.output.split("child ")[1].split()[0]))
    assert not mark.exists()


@pytest.mark.skipif(not module.CAN_FORK, reason="the promise is for Linux")
@pytest.mark.parametrize("last", ["pass", "os._exit(0)"])
def test_a_daemon_does_not_outlive_the_notebook(run, tmp_path, last):
    """With a session of its own, and no living parent: also after the notebook has died."""
    told = tmp_path / "pid"
    source = DAEMON.replace("print(", f"open({str(told)!r}, 'w').write(") + last
    results = run(source, "'on'", limits=Limits(cell_seconds=20))
    assert states(results) == ["ok" if last == "pass" else "died", "ok"]
    assert ends(int(told.read_text(encoding="utf-8")))


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("can_fork", [True, False])
def test_a_cell_that_forks(monkeypatch, can_fork):
    """The child runs no other cell, tells nothing, and keeps nobody waiting."""
    monkeypatch.setattr(module, "CAN_FORK", can_fork and module.CAN_FORK)
    with Fast() as engine:
        results = engine.run(
            notebook("import os\npid = os.fork()", "print(pid != 0)", "if not os.fork(): 1 / 0",
                     "import time\nif not os.fork(): time.sleep(600)", "os._exit(0)"),
            limits=Limits(cell_seconds=600),
        )  # fmt: skip
    assert states(results) == ["ok"] * 4 + ["died"]
    assert results[1].output == "True\n"


def test_many_at_once(fast):
    from concurrent.futures import ThreadPoolExecutor

    def one(i):
        return run_whole(fast, notebook(f"a = {i}", "print(a)"))["c1"].output

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(one, range(12))] == [f"{i}\n" for i in range(12)]


def test_without_fork_the_results_are_the_same(monkeypatch, run):
    sources = ("a = 2", "print(a)", "1 / 0", "import os\nos._exit(1)", "print('end')")
    forked = run(*sources, seed="s")
    monkeypatch.setattr(module, "CAN_FORK", False)
    assert run(*sources, seed="s") == forked


def test_a_zygote_that_cannot_start_is_an_engine_error(monkeypatch):
    monkeypatch.setattr(module, "COMMAND", [sys.executable, "-c", "raise SystemExit('no numpy')"])
    with Fast() as engine, pytest.raises(EngineError, match="did not start"):
        engine.run(notebook("1"))


@pytest.mark.skipif(not module.CAN_FORK, reason="needs the zygote")
def test_a_zygote_that_ended_is_replaced():
    with Fast() as engine:
        assert states(engine.run(notebook("1"))) == ["ok"]
        processes.kill_tree(engine._zygote.pid)
        engine._zygote.wait()
        assert states(engine.run(notebook("1"))) == ["ok"]


@pytest.mark.skipif(not module.CAN_FORK, reason="needs the zygote")
def test_the_zygote_has_read_no_notebook(fast):
    """Its memory is what each child starts with: no test, no other student."""
    secret = "the-secret-of-another-student"
    run_whole(fast, notebook(f"x = '{secret}'"))
    zygote = Path(f"/proc/{fast._zygote.pid}")
    with open(zygote / "mem", "rb", buffering=0) as memory:
        assert holds(memory, zygote, b"InteractiveShell")  # the search itself finds things
        assert not holds(memory, zygote, secret.encode())


def holds(memory, process, text):
    """Whether `text` is anywhere in what `process` can write to."""
    for line in (process / "maps").read_text(encoding="utf-8").splitlines():
        span, permissions, *_ = line.split()
        begin, end = (int(x, 16) for x in span.split("-"))
        if permissions.startswith("rw"):
            memory.seek(begin)
            if text in memory.read(end - begin):
                return True
    return False
