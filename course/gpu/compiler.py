"""CUDA C++ to PTX and machine code with NVRTC: no GPU, no driver, no toolkit.

NVRTC comes as a pip wheel for Linux and Windows. On macOS clang stands in for it, and wherever
COURSE_COMPILER=clang asks for that. What they make is cached on disk by content.
"""

import functools
import hashlib
import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from course.gpu import cache, clang, diagnostics, headers
from course.gpu.errors import CompileError, NoCompiler

#: What kernels are compiled for where no GPU decides: H100 and H200, with all they have.
DEFAULT_ARCH = "sm_90a"

#: Raise it when `build` produces something else from the same inputs.
_CACHE_FORMAT = 1

Goal = Literal["ptx", "cubin", "names"]


@dataclass(frozen=True)
class Source:
    """A source text and how to speak of it.

    Attributes
    ----------
    text : str
        CUDA C++.
    name : str
        What messages call it: ``cell.cu``, or a path relative to the course.
    folder : pathlib.Path
        Where its ``#include "..."`` look first.
    """

    text: str
    name: str
    folder: Path

    @property
    def path(self) -> Path:
        """The file name that the compiler is told."""
        return self.folder / Path(self.name).name

    def shown(self, path: str) -> str:
        """Return what messages call a file that the compiler names."""
        return self.name if Path(path) == self.path else headers.shown(path, self.folder)


@dataclass(frozen=True)
class Build:
    """What one run of the compiler gave.

    Attributes
    ----------
    ptx : str
        For the goal "ptx".
    cubin : bytes
        For the goal "cubin".
    log : str
        Warnings, and for a cubin the assembler's report.
    lowered : dict of str to str
        The name in PTX of each name expression.
    """

    ptx: str
    cubin: bytes
    log: str
    lowered: dict[str, str]


def build(
    source: Source,
    goal: Goal,
    arch: str,
    options: tuple[str, ...] = (),
    expressions: tuple[str, ...] = (),
    ptx: str = "",
) -> Build:
    """Compile `source`, or return what an earlier, equal call produced.

    Parameters
    ----------
    source : Source
        What to compile.
    goal : {"ptx", "cubin", "names"}
        "names" stops after the front end: only `lowered` is filled.
    arch : str
        Such as ``sm_90a``.
    options : tuple of str
        Further options of NVRTC, such as ``-use_fast_math`` or ``-DTILE=32``.
    expressions : tuple of str
        C++ names to instantiate and look up, such as ``scale<float, 4>``.
    ptx : str, optional
        The PTX of the same source, to say which of its lines the assembler complains about.

    Raises
    ------
    CompileError
        The source is wrong; the message shows its lines.
    NoCompiler
        There is no compiler here, or none that reaches the goal.
    """
    run = _run_clang if uses_clang() else _run
    key = _key(source, goal, arch, options, expressions)
    if key and (parts := cache.load(key)):
        return Build(
            parts["ptx"].decode(),
            parts["cubin"],
            parts["log"].decode(),
            json.loads(parts["lowered"]),
        )
    made = run(source, goal, arch, options, expressions, ptx)
    if key:
        parts = {
            "ptx": made.ptx.encode(),
            "cubin": made.cubin,
            "log": made.log.encode(),
            "lowered": json.dumps(made.lowered).encode(),
        }
        cache.store(key, parts)
    return made


def _key(
    source: Source,
    goal: Goal,
    arch: str,
    options: tuple[str, ...],
    expressions: tuple[str, ...],
) -> str | None:
    folders = re.findall(r"(?:^|\n)(?:-I|--include-path=)\s*(.+)", "\n".join(options))
    extra = (*map(Path, folders), *(headers.CLANG_SHIMS if uses_clang() else ()))
    included = headers.fingerprint(source.text, source.folder, extra)
    if included is None:
        return None
    inputs = [
        _CACHE_FORMAT,
        name(),
        _wheel_version(),
        goal,
        arch,
        options,
        expressions,
        str(source.path),  # the log and the line tables name it
        source.text,
        included,
    ]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _flags(goal: Goal, arch: str, options: tuple[str, ...]) -> list[str]:
    target = arch if goal == "cubin" else arch.replace("sm_", "compute_")
    folders = (headers.KERNELS, headers.SHIMS, *headers.system_folders())
    return [
        f"--gpu-architecture={target}",
        "-lineinfo",
        f"--pre-include={headers.PRELUDE}",
        *options,
        *(f"-I{_readable(folder)}" for folder in folders),
        *(["--ptxas-options=-v"] if goal == "cubin" else []),
        *(["--fdevice-syntax-only"] if goal == "names" else []),
    ]


def _run_clang(
    source: Source,
    goal: Goal,
    arch: str,
    options: tuple[str, ...],
    expressions: tuple[str, ...],
    _ptx: str,
) -> Build:
    if goal == "cubin":
        clang.refuse_cubin()
    text, log, lowered = clang.to_ptx(source, arch, options, expressions)
    return Build(_with_short_names(text, source), b"", log, lowered)


def _run(
    source: Source,
    goal: Goal,
    arch: str,
    options: tuple[str, ...],
    expressions: tuple[str, ...],
    ptx: str,
) -> Build:
    nvrtc, flags = _nvrtc(), _flags(goal, arch, options)
    name = str(_readable(source.folder) / source.path.name)
    program = _made(nvrtc.nvrtcCreateProgram(source.text.encode(), name.encode(), 0, [], []))
    try:
        for expression in expressions:
            _made(nvrtc.nvrtcAddNameExpression(program, expression.encode()))
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        log = _bytes(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
        log = log.rstrip(b"\0").decode(errors="replace").replace(name, str(source.path))
        if int(status):
            raise CompileError(diagnostics.explain(log or status.name, source, ptx), log)
        names = (_made(nvrtc.nvrtcGetLoweredName(program, e.encode())) for e in expressions)
        cubin = _bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
        text = "" if cubin else _bytes(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program).decode()
        return Build(
            _with_short_names(text.rstrip("\0"), source),
            cubin,
            log,
            dict(zip(expressions, (n.decode() for n in names), strict=True)),
        )
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _made(answer: tuple) -> Any:
    status, *value = answer
    if int(status):
        raise CompileError(f"NVRTC failed: {status.name}.")
    return value[0] if value else None


def _bytes(size: Callable, get: Callable, program: Any) -> bytes:
    buffer = bytes(_made(size(program)))
    if len(buffer) > 1:  # one byte is the end of an empty string
        _made(get(program, buffer))  # the binding writes into the object
    return buffer


def _with_short_names(ptx: str, source: Source) -> str:
    """Rewrite ``.file 1 "/home/me/cell.cu"``: equal sources give equal PTX in every folder."""

    def short(match: re.Match) -> str:
        octal = re.compile(rb"\\([0-7]{3})")  # how PTX spells the bytes of letters beyond ASCII
        path = octal.sub(lambda byte: bytes([int(byte[1], 8)]), match[2].encode())
        return f'{match[1]}"{source.shown(path.decode(errors="replace"))}"'

    return re.sub(r'^(\s*\.file\s+\d+\s+)"([^"]*)"', short, ptx, flags=re.M)


def _readable(folder: Path) -> Path:
    """Return a name of `folder` that NVRTC can open: on Windows it reads paths byte by byte."""
    if sys.platform != "win32" or str(folder).isascii():
        return folder
    import ctypes

    buffer = ctypes.create_unicode_buffer(1024)
    size = ctypes.windll.kernel32.GetShortPathNameW(str(folder), buffer, len(buffer))
    return Path(buffer.value) if 0 < size < len(buffer) else folder


def uses_clang() -> bool:
    """Tell whether clang compiles: on macOS, and where COURSE_COMPILER says so.

    Raises
    ------
    NoCompiler
        COURSE_COMPILER says something else.
    """
    chosen = os.environ.get("COURSE_COMPILER")
    if chosen not in (None, "", "nvrtc", "clang"):
        raise NoCompiler(
            f"COURSE_COMPILER is {chosen!r}: it may be nvrtc or clang. Unset it to let the "
            "machine decide."
        )
    return chosen == "clang" or (sys.platform == "darwin" and chosen != "nvrtc")


def name() -> str:
    """Return the compiler and its version, such as ``"NVRTC 13.0"`` or ``"clang 22.1.8"``."""
    return f"clang {clang.version()}" if uses_clang() else f"NVRTC {nvrtc_version()}"


def nvrtc_version() -> str:
    """Return the version of the CUDA compiler, such as ``"13.0"``.

    Raises
    ------
    NoCompiler
        There is none here.
    """
    _, major, minor = _nvrtc().nvrtcVersion()
    return f"{major}.{minor}"


@functools.cache
def _wheel_version() -> str:
    """Return the version of NVRTC's wheel: finer than the library's own, which ends at 13.0."""
    try:
        return importlib.metadata.version("nvidia-cuda-nvrtc")
    except importlib.metadata.PackageNotFoundError:
        return ""


def supported_archs() -> tuple[int, ...]:
    """Return the compute capabilities that the compiler knows, times ten: 75, 80, ..., 90, ..."""
    return clang.ARCHS if uses_clang() else tuple(_made(_nvrtc().nvrtcGetSupportedArchs()))


def compiler_problem() -> str | None:
    """Return None if CUDA C++ can be compiled here, else why not.

    Returns
    -------
    str or None
        One paragraph for people.
    """
    try:
        if uses_clang():
            clang.version()
            return None
        _nvrtc()
    except NoCompiler as problem:
        return str(problem)
    if not headers.system_folders():
        return (
            "CUDA's headers are missing: no cuda_fp16.h in the environment's nvidia packages, "
            "under CUDA_HOME or in /usr/local/cuda. Install them with "
            "`pip install nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cuda-crt`."
        )
    return None


@functools.cache
def _nvrtc() -> ModuleType:
    if sys.platform == "darwin":
        raise NoCompiler(
            "NVIDIA publishes no NVRTC for macOS. Unset COURSE_COMPILER, and clang compiles CUDA "
            "C++ to PTX; for machine code (SASS) and registers open the course in a Linux "
            "container (Docker, Podman or OrbStack; an arm64 image runs at full speed on Apple "
            "silicon), or on a remote Linux machine."
        )
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()
    except Exception as problem:  # an ImportError, or what the binding raises without its library
        raise NoCompiler(
            "CUDA C++ cannot be compiled here: the compiler library NVRTC does not load "
            f"({type(problem).__name__}: {str(problem).strip().splitlines()[0]}). Install it with "
            "`pip install cuda-bindings nvidia-cuda-nvrtc`, or let `python3 -m course` make the "
            "environment."
        ) from problem
    return nvrtc


def checked_arch(arch: str) -> str:
    """Return `arch` if the compiler can produce code for it.

    Raises
    ------
    CompileError
        It is no architecture, or one that this version does not know.
    """
    known = supported_archs()
    match = re.fullmatch(r"sm_(\d+)[af]?", arch)
    if not match or int(match[1]) not in known:
        raise CompileError(
            f"arch={arch!r} is not an architecture that {name()} compiles for. "
            f"Expected sm_ and one of {', '.join(map(str, known))}, with an a behind it for "
            "instructions of that chip alone (sm_90a: wgmma, TMA on H100 and H200)."
        )
    return arch
