"""Machine code as text, with the source line of each stretch of it.

The disassembler comes as a pip wheel of 5 MB and needs no GPU.
"""

import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from course.gpu.compiler import Source
from course.gpu.errors import NoCompiler

_WHEEL = "nvidia-cuda-nvdisasm"
_MARK = re.compile(r'//## File "(.+?)", line (\d+)(?: inlined at "(.+?)", line (\d+))?')
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(.+)")


def sass(cubin: bytes, source: Source, shown: dict[str, str]) -> str:
    """Return the machine code of a cubin's kernels, below the source lines it came from.

    Parameters
    ----------
    cubin : bytes
        Compiled with ``-lineinfo``.
    source : Source
        What it was compiled from.
    shown : dict of str to str
        What to call each kernel, by its name in the cubin.

    Raises
    ------
    NoCompiler
        There is no disassembler here.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        command = [_nvdisasm(), "-gi", "-c", file.name]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    if run.returncode:
        raise NoCompiler(f"nvdisasm failed: {run.stderr.strip()}")
    return _tidy(run.stdout, source, shown)


def _tidy(listing: str, source: Source, shown: dict[str, str]) -> str:
    sections = re.split(r"^//-+ \.text\.(\S+)\s+-+$", listing, flags=re.M)
    bodies = dict(zip(sections[1::2], sections[2::2], strict=True))
    parts = []
    for entry, name in shown.items():
        if entry in bodies:
            parts.append("\n".join([f"{name}:", *_tidy_kernel(bodies[entry], source)]))
    return "\n\n".join(parts)


def _tidy_kernel(body: str, source: Source) -> list[str]:
    lines: list[str] = []
    targets = set(re.findall(r"`\((\.L_x_\d+)\)", body))
    last, inlined = "", False
    for line in body.splitlines():
        if mark := _MARK.search(line):
            if not inlined:  # behind an inlined line the listing repeats where it was inlined
                place = _place(mark, source)
                if place != last:
                    lines.append(place)
                last = place
            inlined = mark[3] is not None
            continue
        inlined = False
        label = line.strip().removesuffix(":")
        if code := _INSTRUCTION.match(line):
            lines.append(f"    {code[1]}  {code[2].strip()}")
        elif label in targets or (line.startswith("$") and line.endswith(":")):
            lines.append(f"  {label}:")
    while lines and re.fullmatch(r"\s*[0-9a-f]+\s+NOP\s*;", lines[-1]):  # fills the last cache line
        lines.pop()
    return lines


def _place(mark: re.Match, source: Source) -> str:
    file, number = source.shown(mark[1]), int(mark[2])
    place = f"  // {file}:{number}"
    if mark[3]:
        place += f" (inlined at {source.shown(mark[3])}:{mark[4]})"
    rows = source.text.splitlines()
    if file == source.name and 0 < number <= len(rows):
        place += f"  {rows[number - 1].strip()}"
    return place


@functools.cache
def _nvdisasm() -> str:
    found = shutil.which("nvdisasm")
    try:
        files = importlib.metadata.files(_WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.stem == "nvdisasm" and (path := Path(file.locate())).is_file():
            return str(path)
    for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        found = found or (home and shutil.which("nvdisasm", path=str(Path(home) / "bin")))
    if not found:
        raise NoCompiler(
            "Machine code cannot be shown here: the disassembler nvdisasm is missing. Install it "
            f"with `pip install {_WHEEL}`; a CUDA toolkit has it too."
        )
    return found
