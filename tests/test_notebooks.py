"""Every notebook that people edit: its form, its conventions, and that it runs."""

import json

import pytest

from course import Problem, notebooks
from course.grading.engine import Limits, code_cells, run_whole
from course.grading.fast import Fast
from course.grading.lint import lint, lint_lecture

ALL = notebooks.committed()
EACH = pytest.mark.parametrize("path", ALL, ids=[path.stem for path in ALL])


@pytest.fixture(scope="module")
def engine():
    with Fast() as fast:
        yield fast


@EACH
def test_its_form_is_canonical(path):
    assert path.read_bytes() == notebooks.canonical(notebooks.read(path)).encode(), (
        "mend it with: python3 -m course tidy"
    )


@EACH
def test_it_keeps_the_conventions(path):
    rules = lint_lecture if path.parent.name == "notebooks" else lint
    assert rules(notebooks.read(path)) == []


@EACH
def test_it_is_valid_for_jupyter(path):
    import nbformat

    nbformat.validate(nbformat.read(path, as_version=nbformat.NO_CONVERT))


@EACH
def test_every_cell_runs(path, engine):
    """In a minute of computing for each cell; what a cell may take is in the text for authors."""
    notebook = notebooks.read(path)
    results = run_whole(engine, notebook, limits=Limits(cell_seconds=60))
    failed = {r.id: r.traceback or r.status for r in results.values() if r.status != "ok"}
    assert not failed, "\n".join(failed.values())
    assert [*results] == [cell["id"] for cell in code_cells(notebook)]


# --- reading and writing -------------------------------------------------------------------


def messy(folder):
    """Write a notebook as JupyterLab leaves it: outputs, editor's metadata, its own order."""
    cell = {
        "source": ["a = 1\n", "a ä"],
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1"]}],
        "metadata": {"scrolled": True, "tags": ["x"], "deletable": False},
        "id": "one",
        "execution_count": 3,
        "cell_type": "code",
    }
    text = {"id": "two", "cell_type": "markdown", "source": "# T", "metadata": {}}
    notebook = {"nbformat_minor": 5, "nbformat": 4, "metadata": {"x": 1}, "cells": [cell, text]}
    path = folder / "notebooks" / "a.ipynb"
    path.parent.mkdir()
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def test_tidy_keeps_the_text_and_drops_the_rest(tmp_path):
    path = messy(tmp_path)
    assert notebooks.tidy(check=True, root=tmp_path) == ["notebooks/a.ipynb"]
    assert '"scrolled"' in path.read_text(encoding="utf-8")
    assert notebooks.tidy(check=False, root=tmp_path) == ["notebooks/a.ipynb"]
    assert notebooks.tidy(check=True, root=tmp_path) == []
    notebook = notebooks.read(path)
    assert notebook["cells"] == [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "one",
            "metadata": {"deletable": False, "tags": ["x"]},
            "outputs": [],
            "source": "a = 1\na ä",
        },
        {"cell_type": "markdown", "id": "two", "metadata": {}, "source": "# T"},
    ]
    assert "ä" in path.read_text(encoding="utf-8")
    assert b"\r" not in path.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "notebooks/a.ipynb: a.ipynb is not a notebook: its JSON breaks off"),
        ("{}", "has no list of cells"),
        ('{"cells": [{"source": "", "cell_type": "raw"}]}', "cell 1 has no id"),
    ],
)
def test_tidy_says_what_is_no_notebook(tmp_path, content, message):
    messy(tmp_path).write_text(content, encoding="utf-8")
    with pytest.raises(Problem) as caught:
        notebooks.tidy(check=False, root=tmp_path)
    assert message in str(caught.value)
