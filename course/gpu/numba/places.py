"""Where arrays stand among the parameters of a kernel that numba compiled."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Place:
    """An array among the parameters: at `data` its address, then its shape, then its strides.

    Attributes
    ----------
    name : str
        Of the argument in Python.
    data : int
        Number of the parameter with the address.
    dtype : numpy.dtype
        Of its elements.
    ndim : int
        Length of its shape.
    dense : bool
        Whether its elements lie in C order without gaps.
    """

    name: str
    data: int
    dtype: np.dtype
    ndim: int
    dense: bool

    def shape(self, arguments: Sequence[Any]) -> tuple[int, ...]:
        """Return the array's shape in a launch; flat if its elements are not in C order."""
        shape = tuple(arguments[self.data + 1 : self.data + 1 + self.ndim])
        return shape if self.dense else (int(np.prod(shape)),)

    def extent(self, arguments: Sequence[Any]) -> tuple[int, int]:
        """Return the addresses of the array's first byte and of the byte behind its last."""
        address, after = int(arguments[self.data]), self.data + 1
        shape = arguments[after : after + self.ndim]
        strides = arguments[after + self.ndim : after + 2 * self.ndim]
        if not all(shape):
            return address, address
        steps = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        low = sum(step for step in steps if step < 0)
        high = sum(step for step in steps if step > 0)
        return address + low, address + high + self.dtype.itemsize


def find(dispatcher: Any, entry: str, count: int) -> tuple[Place, ...]:
    """Return where arrays are among the `count` parameters of a dispatcher's kernel `entry`."""
    overloads = dispatcher.overloads.values() if dispatcher else ()
    compiled = next((k for k in overloads if k.entry_name == entry), None)
    if compiled is None:
        return ()
    places: list[Place] = []
    used = 0
    names = inspect.signature(dispatcher.py_func).parameters
    for name, kind in zip(names, compiled.argument_types, strict=False):
        used = _walk(kind, name, used, places)
    return tuple(places) if used == count else ()  # numba's extensions may add parameters


def _walk(kind: Any, name: str, used: int, places: list[Place]) -> int:
    """Add the arrays of an argument that starts at parameter `used`; return where it ends.

    The order is that of ``_Kernel._prepare_args`` in numba-cuda.
    """
    from numba.cuda import types
    from numba.cuda.np.numpy_support import as_dtype

    if isinstance(kind, types.Array):
        # meminfo, parent, number of elements, bytes of one, address, shape, strides
        dtype = np.dtype(as_dtype(kind.dtype))
        places.append(Place(name, used + 4, dtype, kind.ndim, kind.layout == "C"))
        return used + 5 + 2 * kind.ndim
    if isinstance(kind, types.Record):
        places.append(Place(name, used, np.dtype(as_dtype(kind)), 0, True))
        return used + 1
    if isinstance(kind, types.BaseTuple):
        for number, part in enumerate(kind):
            used = _walk(part, f"{name}[{number}]", used, places)
        return used
    return used + (2 if isinstance(kind, types.Complex) else 1)
