"""A kernel and the syntax that launches it: ``kernel[grid, block](*arguments)``."""

import functools
import operator
import re
from typing import TYPE_CHECKING, Any

from course.gpu import arguments, signature
from course.gpu.devices import Device, device
from course.gpu.errors import KernelFault, LaunchError

if TYPE_CHECKING:
    from course.gpu.module import Module


class Kernel:
    """A kernel, ready to launch: ``kernel[grid, block](*arguments)``.

    Attributes
    ----------
    module : Module
        Where it comes from: ``kernel.module.source`` is its text.
    name : str
        In C++.
    entry : str
        In PTX.
    """

    def __init__(self, module: "Module", name: str, entry: str) -> None:
        self.module = module
        self.name = name
        self.entry = entry

    @functools.cached_property
    def parameters(self) -> tuple[signature.Parameter, ...]:
        """What it expects, in order."""
        entry = self.module.entry(self.entry)
        types = self.module.types(self.entry, self.name)
        bare = re.split("[<(]", self.name)[0].split("::")[-1]
        names = signature.parameter_names(self.module.source, bare, len(entry.slots))
        return signature.parameters(entry, types, names)

    @functools.cached_property
    def places(self) -> tuple[arguments.Place, ...]:
        """Its parameters, prepared for checking arguments."""
        numbered = enumerate(self.parameters, 1)
        return tuple(arguments.Place(self.name, number, p) for number, p in numbered)

    def __getitem__(self, shape: Any) -> "Launch":
        """Choose the launch: ``kernel[grid, block]`` or ``kernel[grid, block, shared_bytes]``.

        Parameters
        ----------
        shape : tuple
            Blocks of the grid, threads of a block (each an int or a tuple of up to three, x first)
            and bytes of dynamic shared memory.
        """
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise LaunchError(
                f"{self.name}: expected {self.name}[grid, block] or "
                f"{self.name}[grid, block, shared_bytes], and [{shape!r}] came."
            )
        grid = _three(self.name, "grid", shape[0])
        block = _three(self.name, "block", shape[1])
        shared = _whole(self.name, "shared_bytes", shape[2]) if len(shape) == 3 else 0
        return Launch(self, grid, block, shared)

    def __call__(self, *_: Any) -> None:
        """Refuse: a launch needs a grid and a block."""
        raise LaunchError(
            f"{self.name} was called without a grid and a block. Write "
            f"{self.name}[grid, block](...): how many blocks, and how many threads in each."
        )

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(map(str, self.parameters))})>"


class Launch:
    """A kernel with its grid and block; calling it runs it."""

    def __init__(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.shared = shared

    def __call__(self, *values: Any) -> None:
        """Run the kernel.

        NumPy arrays and CPU tensors are copied to the GPU and back, and the call returns with the
        results. CUDA tensors are passed by pointer, on torch's current stream: the call returns at
        once.

        Raises
        ------
        ArgumentError
            A value does not fit its parameter.
        LaunchError
            The grid, the block or the shared memory exceeds a limit, or the kernel failed.
        NoDevice
            Nothing here runs kernels.
        """
        kernel = self.kernel
        target = device()
        self._check_limits(target)
        arguments.check_count(kernel.name, kernel.parameters, len(values))
        buffers = arguments.pack(kernel.places, values, target)
        image = kernel.module.ptx() if target.image == "ptx" else self._machine_code(target)
        try:
            cooperative = kernel.module.entry(kernel.entry).cooperative
            shape = self.grid, self.block, self.shared
            instance = kernel.module.instance
            target.launch(image, kernel.entry, *shape, buffers, cooperative, instance)
        except KernelFault as fault:
            # devices know line numbers, not the text of the lines
            source = kernel.module.name, kernel.module.source
            raise fault.with_source(*source, kernel.entry, kernel.name) from None

    def _machine_code(self, target: Device) -> bytes:
        module = self.kernel.module
        if not _runs_on(module.arch, target.arch):
            raise LaunchError(
                f"{self.kernel.name} was compiled for {module.arch}, and {target.name} needs "
                f"{target.arch}. Leave arch out of gpu.compile(...): it then follows the device."
            )
        return module.cubin()

    def _check_limits(self, target: Device) -> None:
        name, limits = self.kernel.name, target.limits
        for what, sizes, most in (
            ("grid", self.grid, limits.grid),
            ("block", self.block, limits.block),
        ):
            if any(size > limit for size, limit in zip(sizes, most, strict=True)):
                raise LaunchError(f"{name}: the {what} is {sizes}, and the limit is {most}.")
        threads = self.block[0] * self.block[1] * self.block[2]
        if threads > limits.threads_per_block:
            raise LaunchError(
                f"{name}: a block of {self.block} has {threads:,} threads, and the limit is "
                f"{limits.threads_per_block:,}. Use smaller blocks and more of them."
            )
        if self.shared > limits.shared_per_block:
            raise LaunchError(
                f"{name}: {self.shared:,} bytes of dynamic shared memory were asked for, and a "
                f"block can have {limits.shared_per_block:,}."
            )
        entry = self.kernel.module.entry(self.kernel.entry)
        if entry.exact_threads not in (None, threads) or threads > (entry.most_threads or threads):
            promised = entry.exact_threads or entry.most_threads
            raise LaunchError(
                f"{name}: the block has {threads} threads, and the kernel was compiled for "
                f"{'exactly' if entry.exact_threads else 'at most'} {promised} (__launch_bounds__)."
            )


def _three(kernel: str, what: str, value: Any) -> tuple[int, int, int]:
    sizes = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{kernel}: the {what} has one to three sizes, and {value!r} came.")
    whole = [_whole(kernel, what, size) for size in sizes] + [1] * (3 - len(sizes))
    if min(whole) < 1:
        empty = " Is an array empty?" if what == "grid" else ""
        raise LaunchError(
            f"{kernel}: the {what} is {tuple(whole)}, and each size must be at least 1.{empty}"
        )
    return whole[0], whole[1], whole[2]


def _whole(kernel: str, what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        rounded = " To round up, write (n + 255) // 256." if isinstance(value, float) else ""
        raise LaunchError(
            f"{kernel}: {what} is made of whole numbers, and {value!r} came.{rounded}"
        ) from None
    if number < 0:
        raise LaunchError(f"{kernel}: {what} cannot be negative, and {number} came.")
    return number


def _runs_on(compiled: str, target: str) -> bool:
    """Machine code runs on chips of its own generation, from its own member on upwards."""
    have, want = compiled.removeprefix("sm_"), target.removeprefix("sm_")
    if not have.isdigit():
        return have == want
    return have[:-1] == want.rstrip("af")[:-1] and int(have) <= int(want.rstrip("af"))
