"""numba kernels on another device than numba's own: ``gpu.trace()`` where there is a real GPU.

There numba compiles and launches for the GPU, and its arrays lie in the GPU's memory. Inside a
``with gpu.trace()`` (or any ``gpu.use(...)`` of a device that is no GPU) its launches come here:
numba prepares the arguments as always, then the arrays are brought to the host, the kernel's PTX
runs on the chosen device, and the arrays are brought back.
"""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from course import vgpu
from course.gpu.devices import Device
from course.gpu.errors import KernelFault, LaunchError
from course.gpu.numba import launcher, linker, messages, patches, places


@contextmanager
def follow(chosen: Device) -> Iterator[None]:
    """Send what numba launches inside the ``with`` to `chosen`."""
    from numba.cuda import dispatcher

    if chosen.kind == "cuda":
        yield
        return
    kernels = dispatcher._Kernel
    theirs, kernels.launch = kernels.launch, functools.partialmethod(_launch, chosen)
    undo = patches.note_dispatchers()
    try:
        yield
    finally:
        kernels.launch = theirs
        undo()


def _launch(
    kernel: Any,
    chosen: Device,
    arguments: Sequence[Any],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    stream: Any = 0,
    shared: int = 0,
) -> None:
    """Launch, in place of ``_Kernel.launch`` of numba-cuda."""
    dispatcher = launcher.calling.dispatcher
    lined = _with_lines(dispatcher, kernel.argument_types)
    ptx = _ptx(lined)
    after: list[Any] = []
    parameters: list[Any] = []
    for kind, value in zip(kernel.argument_types, arguments, strict=True):
        kernel._prepare_args(kind, value, stream, after, parameters)
    known = places.find(dispatcher, kernel.entry_name, len(parameters))
    spans = _Spans([place.extent(parameters) for place in known])
    slots = linker.slots(_program(ptx), lined.entry_name)
    buffers = launcher.plain(slots, known, parameters, spans.read)
    try:
        chosen.launch(ptx, lined.entry_name, grid, block, shared, buffers, kernel.cooperative)
    except KernelFault as fault:
        raise messages.told(fault, lined.entry_name, ptx, dispatcher) from None
    except LaunchError as refusal:
        words = messages.reworded(str(refusal), lined.entry_name, dispatcher)
        raise LaunchError(words) from None
    spans.write_back()
    for bring_back in after:
        bring_back()


@functools.lru_cache(maxsize=64)
def _with_lines(dispatcher: Any, types: tuple[Any, ...]) -> Any:
    """Return the kernel compiled with source lines, which messages and counts need."""
    options = dispatcher.targetoptions | {"debug": False, "lineinfo": True}
    return type(dispatcher)(dispatcher.py_func, options).compile(types)


@functools.lru_cache(maxsize=64)
def _ptx(kernel: Any) -> str:
    """Return a kernel's PTX with all that is linked to it."""
    from numba.cuda.cudadrv import driver

    library = kernel._codelibrary
    theirs = driver._Linker(max_registers=library._max_registers, cc=library._ensure_cc(None))
    for text in library.get_asm_strs():
        theirs.add_ptx(text.encode())
    for code in library._linking_files:
        theirs.add_file_guess_ext(code)
    if library.needs_cudadevrt:
        theirs.add_ptx(patches.GRID_SYNC.read_bytes())
    whole = linker.link(theirs._object_codes, library._max_registers, True)
    return bytes(whole.code).decode()


@functools.lru_cache(maxsize=64)
def _program(ptx: str) -> vgpu.Program:
    return vgpu.Program(ptx)


class _Spans:
    """Pieces of the GPU's memory on the host; arrays that overlap there overlap here too.

    Parameters
    ----------
    extents : sequence of (int, int)
        Begin and end addresses of arrays.
    """

    def __init__(self, extents: Sequence[tuple[int, int]]) -> None:
        from numba.cuda.cudadrv.driver import driver

        self._driver = driver
        self._pieces: list[tuple[int, np.ndarray]] = []
        begin = end = 0
        for first, last in [*sorted(e for e in extents if e[0] < e[1]), (1 << 64, 1 << 64)]:
            if first >= end:
                if begin < end:
                    self._fetch(begin, end)
                begin = first
            end = max(end, last)

    def _fetch(self, begin: int, end: int) -> None:
        data = np.empty(end - begin, np.uint8)
        self._driver.cuMemcpyDtoH(data.ctypes.data, begin, data.size)
        self._pieces.append((begin, data))

    def read(self, address: int, size: int) -> np.ndarray:
        """Return `size` bytes from `address` on, as a view."""
        for begin, data in self._pieces:
            if begin <= address and address + size <= begin + data.size:
                return data[address - begin : address - begin + size]
        return np.empty(0, np.uint8)

    def write_back(self) -> None:
        """Bring what a kernel wrote to the GPU."""
        for begin, data in self._pieces:
            self._driver.cuMemcpyHtoD(begin, data.ctypes.data, data.size)
