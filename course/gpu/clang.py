"""CUDA C++ to PTX with clang: where NVRTC is missing, as on macOS.

The pip wheel `ziglang` carries a clang with LLVM's back end for PTX. What NVIDIA's headers give to
NVRTC comes from ``include/clang`` here. There is no assembler: no cubin, no SASS, no registers.
"""

import functools
import importlib.util
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from course.gpu import clang_log, diagnostics, headers
from course.gpu.errors import CompileError, NoCompiler

if TYPE_CHECKING:
    from course.gpu.compiler import Source

#: The compute capabilities that this clang knows, times ten, from Turing on.
ARCHS = (75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 120, 121)

_NO_CUBIN = (
    "Machine code cannot be made here: clang, which stands in for NVRTC, writes PTX, and only "
    "NVIDIA's assembler turns that into SASS and counts registers. It exists for Linux and "
    "Windows: on a Mac open the course in a Linux container for this (Docker, Podman or OrbStack; "
    "an arm64 image runs at full speed on Apple silicon). Everything else works as it is."
)

#: What stands for NVRTC's own defaults. Kernels shuffle variables that only one lane has set: to
#: clang that is undefined behaviour, and so no lane without the value, unless noundef is off. They
#: also read memory as another type than it was written as.
_FIXED = (
    *("-cc1", "-x", "cuda", "-fcuda-is-device", "-triple", "nvptx64-nvidia-cuda", "-S", "-O3"),
    *("-target-feature", "+ptx88", "-ffp-contract=fast", "-fdeclspec", "-std=c++17"),
    *("-debug-info-kind=line-directives-only", "-no-enable-noundef-analysis", "-relaxed-aliasing"),
    *("-nostdsysteminc", "-nobuiltininc", "-include", "course_prelude.h"),
    *("-Wall", "-Wno-unused-function", "-Wno-sometimes-uninitialized"),
    *("-Wno-pass-failed", "-Wno-error=c++11-narrowing", "-fno-spell-checking"),
    *("-ferror-limit", "0", "-fno-diagnostics-show-line-numbers", "-fno-diagnostics-show-option"),
    "-fno-diagnostics-fixit-info",
)
_FAST_MATH = {"ftz": "true", "prec-div": "false", "prec-sqrt": "false", "fmad": "true"}
_SWITCHES = {
    ("ftz", "true"): ["-fdenormal-fp-math-f32=preserve-sign"],
    ("prec-div", "false"): ["-mllvm", "-nvptx-prec-divf32=0"],
    ("prec-sqrt", "false"): ["-mllvm", "-nvptx-prec-sqrtf32=0"],
    ("fmad", "false"): ["-ffp-contract=off"],
}
_LONG = {
    "include-path": "-I",
    "define-macro": "-D",
    "undefine-macro": "-U",
    "pre-include": "-include",
}

#: The text of an asm statement, where NVRTC takes %laneid for %%laneid and clang does not.
_ASM = re.compile(r'\b(?:asm|__asm__)\b[^;"]*\(\s*(?:"(?:\\.|[^"\\])*"\s*)+')
#: An explicit instantiation, which must not say `inline` as __global__ does.
_INSTANTIATION = re.compile(r"\b(template\s+(?:\w+\s+)*?)__global__\b")
_REGISTER = re.compile(r"(?<!%)%(?=[A-Za-z_]{2})")

#: The variables that hold the addresses of what name expressions ask for; and the declarations
#: of those kernels, which stand before their definitions for that reason alone.
_DECLARED = re.compile(r"^\.visible \.entry [\w$]+\n?\([^{};]*\)\n;\n", re.M)
_NAMED = re.compile(r"^\.visible \.global .*\bnv_mangled_name_(\d+) = (\S+);\n", re.M)
_FILE = re.compile(r'^(\s*\.file\s+(\d+)\s+)"([^"]*)"(?: "([^"]*)")?', re.M)
_LOC = re.compile(
    r"^(\s*\.loc\s+\d+ \d+ \d+)\s*// \S.*? @\[ (.*?):(\d+):(\d+)(?: @\[.*| \])$", re.M
)


def to_ptx(
    source: "Source", arch: str, options: tuple[str, ...], expressions: tuple[str, ...]
) -> tuple[str, str, dict[str, str]]:
    """Compile `source`.

    Parameters
    ----------
    source : Source
        What to compile.
    arch : str
        Such as ``sm_90a``.
    options : tuple of str
        NVRTC's: -D, -U, -I, -include, -std, -use_fast_math and its parts.
    expressions : tuple of str
        C++ names to instantiate and look up.

    Returns
    -------
    ptx : str
    log : str
        Warnings, in NVRTC's form.
    lowered : dict of str to str
        The name in PTX of each name expression.

    Raises
    ------
    CompileError
        The source is wrong, or an option is not one of these.
    NoCompiler
        There is no clang here.
    """
    shims = [word for folder in headers.CLANG_SHIMS for word in ("-isystem", str(folder))]
    command = [
        *(str(program()), "clang", *_FIXED, "-target-cpu", arch, "-iquote", str(source.folder)),
        *_translated(options, source),
        *(f"-I{headers.KERNELS}", *shims, "-main-file-name", source.path.name, "-o", "-", "-"),
    ]
    text = _with_probes(source, expressions)
    run = subprocess.run(command, input=text.encode(), capture_output=True)
    own_words = run.stderr.decode("utf-8", "replace")
    log = clang_log.as_nvrtc(own_words)
    if run.returncode:
        raise CompileError(diagnostics.explain(log or own_words, source), own_words)
    ptx = run.stdout.decode()
    names = dict(_NAMED.findall(ptx))
    lowered = {e: names[str(i)] for i, e in enumerate(expressions)}
    return _with_inlining(_DECLARED.sub("", _NAMED.sub("", ptx))), log, lowered


def refuse_cubin() -> None:
    """Raise `NoCompiler`: clang has no assembler."""
    raise NoCompiler(_NO_CUBIN)


@functools.cache
def program() -> Path:
    """Return the program with clang in it.

    Raises
    ------
    NoCompiler
        The wheel is not installed.
    """
    found = importlib.util.find_spec("ziglang")
    for folder in (found and found.submodule_search_locations) or ():
        for name in ("zig", "zig.exe"):
            if (Path(folder) / name).is_file():
                return Path(folder) / name
    raise NoCompiler(
        "CUDA C++ cannot be compiled here: NVIDIA publishes no NVRTC for macOS, and clang, which "
        "stands in for it, is missing. Install it with `pip install ziglang`, or let "
        "`python3 -m course` make the environment."
    )


@functools.cache
def version() -> str:
    """Return the version of clang, such as ``"22.1.8"``."""
    command = [str(program()), "clang", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, encoding="utf-8").stdout
    match = re.search(r"clang version (\S+)", said)
    if not match:
        raise NoCompiler(f"{program().name} does not say which clang it is, but: {said.strip()!r}")
    return match[1]


def _with_probes(source: "Source", expressions: tuple[str, ...]) -> str:
    """Return the source with its name, and variables that make clang instantiate `expressions`."""
    path = str(source.path).replace("\\", "\\\\").replace('"', '\\"')
    text = _ASM.sub(lambda asm: _REGISTER.sub("%%", asm[0]), source.text)
    text = _INSTANTIATION.sub(r"\1__attribute__((global))", text)
    lines = [f'#line 1 "{path}"', text]
    for number, expression in enumerate(expressions):
        lines.append('#line 1 "__nv_name_map"')
        lines.append(
            "__attribute__((device, used)) const void* "
            f"nv_mangled_name_{number} = (const void*)({expression});"
        )
    return "\n".join(lines) + "\n"


def _translated(options: tuple[str, ...], source: "Source") -> list[str]:
    """Return NVRTC's options in clang's words."""
    flags: list[str] = []
    rest = iter(options)
    for option in rest:
        name, _, value = option.lstrip("-").partition("=")
        if match := re.fullmatch(r"-([IDU])(.*)", option, re.S):
            flags.append(f"-{match[1]}{match[2] or next(rest, '')}")
        elif option.startswith("--") and name in _LONG:
            flags += [_LONG[name], value] if name == "pre-include" else [_LONG[name] + value]
        elif option == "-include":
            flags += ["-include", next(rest, "")]
        elif name == "std":
            flags.append(f"-std={value}")
        elif name == "use_fast_math":
            flags.append("-D__USE_FAST_MATH__")
            flags += (flag for setting in _FAST_MATH.items() for flag in _switch(setting))
        elif name in _FAST_MATH and value in ("true", "false"):
            flags += _switch((name, value))
        elif name in ("w", "disable-warnings"):
            flags.append("-w")
        elif name not in ("lineinfo", "generate-line-info"):
            raise CompileError(
                f"{source.name}: unrecognized option {option}. clang, which stands in for NVRTC "
                "here, is given -D, -U, -I, -include, -std, -use_fast_math, -ftz, -prec-div, "
                "-prec-sqrt, -fmad and -w."
            )
    return flags


def _switch(setting: tuple[str, str]) -> list[str]:
    return _SWITCHES.get(setting, [])


def _with_inlining(ptx: str) -> str:
    """Say in NVRTC's form where code was inlined; clang has that in comments."""
    octal = re.compile(rb"\\([0-7]{3})")
    numbers = {}

    def one_name(match: re.Match) -> str:
        """Join folder and name; remember the number by the name that comments use."""
        path = str(Path(match[3]) / match[4]) if match[4] else match[3]
        plain = octal.sub(lambda byte: bytes([int(byte[1], 8)]), path.encode())
        numbers[plain.decode(errors="replace")] = match[2]
        return f'{match[1]}"{path}"'

    def inlined(match: re.Match) -> str:
        at = f"{numbers[match[2]]} {match[3]} {match[4]}"
        return f"{match[1]}, function_name $L__info_string0, inlined_at {at}"

    ptx = _FILE.sub(one_name, ptx)
    ptx = _LOC.sub(lambda m: inlined(m) if m[2] in numbers else m[0], ptx)
    ptx = re.sub(r"^(\s*\.loc\s+\d+ \d+ \d+)\s*//.*$", r"\1", ptx, flags=re.M)
    return re.sub(r"^\s*\.section\s+\.debug_macinfo\s*\{\s*\}\n", "", ptx, flags=re.M)
