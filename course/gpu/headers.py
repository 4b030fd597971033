"""Where the device compiler finds its headers, and what a source includes of them."""

import functools
import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

from course import ROOT

#: Stand-ins for host headers (<stdint.h>, <math.h>, ...) that the device compiler does not have.
SHIMS = Path(__file__).parent / "include"
#: The course's own device code: ``#include "tile/tile.cuh"`` works from anywhere.
KERNELS = ROOT / "kernels"
#: The same for clang, which needs what is built into NVRTC, and CUDA's own headers, first.
CLANG_SHIMS = (SHIMS / "clang", SHIMS)
#: Included before every source, as nvcc includes <cuda_runtime.h>.
PRELUDE = "course_prelude.h"

# one header each of the packages that together make up the CUDA headers
_PROBES = ("cuda_fp16.h", "crt/mma.h", "cuda/std/cstdint")

_INCLUDE = re.compile(r"""^[ \t]*\#[ \t]*include\b[ \t]*(?:<([^>\n]+)>|"([^"\n]+)"|(.*))""", re.M)


@functools.cache
def system_folders() -> tuple[Path, ...]:
    """Return the folders with CUDA's own headers: the pip wheels, else an installed toolkit."""
    found: list[Path] = []
    for probe in _PROBES:
        candidates = (f for root in _roots() for f in (root, root / "cccl"))
        folder = next((f for f in candidates if (f / probe).is_file()), None)
        if folder and folder not in found:
            found.append(folder)
    return tuple(found)


def _roots() -> list[Path]:
    """Return include folders of wheels (one for all since CUDA 13), then those of toolkits."""
    roots = []
    for entry in map(Path, sys.path):
        roots += sorted(entry.glob("nvidia/cu[0-9]*/include"), reverse=True)
        roots += sorted(entry.glob("nvidia/cuda_*/include"))
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    if nvcc := shutil.which("nvcc"):
        homes.append(str(Path(nvcc).resolve().parent.parent))
    homes.append("/usr/local/cuda")
    return roots + [Path(home) / "include" for home in homes if home]


def fingerprint(text: str, folder: Path, extra: tuple[Path, ...]) -> str | None:
    """Return a digest of the headers that a source reaches, or None if that cannot be told.

    Parameters
    ----------
    text : str
        The source.
    folder : Path
        Where its ``#include "..."`` look first.
    extra : tuple of Path
        Folders of ``-I`` options.

    Notes
    -----
    Headers of the course and of the reader are followed and hashed by content; CUDA's own are
    identified by where they lie and when they were installed. ``#include MACRO`` is beyond it.
    """
    digest = hashlib.sha256()
    for system in system_folders():
        for probe in _PROBES:
            if (system / probe).is_file():
                stat = (system / probe).stat()
                digest.update(f"{system}|{probe}|{stat.st_size}|{stat.st_mtime_ns}\n".encode())
    seen: set[Path] = set()
    queue = [(f'#include "{PRELUDE}"\n{text}', folder)]
    while queue:
        text, folder = queue.pop()
        for match in _INCLUDE.finditer(text):
            name = match[1] or match[2]
            if name is None:
                return None
            path = _find(name, (folder, *extra, SHIMS, KERNELS))
            if path is None or path in seen:
                continue
            seen.add(path)
            content = path.read_text(encoding="utf-8", errors="replace")
            digest.update(f"{name}|{len(content)}\n{content}".encode())
            queue.append((content, path.parent))
    return digest.hexdigest()


def _find(name: str, folders: tuple[Path, ...]) -> Path | None:
    return next((f / name for f in folders if (f / name).is_file()), None)


def shown(path: str, folder: Path) -> str:
    """Return how messages name a file of the compiler: relative to the course or to CUDA's headers.

    Parameters
    ----------
    path : str
        As the compiler wrote it.
    folder : Path
        The folder of the source, for files beside it.
    """
    file = Path(path)
    for base in (*system_folders(), SHIMS, ROOT, folder):
        if file.is_relative_to(base):
            return file.relative_to(base).as_posix()
    return file.name
