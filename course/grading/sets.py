"""Problem sets: which there are, how they are called, where their files lie."""

import difflib
import shutil
from dataclasses import dataclass
from pathlib import Path

from course import ROOT, Problem, syllabus


@dataclass(frozen=True)
class ProblemSet:
    """A problem set `name` of the course in the folder `root`."""

    name: str
    root: Path = ROOT

    @property
    def filename(self) -> str:
        """The name of its notebook, the same everywhere."""
        return f"{self.name}.ipynb"

    @property
    def source(self) -> Path:
        """The notebook with answers, the only form that people edit."""
        return self.root / "solutions" / self.name / self.filename

    @property
    def release(self) -> Path:
        """The notebook that students get, generated from `source`."""
        return self.root / "assignments" / self.name / self.filename

    @property
    def work(self) -> Path:
        """The copy that a student of this checkout works in; git does not see it."""
        return self.root / "my" / self.name / self.filename

    def relative(self, path: Path) -> str:
        """Return `path` as a message names it: relative to the course where it lies in it."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )


def all_sets(root: Path = ROOT) -> list[ProblemSet]:
    """Return the problem sets of the course at `root`, by name."""
    return [
        ProblemSet(path.stem, root)
        for path in sorted((root / "solutions").glob("*/*.ipynb"))
        if path.stem == path.parent.name
    ]


def find(name: str, root: Path = ROOT) -> ProblemSet:
    """Return the problem set called `name`, or the only one whose name starts with it.

    Raises
    ------
    Problem
        If there is none or more than one; the message lists the sets, the closest first. Also if
        the syllabus plans it.
    """
    known = {each.name: each for each in all_sets(root)}
    if name in known:
        return known[name]
    begun = [each for each in known if each.startswith(name)] if name else []
    if len(begun) == 1:
        return known[begun[0]]
    if begun:
        raise Problem(f"{name!r} could be any of: {', '.join(begun)}.")
    listed = ", ".join(known) or "none: the folder solutions/ is empty"
    if planned := [each for each in syllabus.PROBLEM_SETS if name and each.startswith(name)]:
        raise Problem(
            f"{' and '.join(planned)}: planned, and not here yet. The sets that are here: {listed}."
        )
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    meant = f" Did you mean {close[0]}?" if close else ""
    raise Problem(f"There is no problem set {name!r}.{meant} The sets are: {listed}.")


def start(problem_set: ProblemSet) -> bool:
    """Copy the released notebook to where a student works, unless something is there.

    Returns
    -------
    bool
        Whether it was copied.

    Raises
    ------
    Problem
        If the set is not released.
    """
    if problem_set.work.exists():
        return False
    require_release(problem_set)
    problem_set.work.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(problem_set.release, problem_set.work)
    return True


def require_release(problem_set: ProblemSet) -> None:
    """Raise Problem unless the set is released."""
    if not problem_set.release.is_file():
        raise Problem(
            f"{problem_set.relative(problem_set.release)} is not there. Whoever teaches the course "
            "makes it with: python3 -m course release"
        )
