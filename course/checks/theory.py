"""Theory questions whose answer is one number, with the mistakes that are known for each."""

import math
from dataclasses import dataclass
from typing import Any

from course.checks.compare import digits
from course.checks.plain import plain, show
from course.checks.wrong import Wrong, passed


@dataclass(frozen=True)
class Answer:
    """The right number and the wrong ones that people give.

    Attributes
    ----------
    value
        The right number, in `unit`.
    unit
        As a message names it: ``"GFLOP"``, ``"days"``.
    wrong
        Pairs of a wrong number and the reason for it.
    rel
        Relative tolerance, so that nobody loses a point by rounding.
    """

    value: float
    unit: str
    wrong: tuple[tuple[float, str], ...] = ()
    rel: float = 0.02

    def __post_init__(self) -> None:
        for wrong, _ in self.wrong:
            if math.isclose(wrong, self.value, rel_tol=2 * self.rel):
                raise ValueError(f"the wrong answer {wrong} is too near to the right {self.value}")

    def check(self, name: str, got: Any) -> None:
        """Print one line if `got` is right.

        Raises
        ------
        Wrong
            With the reason if it is a known mistake; also if it is no plain finite number.
        """
        number = self._number(name, got)
        if self._near(number, self.value):
            passed(name, f"{digits(self.value)} {self.unit}")
            return
        said = f"{name} = {digits(number)} {self.unit} is not right."
        raise Wrong(f"{said}\n{self._why(number)}".strip())

    def _number(self, name: str, got: Any) -> float:
        if got is None:
            raise Wrong(f"{name} is not answered yet: give it a number (in {self.unit}).")
        got = plain(got, name)
        if type(got) is str:
            raise Wrong(f"{name} is the text {got!r}. Write the number without quotes or unit.")
        if type(got) not in (int, float):
            raise Wrong(f"{name} is {show(got)}. It should be one number, in {self.unit}.")
        if not math.isfinite(got):
            raise Wrong(f"{name} is {got}. It should be a finite number, in {self.unit}.")
        return got

    def _near(self, number: float, right: float) -> bool:
        return math.isclose(number, right, rel_tol=self.rel)

    def _why(self, number: float) -> str:
        for wrong, reason in self.wrong:
            if self._near(number, wrong):
                return reason
        if self._near(-number, self.value):
            return "The size is right, the sign is not."
        for power in (3, 6, 9, 12, 15, 18):
            if self._near(number, self.value * 10**power) or self._near(
                number * 10**power, self.value
            ):
                return f"The digits are right, the power of ten is not: the unit is {self.unit}."
        return ""
