"""A problem set without Jupyter: its cells run in a plain namespace, some of them replaced."""

import ast
import contextlib
import io
import linecache
import re
from dataclasses import dataclass, field
from pathlib import Path

from course import ROOT, notebooks

SECTION = re.compile(r"^# %% cell: (\S+)\n", re.M)


@dataclass
class Submission:
    """A file of tests/submissions: what it claims about itself, and the cells it replaces.

    A line ``# seed: X`` says that it loses its points when graded with the secret seed X, and none
    with the public one.
    """

    name: str
    doc: str
    loses: list[str]
    says: str
    seed: str | None
    cells: dict[str, str]


def submission(path: Path) -> Submission:
    head, *parts = SECTION.split(path.read_text(encoding="utf-8"))
    said = dict(re.findall(r"^# (\w+): (.*)$", head, re.M))
    loses = [name.strip() for name in said.get("loses", "").split(",") if name.strip()]
    cells = dict(zip(parts[::2], parts[1::2], strict=True))
    doc = ast.get_docstring(ast.parse(head)) or ""
    return Submission(path.stem, doc, loses, said.get("says", ""), said.get("seed"), cells)


def submissions(set_name: str, kind: str) -> list[Submission]:
    folder = ROOT / "tests" / "submissions" / set_name
    return [submission(path) for path in sorted(folder.glob(f"{kind}_*.py"))]


@dataclass
class Outcome:
    """What the test cells of a sheet said."""

    right: list[str] = field(default_factory=list)
    wrong: dict[str, Exception] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)


class Sheet:
    """The notebook of a set: solution cells run, then its test cells, one verdict each."""

    def __init__(self, set_name: str) -> None:
        path = ROOT / "solutions" / set_name / f"{set_name}.ipynb"
        self.cells = [c for c in notebooks.read(path)["cells"] if c["cell_type"] == "code"]

    def role(self, cell: dict) -> str:
        noted = cell["metadata"].get("nbgrader", {})
        if noted.get("grade"):
            return "test"
        return "answer" if noted.get("solution") else "locked" if noted.get("locked") else "free"

    def ids(self, role: str) -> list[str]:
        return [cell["id"] for cell in self.cells if self.role(cell) == role]

    def source(self, cell_id: str) -> str:
        return next(cell["source"] for cell in self.cells if cell["id"] == cell_id)

    def run(self, replaced=None, *, wrap=None, last=False) -> Outcome:
        """Run the cells in order; with `last`, all test cells after all other ones.

        `wrap` is put around each function that a test cell hands to its check.
        """
        space, outcome = {"__name__": "__main__"}, Outcome()
        cells = [cell for cell in self.cells if self.role(cell) != "free"]
        if last:
            cells.sort(key=lambda cell: self.role(cell) == "test")
        for cell in cells:
            source = (replaced or {}).get(cell["id"], cell["source"])
            if self.role(cell) == "test":
                self._test(cell["id"], source, space, wrap, outcome)
            else:
                # a cell that fails does not stop a notebook
                with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                    execute(cell["id"], source, space)
        return outcome

    def _test(self, cell_id, source, space, wrap, outcome) -> None:
        handed = dict(space)
        if wrap:
            handed |= {n.id: wrap(space[n.id]) for n in arguments(source) if callable(space[n.id])}
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                execute(cell_id, source, handed)
        except Exception as error:
            outcome.wrong[cell_id] = error
        else:
            outcome.right.append(cell_id)
        outcome.printed[cell_id] = printed.getvalue()


def arguments(test_source: str) -> list[ast.Name]:
    (statement,) = ast.parse(test_source).body
    return [node for node in statement.value.args if isinstance(node, ast.Name)]


def execute(name: str, source: str, space: dict) -> None:
    """Run a cell so that tracebacks find its lines, as IPython does."""
    file = f"<cell {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), space)
