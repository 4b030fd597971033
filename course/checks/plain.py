"""Plain data: what a graded answer may be made of, and its form on a wire.

Answers are None, bool, int, float, str, lists, tuples, dicts, NumPy arrays and torch tensors of
them, and nothing else. Such values can be compared without running code that a student wrote, and
a grader can keep the student's functions in another process: only bytes cross.

torch is looked up, not imported: a set that needs no tensors does not pay for it.
"""

import json
import math
import struct
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from course.checks.wrong import Wrong

#: Limits of one value: bytes of a message, nesting, number of parts, digits of an int.
MAX_BYTES = 64 * 2**20
MAX_DEPTH = 20
MAX_PARTS = 100_000
MAX_BITS = 1000

_SCALARS = (type(None), bool, int, float, str)
_DICTS = (dict, Counter, defaultdict, OrderedDict)
#: NumPy's own scalar types. A subclass that a student wrote is not among them.
_NUMPY_SCALARS = tuple(
    t
    for t in set(np.sctypeDict.values())
    if np.dtype(t).kind in "biuf" and np.dtype(t).itemsize <= 8
)
_ALLOWED = "None, bool, int, float, str, list, tuple, dict, NumPy array, torch tensor"


def plain(value: Any, what: str = "the answer") -> Any:
    """Return a copy of `value` made of plain data only.

    NumPy scalars become Python numbers; `Counter`, `defaultdict` and `OrderedDict` become dicts;
    `torch.Size` becomes a tuple; tensors and parameters are detached and copied to the CPU.

    Parameters
    ----------
    value
        What a student returned.
    what
        How a message calls the value.

    Raises
    ------
    Wrong
        If anything in `value` is not plain data, or it is too large or too deeply nested.
    """
    budget = _Budget(what)
    return _copy(value, what, 0, budget)


class _Budget:
    """What is left of the limits while a value is copied."""

    def __init__(self, what: str) -> None:
        self.what, self.parts, self.bytes = what, MAX_PARTS, MAX_BYTES

    def take(self, size: int) -> None:
        self.parts -= 1
        self.bytes -= size
        if self.parts < 0 or self.bytes < 0:
            raise Wrong(
                f"{self.what} is too large: at most {MAX_PARTS:,} parts and "
                f"{MAX_BYTES // 2**20} MiB are accepted."
            )


def _copy(value: Any, what: str, depth: int, budget: _Budget) -> Any:
    # exact types throughout: a subclass could bring its own __eq__ and agree with everything
    kind = type(value)
    if depth > MAX_DEPTH:
        raise Wrong(f"{budget.what} is nested more than {MAX_DEPTH} levels deep.")
    if kind in _NUMPY_SCALARS:
        return _copy(value.item(), what, depth, budget)
    if kind in _SCALARS:
        if kind is int and value.bit_length() > MAX_BITS:
            raise Wrong(f"{what} is an integer of {value.bit_length():,} bits: too large.")
        budget.take(len(value) * 4 if kind is str else 8)
        return value
    if kind in (list, tuple) or (kind.__module__ == "torch" and kind.__name__ == "Size"):
        budget.take(8)
        items = [_copy(v, f"{what}[{i}]", depth + 1, budget) for i, v in enumerate(value)]
        return items if kind is list else tuple(items)
    if kind in _DICTS:
        budget.take(8)
        return _copy_dict(value, what, depth, budget)
    if kind is np.ndarray and value.dtype.kind in "biufc":
        budget.take(value.nbytes)
        return np.array(value, order="C")
    if is_tensor(value):
        budget.take(value.numel() * value.element_size())
        return value.detach().to("cpu").clone().resolve_conj().resolve_neg().contiguous()
    raise Wrong(_refusal(value, what))


def _copy_dict(value: dict, what: str, depth: int, budget: _Budget) -> dict:
    copy = {}
    for key, item in dict(value).items():
        key = key.item() if type(key) in _NUMPY_SCALARS else key
        if type(key) not in (str, int, bool, float):
            raise Wrong(
                f"{what} has the key {show(key)}: keys must be strings or numbers. For an "
                f"operator of PyTorch take its name, as in str(func.overloadpacket)."
            )
        budget.take(8)
        copy[key] = _copy(item, f"{what}[{key!r}]", depth + 1, budget)
    return copy


def _refusal(value: Any, what: str) -> str:
    kind = type(value)
    if kind is np.ndarray:
        return f"{what} is an array of dtype {value.dtype}: only numbers and bools are accepted."
    if isinstance(value, np.ma.MaskedArray):
        return (
            f"{what} is a masked array, and which numbers stand in its masked places is open: "
            "return an ordinary array, as its .filled(number) gives."
        )
    if isinstance(value, np.ndarray):
        return f"{what} is a {kind.__name__}: return an ordinary array, as np.array(...) gives."
    if _torch() is not None and isinstance(value, _torch().Tensor):
        if value.is_nested:
            return f"{what} is a nested tensor, which has no one shape: return an ordinary tensor."
        return f"{what} is a {kind.__name__} without values of its own: return an ordinary tensor."
    if callable(value):
        return f"{what} is {show(value)}, which was not called: are the parentheses missing?"
    return (
        f"{what} is of type {kind.__module__}.{kind.__qualname__}. Return plain data: {_ALLOWED}."
    )


def _torch() -> ModuleType | None:
    return sys.modules.get("torch")


def is_tensor(value: Any) -> bool:
    """Return whether `value` is an ordinary dense torch tensor (or parameter) with values."""
    torch = _torch()
    return (
        torch is not None
        and type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout is torch.strided
        and not value.is_nested
        and value.device.type != "meta"
    )


def same(a: Any, b: Any) -> bool:
    """Return whether two plain values are equal in type and value; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, np.ndarray) or is_tensor(a):
        # bit patterns: two NaN agree, and so do types that NumPy does not know (bfloat16)
        return a.shape == b.shape and a.dtype == b.dtype and _raw(a) == _raw(b)
    return a == b


def show(value: Any, limit: int = 200) -> str:
    """Return `value` as a short text for a message; arrays by shape and dtype."""
    text = _text(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray) or is_tensor(value):
        noun = "array" if isinstance(value, np.ndarray) else "tensor"
        shape = "x".join(map(str, value.shape)) or "0-dimensional"
        return f"<{noun} {shape} {str(value.dtype).removeprefix('torch.')}>"
    if type(value) is list:
        return f"[{', '.join(map(_text, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if type(value) is dict:
        return f"{{{', '.join(f'{key!r}: {_text(item)}' for key, item in value.items())}}}"
    if type(value) in _SCALARS:
        return repr(value)
    if callable(value):
        return f"the function {getattr(value, '__qualname__', type(value).__qualname__)}"
    return f"<{type(value).__module__}.{type(value).__qualname__}>"


# --- the wire: 8 bytes for the header's length, the header as JSON, then the arrays' bytes ----


def encode(value: Any) -> bytes:
    """Return plain `value` as bytes. `decode` is the inverse.

    Scalars stand for themselves; containers and arrays are tagged JSON lists; the elements of
    arrays and tensors follow the header as raw bytes. No pickle: decoding runs no code.

    Raises
    ------
    Wrong
        If `value` is not plain data.
    """
    blobs: list[bytes] = []
    tree = _to_tree(plain(value), blobs)
    header = json.dumps([tree, [len(blob) for blob in blobs]]).encode()
    return b"".join([struct.pack(">Q", len(header)), header, *blobs])


def decode(data: bytes) -> Any:
    """Return the value that `encode` made into `data`.

    Raises
    ------
    ValueError
        If `data` is not such bytes, for whatever reason.
    """
    try:
        if len(data) > 2 * MAX_BYTES:
            raise ValueError(f"{len(data):,} bytes are too many")
        (length,) = struct.unpack_from(">Q", data)
        tree, sizes = json.loads(data[8 : 8 + length])
        blobs, start = [], 8 + length
        for size in sizes:
            blobs.append(data[start : start + size])
            start += size
        if start != len(data) or any(size < 0 for size in sizes):
            raise ValueError("the parts do not add up to the whole")
        return _from_tree(tree, blobs)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, struct.error) as error:
        raise ValueError(f"not an encoded plain value: {error}") from None


def _to_tree(value: Any, blobs: list[bytes]) -> Any:
    if isinstance(value, list | tuple):
        return [type(value).__name__, [_to_tree(item, blobs) for item in value]]
    if isinstance(value, dict):
        return ["dict", [[key, _to_tree(item, blobs)] for key, item in value.items()]]
    if isinstance(value, np.ndarray):
        blobs.append(_raw(value))
        return ["array", value.dtype.str, list(value.shape), len(blobs) - 1]
    if is_tensor(value):
        blobs.append(_raw(value))
        dtype = str(value.dtype).removeprefix("torch.")
        return ["tensor", dtype, list(value.shape), len(blobs) - 1]
    return value


def _from_tree(tree: Any, blobs: list[bytes]) -> Any:
    if not isinstance(tree, list):
        if type(tree) not in _SCALARS:
            raise ValueError(f"a bare {type(tree).__name__}")
        return tree
    tag, *rest = tree
    return _BUILDERS[tag](*rest, blobs)


def _list(items: list, blobs: list[bytes]) -> list:
    return [_from_tree(item, blobs) for item in items]


def _dict(pairs: list, blobs: list[bytes]) -> dict:
    return {key: _from_tree(item, blobs) for key, item in pairs}


def _array(name: str, shape: list[int], index: int, blobs: list[bytes]) -> np.ndarray:
    dtype = np.dtype(name)
    if dtype.kind not in "biufc":
        raise ValueError(f"an array of {dtype}")
    return np.frombuffer(blobs[index], dtype).reshape(shape).copy()


def _tensor(name: str, shape: list[int], index: int, blobs: list[bytes]) -> Any:
    import torch

    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"a tensor of {name}")
    raw = bytearray(blobs[index])
    flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
    return flat.reshape(shape)


_BUILDERS: dict[str, Callable[..., Any]] = {
    "list": _list,
    "tuple": lambda items, blobs: tuple(_list(items, blobs)),
    "dict": _dict,
    "array": _array,
    "tensor": _tensor,
}


def _raw(value: Any) -> bytes:
    """Return the elements of an array or CPU tensor as bytes, in row-major order."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    flat = value.detach().contiguous().reshape(-1)
    return flat.view(_torch().uint8).numpy().tobytes()
