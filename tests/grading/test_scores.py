"""Points and messages, and that both engines find the same."""

import harness
import pytest
import toy

from course.grading.engine import CellResult, Limits
from course.grading.score import explain


def change(notebook, cell_id, source):
    next(c for c in notebook["cells"] if c["id"] == cell_id)["source"] = source
    return notebook


@pytest.fixture
def grade(fast, blueprint):
    return lambda notebook, **how: harness.questions(notebook, blueprint, fast, **how)


def test_the_solution(grade, solution):
    found = grade(solution)
    assert {q.id: q.score for q in found.values()} == {
        **{f"test_{name}": points for name, points in toy.POINTS.items()}, "why": 0,
    }  # fmt: skip
    assert sum(q.max for q in found.values()) == toy.AUTOMATIC + toy.ESSAY
    assert found["why"].state == "by hand"
    assert found["test_ridge"].message == "ridge: right"


def test_the_release(grade, untouched):
    found = grade(untouched)
    assert {q.state for q in found.values()} == {"not answered"}
    assert sum(q.score for q in found.values()) == 0


def test_a_wrong_function_costs_its_question_and_says_why(grade, solution):
    change(solution, "square_bytes", "def square_bytes(n):\n    return n * n")
    found = grade(solution)
    assert harness.lost(found) == ["test_square_bytes"]
    assert "A float has four bytes." in found["test_square_bytes"].message


def test_a_missing_answer(grade, solution):
    solution["cells"] = [c for c in solution["cells"] if c["id"] != "square_bytes"]
    found = grade(solution)
    assert harness.lost(found) == ["test_square_bytes"]
    assert found["test_square_bytes"].message == (
        "The answer cell square_bytes is missing from the notebook."
    )


def test_a_cell_with_a_mistake_in_it_names_the_line(grade, solution):
    change(solution, "square_bytes", "# cell: square_bytes\ndef square_bytes(n):\n    return (n")
    change(solution, "ridge", "# cell: ridge\n\nridge = 1 / 0")
    found = grade(solution)
    assert harness.lost(found) == ["test_square_bytes", "test_ridge"]
    said = found["test_square_bytes"].message
    assert said.startswith("Your cell square_bytes stops with SyntaxError: ")
    assert said.endswith(" (line 3)")
    assert found["test_ridge"].message == (
        "Your cell ridge stops with ZeroDivisionError: division by zero (line 3)"
    )


def test_a_misspelt_name_is_found(grade, solution):
    """Also by the questions that use the answer; a name that is merely wrong is no misspelt one."""
    change(solution, "matmul_flops", "def matmul_flop(m, n, k):\n    return 2 * m * n * k")
    change(solution, "square_bytes", "def size(n):\n    return 4 * n * n")
    found = grade(solution)
    assert harness.lost(found) == ["test_matmul_flops", "test_square_bytes", "test_block_flops"]
    hint = "\nYour cell matmul_flops defines matmul_flop: call it matmul_flops."
    assert found["test_matmul_flops"].message.endswith(f"is not defined (line 2){hint}")
    assert found["test_block_flops"].message.endswith(hint)
    assert found["test_square_bytes"].message.endswith("'square_bytes' is not defined (line 2)")


def test_an_essay_left_alone_is_not_read(grade, solution, untouched):
    essay = next(c for c in untouched["cells"] if c["id"] == "why")["source"]
    assert grade(change(solution, "why", essay))["why"].state == "not answered"


def test_the_last_value_of_a_test_is_no_score(fast, blueprint, solution):
    """nbgrader would take it for one; `1e9` points, or NaN, would do."""
    value = "# cell: square_bytes\nclass N(float):\n    __repr__ = lambda self: '1e9'\n"
    value += "def square_bytes(n):\n    return 1\n"
    found = harness.questions(change(solution, "square_bytes", value), blueprint, fast)
    assert found["test_square_bytes"].score == 0


def test_the_seed_changes_the_inputs(grade, solution):
    learnt = "asked = []\ndef square_bytes(n):\n    asked.append(n)\n    raise ValueError(asked)"
    change(solution, "square_bytes", learnt)
    said = {grade(solution, seed=s)["test_square_bytes"].message for s in (None, "a", "b", "c")}
    assert len(said) > 1
    assert grade(solution, seed="a") == grade(solution, seed="a")


@pytest.mark.parametrize(
    ("result", "own", "message"),
    [
        (CellResult("c", "timeout"), False, "Your f did not come to an end in time."),
        (CellResult("c", "died"), False, "Your f ended the whole Python process"),
        (CellResult("c", "error", "Wrong", "2, not 3"), False, "2, not 3"),
        (CellResult("c", "error", "EOFError", "EOF when reading"), True, "input() cannot be used"),
        (CellResult("c", "error", "StdinNotImplementedError", "x"), True, "input() cannot be used"),
        (CellResult("c", "error", "KeyError", "'a'"), False, "KeyError: 'a'"),
        (CellResult("c", "error", "E", ""), True, "Your f stops with E"),
    ],
)
def test_explanations(result, own, message):
    assert explain(result, "Your f", own=own).startswith(message)


# --- both engines ---------------------------------------------------------------------------

HONEST = {
    "solution": {},
    "one wrong": {"square_bytes": "def square_bytes(n):\n    return n * n"},
    "one raises": {"block_flops": "def block_flops(n):\n    return undefined"},
    "one half written": {"ridge": "ridge = (1"},
    "warns": {
        "square_bytes": "import sys, warnings\ndef square_bytes(n):\n    warnings.warn('careful')\n"
        "    print('noise', file=sys.stderr)\n    return 4 * n * n"
    },
    "prints a lot": {
        "square_bytes": "def square_bytes(n):\n    print('x' * 10**6)\n    return 4 * n * n"
    },
    "asks": {"ridge": "ridge = float(input())"},
    "leaves": {"ridge": "import sys\nsys.exit(0)"},
}


@pytest.mark.parametrize("name", HONEST)
def test_both_engines_give_the_same_points_and_messages(name, solution, blueprint, fast, stock):
    for cell_id, source in HONEST[name].items():
        change(solution, cell_id, source)
    by_fast = harness.questions(solution, blueprint, fast, seed="s")
    by_stock = harness.questions(solution, blueprint, stock, seed="s")
    assert {i: (q.state, q.score) for i, q in by_fast.items()} == {
        i: (q.state, q.score) for i, q in by_stock.items()
    }
    wrong = [i for i, q in by_fast.items() if q.state == "wrong"]
    assert [by_fast[i].message for i in wrong] == [by_stock[i].message for i in wrong]
    assert len(wrong) == (name not in ("solution", "warns", "prints a lot"))


def test_both_engines_agree_on_the_release(untouched, blueprint, fast, stock):
    for engine in (fast, stock):
        found = harness.questions(untouched, blueprint, engine)
        assert {q.state for q in found.values()} == {"not answered"}


@pytest.mark.slow
def test_stock_survives_what_ends_or_holds_up_a_kernel(solution, blueprint, stock):
    """Each such test costs itself, and the same worker grades on afterwards."""
    stubborn = "def square_bytes(n):\n while True:\n  try:\n   while True: pass\n"
    change(solution, "square_bytes", stubborn + "  except BaseException: pass")
    change(solution, "ridge", "import os\nos._exit(1)")
    limits = Limits(cell_seconds=3)
    found = harness.questions(solution, blueprint, stock, limits=limits)
    assert harness.lost(found) == ["test_square_bytes", "test_ridge"]
    assert "did not come to an end in time" in found["test_square_bytes"].message
    assert "Your cell ridge ended the whole Python process" in found["test_ridge"].message
    whole = harness.questions(toy.source_notebook(), blueprint, stock)
    assert not harness.lost(whole)


@pytest.mark.parametrize(("message", "traceback"), [
    ("too deep (<string>, line 0)", ""), ("too deep (line 0)", "Cell In[3], line 0"),
])  # fmt: skip
def test_no_message_speaks_of_line_0(message, traceback):
    """It is Python's word for nowhere."""
    result = CellResult("ridge", "error", "E", message, traceback)
    assert explain(result, "Your cell", own=True) == "Your cell stops with E: too deep"
