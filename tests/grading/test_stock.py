"""The stock engine: cells that would end nbgrader's kernel, or make it silent."""

import sys

import pytest
from harness import DAEMON, ends, questions

from course.grading.engine import Limits


def set_cell(notebook, cell_id, source):
    next(c for c in notebook["cells"] if c["id"] == cell_id)["source"] = source


RIGHT = "\ndef square_bytes(n):\n    return 4 * n * n"


@pytest.mark.parametrize(("source", "says"), [
    ("exit()", "SystemExit: a cell cannot end the session here: remove exit()"),
    ("quit()", "SystemExit: a cell cannot end the session here"),
    ("import sys\nsys.exit(1)", "SystemExit: 1"),
    ("import os\nos._exit(0)", "ended the whole Python process"),
])  # fmt: skip
def test_the_end_of_a_program_costs_its_own_cell_only(stock, blueprint, solution, source, says):
    set_cell(solution, "square_bytes", source + RIGHT)
    # a kernel that was told to exit answers for a while
    set_cell(solution, "block_flops", "import time\ntime.sleep(2)\ndef block_flops(n):\n"
             "    return 6 * n**3")  # fmt: skip
    found = questions(solution, blueprint, stock, limits=Limits(cell_seconds=20))
    assert [q.state for q in found.values()] == ["right", "wrong", "right", "right", "by hand"]
    assert says in found["test_square_bytes"].message
    assert "square_bytes" in found["test_square_bytes"].message


@pytest.mark.parametrize("source", [
    "import sys\nsys.stdout = sys.stderr = None",
    "import sys\nsys.stdout.close()",
    "for i in range(500_000): print('line', i)",
    "import os\nos.fork()",
])  # fmt: skip
def test_what_a_cell_does_to_its_output_costs_nothing(stock, blueprint, solution, source):
    set_cell(solution, "square_bytes", source + RIGHT)
    found = questions(solution, blueprint, stock, limits=Limits(cell_seconds=20))
    assert [q.state for q in found.values()] == ["right"] * 4 + ["by hand"]


@pytest.mark.skipif(sys.platform != "linux", reason="the promise is for Linux")
def test_a_daemon_does_not_outlive_the_notebook(stock, blueprint, solution, tmp_path):
    told = tmp_path / "pid"
    set_cell(solution, "square_bytes", DAEMON.replace("print(", f"open({str(told)!r}, 'w').write(")
             + RIGHT)  # fmt: skip
    found = questions(solution, blueprint, stock, limits=Limits(cell_seconds=60))
    assert [q.state for q in found.values()] == ["right"] * 4 + ["by hand"]
    assert ends(int(told.read_text(encoding="utf-8")))
