"""Kernels written by hand leave what they must, on both paths and under all schedules."""

import cases
import on_machine
import pytest

from course import vgpu

ALL = cases.all_cases()
OPTIONS = {
    "fast": vgpu.Options(),
    "masked": vgpu.Options(fast=False),
    "reverse": vgpu.Options(schedule="reverse"),
    "random": vgpu.Options(schedule="random", seed=4, fast=False),
    "greedy": vgpu.Options(schedule="greedy", fast=False),
}


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in ALL])
def test_cases_leave_what_they_must(case):
    for name, options in OPTIONS.items():
        assert not on_machine.differences(case, options), name


def test_names_of_cases_are_unique():
    assert len({c.name for c in ALL}) == len(ALL) > 400


def test_a_case_that_leaves_something_else_is_noticed():
    case = next(c for c in ALL if c.name == "a carry across a branch")
    wanted = {0: case.expected[0] + 1}
    wrong = cases.Case(case.name, case.ptx, case.buffers, wanted, case.grid, case.block)
    assert on_machine.differences(wrong, vgpu.Options())
