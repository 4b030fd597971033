"""The virtual GPU: runs PTX on the CPU, checks every access and counts what a kernel does.

It takes PTX text, as NVRTC or numba-cuda make it without a GPU, and turns each kernel into machine
code in which a warp is a vector of 32 lanes. This package imports nothing else of the course.

- `Program`: a module of PTX, its kernels compiled when first launched.
- `Machine`: a GPU with its memory; `Machine.launch` runs a kernel.
- `Fault`: what a kernel did wrong, with line, thread and element.
- `Counts`: memory traffic, instructions, bank conflicts, for each source line.
"""

from .arena import Allocation, Arena, OutOfMemory
from .cfg import Unsupported
from .counters import Counts, Line, Pattern
from .faults import Fault, Place, Target
from .machine import LaunchRefused, Limits, Machine, Options, Result
from .program import Program
from .ptx import PtxError

__all__ = [
    "Allocation",
    "Arena",
    "Counts",
    "Fault",
    "LaunchRefused",
    "Limits",
    "Line",
    "Machine",
    "Options",
    "OutOfMemory",
    "Pattern",
    "Place",
    "Program",
    "PtxError",
    "Result",
    "Target",
    "Unsupported",
]
