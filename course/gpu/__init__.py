"""Compile CUDA C++ and launch it: on a real GPU, or on what stands in for one.

>>> from course import gpu
>>> module = gpu.compile(source)              # works without a GPU
>>> print(module.ptx(), module.resources())
>>> module["saxpy"][grid, block](n, 2.0, x, y)

In a notebook the cell magic ``%%cuda`` compiles a cell and binds its kernels as Python names.
"""

import sys
from typing import Any

from course.gpu.compiler import compiler_problem, nvrtc_version
from course.gpu.devices import Device, device, use
from course.gpu.errors import (
    ArgumentError,
    CompileError,
    GpuError,
    KernelFault,
    LaunchError,
    NoCompiler,
    NoDevice,
    NoKernel,
)
from course.gpu.kernel import Kernel
from course.gpu.module import Module, compile
from course.gpu.numba import prepare as _prepare_numba
from course.gpu.trace import trace

__all__ = [
    "ArgumentError",
    "CompileError",
    "Device",
    "GpuError",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "Module",
    "NoCompiler",
    "NoDevice",
    "NoKernel",
    "compile",
    "compiler_problem",
    "device",
    "nvrtc_version",
    "trace",
    "use",
]


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%cuda``: what ``%load_ext course.gpu`` calls."""
    from course.gpu import magic

    magic.register(shell)


_prepare_numba()

# inside a notebook the import alone is enough
if (_ipython := sys.modules.get("IPython")) and (_shell := _ipython.get_ipython()):
    load_ipython_extension(_shell)
