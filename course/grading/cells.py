"""What the cells of an assignment are, and which names pass between them.

A notebook is plain data here, as `course.notebooks.read` returns it.
"""

import ast
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

from IPython.core.inputtransformer2 import TransformerManager

Cell = dict[str, Any]
Notebook = dict[str, Any]
Role = Literal["answer", "test", "essay", "locked", "free"]

MARKER = re.compile(r"\s*(?:#|//) cell: ([A-Za-z0-9_-]+)\s*$")
#: A solution in an answer cell: its indentation, the comment mark (# or //) and its text.
SOLUTION = re.compile(
    r"^([ \t]*)(###|//) BEGIN SOLUTION[ \t]*\n(.*?)^[ \t]*\2 END SOLUTION[ \t]*$", re.M | re.S
)
KERNEL = re.compile(r"__global__\s+void\s+(\w+)")
LAUNCH_BOUNDS = re.compile(r"__launch_bounds__\s*\([^)]*\)")


def metadata(cell: Cell) -> dict[str, Any]:
    """Return what nbgrader noted in `cell`; empty where that is missing or no mapping."""
    noted = cell.get("metadata", {}).get("nbgrader")
    return noted if isinstance(noted, dict) else {}


def role(cell: Cell) -> Role:
    """Return what `cell` is for.

    An answer is written by the student and judged by a test, an essay is written by the student and
    judged by a person, a locked cell belongs to the course, a free one to nobody.
    """
    noted = metadata(cell)
    if noted.get("solution"):
        return "essay" if noted.get("grade") else "answer"
    if noted.get("grade"):
        return "test"
    return "locked" if noted.get("locked") else "free"


def marker_line(cell: Cell) -> str:
    """Return the line where the marker stands: the first, or the second below a cell magic."""
    lines = cell["source"].split("\n", 2)
    return lines[1] if lines[0].startswith("%%") and len(lines) > 1 else lines[0]


def marker(cell: Cell) -> str | None:
    """Return the id in the marker ``# cell: id`` of `cell`; it survives every editor."""
    found = MARKER.match(marker_line(cell))
    return found[1] if found else None


@lru_cache(maxsize=4096)
def parse(source: str) -> ast.Module | None:
    """Return the syntax tree of a cell (magics translated), or None if it is not Python."""
    try:
        return ast.parse(TransformerManager().transform_cell(source))
    except Exception:  # the parser has four, and IPython's transformer (`x = %"""`) any of its own
        return None


def defines(cell: Cell) -> set[str]:
    """Return the names that a code cell binds at its top level; kernels for a CUDA C++ cell."""
    if cell["cell_type"] != "code":
        return set()
    if cell["source"].startswith("%%cuda"):
        return set(KERNEL.findall(LAUNCH_BOUNDS.sub("", cell["source"])))
    tree = parse(cell["source"])
    names: set[str] = set()
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).split(".")[0] for a in statement.names}
        else:
            names |= {
                n.id
                for n in ast.walk(statement)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
    return names


def uses(cell: Cell) -> set[str]:
    """Return the names that a code cell reads anywhere in it."""
    tree = parse(cell["source"]) if cell["cell_type"] == "code" else None
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} if tree else set()


def text(cell: Cell) -> str:
    """Return what somebody wrote in `cell`: no marker, no white space at the ends of lines."""
    lines = [line.rstrip() for line in cell["source"].splitlines() if not MARKER.match(line)]
    return "\n".join(lines).strip()


@dataclass(frozen=True)
class Blueprint:
    """A released notebook and what is known of its cells; the ground every submission stands on."""

    notebook: Notebook

    @cached_property
    def graded(self) -> dict[str, Cell]:
        """The cells that nbgrader knows, by id, in their order."""
        return {cell["id"]: cell for cell in self.notebook["cells"] if role(cell) != "free"}

    def of(self, *roles: Role) -> dict[str, Cell]:
        """Return the cells of the given roles by id."""
        return {key: cell for key, cell in self.graded.items() if role(cell) in roles}

    def title_of(self, key: str) -> str:
        """Return the heading under which the graded cell `key` stands; its id where there is none.

        How many points a question has, in brackets at the end of the heading, is left out.
        """
        title = key
        for cell in self.notebook["cells"]:
            if cell["id"] == key:
                break
            if cell["cell_type"] == "markdown":
                headings = re.findall(r"^#+ +(.+?) *$", cell["source"], flags=re.M)
                title = headings[-1] if headings else title
        return re.sub(r" *\([^()]*\bpoints?\b[^()]*\)$", "", title)

    def answers_of(self, test: str) -> list[str]:
        """Return the ids of the answer cells whose names the test cell `test` uses."""
        used = uses(self.graded[test])
        return [key for key in self.of("answer") if used & set(defines(self.graded[key]))]
