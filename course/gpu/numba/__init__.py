"""numba.cuda on the virtual GPU: the same ``@cuda.jit`` kernels, where there is no real GPU.

`prepare` is called when ``course.gpu`` is imported. It waits for ``numba.cuda``, which may be
imported before or after; then `adapt` puts a virtual CUDA driver under it. On a machine with a GPU
(unless ``COURSE_DEVICE=virtual``) nothing of numba is touched.

Everything that numba-cuda does above the driver stays its own: typing, compiling, device arrays,
streams, caching, error messages. Below it lie

- `driver`: the functions of the CUDA driver (``cuMemAlloc``, ``cuEventRecord``, ...), in Python;
- `memory`: what they allocate and copy, in the virtual GPU's memory;
- `linker`: object code to one PTX text, instead of machine code;
- `launcher`: the launch, with the names of arrays and the source lines for its messages;
- `patches`: where all of this is put into numba-cuda.
"""

from typing import Any

from course.gpu.numba import hook


def prepare() -> None:
    """Have `numba.cuda` adapted: now if it is imported already, else as soon as it is."""
    hook.when_imported("numba.cuda", _adapt)


def _adapt(cuda: Any) -> None:
    from course.gpu.numba import patches

    patches.adapt(cuda)
