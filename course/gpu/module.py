"""A compiled source: its kernels by name, its PTX, machine code and resources."""

import collections
import difflib
import itertools
import re
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from course import ROOT
from course.gpu import compiler, diagnostics, disassemble, mangling, resources, signature
from course.gpu.compiler import Source
from course.gpu.devices import device
from course.gpu.errors import CompileError, NoDevice, NoKernel
from course.gpu.kernel import Kernel

#: Instantiated with a kernel's type, its mangled name spells that type out.
_TYPE_PROBE = "\ntemplate <class F> __global__ void course_type() {}\n"


def compile(
    source: str | Path,
    *,
    arch: str | None = None,
    options: Sequence[str] = (),
) -> "Module":
    """Compile CUDA C++ to PTX.

    Parameters
    ----------
    source : str or pathlib.Path
        The source text, or the file that holds it.
    arch : str, optional
        What to compile for, such as ``sm_80``. By default the device's own, and ``sm_90a`` (H100,
        H200) where there is no GPU.
    options : sequence of str
        Further options of the compiler, such as ``("-use_fast_math", "-DTILE=32")``.

    Returns
    -------
    Module
        ``module["name"]`` is a kernel.

    Raises
    ------
    CompileError
        The source is wrong; the message shows its lines.
    NoCompiler
        There is no CUDA compiler here.
    """
    if isinstance(source, Path):
        try:
            text = source.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as problem:
            raise CompileError(
                f"{source} cannot be read as UTF-8 text ({problem}). A relative path counts from "
                "the working directory, in a notebook from its own folder."
            ) from None
        file = source.resolve()
        name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
        return Module(Source(text, name, file.parent), arch, options)
    if "\n" not in source and source.endswith((".cu", ".cuh")):
        raise CompileError(
            f"A str is CUDA source itself, and {source!r} looks like a file name. For a file pass "
            f"pathlib.Path({source!r})."
        )
    return Module(Source(source, "cell.cu", Path.cwd()), arch, options)


#: Modules in use, by their PTX: an observer of launches sees only that.
_BY_PTX: "weakref.WeakValueDictionary[str, Module]" = weakref.WeakValueDictionary()


def of_ptx(text: str) -> "Module | None":
    """Return the module whose PTX is `text`, if it is still in use."""
    return _BY_PTX.get(text)


#: Modules in use, by instance.
_INSTANCES: "weakref.WeakValueDictionary[int, Module]" = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


def in_use(instance: int) -> bool:
    """Say whether the module of this number may still be launched."""
    return instance in _INSTANCES


class Module:
    """The kernels of one source. Each has its own ``__device__`` variables, fresh when compiled.

    Attributes
    ----------
    source : str
        The text that was compiled.
    name : str
        What messages call it.
    arch : str
        What it is compiled for.
    options : tuple of str
        Further options of the compiler.
    warnings : tuple of str
        What the compiler remarked about the source.
    instance : int
        The number of this module, different from all others.
    """

    def __init__(self, source: Source, arch: str | None, options: Sequence[str]) -> None:
        self._source = source
        self.source = source.text
        self.name = source.name
        self.arch = compiler.checked_arch(arch or _default_arch())
        self.options = (options,) if isinstance(options, str) else tuple(options)
        self._templates: dict[str, str] = {}  # name expression -> name in PTX
        self._machine_code: compiler.Build | None = None
        self._kernels: dict[str, Kernel] = {}
        built = self._build("ptx")
        self._ptx = built.ptx
        _BY_PTX[built.ptx] = self
        self.instance = next(_numbers)
        _INSTANCES[self.instance] = self
        self._entries = signature.entries(built.ptx)
        self._names = _shown_names(self._entries)
        self.warnings = diagnostics.warnings(built.log, source)

    def __getitem__(self, name: str) -> Kernel:
        """Return a kernel by its C++ name: ``saxpy``, ``ml::gelu``, ``scale<float, 4>``.

        Raises
        ------
        NoKernel
            There is none of this name, or several.
        """
        if not isinstance(name, str):
            raise TypeError(f'A kernel is found by its name, module["name"]; {name!r} came.')
        if name not in self._kernels:
            template = "<" in name and name not in self._names.values()
            entry = self._instantiated(name) if template else self._found(name)
            self._kernels[name] = Kernel(self, self._shown()[entry], entry)
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the kernels, in the order of the source; templates apart."""
        return iter(self._names.values())

    def __contains__(self, name: str) -> bool:
        return name in self._names.values()

    def __repr__(self) -> str:
        return f"<Module {self.name} for {self.arch}: {', '.join(self) or 'no kernel'}>"

    def ptx(self) -> str:
        """Return the PTX: the assembly language that all GPUs share."""
        return self._ptx

    def cubin(self) -> bytes:
        """Return the machine code of `arch`, an ELF file; assembled when first asked for.

        Raises
        ------
        NoCompiler
            clang compiled the source (on macOS): it writes PTX alone.
        """
        return self._assembled().cubin

    def sass(self) -> str:
        """Return the machine code as text, with the source line of each stretch of it."""
        return disassemble.sass(self.cubin(), self._source, self._shown())

    def resources(self) -> resources.Resources:
        """Return registers, spills, memory and barriers of each kernel, and ptxas' warnings."""
        built = self._assembled()
        return resources.read(built.log, built.cubin, self._shown())

    def entry(self, name: str) -> signature.Entry:
        """Return a kernel as the PTX declares it, by its name there."""
        return self._entries[name]

    def types(self, entry: str, expression: str) -> tuple[mangling.CppType, ...] | None:
        """Return the C++ types of a kernel's parameters, or None where they cannot be told.

        Parameters
        ----------
        entry : str
            The kernel's name in PTX. A plain C++ kernel's types are part of it.
        expression : str
            Its name in C++, to ask the compiler about a template or ``extern "C"``.
        """
        try:
            taken = mangling.demangle(entry)
            if not taken.arguments:
                return taken.parameters
        except mangling.Unreadable:
            pass
        probe = f"course_type<decltype({expression})>"
        source = Source(self.source + _TYPE_PROBE, self.name, self._source.folder)
        try:
            built = compiler.build(source, "names", self.arch, self.options, (probe,))
            return mangling.function_type(built.lowered[probe])
        except (CompileError, mangling.Unreadable):
            return None

    def _build(self, goal: compiler.Goal) -> compiler.Build:
        ptx = self._ptx if goal == "cubin" else ""
        wanted = tuple(self._templates)
        return compiler.build(self._source, goal, self.arch, self.options, wanted, ptx)

    def _assembled(self) -> compiler.Build:
        if self._machine_code is None:
            self._machine_code = self._build("cubin")
        return self._machine_code

    def _shown(self) -> dict[str, str]:
        return self._names | {entry: name for name, entry in self._templates.items()}

    def _found(self, name: str) -> str:
        """Return the PTX name of a kernel that is no template."""
        exact = [entry for entry, shown in self._names.items() if name in (entry, shown)]
        fitting = exact or [e for e, n in self._names.items() if name in _ways_to_say(n)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise NoKernel(
                f"{self.name} has {len(fitting)} kernels called {name}. Say which: "
                + " or ".join(f'module["{self._names[entry]}"]' for entry in fitting)
            )
        raise NoKernel(self._no_kernel(name))

    def _no_kernel(self, name: str) -> str:
        if f"{name}(" in self.source.replace(" ", "") and "template" in self.source:
            return (
                f"{self.name} has no kernel {name} as it stands. If it is a template, say for "
                f'which arguments: module["{name}<float>"].'
            )
        names = list(self)
        if not names:
            return (
                f"{self.name} has no kernel. A kernel is a function `__global__ void {name}(...)`."
            )
        close = difflib.get_close_matches(name, names, 1)
        guess = f" Did you mean {close[0]}?" if close else ""
        return f"{self.name} has no kernel {name}; it has: {', '.join(names)}.{guess}"

    def _instantiated(self, name: str) -> str:
        """Return the PTX name of a template's instance, compiling anew if it is the first time."""
        if name not in self._templates:
            wanted = (*self._templates, name)
            try:
                built = compiler.build(self._source, "ptx", self.arch, self.options, wanted)
            except CompileError as problem:
                if "nv_mangled_name" not in problem.log:
                    raise
                reason = str(problem).splitlines()[0]
                raise NoKernel(f"{self.name} has no kernel {name}: {reason}.") from None
            self._templates = built.lowered
            self._ptx = built.ptx
            _BY_PTX[built.ptx] = self
            self._entries = signature.entries(built.ptx)
            self._machine_code = None
        return self._templates[name]


def _ways_to_say(name: str) -> set[str]:
    """Return shorter names that find a kernel: without scope, parameter types or arguments."""
    bare = re.split("[<(]", name)[0]
    scope = bare.rpartition("::")[0] + "::"
    return {name.removeprefix(scope), bare, bare.removeprefix(scope)}


def _default_arch() -> str:
    try:
        return device().arch
    except NoDevice:
        return compiler.DEFAULT_ARCH


def _shown_names(entries: Iterable[str]) -> dict[str, str]:
    """Return what to call each kernel: its C++ name, with parameter types if overloaded."""
    names = {entry: mangling.readable(entry) for entry in entries}
    count = collections.Counter(names.values())
    for entry, name in names.items():
        if count[name] > 1 and name != entry:
            types = mangling.demangle(entry).parameters
            names[entry] = f"{name}({', '.join(t.text for t in types)})"
    return names
