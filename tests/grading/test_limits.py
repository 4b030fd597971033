"""The limits of a whole submission: many stuck cells cost no more than a few."""

import pytest
import toy

from course.grading import engine as module
from course.grading import score
from course.grading.engine import CellResult, Limits, run_whole
from course.grading.repair import Submission


class Clock:
    """Time that passes when an engine says so."""

    now = 0.0

    def monotonic(self):
        return self.now


class Engine:
    """Runs cells that say how long they take; tells nothing of a run that it has to stop."""

    def __init__(self, clock):
        self.clock, self.runs = clock, 0

    def run(self, notebook, *, seed, limits):
        self.runs += 1
        end, results = self.clock.now + limits.notebook_seconds, []
        for cell in module.code_cells(notebook):
            allowed, seconds = limits.cell(end - self.clock.now), float(cell["source"])
            self.clock.now += min(allowed, seconds)
            if seconds > allowed:
                return [CellResult(cell["id"], "timeout")]
            results.append(CellResult(cell["id"], "ok", output=str(seed)))
        return results


@pytest.fixture
def run(monkeypatch):
    def run(*seconds):
        clock = Clock()
        monkeypatch.setattr(module, "time", clock)
        engine = Engine(clock)
        cells = [toy.free(f"c{i}", str(each)) for i, each in enumerate(seconds)]
        results = run_whole(engine, {"cells": cells}, seed="s")
        assert [*results] == [cell["id"] for cell in cells]
        return "".join(r.status[0] for r in results.values()), clock.now, engine.runs

    return run


STUCK = 10.0**9


def test_what_is_quick_runs_once(run):
    assert run(2, 1, 3) == ("ooo", 6.0, 1)


def test_a_stuck_cell_costs_its_own_points(run):
    assert run(2, STUCK, 3) == ("oto", 2 + 60 + 2 + 3, 2)


def test_many_stuck_cells_cost_minutes_together(run):
    states, seconds, _ = run(2, *[STUCK] * 26)
    assert seconds < 2 * 300
    assert states[:8] == "o" + "t" * 7
    assert states.endswith("u")


def test_a_right_answer_among_many_stuck_ones_keeps_its_points(run):
    states, seconds, _ = run(2, *[STUCK, 1] * 6)
    assert states == "o" + "to" * 6
    assert seconds < 300


def test_what_ran_before_the_time_was_up_keeps_its_points(run):
    states, seconds, _ = run(*[4, STUCK] * 20)
    assert states == ("ot" * 20)[: states.index("u")] + "u" * states.count("u")
    assert 8 < states.index("u") < 40
    assert seconds < 2 * 300


def test_many_slow_cells_have_no_more_time_than_stuck_ones(run):
    _, seconds, _ = run(*[59] * 26)
    assert seconds < 2 * 300


@pytest.mark.parametrize(
    ("engine", "seconds"), [("fast", 8.0), pytest.param("stock", 40.0, marks=pytest.mark.slow)]
)
def test_engines_keep_to_it(engine, seconds, request, solution, blueprint):
    """Each of three stuck cells could take ten minutes."""
    engine = request.getfixturevalue(engine)
    stuck = [*blueprint.of("answer")][:3]
    for cell in solution["cells"]:
        if cell["id"] in stuck:
            cell["source"] += "\nwhile True: pass"
    limits = Limits(cell_seconds=600.0, notebook_seconds=seconds, least_seconds=1.0)
    results = run_whole(engine, solution, limits=limits)
    assert results[stuck[0]].status == "timeout"
    assert {results[key].status for key in stuck[1:]} <= {"timeout", "unrun"}
    assert results["setup"].status == "ok"


def test_what_did_not_run_says_why(blueprint, solution):
    results = {c["id"]: CellResult(c["id"], "unrun") for c in solution["cells"]}
    found = score.questions(blueprint, Submission(solution), results)
    assert found[0].message == (
        "Your cell matmul_flops did not run: other cells had used all the time of the notebook."
    )
