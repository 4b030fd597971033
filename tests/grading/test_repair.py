"""Damaged notebooks: what goes on, and what is said about it. Nothing runs here."""

import copy

import pytest
import toy

from course.grading import repair
from course.grading.repair import Unreadable

ANSWERS = {*toy.ANSWERS, "why"}


@pytest.fixture
def taken(solution, blueprint):
    """Return a function that changes the solution and returns what repair makes of it."""

    def take(change=lambda notebook: None):
        change(solution)
        return repair.clean(solution, blueprint)

    return take


def at(notebook, cell_id):
    return next(i for i, cell in enumerate(notebook["cells"]) if cell["id"] == cell_id)


def cell(notebook, cell_id):
    return notebook["cells"][at(notebook, cell_id)]


def source(submission, cell_id):
    return cell(submission.notebook, cell_id)["source"]


def ids(submission):
    return [c["id"] for c in submission.notebook["cells"]]


def same_but_answers(submission, blueprint):
    """Whether everything that is not the student's is as it was released."""
    ours = [c for c in submission.notebook["cells"] if not c["id"].startswith("own-")]
    released = blueprint.notebook["cells"]
    return [c["id"] for c in ours] == [c["id"] for c in released] and all(
        mine == theirs | ({"source": mine["source"]} if mine["id"] in ANSWERS else {})
        for mine, theirs in zip(ours, released, strict=True)
    )


def test_a_whole_notebook_needs_no_repair(taken, solution, blueprint):
    submission = taken()
    assert (submission.flags, submission.untouched, submission.missing) == ([], set(), set())
    assert same_but_answers(submission, blueprint)
    for key in ANSWERS:
        assert source(submission, key) == cell(solution, key)["source"]


def test_the_release_is_untouched(untouched, blueprint):
    submission = repair.clean(untouched, blueprint)
    assert submission.untouched == ANSWERS
    assert submission.notebook == blueprint.notebook
    assert not submission.flags


def test_a_deleted_test_comes_back(taken, blueprint):
    submission = taken(lambda n: n["cells"].remove(cell(n, "test_ridge")))
    assert submission.flags == ["The test cell test_ridge was missing; it is back."]
    assert same_but_answers(submission, blueprint)


def test_a_deleted_answer_is_missing(taken, blueprint):
    submission = taken(lambda n: n["cells"].remove(cell(n, "ridge")))
    assert submission.missing == {"ridge"}
    assert submission.flags == ["The answer cell ridge is missing."]
    assert "None  # your answer" in source(submission, "ridge")


def test_a_duplicated_test_runs_once(taken, blueprint):
    def duplicate(notebook):
        extra = copy.deepcopy(cell(notebook, "test_ridge")) | {"id": "f00"}
        notebook["cells"].append(extra)

    submission = taken(duplicate)
    assert submission.flags == ["The test cell test_ridge is there 2 times; it runs once."]
    assert same_but_answers(submission, blueprint)


@pytest.mark.parametrize("new_id", ["ridge", "f00"])
def test_of_two_answers_the_last_edited_one_counts(taken, new_id):
    def duplicate(notebook):
        here = at(notebook, "ridge")
        first, last = (copy.deepcopy(notebook["cells"][here]) for _ in range(2))
        first["source"], last["source"] = "# cell: ridge\nridge = 1", "# cell: ridge\nridge = 2"
        notebook["cells"][here : here + 1] = [first, last | {"id": new_id}]

    submission = taken(duplicate)
    assert source(submission, "ridge") == "# cell: ridge\nridge = 2"
    assert submission.flags == [
        "The answer cell ridge is there 2 times; the last edited one counts."
    ]


def test_a_copy_of_the_stub_does_not_hide_the_answer(taken, untouched):
    submission = taken(lambda n: n["cells"].append(copy.deepcopy(cell(untouched, "ridge"))))
    assert "989e12" in source(submission, "ridge")


def test_a_copy_made_into_something_else_does_not_hide_the_answer(taken):
    def copied(notebook):
        extra = copy.deepcopy(cell(notebook, "matmul_flops"))
        extra["source"] = "# cell: matmul_flops\nother = 1"
        notebook["cells"].append(extra)

    assert "2 * m * n * k" in source(taken(copied), "matmul_flops")


def test_an_answer_in_a_cell_of_ones_own_counts(taken, untouched):
    def elsewhere(notebook):
        here = at(notebook, "matmul_flops")
        own = toy.free("f00", "def matmul_flops(m, n, k):\n    return 7")
        notebook["cells"][here : here + 1] = [copy.deepcopy(cell(untouched, "matmul_flops")), own]

    submission = taken(elsewhere)
    assert "return 7" in source(submission, "matmul_flops")
    assert submission.untouched == set()
    assert submission.flags == ["The answer matmul_flops stood in a cell of your own; it counts."]


def test_an_experiment_does_not_replace_the_answer(taken):
    own = toy.free("f00", "def matmul_flops(m, n, k):\n    return 7")
    submission = taken(lambda n: n["cells"].append(own))
    assert "2 * m * n * k" in source(submission, "matmul_flops")
    assert "own-1" not in ids(submission)


def test_cells_that_answers_need_come_along_and_others_do_not(taken):
    def with_helpers(notebook):
        here = at(notebook, "matmul_flops")
        cell(notebook, "matmul_flops")["source"] = (
            "def matmul_flops(m, n, k):\n    return f(m, n) * k"
        )
        cell(notebook, "why")["source"] = "unused"
        notebook["cells"][here:here] = [
            toy.free("a", "import math as maths"),
            toy.free("b", "%timeit 1\ndef f(m, n):\n    return 2 * maths.prod([m, n])"),
            toy.free("c", "unused = 1\nwhile True: pass"),
            toy.free("d", "f(1, 2)"),
            toy.free("e", "f is a text", "markdown"),
        ]

    submission = taken(with_helpers)
    place = at(submission.notebook, "matmul_flops")
    assert ids(submission)[place - 3 : place] == ["ask_matmul_flops", "own-1", "own-2"]
    assert source(submission, "own-1") == "import math as maths"
    assert "own-3" not in ids(submission)
    assert submission.flags == []


def test_a_cell_that_redefines_what_is_not_its_own_stays_behind(taken):
    def redefining(notebook):
        cell(notebook, "matmul_flops")["source"] = "def matmul_flops(m, n, k):\n    return f(np, m)"
        notebook["cells"] += [
            toy.free("a", "def f(m): pass\ndef matmul_flops(m, n, k): return f(m)"),
            toy.free("b", "np = None"),
        ]

    assert not [i for i in ids(taken(redefining)) if i.startswith("own-")]


def test_an_answer_is_not_its_own_helper(taken):
    def half(notebook):
        cell(notebook, "matmul_flops")["source"] = "# cell: matmul_flops\ntwo = 2"
        cell(notebook, "ridge")["source"] = "ridge = two"

    submission = taken(half)
    assert source(submission, "matmul_flops") == "# cell: matmul_flops\ntwo = 2"
    assert "own-1" not in ids(submission)


@pytest.mark.parametrize("handle", ["grade_id", "id", "marker", None])
def test_one_handle_is_enough_for_a_half_written_answer(taken, handle):
    def only_one(notebook):
        for i, each in enumerate(notebook["cells"]):
            each["id"] = each["id"] if handle == "id" else f"cell-{i}"
            if handle != "grade_id":
                each["metadata"] = {}
            if each["source"].startswith("# cell: ridge"):
                marker = "# cell: ridge\n" if handle == "marker" else ""
                each["source"] = f"{marker}ridge = (1"

    submission = taken(only_one)
    assert submission.missing == (set() if handle else {"ridge"})
    if handle:
        assert source(submission, "ridge").endswith("ridge = (1")


def test_both_halves_of_a_split_answer_come_along(taken):
    def split(notebook):
        here = at(notebook, "matmul_flops")
        first = copy.deepcopy(notebook["cells"][here]) | {"source": "# cell: matmul_flops\ntwo = 2"}
        rest = toy.free("f00", "def matmul_flops(m, n, k):\n    return two * m * n * k")
        notebook["cells"][here : here + 1] = [first, rest]

    submission = taken(split)
    assert "two * m" in source(submission, "matmul_flops")
    assert source(submission, "own-1") == "# cell: matmul_flops\ntwo = 2"
    assert ids(submission).index("own-1") < ids(submission).index("test_matmul_flops")


@pytest.mark.parametrize("ids_too", [False, True])
@pytest.mark.parametrize("markers_too", [False, True])
def test_stripped_metadata(taken, blueprint, ids_too, markers_too):
    def strip(notebook):
        for i, each in enumerate(notebook["cells"]):
            each["metadata"] = {}
            if ids_too:
                each["id"] = f"cell-{i}"
            if markers_too and each["source"].startswith("# cell:"):
                each["source"] = each["source"].split("\n", 1)[1]

    submission = taken(strip)
    assert same_but_answers(submission, blueprint)
    assert (submission.untouched, submission.missing) == (set(), set())
    assert "2 * m * n * k" in source(submission, "matmul_flops")
    assert source(submission, "why") == "Because of the caches."
    (flag,) = submission.flags
    assert flag.startswith("The grading data of 15 cells was missing")


def test_an_untouched_notebook_stays_untouched_when_stripped(untouched, blueprint):
    for i, each in enumerate(untouched["cells"]):
        each |= {"metadata": {}, "id": f"cell-{i}"}
        each["source"] = (
            each["source"].split("\n", 1)[-1] if "# cell" in each["source"] else each["source"]
        )
    assert repair.clean(untouched, blueprint).untouched == ANSWERS


def test_nothing_left_to_recognise(solution, blueprint):
    solution["cells"] = [toy.free("a", "print(1)"), toy.free("b", "def f(:")]
    with pytest.raises(Unreadable, match="none of the 5 answer cells"):
        repair.clean(solution, blueprint)
    with pytest.raises(Unreadable, match="none of the 5 answer cells"):
        repair.clean({"cells": []}, blueprint)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("points", 300),
        ("grade", False),
        ("solution", True),
        ("schema_version", 4),
        ("locked", False),
    ],
)
def test_changed_grading_data_has_no_effect(taken, blueprint, key, value):
    submission = taken(lambda n: cell(n, "test_ridge")["metadata"]["nbgrader"].update({key: value}))
    assert same_but_answers(submission, blueprint)
    (flag,) = submission.flags
    assert flag == (
        f"The grading data of test_ridge was changed ({key}: {value}); the course's own is used."
    )


def test_missing_points_and_odd_types(taken, blueprint):
    def odd(notebook):
        del cell(notebook, "test_ridge")["metadata"]["nbgrader"]["points"]
        cell(notebook, "ridge")["metadata"]["nbgrader"] = ["a", "list"]
        cell(notebook, "square_bytes")["metadata"]["nbgrader"]["grade_id"] = {"a": 1}

    submission = taken(odd)
    assert same_but_answers(submission, blueprint)
    assert len(submission.flags) == 3


def test_a_forged_cell_is_ignored(taken, blueprint):
    forged = toy.graded("extra", "pass", points=100, grade=True, locked=True)
    submission = taken(lambda n: n["cells"].append(forged))
    assert same_but_answers(submission, blueprint)
    assert submission.flags == [
        "A cell calls itself graded, but the set has no 'extra'; it is ignored."
    ]


def test_an_edited_test_is_replaced(taken, blueprint):
    submission = taken(lambda n: cell(n, "test_ridge").update(source="# cell: test_ridge\npass"))
    assert submission.flags == ["The test cell test_ridge was changed; the original runs."]
    assert same_but_answers(submission, blueprint)


def test_an_edited_setup_is_replaced(taken, blueprint):
    submission = taken(lambda n: cell(n, "setup").update(source="# cell: setup\ntoy = None"))
    assert submission.flags == ["The locked cell setup was changed; the original runs."]
    assert same_but_answers(submission, blueprint)


def test_cells_of_another_type(taken, blueprint):
    def retyped(notebook):
        cell(notebook, "test_ridge")["cell_type"] = "markdown"
        cell(notebook, "ridge")["cell_type"] = "markdown"

    submission = taken(retyped)
    assert same_but_answers(submission, blueprint)
    assert submission.flags == [
        "The answer cell ridge was turned into a markdown cell; its text counts.",
        "The test cell test_ridge was changed; the original runs.",
    ]


def test_moved_cells(taken, blueprint):
    submission = taken(lambda n: n["cells"].reverse())
    assert same_but_answers(submission, blueprint)
    assert submission.flags == ["Cells were moved; they run in the order of the release."]


def test_half_written_answers_are_answers(taken):
    submission = taken(lambda n: cell(n, "ridge").update(source="# cell: ridge\nridge = (1"))
    assert source(submission, "ridge") == "# cell: ridge\nridge = (1"
    assert submission.untouched == set()


def test_nothing_is_run(taken, tmp_path):
    mark = tmp_path / "ran"
    bad = f"open({str(mark)!r}, 'w')\nridge = 1"
    taken(lambda n: cell(n, "ridge").update(source=bad))
    assert not mark.exists()
