"""Every file of tests/submissions, made into a real notebook and graded."""

import harness
import pytest
from sheet import submissions

from course.grading import sets
from course.grading.stock import Stock

FILES = [
    pytest.param(problem_set, submission, id=f"{problem_set.name}-{submission.name}")
    for problem_set in sets.all_sets()
    for kind in ("right", "wrong")
    for submission in submissions(problem_set.name, kind)
]
SETS = [pytest.param(problem_set, id=problem_set.name) for problem_set in sets.all_sets()]


@pytest.mark.parametrize(("problem_set", "submission"), FILES)
def test_a_submission_loses_what_it_says(problem_set, submission, fast):
    notebook = harness.hand_in(problem_set, submission.cells)
    plan = harness.blueprint_of(problem_set)
    assert set(submission.loses) <= set(plan.of("test"))
    found = harness.questions(notebook, plan, fast, seed=submission.seed)
    assert harness.lost(found) == submission.loses
    if submission.loses:
        assert submission.says in found[submission.loses[0]].message
        assert submission.says, "a wrong submission names a fragment of the message"
    else:
        assert submission.name.startswith("right_"), "a wrong submission loses something"


@pytest.mark.parametrize("problem_set", SETS)
def test_the_set_has_submissions_of_both_kinds(problem_set):
    assert len(submissions(problem_set.name, "right")) >= 2
    caught = {name for s in submissions(problem_set.name, "wrong") for name in s.loses}
    assert caught == set(harness.blueprint_of(problem_set).of("test"))


@pytest.mark.parametrize("seed", [None, "another seed"])
@pytest.mark.parametrize("problem_set", SETS)
def test_the_reference_gets_full_marks(problem_set, seed, fast):
    plan = harness.blueprint_of(problem_set)
    found = harness.questions(harness.hand_in(problem_set, {}), plan, fast, seed=seed)
    assert harness.lost(found) == []
    assert {q.id for q in found.values() if q.state == "right"} == set(plan.of("test"))


@pytest.mark.parametrize("problem_set", SETS)
def test_the_untouched_release_gets_nothing(problem_set, fast):
    plan = harness.blueprint_of(problem_set)
    found = harness.questions(plan.notebook, plan, fast)
    assert sum(q.score for q in found.values()) == 0
    assert {q.state for q in found.values()} == {"not answered"}


@pytest.mark.slow
@pytest.mark.parametrize("problem_set", SETS)
def test_nbgrader_finds_the_same(problem_set, fast):
    """One whole notebook and one wrong one through the engine that grades students."""
    plan, wrong = harness.blueprint_of(problem_set), submissions(problem_set.name, "wrong")[0]
    with Stock(problem_set) as stock:
        for replaced in ({}, wrong.cells):
            by_fast, by_stock = (
                harness.questions(harness.hand_in(problem_set, replaced), plan, engine, seed="s")
                for engine in (fast, stock)
            )
            assert by_stock == by_fast
