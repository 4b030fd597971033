"""Comparisons: what is right passes, what is wrong is told where and why."""

import numpy as np
import pytest
import torch

from course.checks import Wrong
from course.checks.compare import compare


def message(got, expected, **options) -> str:
    with pytest.raises(Wrong) as caught:
        compare(got, expected, "f(3)", **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (6, 6),
        (6.0, 6),
        (2**80, 2**80),
        (0.1 + 0.2, 0.3),
        (0, 0.0),
        ("a", "a"),
        (None, None),
        (True, True),
        ([1, (2,)], (1, [2])),
        ({"b": 1, "a": [2.0]}, {"a": [2], "b": 1}),
        ([], []),
    ],
)
def test_right_answers_pass(got, expected):
    compare(got, expected, "f(3)")


@pytest.mark.parametrize(
    ("got", "expected", "says"),
    [
        (7, 6, "f(3) is 7; expected 6."),
        (1234567, 6, "is 1,234,567; expected 6"),
        (3, 6, "is 3 (1/2 of the right value); expected 6"),
        (18, 6, "(3 times the right value)"),
        (2**80 + 1, 2**80, "expected 1,208,925,819,614,629,174,706,176"),
        (6.0001, 6, "expected 6"),
        (1234567.25, 6, "is 1,234,567.25; expected 6. A whole number is expected"),
        (3.0, 6, "divide with //"),
        ([1], {}, "a list; expected a dict."),
        (0.30001, 0.3, "is 0.30001; expected 0.3"),
        (float("nan"), 0.3, "is nan"),
        (float("inf"), 6, "is inf"),
        (None, 6, "is None; expected a number. Is there a return?"),
        ("6", 6, "A number in quotes is text"),
        (True, 1, "A comparison such as == gives a bool"),
        ([6], 6, "a list; expected a number"),
        (np.array([6]), 6, "<array 1 int64>, a NumPy array; expected a number"),
        (torch.tensor(6), 6, "Its .item() is the number"),
        (1, True, "is 1, an int; expected a bool"),
        (False, True, "is False; expected True"),
        (6, "mm", "an int; expected a string"),
        ("mv", "mm", "is 'mv'; expected 'mm'"),
        (0, None, "is 0, an int; expected None"),
        ([1, 2], [1], "which has length 2; expected [1], of length 1"),
        ({"a": 1}, [1], "a dict; expected a list"),
        ([1, [2, 3]], [1, [2, 4]], "f(3)[1][1] is 3"),
        ([1], {"a": 1}, "expected a dict with the keys 'a'"),
        ({"b": 1}, {"a": 1}, "has no 'a' and has 'b' too many. Its keys should be 'a'"),
        ({"a": 1}, {}, "Its keys should be none"),
        ({"a": {"b": None}}, {"a": {"b": 2}}, "f(3)['a']['b'] is None; expected a number."),
    ],
)
def test_wrong_answers_are_told_what_came_and_what_was_expected(got, expected, says):
    assert says in message(got, expected)


def test_part_of_a_dict_that_is_none_is_no_missing_return():
    assert "return" not in message({"a": None}, {"a": 2})


def test_known_mistakes_are_named():
    assert message(3, 6, known=[(3, "Half.")]).endswith("\nHalf.")
    assert message(3.0, 6, known=[(3, "Half.")]).endswith("\nHalf.")
    assert "Half" not in message(4, 6, known=[(3, "Half.")])
    assert message(0.2999999999, 0.6, known=[(0.3, "Half.")]).endswith("Half.")
    assert message(None, "x", known=[(None, "Nothing.")]).endswith("Nothing.")
    assert "One." not in message(True, 6, known=[(1, "One.")])
    by_key = {"a": [(3, "Half of a.")], "b": {0: [(1, "First of b.")]}}
    assert message({"a": 3, "b": [2]}, {"a": 6, "b": [2]}, known=by_key).endswith("Half of a.")
    assert message({"a": 6, "b": [1]}, {"a": 6, "b": [2]}, known=by_key).endswith("First of b.")
    whole = [({"a": 2, "b": 1}, "Swapped.")]
    assert message({"a": 2, "b": 1}, {"a": 1, "b": 2}, known=whole).endswith("Swapped.")


# --- arrays -----------------------------------------------------------------------------------


@pytest.fixture(params=["array", "tensor"])
def make(request):
    return (lambda a: a) if request.param == "array" else torch.from_numpy


@pytest.fixture
def reference():
    rng = np.random.default_rng(7)
    return rng.normal(size=(5, 7)) * np.logspace(-3, 3, 7)


def test_rounded_results_pass(make, reference):
    rounded = make(reference.astype(np.float32))
    compare(rounded, make(reference), "f(3)", rtol=1e-6)
    compare(rounded, make(reference), "f(3)", rtol=1e-6, dtype="float32")


@pytest.mark.parametrize("size", [1e-30, 1e-6, 1.0, 1e12])
def test_the_tolerance_goes_with_the_reference(make, reference, size):
    right = reference * size
    for wrong in (0 * right, right + right.std() / 100, np.full_like(right, right.mean())):
        assert "wrong" in message(make(wrong), make(right), rtol=1e-3)
    assert " of 35 elements wrong" in message(make(-right), make(right), rtol=1e-3)


def test_where_and_how_many(make, reference):
    wrong = reference.copy()
    wrong[2, 3], wrong[4, 6] = 9, 8
    said = message(make(wrong), make(reference))
    assert "has 2 of 35 elements wrong, the first at [2, 3], [4, 6]: 9 instead of" in said


def test_nan_and_inf_are_never_right(make, reference):
    wrong = reference.copy()
    wrong[1, 2], wrong[3, 0], wrong[3, 1] = np.nan, np.inf, -np.inf
    said = message(make(wrong), make(reference))
    assert "1 NaN and 2 infinite elements of 35" in said
    assert "[1, 2]" in said
    assert "35 NaN" in message(make(np.full_like(reference, np.nan)), make(reference))


def test_a_reference_may_be_infinite_where_a_mask_is(make, reference):
    masked = reference.copy()
    masked[0, 1] = -np.inf
    compare(make(masked), make(masked.copy()), "f(3)")
    assert "1 infinite" in message(make(-masked), make(masked))
    assert "[0, 1]" in message(make(reference), make(masked))


def test_shape_dtype_and_kind_are_told(make, reference):
    right = make(reference)
    assert "of shape (7, 5); expected the shape (5, 7)" in message(make(reference.T.copy()), right)
    assert "of shape (35,)" in message(make(reference.ravel()), right)
    whole = make(np.ones((5, 7), dtype=np.int64))
    assert "which is integer; expected one that is floating point" in message(whole, right)
    assert "expected one that is integer" in message(right, whole)
    assert "which is bool" in message(make(np.ones((5, 7), dtype=bool)), right)
    assert "has the dtype float64; expected float32" in message(right, right, dtype="float32")
    assert "is None; expected a" in message(None, right)
    assert "a list; expected a" in message(reference.tolist(), right)


def test_masked_elements_do_not_agree_with_everything():
    masked = np.ma.array([1.0, 99.0], mask=[False, True])
    with pytest.raises(Wrong, match="a MaskedArray; expected a NumPy array"):
        compare(masked, np.array([1.0, 2.0]), "it")


def test_an_array_is_no_tensor(reference):
    tensor = torch.from_numpy(reference)
    assert "a NumPy array; expected a torch tensor" in message(reference, tensor)
    assert "a torch tensor; expected a NumPy array" in message(tensor, reference)


def test_known_wrong_arrays_are_named(make, reference):
    known = [(make(reference**2), "Squared."), (make(reference[::-1].copy()), "Upside down.")]
    said = message(make(reference[::-1].copy()), make(reference), known=known)
    assert said.endswith("\nUpside down.")


def test_odd_arrays(make):
    compare(make(np.zeros((0, 3))), make(np.zeros((0, 3))), "f(3)")
    compare(make(np.zeros(3)), make(np.zeros(3)), "f(3)")
    assert "1 of 1 elements wrong, the only one" in message(
        make(np.array(1.0)), make(np.array(2.0))
    )
    assert "wrong" in message(make(np.array([0.0, 1e-300])), make(np.zeros(2)))
    compare(make(np.array([2 + 1j])), make(np.array([2 + 1j])), "f(3)")
    assert "wrong" in message(make(np.array([2 - 1j])), make(np.array([2 + 1j])))
    compare(make(np.array([True])), make(np.array([True])), "f(3)")


def test_half_precision_tensors_are_compared_in_float64():
    right = torch.linspace(1, 2, 8, dtype=torch.float64)
    compare(right.bfloat16(), right, "f(3)", rtol=2**-8)
    assert "wrong" in message(right.bfloat16(), right, rtol=2**-11)
