"""The seam between a kernel and what runs it.

A launch crosses it as plain data: code, a name, three numbers for the grid and three for the block,
bytes and arrays. So a device can be a GPU, an emulation of one, or a process elsewhere.
"""

import abc
import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from course.gpu.errors import NoDevice


class Scalar(NamedTuple):
    """A parameter passed by value: its bytes as the kernel reads them."""

    data: bytes


class Array(NamedTuple):
    """A parameter that points to an array in host memory.

    Attributes
    ----------
    data : numpy.ndarray
        C-contiguous. What the kernel writes must be found in it after the launch. An array that
        appears twice, or overlaps another, is the same memory for the kernel too.
    writable : bool
        Whether the kernel may write to it.
    name : str
        What messages call it.
    """

    data: np.ndarray
    writable: bool
    name: str


class Pointer(NamedTuple):
    """A parameter that points into the memory of a real GPU (0 is the null pointer)."""

    address: int


@dataclass(frozen=True)
class Limits:
    """How large a launch may be.

    Attributes
    ----------
    threads_per_block : int
        Product of the block's three sizes.
    block, grid : tuple of int
        Largest size in x, y and z.
    shared_per_block : int
        Bytes, static and dynamic together, with the opt-in above 48 KB.
    """

    threads_per_block: int
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    shared_per_block: int


class Device(abc.ABC):
    """Something that runs kernels.

    Attributes
    ----------
    kind : str
        ``cuda`` for a real GPU, ``virtual`` or ``remote``.
    name : str
        For people: ``NVIDIA H200``.
    arch : str
        What to compile for: ``sm_90a``.
    image : {"ptx", "cubin"}
        The form of code that `launch` takes.
    limits : Limits
        What `launch` can be asked for.
    memory : str or None
        The torch device whose tensors it takes by pointer: ``cuda:0``; None if host memory only.
    """

    kind: str
    name: str
    arch: str
    image: Literal["ptx", "cubin"]
    limits: Limits
    memory: str | None = None

    @abc.abstractmethod
    def launch(
        self,
        image: str | bytes,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        buffers: Sequence[Scalar | Array | Pointer],
        cooperative: bool = False,
        instance: int = 0,
    ) -> None:
        """Run a kernel. With host arrays among `buffers` it returns when their results are there.

        Parameters
        ----------
        image : str or bytes
            PTX text or a cubin, as `image` says.
        entry : str
            The kernel's name in it.
        grid, block : tuple of int
            Blocks and threads in x, y, z.
        shared : int
            Bytes of dynamic shared memory.
        buffers : sequence of Scalar, Array or Pointer
            One for each parameter, in order.
        cooperative : bool
            All blocks must run at the same time, because they wait for each other.
        instance : int
            Which loading of the code this is. Launches of one instance share its ``__device__``
            variables, whichever kernel they run; another instance has its own.

        Raises
        ------
        LaunchError
            The device refuses the launch, or the kernel failed.
        """

    def __str__(self) -> str:
        return f"{self.name} ({self.arch})"


def _real() -> Device:
    from course.gpu import cuda_device

    return cuda_device.current()


def _virtual() -> Device:
    from course.gpu import virtual_device

    return virtual_device.current()


#: The devices to try, the best first. Each returns one or raises NoDevice.
_KINDS: dict[str, Callable[[], Device]] = {"cuda": _real, "virtual": _virtual}

_chosen: Device | None = None


def device() -> Device:
    """Return what kernels run on now.

    A real GPU where there is one. ``COURSE_DEVICE`` (``cuda`` or ``virtual``) decides where several
    kinds exist.

    Raises
    ------
    NoDevice
        Nothing here runs kernels; the message says why and what works all the same.
    """
    if _chosen:
        return _chosen
    wanted = os.environ.get("COURSE_DEVICE")
    if wanted and wanted not in _KINDS:
        kinds = " or ".join(_KINDS)
        raise NoDevice(f"COURSE_DEVICE is {wanted!r}; this version of the course has: {kinds}.")
    reasons = []
    for kind in [wanted] if wanted else _KINDS:
        try:
            return _KINDS[kind]()
        except NoDevice as reason:
            reasons.append(str(reason))
    raise NoDevice(
        f"Kernels cannot be launched on this machine: {'; '.join(reasons)}. What works: compiling, "
        "and looking at what the compiler made (module.ptx(), module.resources(), module.sass()). "
        "What is missing: an NVIDIA GPU of compute capability 7.5 or newer with driver 580 or "
        "newer, here or on a remote machine."
    )


def chosen() -> Device | None:
    """Return what `use` has chosen, or None."""
    return _chosen


#: What launches by itself and has to follow `use`: each is entered with the chosen device.
followers: list[Callable[[Device], contextlib.AbstractContextManager]] = []


@contextlib.contextmanager
def use(target: Device) -> Iterator[Device]:
    """Run every launch inside the ``with`` on `target`."""
    global _chosen
    before, _chosen = _chosen, target
    try:
        with contextlib.ExitStack() as stack:
            for follow in followers:
                stack.enter_context(follow(target))
            yield target
    finally:
        _chosen = before
