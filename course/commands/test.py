"""``test``: style and tests, the same way everywhere."""

import argparse
import difflib
import importlib.util
import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course import ROOT, Problem

HELP = "check the style and run the tests (further arguments are pytest's)"

#: Each worker loads PyTorch: more of them cost memory and gain little.
MOST_WORKERS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``test``; what it does not know is pytest's."""
    parser.add_argument("--all", action="store_true", help="run the slow tests as well")
    parser.usage = "%(prog)s [--all] [pytest arguments, such as tests/test_cli.py or -n0 -x]"
    parser.set_defaults(passed_on=[])


def run(args: argparse.Namespace) -> int:
    """Run ruff and pytest; return 0 if both are content."""
    import pytest

    os.chdir(ROOT)
    require_files(args.passed_on)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the cores
    style = _Style()
    options = ["-rs"]  # why a test was skipped
    options += [] if args.all else ["-m", "not slow"]
    chosen = any(argument.startswith(("-n", "--numprocesses")) for argument in args.passed_on)
    if not chosen and importlib.util.find_spec("xdist"):  # COURSE_ENV=active may be without
        options += ["-n", str(min(os.cpu_count() or 1, MOST_WORKERS))]
    code = int(pytest.main([*options, *args.passed_on], plugins=[style]))
    return code or int(bool(style.complaints))


def require_files(arguments: Sequence[str]) -> None:
    """Raise Problem if one of pytest's `arguments` names a file or folder that is not here.

    What stands behind an option may be its value: it counts only if it looks like a test file.
    """
    for before, word in itertools.pairwise(["", *arguments]):
        name = word.split("::")[0]
        is_path = name.endswith(".py") or not before.startswith("-")
        if not is_path or word.startswith("-") or Path(name).exists():
            continue
        known = [path.as_posix() for path in sorted(Path("tests").rglob("test_*.py"))]
        close = difflib.get_close_matches(f"tests/{Path(name).name}", known, n=1, cutoff=0.8)
        guess = f" Did you mean {close[0]}?" if close else ""
        raise Problem(
            f"There is no file or folder {name} in the course.{guess} Give paths from the folder "
            "of the course, such as tests/test_cli.py, or none to run all tests."
        )


class _Style:
    """A pytest plugin that shows what ruff complains about, above pytest's last line."""

    def __init__(self) -> None:
        self.complaints = "".join(_ruff(*words) for words in (["check"], ["format", "--check"]))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.complaints:
            terminalreporter.section("style (python3 -m ruff)", red=True)
            terminalreporter.write(self.complaints)
            # the last line counts them beside what passed
            terminalreporter.stats["style errors"] = self.complaints.splitlines()


def _ruff(*words: str) -> str:
    """Return what ``ruff`` says, "" if all is well."""
    command = [sys.executable, "-m", "ruff", *words, "--quiet", "--output-format=concise"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    return (result.stdout + result.stderr) if result.returncode else ""
