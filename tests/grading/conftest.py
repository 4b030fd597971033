"""One preloaded process, one released toy set and one stock engine for all tests of grading."""

import sys
from pathlib import Path

import pytest
import toy

from course import notebooks
from course.grading import release
from course.grading.cells import Blueprint
from course.grading.fast import Fast
from course.grading.stock import Stock

sys.path.append(str(Path(__file__).parents[1] / "checks"))  # sheet: reads tests/submissions


@pytest.fixture(scope="session")
def fast():
    with Fast() as engine:
        yield engine


@pytest.fixture(scope="session")
def toy_set(tmp_path_factory):
    """The toy set in a course of its own, released."""
    problem_set = toy.make_course(tmp_path_factory.mktemp("kurs ä"))
    problem_set.release.parent.mkdir(parents=True)
    problem_set.release.write_text(release.build(problem_set), encoding="utf-8", newline="\n")
    return problem_set


@pytest.fixture(scope="session")
def stock(toy_set):
    with Stock(toy_set) as engine:
        yield engine


@pytest.fixture(scope="session")
def blueprint(toy_set):
    return Blueprint(notebooks.read(toy_set.release))


@pytest.fixture
def solution(toy_set):
    """The toy's notebook with answers, fresh for each test."""
    return notebooks.read(toy_set.source)


@pytest.fixture
def untouched(toy_set):
    """The toy's notebook as students get it, fresh for each test."""
    return notebooks.read(toy_set.release)
