"""Ask a student's function: call it safely, and turn whatever happens into one clear message.

`perform` runs next to the student's function and returns plain data; `Question` runs next to the
check and sees nothing but that. Between them may be a wire: `as_remote` puts one there.
"""

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from course.checks import plain
from course.checks.cases import cases
from course.checks.compare import Known, compare
from course.checks.plain import show
from course.checks.wrong import Wrong, passed

_HERE = str(Path(__file__).parent)


class Question:
    """One graded question, put to one student's function.

    Parameters
    ----------
    set_name, name
        The problem set and the question; they choose the inputs.
    function
        What the student wrote.
    called
        The function's name, where it is not the question's: two questions may ask about one.

    Attributes
    ----------
    rng : numpy.random.Generator
        Where the question takes its inputs from; see `course.checks.cases.cases`.

    Examples
    --------
    >>> question = Question("ps2_flop_counter", "bmm_flops", student)
    >>> question.ask((2, 3, 5), (2, 5, 7)).gives(420, known=[(210, "Forgot the batch.")])
    >>> question.passed()
    bmm_flops: right (1 case)
    """

    def __init__(
        self, set_name: str, name: str, function: Callable[..., Any], called: str = ""
    ) -> None:
        self.name, self.function, self.called = name, function, called or name
        self.rng: np.random.Generator = cases(set_name, name)
        self._cases = 0

    def ask(self, *args: Any, if_raises: str = "") -> "Reply":
        """Call the student's function with `args`, twice, and return its reply.

        Parameters
        ----------
        *args
            Plain data.
        if_raises
            What to tell a student whose function raises, besides the exception.

        Raises
        ------
        Wrong
            If the function raises, changes its arguments, returns something that is not plain
            data, returns something else the second time, or leaves a dispatch mode on.
        """
        args = plain.plain(args, "an argument")
        what = f"{self.called}({', '.join(map(show, args))})"
        first = self._call(what, args, if_raises)
        again = self._call(what, args, if_raises)
        if not plain.same(first, again):
            raise Wrong(
                f"{what} returned {show(first)}, and {show(again)} when called again. The same "
                "question must get the same answer: does something survive from call to call, "
                "such as a global variable or a counter that is not reset?"
            )
        self._cases += 1
        return Reply(what, first)

    def passed(self) -> None:
        """Print the line that a right answer gets."""
        passed(self.name, f"{self._cases} case{'' if self._cases == 1 else 's'}")

    def _call(self, what: str, args: tuple, if_raises: str) -> Any:
        copies = plain.plain(args)
        if isinstance(self.function, Remote):
            outcome = self.function.perform(copies)
        else:
            outcome = perform(self.function, copies)
        if "error" in outcome:
            raise Wrong(_failure(self.called, what, outcome["error"], if_raises))
        if "refused" in outcome:
            raise Wrong(f"{what}: {outcome['refused']}")
        if outcome["modes"]:
            raise Wrong(
                f"{what} returned and left {', '.join(outcome['modes'])} switched on. The mode is "
                "on for good, in every later cell too: enter it with `with`, or leave it in a "
                "`finally`. (This check has switched it off.)"
            )
        if outcome["changed"] is not None:
            raise Wrong(
                f"{what} changed its argument number {outcome['changed'] + 1}. It belongs to the "
                "caller, who may use it again: work on a copy, or compute without changing it."
            )
        return outcome["value"]


class Reply:
    """What a student's function returned, with the call that it was the reply to."""

    def __init__(self, what: str, value: Any) -> None:
        self.what, self.value = what, value

    def gives(
        self, expected: Any, *, known: Known = (), rtol: float = 1e-6, dtype: Any = None
    ) -> None:
        """Raise `Wrong` unless the value is `expected`; see `course.checks.compare.compare`."""
        compare(self.value, expected, self.what, known=known, rtol=rtol, dtype=dtype)


def perform(function: Callable[..., Any], args: tuple) -> dict[str, Any]:
    """Call `function` and return what happened, as plain data.

    Parameters
    ----------
    function
        The student's function.
    args
        Its arguments, plain data. They are the function's own: it may have changed them afterwards.

    Returns
    -------
    dict
        Either ``{"value": ..., "changed": index of a changed argument or None, "modes": [names of
        dispatch modes that it left on]}``, or ``{"error": {"type", "message", "function", "line",
        "code"}}`` if it raised (the place is the innermost one in the student's own code, or
        empty), or ``{"refused": reason}`` if what it returned is not plain data.
    """
    if not callable(function):
        return {"refused": f"there is no such function: the name stands for {show(function)}."}
    before = [plain.plain(arg) for arg in args]
    modes_before = len(_modes())
    try:
        value = function(*args)
    except (Exception, SystemExit) as error:
        _switch_off(modes_before)
        return {"error": _describe(error, function)}
    left_on = _switch_off(modes_before)
    try:
        value = plain.plain(value, "the result")
        after = [plain.plain(arg, "an argument") for arg in args]
    except Wrong as refusal:
        return {"refused": str(refusal)}
    changed = [i for i in range(len(args)) if not plain.same(before[i], after[i])]
    return {"value": value, "changed": changed[0] if changed else None, "modes": left_on}


def _modes() -> list[Any]:
    """Return the dispatch modes of torch that are on, the innermost last."""
    if "torch" not in sys.modules:  # looked up, not imported: many sets need no torch
        return []
    from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

    return _get_current_dispatch_mode_stack()


def _switch_off(keep: int) -> list[str]:
    """Switch off all dispatch modes but the outermost `keep`; return the names of their classes.

    One that stays on would go on watching the checks themselves, and every later cell.
    """
    left_on = _modes()[keep:]
    if left_on:
        from torch.utils._python_dispatch import TorchDispatchMode

        for mode in reversed(left_on):  # not by the student's own __exit__
            TorchDispatchMode.__exit__(mode, None, None, None)
    return [type(mode).__name__ for mode in left_on]


class Remote:
    """A function on the other side of a wire: only the bytes of plain data cross.

    A grader that keeps students in another process gives checks such objects; this one keeps the
    function in the same process and still sends every argument and result through the encoding.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def perform(self, args: tuple) -> dict[str, Any]:
        """Do as `perform` does, with arguments and outcome encoded on the way."""
        request = plain.encode(args)
        reply = plain.encode(perform(self._function, plain.decode(request)))
        return plain.decode(reply)


def as_remote(function: Callable[..., Any]) -> Remote:
    """Return `function` behind a wire, to prove that a check needs nothing but plain data."""
    return Remote(function)


def _describe(error: BaseException, function: Callable[..., Any]) -> dict[str, Any]:
    """Return an exception as plain data, with its innermost place in the student's own code."""
    student = getattr(function, "__globals__", None)
    place = {"function": "", "line": 0, "code": ""}
    for frame, line in traceback.walk_tb(error.__traceback__):
        own = frame.f_globals is student if student is not None else not _ours(frame)
        if own:
            (summary,) = traceback.StackSummary.extract([(frame, line)])
            place = {"function": summary.name, "line": line, "code": summary.line or ""}
    return {"type": type(error).__name__, "message": str(error)[:1000], **place}


def _ours(frame: Any) -> bool:
    return frame.f_code.co_filename.startswith(_HERE)


def _failure(name: str, what: str, error: dict[str, Any], if_raises: str) -> str:
    stub = not error["message"] or error["code"].startswith("raise NotImplementedError")
    if error["type"] == "NotImplementedError" and stub:
        inside = error["function"]
        where = f": {inside} still raises NotImplementedError" if inside not in ("", name) else ""
        return f"{name} is not answered yet{where}."
    text = f"{what} raised {error['type']}: {error['message'] or '(no message)'}"
    if error["line"]:
        code = f": {error['code']}" if error["code"] else ""
        text += f"\nIn {error['function']}, line {error['line']} of its cell{code}"
    if error["type"] == "TypeError" and "NoneType" in error["message"]:
        text += "\nNone is what a function without a return gives: does one of yours lack it?"
    return f"{text}\n{if_raises}" if if_raises else text
