"""The launch: what numba hands to the driver, to the virtual GPU."""

import ast
import ctypes
import functools
import inspect
import linecache
import re
import textwrap
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from course import vgpu
from course.gpu import devices, virtual_device
from course.gpu.errors import KernelFault, LaunchError
from course.gpu.numba import linker, occupancy
from course.gpu.numba.memory import Memory, NotAllocated

#: The dispatcher whose kernel this thread launches; numba does not pass it down to the driver.
calling = threading.local()


class Config(NamedTuple):
    """How to launch, as `cuda.core.LaunchConfig`."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shmem_size: int
    is_cooperative: bool


@dataclass(frozen=True)
class _Place:
    """Where an array stands among a kernel's parameters: at `data` its address, then its shape.

    Attributes
    ----------
    name : str
        Of the argument.
    data : int
        Number of the parameter.
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


class Launcher:
    """Launches kernels on the device that is in use.

    Parameters
    ----------
    machine : vgpu.Machine
        Whose memory numba's arrays lie in.
    memory : Memory
        The same memory, as the driver sees it.
    """

    def __init__(self, machine: vgpu.Machine, memory: Memory) -> None:
        self._machine = machine
        self._memory = memory

    def launch(self, stream: Any, config: Config, kernel: linker.Kernel, *arguments: Any) -> None:
        """Run a kernel, in place of `cuda.core.launch`.

        Raises
        ------
        KernelFault
            The kernel did something wrong; the message quotes the line of Python.
        LaunchError
            The launch exceeds a limit, or uses what the virtual GPU does not run.
        """
        dispatcher = getattr(calling, "dispatcher", None)
        target = _target()
        if config.is_cooperative:
            _check_cooperative(kernel, config)
        with self._memory.lock, self._memory.mapped():
            self._name(_places(dispatcher, kernel.name, len(arguments)), arguments)
            try:
                with virtual_device.refusals():
                    program = kernel.image.program()
                    target.run(
                        self._machine, program, kernel.name, config.grid, config.block,
                        _pack(program, kernel.name, arguments), config.shmem_size,
                        config.is_cooperative,
                    )  # fmt: skip
            except KernelFault as fault:
                raise _told(fault, kernel, dispatcher) from None
            except LaunchError as refusal:
                shown = str(refusal).replace(kernel.name, _shown(kernel, dispatcher))
                raise LaunchError(shown) from None

    def _name(self, places: Sequence[_Place], arguments: Sequence[Any]) -> None:
        """Call the arrays in memory what the kernel calls them."""
        for place in reversed(places):  # of two names for one array the first remains
            address = int(arguments[place.data])
            shape = tuple(arguments[place.data + 1 : place.data + 1 + place.ndim])
            if not place.dense:
                shape = (int(np.prod(shape)),)
            name = place.name
            try:
                begin, size = self._memory.extent(address)
            except NotAllocated:  # an empty array, or another library's
                continue
            if begin != address:
                name, shape = f"base of {name}", (size // place.dtype.itemsize,)
            self._memory.name(begin, name, place.dtype, shape)


def _target() -> virtual_device.VirtualDevice:
    target = devices.device()
    return target if isinstance(target, virtual_device.VirtualDevice) else virtual_device.current()


def _check_cooperative(kernel: linker.Kernel, config: Config) -> None:
    threads = config.block[0] * config.block[1] * config.block[2]
    blocks = config.grid[0] * config.grid[1] * config.grid[2]
    if blocks <= occupancy.MULTIPROCESSORS:
        return
    usage = kernel.usage
    each = occupancy.blocks(threads, usage.registers, usage.shared + config.shmem_size)
    if blocks > each * occupancy.MULTIPROCESSORS:
        raise LaunchError(
            f"{_shown(kernel, None)} waits for the whole grid, so all its blocks must run at once. "
            f"The grid has {blocks}, and the GPU holds {each * occupancy.MULTIPROCESSORS} of them."
        )


# --- parameters -----------------------------------------------------------------------------------


def _pack(program: vgpu.Program, entry: str, arguments: Sequence[Any]) -> bytes:
    """Lay the parameters out as the kernel declares them."""
    function = program.module.functions[entry]
    raw = bytearray(function.param_bytes)
    for place, argument in zip(function.params, arguments, strict=True):
        if isinstance(argument, ctypes._SimpleCData):
            data = bytes(argument)
        else:
            data = (int(argument) & ((1 << 8 * place.size) - 1)).to_bytes(place.size, "little")
        raw[place.offset : place.offset + len(data)] = data
    return bytes(raw)


@functools.lru_cache(maxsize=256)
def _places(dispatcher: Any, entry: str, count: int) -> tuple[_Place, ...]:
    """Return where arrays stand among the `count` parameters of a kernel."""
    overloads = dispatcher.overloads.values() if dispatcher else ()
    compiled = next((k for k in overloads if k.entry_name == entry), None)
    if compiled is None:
        return ()
    places: list[_Place] = []
    used = 0
    names = inspect.signature(dispatcher.py_func).parameters
    for name, kind in zip(names, compiled.argument_types, strict=False):
        used = _walk(kind, name, used, places)
    return tuple(places) if used == count else ()  # extensions of numba may add parameters


def _walk(kind: Any, name: str, used: int, places: list[_Place]) -> int:
    """Add the arrays of an argument that starts at parameter `used`; return where it ends.

    The order is that of ``_Kernel._prepare_args`` in numba-cuda.
    """
    from numba.cuda import types
    from numba.cuda.np.numpy_support import as_dtype

    if isinstance(kind, types.Array):
        # meminfo, parent, number of elements, bytes of one, address, shape, strides
        dtype = np.dtype(as_dtype(kind.dtype))
        places.append(_Place(name, used + 4, dtype, kind.ndim, kind.layout == "C"))
        return used + 5 + 2 * kind.ndim
    if isinstance(kind, types.Record):
        places.append(_Place(name, used, np.dtype(as_dtype(kind)), 0, True))
        return used + 1
    if isinstance(kind, types.BaseTuple):
        for number, part in enumerate(kind):
            used = _walk(part, f"{name}[{number}]", used, places)
        return used
    return used + (2 if isinstance(kind, types.Complex) else 1)


# --- messages -------------------------------------------------------------------------------------


def _told(fault: KernelFault, kernel: linker.Kernel, dispatcher: Any) -> KernelFault:
    """Return a fault with the lines of Python, and the names that the program has for things."""
    plain = fault.fault
    sources = {file: linecache.getlines(file) for file in _files(plain)}
    report = plain.report(sources).replace(kernel.name, _shown(kernel, dispatcher))
    for symbol, name in _shared_names(kernel.image.ptx, dispatcher).items():
        report = re.sub(rf"{symbol}\b", name, report)
    return KernelFault(plain, report)


def _files(fault: vgpu.Fault) -> Iterator[str]:
    for place in (fault.place, fault.other):
        if place:
            yield place.file
            yield from (caller.file for caller in place.callers)
    for other in fault.others:
        yield from _files(other)


def _shown(kernel: linker.Kernel, dispatcher: Any) -> str:
    """Return the kernel's name in Python."""
    if dispatcher:
        return dispatcher.py_func.__name__
    names = re.findall(r"(?<=\d)[A-Za-z_]\w*", kernel.name)
    return names[-1] if names else kernel.name


def _shared_names(ptx: str, dispatcher: Any) -> dict[str, str]:
    """Return what the program calls its shared arrays, by their names in PTX.

    numba numbers them as it meets them. If there are as many in PTX as assignments of
    ``shared.array`` in the kernel, they are these; otherwise nobody knows.
    """
    symbols = sorted(set(re.findall(r"\b_cudapy_smem_\d+\b", ptx)), key=lambda s: int(s[13:]))
    names = _assigned_shared(dispatcher.py_func) if dispatcher else []
    if len(names) != len(symbols):
        names = ["array"] * len(symbols)
    return dict(zip(symbols, names, strict=True))


def _assigned_shared(function: Any) -> list[str]:
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
