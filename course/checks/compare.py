"""Is an answer right, and if not, why not.

`compare` raises `Wrong` with a message a student can act on: what came, what was expected, where
they differ, and, if the wrong answer is one that a known mistake gives, which mistake it is.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from course.checks.plain import is_tensor, show
from course.checks.wrong import Wrong

#: Wrong values and the reason for each; for a dict, such lists by key.
Known = Sequence[tuple[Any, str]] | Mapping[Any, Any]


def compare(
    got: Any, expected: Any, what: str, *, known: Known = (), rtol: float = 1e-6, dtype: Any = None
) -> None:
    """Raise `Wrong` unless `got` is `expected`.

    Parameters
    ----------
    got
        The student's answer, plain data (see `course.checks.plain.plain`).
    expected
        The right answer. An int, bool, str or None must be met exactly, a float within `rtol`, an
        array or tensor as `_compare_arrays` says; lists and tuples (taken as equal) and dicts part
        by part. Give an array's reference in float64, so that it is better than the answer.
    what
        What was asked, as a message begins: ``"bmm_flops((2, 3, 5), (2, 5, 7))"``.
    known
        Answers that known mistakes give, with their reasons: ``[(wrong, reason), ...]``. For a dict
        ``{key: known of that key}``, for a list or tuple ``{index: known of that part}``.
    rtol
        Tolerance of floats and arrays.
    dtype
        The dtype an array must have, such as ``"float32"``. None takes any of the right kind.

    Raises
    ------
    Wrong
        With a message for the student.
    """
    try:
        _compare(got, expected, what, known, rtol, dtype)
    except Wrong as error:
        reason = _reason(got, known, rtol)
        raise Wrong(f"{error}\n{reason}" if reason else str(error)) from None


def _compare(got: Any, expected: Any, what: str, known: Known, rtol: float, dtype: Any) -> None:
    if isinstance(expected, dict):
        _compare_dicts(got, expected, what, known, rtol)
    elif isinstance(expected, list | tuple):
        _compare_lists(got, expected, what, known, rtol)
    elif isinstance(expected, np.ndarray) or is_tensor(expected):
        _compare_arrays(got, expected, what, rtol, dtype)
    elif isinstance(expected, int | float) and not isinstance(expected, bool):
        _compare_numbers(got, expected, what, rtol)
    elif type(got) is not type(expected):
        raise Wrong(_wrong_type(got, what, _noun(expected)))
    elif got != expected:
        raise Wrong(f"{what} is {show(got)}; expected {show(expected)}.")


# --- numbers ----------------------------------------------------------------------------------


def _compare_numbers(got: Any, expected: float, what: str, rtol: float) -> None:
    if type(got) not in (int, float):
        raise Wrong(_wrong_type(got, what, "a number"))
    if not math.isfinite(got):
        raise Wrong(f"{what} is {got}; expected {digits(expected)}.")
    if not _near(got, expected, rtol):
        whole = isinstance(expected, int)
        shown = f"{got:,}" if whole else digits(got)
        hint = " A whole number is expected and this is a float: divide with //, not with /."
        raise Wrong(
            f"{what} is {shown}{_ratio(got, expected)}; expected {digits(expected)}."
            f"{hint if whole and isinstance(got, float) else ''}"
        )


def _near(a: float, b: float, rtol: float) -> bool:
    """Return whether two numbers agree: exactly if `b` is an int, else within `rtol` of `b`."""
    return a == b if isinstance(b, int) else abs(a - b) <= rtol * abs(b)


def digits(number: float) -> str:
    """Return a number as a message shows it: all digits of an int, six of a float."""
    if isinstance(number, int):
        return f"{number:,}"
    return f"{number:,.0f}" if 1e6 > abs(number) >= 1e3 else f"{number:.6g}"


def _ratio(got: float, expected: float) -> str:
    """Return a remark such as `` (1/2 of the right value)`` if the ratio is that simple."""
    if got <= 0 or expected <= 0:
        return ""
    ratio = Fraction(got / expected).limit_denominator(16)
    if not math.isclose(ratio, got / expected, rel_tol=1e-9) or ratio > 16:
        return ""
    if ratio.numerator == 1:
        return f" ({ratio} of the right value)"
    return f" ({ratio} times the right value)" if ratio.denominator == 1 else ""


# --- containers -------------------------------------------------------------------------------


def _compare_dicts(got: Any, expected: dict, what: str, known: Known, rtol: float) -> None:
    if type(got) is not dict:
        keys = f" with the keys {_names(expected)}" if expected else ""
        raise Wrong(_wrong_type(got, what, f"a dict{keys}"))
    missing = [key for key in expected if key not in got]
    extra = [key for key in got if key not in expected]
    if missing or extra:
        parts = []
        if missing:
            parts.append(f"has no {_names(missing)}")
        if extra:
            parts.append(f"has {_names(extra)} too many")
        raise Wrong(
            f"{what} is a dict that {' and '.join(parts)}. "
            f"Its keys should be {_names(expected) or 'none'}."
        )
    _compare_parts(got, expected, expected, what, known, rtol)


def _compare_lists(got: Any, expected: Sequence, what: str, known: Known, rtol: float) -> None:
    if type(got) not in (list, tuple):
        raise Wrong(_wrong_type(got, what, f"a {type(expected).__name__}"))
    if len(got) != len(expected):
        raise Wrong(
            f"{what} is {show(got)}, which has length {len(got)}; expected {show(expected)}, "
            f"of length {len(expected)}."
        )
    _compare_parts(got, expected, range(len(expected)), what, known, rtol)


def _compare_parts(
    got: Any, expected: Any, keys: Any, what: str, known: Known, rtol: float
) -> None:
    hints = known if isinstance(known, Mapping) else {}
    for key in keys:
        part = f"{what}[{key!r}]"
        compare(got[key], expected[key], part, known=hints.get(key, ()), rtol=rtol)


# --- arrays -----------------------------------------------------------------------------------


def _compare_arrays(got: Any, expected: Any, what: str, rtol: float, dtype: Any) -> None:
    """Compare element by element, with a tolerance from the reference's own size.

    An element may be off by ``rtol * (|reference| + rms)``, where rms is the root mean square of
    the reference: an array of zeros is never near, however small the numbers are.
    """
    noun = _noun(expected)
    if _noun(got) != noun:
        raise Wrong(_wrong_type(got, what, noun))
    if tuple(got.shape) != tuple(expected.shape):
        raise Wrong(
            f"{what} is {noun} of shape {tuple(got.shape)}; "
            f"expected the shape {tuple(expected.shape)}."
        )
    _check_dtype(got, expected, what, dtype)
    values, right = _float64(got), _float64(expected)
    bad = ~np.isfinite(values) & (values != right)  # a reference may hold -inf, as a mask does
    if bad.any():
        nan, inf = np.isnan(values[bad]).sum(), np.isinf(values[bad]).sum()
        raise Wrong(
            f"{what} has {nan:,} NaN and {inf:,} infinite elements of {bad.size:,} where there "
            f"should be none, {_where(bad)}."
        )
    off = ~_near_arrays(values, right, rtol)
    if off.any():
        first = tuple(int(i) for i in np.argwhere(off)[0])
        raise Wrong(
            f"{what} has {off.sum():,} of {off.size:,} elements wrong, {_where(off)}: "
            f"{values[first]:.6g} instead of {right[first]:.6g}."
        )


def _check_dtype(got: Any, expected: Any, what: str, dtype: Any) -> None:
    name = str(got.dtype).removeprefix("torch.")
    if dtype is not None:
        if name != dtype:
            raise Wrong(f"{what} has the dtype {name}; expected {dtype}.")
    elif _kind(got) != _kind(expected):
        raise Wrong(
            f"{what} has the dtype {name}, which is {_kind(got)}; "
            f"expected one that is {_kind(expected)}."
        )


def _kind(array: Any) -> str:
    name = str(array.dtype).removeprefix("torch.")
    for prefix in ("bool", "complex"):
        if name.startswith(prefix):
            return prefix
    return "integer" if name.startswith(("int", "uint")) else "floating point"


def _float64(array: Any) -> np.ndarray:
    """Return the values for arithmetic: float64, or complex128 where they are complex."""
    if is_tensor(array):
        import torch

        wide = torch.complex128 if array.is_complex() else torch.float64
        return array.detach().to(wide).numpy()
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _near_arrays(values: np.ndarray, right: np.ndarray, rtol: float) -> np.ndarray:
    finite = np.isfinite(right)
    size = np.abs(right, where=finite, out=np.zeros(right.shape))
    rms = np.sqrt(np.mean(size**2)) if size.size else 0.0
    with np.errstate(invalid="ignore"):
        return (values == right) | (np.abs(values - right) <= rtol * (size + rms))


def _where(mask: np.ndarray) -> str:
    places = [tuple(int(i) for i in index) for index in np.argwhere(mask)[:3]]
    if mask.ndim == 0:
        return "the only one"
    shown = ", ".join(f"[{', '.join(map(str, place))}]" for place in places)
    return f"the first at {shown}"


# --- messages ---------------------------------------------------------------------------------


def _reason(got: Any, known: Known, rtol: float) -> str:
    """Return the reason of the known mistake that gives `got`, or nothing."""
    if isinstance(known, Mapping):
        return ""
    for wrong, reason in known:
        try:
            compare(got, wrong, "", rtol=rtol)
        except Wrong:
            continue
        return reason
    return ""


def _wrong_type(got: Any, what: str, wanted: str) -> str:
    if got is None:
        hint = "" if what.endswith("]") else " Is there a return?"
        return f"{what} is None; expected {wanted}.{hint}"
    hint = ""
    if wanted == "a number":
        if type(got) is str:
            hint = " A number in quotes is text."
        elif type(got) is bool:
            hint = " A comparison such as == gives a bool."
        elif is_tensor(got) and got.numel() == 1:
            hint = " Its .item() is the number."
    return f"{what} is {show(got)}, {_noun(got)}; expected {wanted}.{hint}"


def _noun(value: Any) -> str:
    if type(value) is np.ndarray:  # a masked one would agree wherever it is masked
        return "a NumPy array"
    if is_tensor(value):
        return "a torch tensor"
    names = {type(None): "None", bool: "a bool", str: "a string", int: "an int", float: "a float"}
    return names.get(type(value), f"a {type(value).__name__}")


def _names(keys: Any) -> str:
    return ", ".join(repr(key) for key in keys)
