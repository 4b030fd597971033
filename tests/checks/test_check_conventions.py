"""Every graded question of every set is a function of plain data, or one plain value."""

import ast
import importlib
import inspect

import pytest
from sheet import Sheet, arguments

from course import ROOT
from course.checks.question import Remote, as_remote

SETS = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/*.ipynb"))


@pytest.fixture(scope="module", params=SETS)
def sheet(request):
    return request.param, Sheet(request.param)


def test_there_is_a_set_to_check():
    assert "ps2_flop_counter" in SETS


def test_each_test_cell_is_one_call_of_a_check_and_each_check_has_a_cell(sheet):
    set_name, notebook = sheet
    checks = importlib.import_module(f"course.checks.{set_name}")
    public = {
        name
        for name, function in inspect.getmembers(checks, inspect.isfunction)
        if function.__module__ == checks.__name__ and not name.startswith("_")
    }
    called = set()
    for cell_id in notebook.ids("test"):
        (statement,) = ast.parse(notebook.source(cell_id)).body
        call = statement.value
        assert isinstance(call, ast.Call), cell_id
        assert not call.keywords, cell_id
        assert len(arguments(notebook.source(cell_id))) == len(call.args) > 0, cell_id
        assert cell_id == f"test_{call.func.attr}"
        called.add(call.func.attr)
    assert called == public


def test_no_check_needs_more_than_plain_data(sheet):
    """The reference passes with a wire in between, after all its cells have run."""
    handed = []

    def wired(function):
        handed.append(function)
        assert inspect.isfunction(function)
        remote = as_remote(function)
        assert isinstance(remote, Remote)
        assert not callable(remote)
        return remote

    _, notebook = sheet
    outcome = notebook.run(wrap=wired, last=True)
    assert not outcome.wrong
    assert handed


def test_checks_know_nothing_of_the_grading_side():
    for path in sorted((ROOT / "course" / "checks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [getattr(node, "module", None) or ""]
            names += [
                alias.name for alias in getattr(node, "names", []) if isinstance(node, ast.Import)
            ]
            assert not any("nbgrader" in n or n.startswith("course.grading") for n in names), path
