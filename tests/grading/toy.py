"""A small problem set, made to the conventions of the course, that tests may break at will."""

from pathlib import Path

from course import notebooks
from course.grading.sets import ProblemSet

CHECKS = str(Path(__file__).parent / "toy_checks")

ANSWERS = {
    "matmul_flops": """\
def matmul_flops(m, n, k):
    \"\"\"Return the FLOPs of an m x k times k x n product.\"\"\"
    ### BEGIN SOLUTION
    return 2 * m * n * k
    ### END SOLUTION
""",
    "square_bytes": """\
def square_bytes(n):
    ### BEGIN SOLUTION
    return 4 * n * n
    ### END SOLUTION
""",
    "block_flops": """\
def block_flops(n):
    ### BEGIN SOLUTION
    return 3 * matmul_flops(n, n, n)
    ### END SOLUTION
""",
    "ridge": """\
### BEGIN SOLUTION
ridge = 989e12 / 3.35e12
### END SOLUTION
""",
}
POINTS = {"matmul_flops": 2, "square_bytes": 3, "block_flops": 1, "ridge": 2}
AUTOMATIC, ESSAY = sum(POINTS.values()), 4


def graded(cell_id: str, source: str, kind: str = "code", points: float | None = None, **flags):
    noted = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
    noted |= {"grade_id": cell_id, **flags} | ({} if points is None else {"points": points})
    if kind == "code":
        source = f"# cell: {cell_id}\n{source}"
    return {
        "id": cell_id,
        "cell_type": kind,
        "metadata": {"nbgrader": noted},
        "source": source.strip(),
    }


def free(cell_id: str, source: str, kind: str = "code"):
    return {"id": cell_id, "cell_type": kind, "metadata": {}, "source": source}


def source_notebook() -> dict:
    setup = (
        f"import course.checks\ncourse.checks.__path__.append({CHECKS!r})\n"
        "from course.checks import toy\nimport numpy as np\n"
    )
    listed = [
        free("title", "# A toy\n\nFour questions and an essay.", "markdown"),
        graded("setup", setup, locked=True),
    ]
    for name, answer in ANSWERS.items():
        listed += [
            graded(f"ask_{name}", f"## Question\n\nWhat is `{name}`?", "markdown", locked=True),
            graded(name, answer, solution=True),
            graded(
                f"test_{name}", f"toy.{name}({name})", points=POINTS[name], grade=True, locked=True
            ),
        ]
    listed += [
        free("demo", "print(np.arange(3))"),
        graded("ask_why", "## Essay\n\nWhy is it so?", "markdown", locked=True),
        graded(
            "why", "Because of the caches.", "markdown", points=ESSAY, grade=True, solution=True
        ),
    ]
    return {"cells": listed}


def make_course(root: Path) -> ProblemSet:
    """Write the toy set into a course folder at `root`, source only."""
    problem_set = ProblemSet("toy", root)
    problem_set.source.parent.mkdir(parents=True)
    notebooks.write(problem_set.source, source_notebook())
    return problem_set
