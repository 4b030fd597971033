"""The virtual GPU as a device that kernels run on: PTX text in, arrays in and out."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from course import vgpu
from course.gpu.devices import Array, Device, Limits, Pointer, Scalar
from course.gpu.errors import KernelFault, LaunchError
from course.gpu.module import in_use

#: The GPU that is imitated: an H100 or H200.
_LIMITS = Limits(
    threads_per_block=1024,
    block=(1024, 1024, 64),
    grid=(2**31 - 1, 65535, 65535),
    shared_per_block=232_448,
)


@functools.cache
def current() -> "VirtualDevice":
    """Return the virtual GPU that launches use by default."""
    return VirtualDevice()


class VirtualDevice(Device):
    """Runs kernels on the CPU, checks every access and raises what a real GPU would let pass.

    Attributes
    ----------
    machine : vgpu.Machine
        The virtual GPU with its memory.
    options : vgpu.Options
        How launches are scheduled and watched.
    observe : callable or None
        Called after each launch with the PTX and the `vgpu.Result`.
    """

    kind = "virtual"
    name = "virtual GPU"
    arch = "sm_90a"
    image = "ptx"
    limits = _LIMITS

    def __init__(
        self,
        options: vgpu.Options | None = None,
        observe: Callable[[str, vgpu.Result], None] | None = None,
        like: "VirtualDevice | None" = None,
    ) -> None:
        """Make a virtual GPU; it shares memory and code with the one that it is `like`."""
        limits = vgpu.Limits(
            _LIMITS.threads_per_block, _LIMITS.block, _LIMITS.grid, _LIMITS.shared_per_block
        )
        self.machine = like.machine if like else vgpu.Machine(limits)
        self.options = options or vgpu.Options()
        self.observe = observe
        self._programs: dict[str, vgpu.Program] = like._programs if like else {}

    def program(self, image: str) -> vgpu.Program:
        """Return the module of PTX text `image`; it is parsed once."""
        if image not in self._programs:
            self._programs[image] = vgpu.Program(image)
        return self._programs[image]

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
        """Run a kernel; see `Device.launch`. What it prints appears on standard output.

        Raises
        ------
        KernelFault
            The kernel did something wrong; the message says where and what.
        LaunchError
            The launch exceeds a limit, or uses what the virtual GPU does not run.
        """
        with refusals(), self.machine.arena.lock:
            self.machine.forget(lambda other: not in_use(other))
            program = self.program(str(image))
            memory = _Arrays(self.machine.arena, [b for b in buffers if isinstance(b, Array)])
            try:
                params = self._parameters(program, entry, buffers, memory)
                self.run(
                    self.machine, program, entry, grid, block, params, shared, cooperative, instance
                )  # fmt: skip
                memory.copy_back()
            finally:
                memory.free()

    def run(
        self,
        machine: vgpu.Machine,
        program: vgpu.Program,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes,
        shared: int,
        cooperative: bool = False,
        instance: int = 0,
    ) -> None:
        """Run a kernel whose arrays lie in the memory of `machine`, in the way of this device.

        Parameters
        ----------
        machine : vgpu.Machine
            Where its arrays are.
        program : vgpu.Program
            The module.
        entry : str
            The kernel's name in it.
        grid, block : tuple of int
            Blocks and threads in x, y, z.
        params : bytes
            The parameter block, laid out as the kernel declares it.
        shared : int
            Bytes of dynamic shared memory.
        cooperative : bool
            Whether all blocks run at once, because they wait for each other.
        instance : int
            Whose variables it sees; see `Device.launch`.
        """
        options = self.options
        if cooperative:
            options = dataclasses.replace(options, cooperative=True)
        try:
            result = machine.launch(program, entry, grid, block, params, shared, options, instance)
        except vgpu.Fault as fault:
            print("".join(fault.printed), end="")
            raise
        print("".join(result.printed), end="")
        if self.observe:
            self.observe(program.text, result)

    def _parameters(
        self,
        program: vgpu.Program,
        entry: str,
        buffers: Sequence[Scalar | Array | Pointer],
        memory: "_Arrays",
    ) -> bytes:
        """Lay the parameters out as the kernel declares them."""
        function = program.module.functions[entry]
        raw = bytearray(function.param_bytes)
        for place, buffer in zip(function.params, buffers, strict=True):
            if isinstance(buffer, Array):
                data = memory.address(buffer.data).to_bytes(8, "little")
            elif isinstance(buffer, Pointer):
                data = buffer.address.to_bytes(8, "little")
            else:
                data = buffer.data
            raw[place.offset : place.offset + len(data)] = data
        return bytes(raw)


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Raise what goes wrong on the virtual GPU as errors of ``course.gpu``."""
    try:
        yield
    except vgpu.Fault as fault:
        raise KernelFault(fault) from None
    except (vgpu.LaunchRefused, vgpu.OutOfMemory, vgpu.Unsupported, vgpu.PtxError) as refusal:
        raise LaunchError(str(refusal)) from None


class _Arrays:
    """The arrays of a launch in device memory; arrays that overlap share their memory there too."""

    def __init__(self, arena: vgpu.Arena, arrays: Sequence[Array]) -> None:
        self.arena = arena
        self.placed: list[tuple[int, int, int]] = []  # host begin, host end, device address
        self.arrays = arrays
        for begin, end, members in _groups(arrays):
            first = members[0]
            alone = all(m.data.nbytes == end - begin for m in members)
            shape = first.data.shape if alone else (end - begin,)
            kind = first.data.dtype if alone else np.dtype(np.uint8)
            address = arena.allocate(end - begin, first.name, kind, shape)
            self.placed.append((begin, end, address))
            writable = any(m.writable for m in members)
            for member in members:
                arena.write(self.address(member.data), member.data, read_only=not writable)

    def address(self, data: np.ndarray) -> int:
        """Return the device address of a host array."""
        start = data.ctypes.data
        return next(
            (d + start - b for b, e, d in self.placed if b <= start and start + data.nbytes <= e), 0
        )

    def copy_back(self) -> None:
        """Bring results into the host's arrays."""
        for array in self.arrays:
            if array.writable and array.data.nbytes:
                raw = self.arena.read(self.address(array.data), array.data.nbytes)
                array.data[...] = raw.view(array.data.dtype).reshape(array.data.shape)

    def free(self) -> None:
        """Give the device memory back."""
        for _, _, address in self.placed:
            self.arena.free(address)


def _groups(arrays: Sequence[Array]) -> Iterator[tuple[int, int, list[Array]]]:
    """Yield stretches of host memory, each with the arrays that lie in it."""
    filled = [a for a in arrays if a.data.nbytes]
    group: list[Array] = []
    begin = end = 0
    for array in sorted(filled, key=lambda a: (a.data.ctypes.data, -a.data.nbytes)):
        start, stop = array.data.ctypes.data, array.data.ctypes.data + array.data.nbytes
        if group and start < end:
            group.append(array)
            end = max(end, stop)
            continue
        if group:
            yield begin, end, group
        group, begin, end = [array], start, stop
    if group:
        yield begin, end, group
