"""What can go wrong between a kernel's source and its results.

Every message is one paragraph for the person who wrote the kernel: what was expected, what came,
what to do. IPython shows the message alone, without a traceback through this package.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course import vgpu


class GpuError(Exception):
    """Anything that ``course.gpu`` reports."""

    __str__ = Exception.__str__  # KeyError would show the message quoted, with its newlines escaped

    def _render_traceback_(self) -> list[str]:
        return f"{type(self).__name__}: {self}".splitlines()


class NoCompiler(GpuError):
    """There is no CUDA compiler on this machine."""


class CompileError(GpuError):
    """The compiler refused the source.

    Attributes
    ----------
    log : str
        The compiler's own words, in full.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


class NoKernel(GpuError, KeyError):
    """The module has no kernel of this name, or more than one."""


class NoDevice(GpuError, RuntimeError):
    """There is nothing here that a kernel can run on."""


class ArgumentError(GpuError, TypeError):
    """The arguments of a launch do not fit the kernel's parameters."""


class LaunchError(GpuError, RuntimeError):
    """A launch was refused, or the kernel failed while it ran."""


class KernelFault(LaunchError):
    """A kernel did something wrong on the virtual GPU.

    Attributes
    ----------
    fault : vgpu.Fault
        What happened: ``kind``, ``place`` (the source line), ``threads``, ``target`` and more.
    """

    def __init__(self, fault: "vgpu.Fault", report: str = "") -> None:
        super().__init__(report or fault.report())
        self.fault = fault

    def with_source(self, file: str, text: str, entry: str, name: str) -> "KernelFault":
        """Return the same fault with lines of `text` quoted, and the kernel's name in C++."""
        report = self.fault.report({file: text.splitlines()})
        return KernelFault(self.fault, report.replace(entry, name))
