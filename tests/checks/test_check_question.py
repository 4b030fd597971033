"""Asking a student's function: every way in which it can misbehave becomes one clear message."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from course.checks import Wrong
from course.checks.question import Question, as_remote


@pytest.fixture(params=["here", "over the wire"])
def ask(request):
    def ask(function, *args):
        wrapped = function if request.param == "here" else as_remote(function)
        return Question("ps2", "double", wrapped).ask(*args)

    return ask


def refused(ask, function, *args) -> str:
    with pytest.raises(Wrong) as caught:
        ask(function, *args)
    return str(caught.value)


def test_the_reply_is_compared(ask):
    reply = ask(lambda a, b: {"sum": a + b}, np.float64(1.0), [2][0])
    reply.gives({"sum": 3.0})
    with pytest.raises(Wrong, match=r"double\(1.0, 2\)\['sum'\] is 3.0; expected 4"):
        reply.gives({"sum": 4})


def test_one_line_on_stdout_when_right(capsys):
    question = Question("ps2", "double", lambda a: 2 * a)
    question.ask(2).gives(4)
    question.passed()
    question.ask(3).gives(6)
    question.passed()
    out, err = capsys.readouterr()
    assert out == "double: right (1 case)\ndouble: right (2 cases)\n"
    assert err == ""


def stub(a):
    raise NotImplementedError()


def stub_with_text(a):
    raise NotImplementedError("write this")


def uses_stub(a):
    return stub(a)


def test_untouched_functions_are_not_answered_yet(ask):
    assert (
        refused(ask, stub, 1)
        == "double is not answered yet: stub still raises NotImplementedError."
    )
    assert "not answered yet" in refused(ask, stub_with_text, 1)
    assert "stub still raises" in refused(ask, uses_stub, 1)


def divides(a):
    return helper(a)


def helper(a):
    half = np.asarray(a) / 2
    return half.no_such_name


def reshapes(a):
    return torch.ones(6).reshape(a, 4)


def test_an_exception_names_itself_its_line_and_the_inputs(ask):
    said = refused(ask, divides, 7)
    assert "double(7) raised AttributeError: 'numpy" in said
    assert "In helper, line " in said
    assert said.endswith("return half.no_such_name")


def test_the_line_is_the_students_own_not_the_librarys(ask):
    said = refused(ask, reshapes, 5)
    assert "raised RuntimeError: shape '[5, 4]' is invalid" in said
    assert said.endswith("return torch.ones(6).reshape(a, 4)")


def test_not_implemented_by_torch_is_an_error_not_an_unanswered_question(ask):
    said = refused(ask, lambda a: torch.ops.aten.item(torch.ones(1, device="meta")), 1)
    assert "raised" in said
    assert "not answered" not in said


def test_exit_and_recursion_are_errors(ask):
    def endless(a):
        return endless(a)

    assert "raised SystemExit" in refused(ask, lambda a: sys.exit(3), 1)
    assert "raised RecursionError" in refused(ask, endless, 1)


def test_a_wrong_number_of_parameters_is_told(ask):
    assert "takes 0 positional arguments but 1 was given" in refused(ask, lambda: 3, 1)


def test_keyboard_interrupt_passes_for_time_limits(ask):
    def interrupted(a):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(interrupted, 1)


def test_arguments_must_not_change(ask):
    def pops(shapes):
        return shapes.pop("m")

    def in_place(a, b):
        b += a
        return 0

    assert "changed its argument number 1" in refused(ask, pops, {"m": 3})
    for make in (np.ones, torch.ones):
        assert "changed its argument number 2" in refused(ask, in_place, 1, make(3))
    ask(lambda shapes: dict(shapes).pop("m"), {"m": 3}).gives(3)


def test_the_callers_own_data_are_safe_in_any_case(ask):
    mine = np.ones(3)
    refused(ask, lambda a: a.fill(0), mine)
    assert mine.sum() == 3


def test_state_that_survives_is_noticed(ask):
    total = []

    def adds_up(a):
        total.append(a)
        return sum(total)

    said = refused(ask, adds_up, 3)
    assert "returned 3, and 6 when called again" in said


def test_nan_answers_agree_with_themselves_and_fail_later(ask):
    reply = ask(lambda a: np.array([np.nan, a]), 1.0)
    with pytest.raises(Wrong, match="1 NaN"):
        reply.gives(np.array([2.0, 1.0]))


class Model:
    def __call__(self, a):
        return 2 * a


def test_what_is_not_plain_data_is_refused(ask):
    assert "tests" not in refused(ask, lambda a: Model(), 1)
    assert "plain data" in refused(ask, lambda a: object(), 1)
    assert "parentheses" in refused(ask, lambda a: max, 1)
    assert "no such function: the name stands for 3" in refused(ask, 3, 1)
    assert "the name stands for None" in refused(ask, None, 1)
    ask(Model(), 3).gives(6)


def test_ipython_shows_the_message_alone(tmp_path):
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S\n"
        "s = S.instance(colors='nocolor')\n"
        "s.run_cell('from course.checks import Wrong')\n"
        's.run_cell(\'raise Wrong("f(3) is 2.\\\\n" + "Mind the batch. " * 9)\')\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    lines = done.stdout.strip().splitlines()
    assert lines[0] == "f(3) is 2."
    assert all(line.startswith("Mind the batch.") and len(line) < 97 for line in lines[1:])
    assert len(lines) == 3


def test_checks_without_tensors_do_not_import_torch():
    code = (
        "import sys, course.checks.question, course.checks.theory\n"
        "from course.checks.question import Question, as_remote\n"
        "import numpy as np\n"
        "Question('a', 'b', as_remote(lambda a: a + 1)).ask(np.ones(2)).gives(2 * np.ones(2))\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_dispatch_mode_that_stays_on_is_told_and_switched_off(ask):
    class Spy(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def stays_on(a, b, fails=False):
        Spy().__enter__()
        Spy().__enter__()
        if fails:
            raise KeyError("b")
        return a + b

    for call, says in (
        (stays_on, "left Spy, Spy switched on. The mode is on for good"),
        (lambda a, b: stays_on(a, b, fails=True), "raised KeyError"),
    ):
        with pytest.raises(Wrong, match=says):
            ask(call, 1, 2)
        assert _get_current_dispatch_mode_stack() == []
    with Spy() as outer:
        ask(lambda a, b: a + b, 1, 2).gives(3)
        assert _get_current_dispatch_mode_stack() == [outer]


def test_what_a_question_says_of_every_exception():
    question = Question("ps2", "double", lambda a: a + None)
    with pytest.raises(Wrong, match=r"a function without a return gives.*\nNone may come through"):
        question.ask(1, if_raises="None may come through.")
