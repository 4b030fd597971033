"""The launch: what numba hands to the driver, to the virtual GPU."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from course import vgpu
from course.gpu import devices, virtual_device
from course.gpu.devices import Array, Scalar
from course.gpu.errors import KernelFault, LaunchError
from course.gpu.numba import linker, messages, occupancy, places
from course.gpu.numba.memory import Memory, NotAllocated
from course.gpu.numba.places import Place

#: The dispatcher whose kernel this thread launches; numba does not pass it down to the driver.
calling = threading.local()


class Config(NamedTuple):
    """How to launch, as `cuda.core.LaunchConfig`."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shmem_size: int
    is_cooperative: bool


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
        if kernel.places is None:
            kernel.places = places.find(dispatcher, kernel.name, len(arguments))
        with self._memory.lock, self._memory.mapped():
            self._name(kernel.places, arguments)
            try:
                if config.is_cooperative:
                    _check_cooperative(kernel, config)
                self._run(kernel, config, arguments)
            except KernelFault as fault:
                told = messages.told(fault, kernel.name, kernel.image.ptx, dispatcher)
                raise told from None
            except LaunchError as refusal:
                words = messages.reworded(str(refusal), kernel.name, dispatcher)
                raise LaunchError(words) from None

    def _run(self, kernel: linker.Kernel, config: Config, arguments: Sequence[Any]) -> None:
        target = devices.device()
        if target.kind == "cuda":  # numba was adapted when COURSE_DEVICE said so
            target = virtual_device.current()
        if not isinstance(target, virtual_device.VirtualDevice):
            buffers = plain(kernel.slots, kernel.places, arguments, self._bytes)
            target.launch(
                kernel.image.ptx, kernel.name, config.grid, config.block, config.shmem_size,
                buffers, config.is_cooperative,
            )  # fmt: skip
            return
        with virtual_device.refusals():
            target.run(
                self._machine, kernel.image.program(), kernel.name, config.grid, config.block,
                pack(kernel.slots, arguments), config.shmem_size, config.is_cooperative,
            )  # fmt: skip

    def _name(self, known: Sequence[Place], arguments: Sequence[Any]) -> None:
        """Call the arrays in memory what the kernel calls them."""
        for place in reversed(known):  # of two names for one array the first remains
            address = int(arguments[place.data])
            name, shape = place.name, place.shape(arguments)
            try:
                begin, size = self._memory.extent(address)
            except NotAllocated:  # an empty array
                continue
            if begin != address:
                name, shape = f"base of {name}", (size // place.dtype.itemsize,)
            self._memory.name(begin, name, place.dtype, shape)

    def _bytes(self, address: int, size: int) -> np.ndarray:
        return self._memory.arena.read(address, size)


def _check_cooperative(kernel: linker.Kernel, config: Config) -> None:
    threads = config.block[0] * config.block[1] * config.block[2]
    blocks = config.grid[0] * config.grid[1] * config.grid[2]
    if blocks <= occupancy.MULTIPROCESSORS:
        return
    usage = kernel.usage
    each = occupancy.blocks(threads, usage.registers, usage.shared + config.shmem_size)
    if blocks > each * occupancy.MULTIPROCESSORS:
        raise LaunchError(
            f"{kernel.name} waits for the whole grid, so all its blocks must run at once. The grid "
            f"has {blocks}, and the GPU holds {each * occupancy.MULTIPROCESSORS} of them."
        )


def pack(slots: Sequence[linker.Slot], arguments: Sequence[Any]) -> bytes:
    """Lay the parameters of a launch out as the kernel declares them."""
    raw = bytearray(slots[-1].offset + slots[-1].size if slots else 0)
    for slot, argument in zip(slots, arguments, strict=True):
        raw[slot.offset : slot.offset + slot.size] = _bytes_of(argument, slot.size)
    return bytes(raw)


def plain(
    slots: Sequence[linker.Slot],
    known: Sequence[Place],
    arguments: Sequence[Any],
    read: Callable[[int, int], np.ndarray],
) -> list[Scalar | Array]:
    """Return the parameters of a launch as plain data, for devices with memory of their own.

    Parameters
    ----------
    slots : sequence of linker.Slot
        The kernel's parameters.
    known : sequence of Place
        Which of them are arrays.
    arguments : sequence
        Their values.
    read : callable
        Returns the bytes from an address on, as a view that results can be written to.
    """
    buffers: list[Scalar | Array] = [
        Scalar(_bytes_of(argument, slot.size))
        for slot, argument in zip(slots, arguments, strict=True)
    ]
    for place in known:
        begin, end = place.extent(arguments)
        if begin != arguments[place.data]:
            raise LaunchError(
                f"{place.name} runs backwards in memory (a negative stride), and such an array "
                "cannot be sent to another device. Copy it first."
            )
        data = read(begin, end - begin)
        if place.dense:
            data = data.view(place.dtype).reshape(place.shape(arguments))
        buffers[place.data] = Array(data, True, place.name)
    return buffers


def _bytes_of(argument: Any, size: int) -> bytes:
    if isinstance(argument, ctypes._SimpleCData):
        return bytes(argument)
    return (int(argument) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
