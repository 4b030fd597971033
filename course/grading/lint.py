"""The conventions of the course's notebooks, as lists of what breaks them.

Every rule is there for a reason that bit somebody: a cell without a marker cannot be found again
after another editor has stripped its metadata, a question inside an answer cell vanishes from the
release, a test cell with logic of its own cannot be run in another process.
"""

import ast
import itertools
import re

from course.grading import cells
from course.grading.cells import Cell, Notebook

HEADING = re.compile(r"^(#{1,6}) ", re.M)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
IMAGE = re.compile(r"!\[\s*\]\(|<img(?![^>]*\balt=[\"'][^\"'])[^>]*>")
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def lint(notebook: Notebook) -> list[str]:
    """Return what is wrong with `notebook`, one line each; an assignment meets more rules."""
    wrong = lint_page(notebook)
    if any(cells.metadata(cell) for cell in notebook["cells"]):
        wrong += lint_assignment(notebook)
    return wrong


def lint_page(notebook: Notebook) -> list[str]:
    """Check what holds for every notebook: ids, headings, alternative texts."""
    wrong = []
    ids = [cell.get("id", "") for cell in notebook["cells"]]
    wrong += [f"two cells have the id {i!r}" for i in sorted({i for i in ids if ids.count(i) > 1})]
    wrong += [f"the cell id {i!r} is not a short name" for i in ids if not ID.fullmatch(i)]
    texts = [FENCE.sub("", c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]
    levels = [len(marks) for text in texts for marks in HEADING.findall(text)]
    if levels.count(1) != 1 or levels[0] != 1:
        wrong.append(f"a notebook has one H1 and starts with it; this one has {levels.count(1)}")
    for above, below in itertools.pairwise(levels):
        if below > above + 1:
            wrong.append(f"a heading of level {below} stands below one of level {above}")
    wrong += [
        f"an image without alt text: {found[0][:60]}"
        for t in texts
        for found in [IMAGE.search(t)]
        if found
    ]
    return wrong


def lint_lecture(notebook: Notebook) -> list[str]:
    """Check what a lecture has besides: a tier line, its outcomes, its questions."""
    wrong = lint(notebook)
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    text = "\n".join(c["source"] for c in notebook["cells"] if c["cell_type"] == "markdown")
    if not code or "tiers.banner()" not in code[0]:
        wrong.append("the first code cell does not print the tier line, tiers.banner()")
    if not re.search(r"you will learn[^\n]*\n+\s*([-*]|\d\.) ", text, flags=re.I):
        wrong.append("there is no list that says what 'you will learn'")
    questions = text.count("<details>")
    if not 4 <= questions <= 8:
        wrong.append(
            f"a lecture has 4 to 8 questions with hidden answers; this one has {questions}"
        )
    if text.count("</details>") != questions:
        wrong.append("a <details> is not closed")
    return wrong


def lint_assignment(notebook: Notebook) -> list[str]:
    """Check the conventions of an assignment with answers, as solutions/ holds them."""
    wrong, bound, previous = [], set(), None
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    checks = checks_name(code[0]) if code else None
    if checks is None:
        wrong.append("the first code cell is not a locked `from course.checks import SET as NAME`")
    for cell in notebook["cells"]:
        kind = cells.role(cell)
        if kind != "free":
            wrong += [f"{cell['id']}: {fault}" for fault in lint_graded(cell, kind)]
        if kind == "answer":
            bound |= functions_and_values(cell)
        elif kind == "test":
            wrong += [f"{cell['id']}: {fault}" for fault in lint_test(cell, checks, bound)]
        elif kind == "essay" and (previous is None or cells.role(previous) != "locked"):
            wrong.append(f"{cell['id']}: its question has no locked cell of its own right above it")
        previous = cell
    return wrong


def checks_name(cell: Cell) -> str | None:
    """Return the name under which the locked `cell` imports the checks of the set, if it does."""
    tree = cells.parse(cell["source"]) if cells.role(cell) == "locked" else None
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ImportFrom) and node.module == "course.checks":
            return node.names[0].asname or node.names[0].name
    return None


def lint_graded(cell: Cell, kind: cells.Role) -> list[str]:
    """Check one cell that nbgrader knows."""
    noted, wrong = cells.metadata(cell), []
    if noted.get("grade_id") != cell["id"]:
        wrong.append(f"its grade_id is {noted.get('grade_id')!r}, not the cell's id")
    if noted.get("schema_version") != 3:
        wrong.append(f"its schema_version is {noted.get('schema_version')!r}, not 3")
    if kind in ("test", "essay") and not float(noted.get("points") or 0) > 0:
        wrong.append(f"it is worth {noted.get('points')!r} points, which is not more than 0")
    if cell["cell_type"] == "code" and cells.marker(cell) != cell["id"]:
        wrong.append(f"its first line is not `# cell: {cell['id']}`")
    if "BEGIN HIDDEN TESTS" in cell["source"] or "BEGIN MARK SCHEME" in cell["source"]:
        wrong.append("hidden tests and mark schemes do not belong in a public notebook")
    if kind == "answer":
        wrong += lint_answer(cell)
    elif "SOLUTION" in cell["source"] and cell["cell_type"] == "code":
        wrong.append("only an answer cell may hold a solution")
    return wrong


def lint_answer(cell: Cell) -> list[str]:
    """Check that a code answer marks its solution and binds the same names without it."""
    if cell["cell_type"] != "code":
        return ["an answer that a test judges is a code cell"]
    solutions = cells.SOLUTION.findall(cell["source"])
    marks = cell["source"].count("BEGIN SOLUTION"), cell["source"].count("END SOLUTION")
    if not solutions or marks != (len(solutions), len(solutions)):
        return ["its solution is not between the lines ### BEGIN SOLUTION and ### END SOLUTION"]
    if not cells.defines(cell):
        return ["it defines no name that a test could use"]
    return []


def functions_and_values(cell: Cell) -> set[str]:
    """Return what `cell` binds that is plain enough for another process: anything but classes."""
    tree = cells.parse(cell["source"])
    classes = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)} if tree else set()
    return cells.defines(cell) - classes


def lint_test(cell: Cell, checks: str | None, bound: set[str]) -> list[str]:
    """Check that a test cell is one call of the checks with names that answers above it bind."""
    match cells.parse(cell["source"]):
        case ast.Module(body=[ast.Expr(ast.Call(ast.Attribute(ast.Name(owner)), args, []))]):
            wrong = [] if owner == checks else [f"it calls {owner!r}, not the checks ({checks!r})"]
            for arg in args:
                if not isinstance(arg, ast.Name):
                    wrong.append(f"its argument `{ast.unparse(arg)}` is not just a name")
                elif arg.id not in bound:
                    wrong.append(f"no answer above it binds `{arg.id}` to a function or a value")
            return wrong if args else ["its check is given nothing of the student's"]
    return ["it is not one call of the checks, like `ps2.matmul_flops(matmul_flops)`"]
