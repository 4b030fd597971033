"""What went wrong in a kernel of numba, in the words of its Python source."""

import ast
import inspect
import linecache
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from course import vgpu
from course.gpu.errors import KernelFault

#: What messages say in CUDA C++, and how it is said in numba.
_IN_PYTHON = {
    "__syncthreads()": "cuda.syncthreads()",
    "__syncwarp": "cuda.syncwarp",
    "__launch_bounds__": "launch_bounds",
    "a negative index does not count from the end here, as it does in Python": (
        "a negative index counts from the end, but this one lies before the beginning"
    ),
}


def told(fault: KernelFault, entry: str, ptx: str, dispatcher: Any) -> KernelFault:
    """Return a fault with the lines of Python, and with the names that the program has.

    Parameters
    ----------
    fault : KernelFault
        As the device raised it.
    entry, ptx : str
        The kernel's name in PTX, and its module.
    dispatcher : numba.cuda.dispatcher.CUDADispatcher or None
        Whose kernel it is.
    """
    plain = fault.fault
    sources = {file: linecache.getlines(file) for file in _files(plain)}
    report = reworded(plain.report(sources), entry, dispatcher)
    for symbol, name in _shared_names(ptx, dispatcher).items():
        report = re.sub(rf"{symbol}\b", name, report)
    return KernelFault(plain, report)


def reworded(text: str, entry: str, dispatcher: Any) -> str:
    """Return a message with the kernel's name in Python and what numba calls things."""
    for word, ours in _IN_PYTHON.items():
        text = text.replace(word, ours)
    return text.replace(entry, shown(entry, dispatcher))


def shown(entry: str, dispatcher: Any) -> str:
    """Return a kernel's name in Python."""
    if dispatcher:
        return dispatcher.py_func.__name__
    names = re.findall(r"(?<=\d)[A-Za-z_]\w*", entry)
    return names[-1] if names else entry


def _files(fault: vgpu.Fault) -> Iterator[str]:
    for place in (fault.place, fault.other):
        if place:
            yield place.file
            yield from (caller.file for caller in place.callers)
    for other in fault.others:
        yield from _files(other)


def _shared_names(ptx: str, dispatcher: Any) -> dict[str, str]:
    """Return what the program calls its shared arrays, by their names in PTX.

    numba numbers them as it meets them. If there are as many in PTX as assignments of
    ``shared.array`` in the kernel, they are these; otherwise nobody knows.
    """
    symbols = sorted(set(re.findall(r"\b_cudapy_smem_\d+\b", ptx)), key=lambda s: int(s[13:]))
    names = _assigned(dispatcher.py_func) if dispatcher else []
    if len(names) != len(symbols):
        names = ["array"] * len(symbols)
    return dict(zip(symbols, names, strict=True))


def _assigned(function: Any) -> list[str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return []
    found = [
        (node.lineno, node.targets[0].id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).endswith("shared.array")
    ]
    return [name for _, name in sorted(found)]
