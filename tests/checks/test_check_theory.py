"""Answers that are one number."""

import numpy as np
import pytest
import torch

from course.checks import Wrong
from course.checks.theory import Answer

RIDGE = Answer(295.3, "FLOP/B", wrong=((590.6, "That is the sparse peak."),))


def message(got) -> str:
    with pytest.raises(Wrong) as caught:
        RIDGE.check("ridge", got)
    return str(caught.value)


@pytest.mark.parametrize("got", [295.3, 295, 290, 301, np.float64(295.3), np.int32(295)])
def test_right_within_two_per_cent(got, capsys):
    RIDGE.check("ridge", got)
    out, err = capsys.readouterr()
    assert out == "ridge: right (295.3 FLOP/B)\n"
    assert err == ""


class Friendly(float):
    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__


@pytest.mark.parametrize(
    ("got", "says"),
    [
        (None, "not answered yet"),
        (588, "That is the sparse peak."),
        (288, "is not right"),
        (-295.3, "the sign is not"),
        (0.2953, "the power of ten is not: the unit is FLOP/B"),
        (295.3e12, "the power of ten is not"),
        ("295.3", "Write the number without quotes"),
        (True, "It should be one number"),
        ([295.3], "It should be one number"),
        (torch.tensor(295.3), "It should be one number"),
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        (Friendly(3), "plain data"),
        (lambda: 295.3, "parentheses"),
    ],
)
def test_wrong_ones_are_told_why(got, says):
    assert says in message(got)


def test_zero_is_not_near_anything():
    assert message(0) == "ridge = 0 FLOP/B is not right."


def test_a_wrong_answer_too_near_to_the_right_one_is_a_mistake_of_the_author():
    with pytest.raises(ValueError, match="too near"):
        Answer(20.0, "x", wrong=((20.7, "nearly"),))
