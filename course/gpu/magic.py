"""``%%cuda``: a notebook cell of CUDA C++.

The cell is compiled and its kernels become Python names::

    %%cuda vectors
    __global__ void add(const float* x, const float* y, float* z, int n) { ... }

binds ``add``, and ``vectors`` to the module (for templates, PTX and machine code).
"""

import functools
import keyword
from pathlib import Path
from typing import Any

from course.gpu import compiler
from course.gpu.compiler import Source
from course.gpu.errors import CompileError
from course.gpu.module import Module


def register(shell: Any) -> None:
    """Give an IPython shell the magic."""
    shell.register_magic_function(functools.partial(cuda, shell), "cell", "cuda")


def cuda(shell: Any, line: str, cell: str) -> None:
    """Compile a cell, bind its kernels in the user's namespace and print a line for each.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        Where it runs.
    line : str
        What stands behind ``%%cuda``: nothing, or a name for the module.
    cell : str
        CUDA C++.

    Raises
    ------
    CompileError
        The cell is wrong; the message shows its lines, numbered as in the notebook.
    """
    name = line.strip()
    if name and not name.isidentifier():
        raise CompileError(
            f"`%%cuda {name}`: expected nothing or one name for the module, as in `%%cuda vectors`."
        )
    # the magic's own line stays as a comment, so that line numbers agree with the notebook's
    text = f"// %%cuda {name}".rstrip() + f"\n{cell}"
    module = Module(Source(text, f"{name or 'cell'}.cu", Path.cwd()), None, ())
    usage = None if compiler.uses_clang() else module.resources()  # clang counts no registers
    for warning in module.warnings + (usage.warnings if usage else ()):
        print(f"warning: {warning}")
    bound: dict[str, Any] = {name: module} if name else {}
    for kernel in module:
        bare = kernel.split("::")[-1]
        print(f"{kernel}: {usage[kernel] if usage else f'PTX by {compiler.name()}'}")
        if bare.isidentifier() and not keyword.iskeyword(bare):
            bound[bare] = module[kernel]
    if not list(module):
        print(_nothing_bound(name))
    shell.push(bound)


def _nothing_bound(name: str) -> str:
    if name:
        return f'No kernel as it stands; a template is {name}["kernel<float>"].'
    return "No kernel as it stands. For a template give the cell a name: %%cuda vectors."
