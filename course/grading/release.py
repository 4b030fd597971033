"""solutions/ -> assignments/: what students get, made by nbgrader and written in canonical form."""

import contextlib
import io
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from course import ROOT, Problem, notebooks
from course.grading import sets
from course.grading.lint import lint
from course.grading.sets import ProblemSet


class ReleaseError(Problem):
    """A source notebook breaks the conventions, or nbgrader refuses it; the message says where."""


def build(problem_set: ProblemSet) -> str:
    """Return the text of the released notebook of `problem_set`; nothing is left on the disk.

    Raises
    ------
    ReleaseError
        If the source cannot be released.
    """
    source = problem_set.relative(problem_set.source)
    try:
        wrong = lint(notebooks.read(problem_set.source))
    except (OSError, ValueError) as error:
        raise ReleaseError(f"{source} cannot be read: {error}") from None
    if wrong:
        raise ReleaseError("\n  ".join([f"{source} breaks the conventions:", *wrong]))
    with tempfile.TemporaryDirectory() as folder:
        return notebooks.canonical(notebooks.read(generate(problem_set, Path(folder))))


def generate(problem_set: ProblemSet, root: Path) -> Path:
    """Let nbgrader release `problem_set` in a course folder of its own at `root`.

    The folder then has what autograding needs: the sources and the gradebook.

    Returns
    -------
    pathlib.Path
        The released notebook.
    """
    there = ProblemSet(problem_set.name, root)
    there.source.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(problem_set.source, there.source)
    nbgrader = import_nbgrader()
    run(nbgrader.converters.GenerateAssignment, config(root), there, student=".")
    return there.release


def import_nbgrader() -> Any:
    """Return nbgrader, imported in half the usual time and able to find its own helper.

    On import, jsonschema builds 35 parsers for a string format that no schema of Jupyter's uses;
    without that optional package it does not. And nbgrader calls the program ``alembic``, which is
    beside our Python but not on the PATH of an environment that nobody activated.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    programs = str(Path(sys.executable).parent)
    if programs not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", "")])
    import nbgrader.converters
    import nbgrader.coursedir

    return nbgrader


def config(root: Path) -> Any:
    """Return the settings in nbgrader_config.py, for a course folder at `root`."""
    from traitlets.config import PyFileConfigLoader

    settings = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    settings.CourseDirectory.root = str(root)
    return settings


def run(converter: type, settings: Any, problem_set: ProblemSet, *, student: str) -> None:
    """Run one of nbgrader's converters on one notebook.

    Raises
    ------
    ReleaseError
        If it fails; the message holds what it logged.
    """
    settings = settings.copy()
    settings.CourseDirectory.assignment_id = problem_set.name
    settings.CourseDirectory.student_id = student
    log = logging.Logger("nbgrader", level=logging.WARNING)
    said = io.StringIO()
    log.addHandler(logging.StreamHandler(said))
    directory = import_nbgrader().coursedir.CourseDirectory(config=settings, log=log)
    try:
        # its messages are in the log; what its libraries print concerns nobody
        with contextlib.redirect_stderr(io.StringIO()):
            converter(coursedir=directory, config=settings, log=log, force=True).start()
    except Exception as error:  # nbgrader raises whatever its parts raise
        raise ReleaseError(
            f"nbgrader fails on {problem_set.name}: {error}\n{said.getvalue()}"
        ) from error


def release(names: Sequence[str], *, check: bool, root: Path = ROOT) -> int:
    """Make assignments/ from solutions/, or with `check` only compare; print what differs.

    Returns
    -------
    int
        1 if something differs that was not mended, else 0.
    """
    chosen = [sets.find(name, root) for name in names] or sets.all_sets(root)
    bar = tqdm(chosen, desc="release", unit="set", leave=False)
    texts = {each: text for each in bar if (text := outdated(each)) is not None}
    for problem_set, text in texts.items():
        name = problem_set.relative(problem_set.release)
        if check:
            print(f"{name} is not what {problem_set.relative(problem_set.source)} makes.")
        else:
            problem_set.release.parent.mkdir(parents=True, exist_ok=True)
            problem_set.release.write_text(text, encoding="utf-8", newline="\n")
            print(f"{name} is new.")
    if check and texts:
        print("Mend it with: python3 -m course release")
    left_over = strays(root)
    for name in left_over:
        print(f"{name} is made from nothing in solutions/: delete it.")
    if not texts and not left_over:
        print(f"assignments/ is what solutions/ makes ({len(chosen)} checked).")
    return 1 if left_over or (check and texts) else 0


def outdated(problem_set: ProblemSet) -> str | None:
    """Return what the released notebook should be, if it is not byte for byte that."""
    text, path = build(problem_set), problem_set.release
    return None if path.is_file() and path.read_bytes() == text.encode() else text


def strays(root: Path = ROOT) -> list[str]:
    """Return the files in assignments/ that no set puts there."""
    released = {problem_set.release for problem_set in sets.all_sets(root)}
    return [
        path.relative_to(root).as_posix()
        for path in sorted((root / "assignments").rglob("*"))
        if path.is_file() and path not in released and ".ipynb_checkpoints" not in path.parts
    ]
