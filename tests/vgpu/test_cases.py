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


def test_what_a_function_does_not_return_stays_undefined():
    """numba declares functions without a result so, and ptxas takes it."""
    text = """
    .version 8.8
    .target sm_90
    .address_size 64
    .func store(.param .b64 where) {
        .reg .b64 %a; ld.param.u64 %a, [where]; st.b32 [%a], 7; ret;
    }
    .visible .entry k(.param .u64 out) {
        .reg .b64 %o; ld.param.u64 %o, [out];
        { .param .b32 got; .param .b64 given; st.param.b64 [given], %o;
          call.uni (got), store, (given); }
        ret;
    }"""
    case = cases.Case("no result", text, [cases.np.zeros(1, "u4")], {0: cases.np.full(1, 7, "u4")},
                      block=(1, 1, 1))  # fmt: skip
    for options in OPTIONS.values():
        assert not on_machine.differences(case, options)
