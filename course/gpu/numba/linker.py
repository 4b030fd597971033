"""Object code to PTX, and PTX to what `cuModuleLoad` would return.

A GPU runs machine code, and numba's linker makes it; the virtual GPU runs PTX. So here the inputs
become one PTX text: what numba compiled, and what is linked to it, such as the CUDA C++ behind
float16 functions. LTO-IR goes through nvJitLink, which optimises it as for a GPU.
"""

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cuda.core import Linker, LinkerOptions, ObjectCode

from course import vgpu
from course.gpu import resources, virtual_device
from course.gpu.numba import occupancy, ptx_text
from course.gpu.numba.places import Place

if TYPE_CHECKING:
    from course.gpu.numba.driver import Driver

_ARCH = "sm_90a"


class NotPtx(ValueError):
    """An input of the linker holds nothing but machine code."""


def link(objects: Sequence[ObjectCode], most_registers: int | None, lineinfo: bool) -> ObjectCode:
    """Return one object that holds PTX.

    Parameters
    ----------
    objects : sequence of cuda.core.ObjectCode
        PTX, LTO-IR, or a library or object file with LTO-IR in it.
    most_registers : int, optional
        For each thread.
    lineinfo : bool
        Whether to keep the lines of the source.

    Raises
    ------
    NotPtx
        There is machine code among the inputs.
    """
    texts = [bytes(o.code).decode() for o in objects if o.code_type == "ptx"]
    others = [o for o in objects if o.code_type != "ptx"]
    if any(o.code_type == "cubin" for o in others):
        raise NotPtx(
            "the virtual GPU runs PTX, and a cubin came: machine code for a real GPU. Link the "
            "source instead (.cu), or its PTX."
        )
    if others:
        options = LinkerOptions(
            arch=_ARCH, link_time_optimization=True, ptx=True, lineinfo=lineinfo or None
        )
        texts.insert(0, bytes(Linker(*others, options=options).link("ptx").code).decode())
    text = texts[0] if len(texts) == 1 else ptx_text.join(texts)
    if most_registers:
        text = ptx_text.limit_registers(text, most_registers)
    return ObjectCode.from_ptx(text.encode())


def has_no_ptx(code: Any) -> bool:
    """Say whether what is to be linked, a path or a `LinkableCode`, is neither source nor PTX."""
    kind = code.rsplit(".", 1)[-1] if isinstance(code, str) else type(code).__name__
    return kind not in ("cu", "ptx", "CUSource", "PTXSource")


def assemble(ptx: str) -> tuple[bytes, str]:
    """Return the machine code that a GPU would run, and the assembler's report."""
    options = LinkerOptions(arch=_ARCH, ptxas_options=["-v"])
    # nvJitLink demands the names of inlined functions, which stand in a section that may be gone
    plain = re.sub(r"^(\s*\.loc\s+\d+\s+\d+\s+\d+)[^\n]*", r"\1", ptx, flags=re.M)
    linker = Linker(ObjectCode.from_ptx(plain.encode()), options=options)
    cubin = bytes(linker.link("cubin").code)
    return cubin, linker.get_info_log()


class Image:
    """PTX that has been loaded.

    Attributes
    ----------
    ptx : str
        As it was compiled.
    handle : int
        The driver's number for it.
    """

    def __init__(self, ptx: str, machine: vgpu.Machine, driver: "Driver") -> None:
        self.ptx = ptx
        self._machine = machine
        self._kernels: dict[str, Kernel] = {}
        self._program: vgpu.Program | None = None
        self.handle = driver.load(self)

    def get_kernel(self, name: str) -> "Kernel":
        """Return a kernel by its name in PTX."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, name)
        return self._kernels[name]

    def program(self) -> vgpu.Program:
        """Return it as what the virtual GPU runs."""
        if self._program is None:
            self._program = vgpu.Program(self.ptx)
        return self._program

    def variable(self, name: str) -> tuple[int, int]:
        """Return address and size of a global variable."""
        program = self.program()
        return self._machine.symbols(program)[name], program.module.variables[name].size

    @functools.cached_property
    def _assembled(self) -> tuple[bytes, str]:
        return assemble(self.ptx)

    def usage(self, entry: str) -> resources.Usage:
        """Return what a kernel would need on a real GPU."""
        cubin, log = self._assembled
        usage = resources.read(log, cubin, {entry: entry})[entry]
        # shared arrays of numba are visible to a linker, so the assembler leaves them out
        return dataclasses.replace(usage, shared=max(usage.shared, self._shared()))

    def _shared(self) -> int:
        size = 0
        for variable in self.program().module.variables.values():
            if variable.space == "shared" and not variable.external:
                size = -(-size // variable.align) * variable.align + variable.size
        return size


class Slot(NamedTuple):
    """Where a parameter lies in the parameter block, in bytes."""

    offset: int
    size: int


def slots(program: vgpu.Program, entry: str) -> tuple[Slot, ...]:
    """Return the parameters of a kernel."""
    return tuple(Slot(p.offset, p.size) for p in program.module.functions[entry].params)


class Kernel:
    """A kernel of an image, as `cuda.core.Kernel` would be.

    Attributes
    ----------
    image : Image
        Where it comes from.
    name : str
        In PTX.
    places : tuple of Place or None
        Which of its parameters are arrays, once it has been launched.
    """

    def __init__(self, image: Image, name: str) -> None:
        self.image = image
        self.name = name
        self.handle = self
        self.places: tuple[Place, ...] | None = None

    @functools.cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Its parameters."""
        with virtual_device.refusals():
            return slots(self.image.program(), self.name)

    @functools.cached_property
    def usage(self) -> resources.Usage:
        """What the assembler says that it needs."""
        return self.image.usage(self.name)

    @property
    def attributes(self) -> "Attributes":
        """What the driver says of a kernel."""
        return Attributes(self)


class Attributes:
    """A kernel's needs under the names of `cuda.core.KernelAttributes`."""

    def __init__(self, kernel: Kernel) -> None:
        usage = kernel.usage
        promised = kernel.image.program().module.functions[kernel.name].directives.get("maxntid")
        self.num_regs = usage.registers
        self.shared_size_bytes = usage.shared
        self.local_size_bytes = usage.stack
        self.const_size_bytes = usage.constant
        most = occupancy.most_threads(usage.registers)
        self.max_threads_per_block = min(most, promised[0]) if promised else most
