"""PTX of kernels on disk, so that the second run of a notebook compiles nothing.

numba takes a third of a second or more for a kernel, and has a cache of its own (``cache=True``)
that trusts names: it does not notice that a global such as TILE has changed. Here the key holds
all that a kernel's code depends on: bytecode, constants, the values of globals and closures, the
same of every function it calls, types, options, versions. Where one of these is of a kind that is
not known to stay the same, nothing is kept. What lies on disk is PTX text, which does no harm when
it is read.
"""

import builtins
import dis
import functools
import hashlib
import importlib.metadata
import json
import math
import operator
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from course.gpu import cache

#: Raise it when what is stored changes.
_FORMAT = 1

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic, np.dtype)

_FILE = re.compile(r'(\.file\s+\d+\s+)"((?:[^"\\]|\\.)*)"')

#: Where a global may come from without a look inside: what these hold changes with their version.
_LIBRARIES = ("numba", "numba.types", "numba.cuda", "numba.cuda.types", "numba.cuda.random",
              "numba.cuda.libdevice", "numba.cuda.fp16", "numba.cuda.cg")  # fmt: skip


class _Unknown(Exception):
    """Something that the code of a kernel depends on cannot be part of a key."""


def load_or_compile(compile: Callable[[], Any], dispatcher: Any, types: tuple) -> Any:
    """Return a dispatcher's kernel for arguments of `types`, from disk if it is there.

    Parameters
    ----------
    compile : callable
        Compiles it.
    dispatcher : numba.cuda.dispatcher.CUDADispatcher
        Whose kernel it is.
    types : tuple
        Types of numba.
    """
    try:
        key, files = _key(dispatcher, types)
    except _Unknown:
        return compile()
    stored = cache.load(key)
    if stored:
        kernel = _restore(stored, files, dispatcher, types)
        dispatcher.add_overload(kernel, types)
        return kernel
    kernel = compile()
    if parts := _parts(kernel, files):
        cache.store(key, parts)
    return kernel


# --- the key --------------------------------------------------------------------------------------


def _key(dispatcher: Any, types: tuple) -> tuple[str, list[str]]:
    """Return the key of a kernel, and the source files that its PTX may name."""
    facts = _Facts()
    facts.add("types", *map(_type, types))
    facts.dispatcher(dispatcher)
    facts.add("versions", *_versions())
    facts.add("settings", *sorted(i for i in os.environ.items() if i[0].startswith("NUMBA_")))
    text = "\0".join(facts.found)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest(), facts.files


@functools.cache
def _versions() -> tuple[str, ...]:
    packages = ("numba", "numba-cuda", "llvmlite", "numpy", "nvidia-nvvm", "nvidia-cuda-nvcc")
    found = [str(_FORMAT), platform.python_version(), np.__version__]
    for package in packages:
        try:
            found.append(importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            found.append("")
    return tuple(found)


def _type(kind: Any) -> str:
    """Describe a type whose name says all of it."""
    from numba.cuda import types

    parts = ()
    if isinstance(kind, types.Array):
        parts = (kind.dtype,)
    elif isinstance(kind, types.BaseTuple):
        parts = tuple(kind)
    elif isinstance(kind, types.Record):
        parts = tuple(field.type for field in kind.fields.values())
    elif not isinstance(kind, types.Number | types.Boolean | types.NPDatetime | types.NPTimedelta):
        raise _Unknown(kind)
    return f"{kind!r} of {[_type(part) for part in parts]}"


class _Facts:
    """Gathers what a kernel's code depends on.

    Attributes
    ----------
    found : list of str
        The facts, in an order that is always the same.
    files : list of str
        The source files of its functions.
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.files: list[str] = []
        self._seen: dict[int, int] = {}

    def add(self, *facts: object) -> None:
        """Add plain facts."""
        self.found += map(repr, facts)

    def dispatcher(self, dispatcher: Any) -> None:
        """Add a jitted function with its options."""
        options = dict(dispatcher.targetoptions)
        if options.get("link") or options.get("extensions") or options.get("debug"):
            raise _Unknown(options)
        if any(not isinstance(v, (*_PLAIN, list, tuple)) for v in options.values()):
            raise _Unknown(options)
        self.add("options", *sorted(options.items()))
        self.function(dispatcher.py_func)

    def function(self, function: FunctionType) -> None:
        """Add a function of Python with all that it uses."""
        if id(function) in self._seen:
            self.add("function", self._seen[id(function)])
            return
        self._seen[id(function)] = len(self._seen)
        code = function.__code__
        self.files.append(code.co_filename)
        self.code(code)
        self.value(function.__defaults__)
        for name in sorted(set(_globals(code))):
            self.add("global", name)
            if name in function.__globals__:
                self.value(function.__globals__[name])
            elif not hasattr(builtins, name):
                raise _Unknown(name)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.add("closure", name)
            self.value(cell.cell_contents)

    def code(self, code: CodeType) -> None:
        """Add bytecode."""
        self.add(
            "code", code.co_code, code.co_names, code.co_varnames, code.co_freevars,
            code.co_cellvars, code.co_argcount, code.co_flags, code.co_qualname,
            code.co_firstlineno, code.co_linetable, code.co_exceptiontable,
        )  # fmt: skip
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.code(constant)
            else:
                self.add("constant", type(constant), constant)

    def value(self, value: Any) -> None:
        """Add the value of a global or of a closure."""
        from numba.cuda import types

        if isinstance(value, _PLAIN):
            self.add(type(value), value)
        elif isinstance(value, tuple):
            self.add("tuple", len(value))
            for item in value:
                self.value(item)
        elif type(value) is np.ndarray and not value.dtype.hasobject:
            self.add(value.dtype, value.shape, value.strides, value.tobytes())
        elif hasattr(value, "py_func") and hasattr(value, "targetoptions"):
            self.dispatcher(value)
        elif isinstance(value, types.Type):
            self.add(_type(value))
        elif name := _name_in_library(value):
            self.add("library", name)
        else:
            raise _Unknown(value)


def _globals(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


def _name_in_library(value: Any) -> str | None:
    """Return under which name a module of numba, math or NumPy has a value, if one has."""
    modules = [math, operator, np, builtins, *map(sys.modules.get, _LIBRARIES)]
    if isinstance(value, ModuleType):
        return value.__name__ if value in modules else None
    name = getattr(value, "__name__", None) or getattr(value, "_name", None)
    if isinstance(name, str):
        for module in filter(None, modules):
            if getattr(module, name, None) is value:
                return f"{module.__name__}.{name}"
    return None


# --- what is kept ---------------------------------------------------------------------------------


def _parts(kernel: Any, files: list[str]) -> dict[str, bytes] | None:
    """Return what to keep of a kernel, or None if it depends on more than its key."""
    library = kernel._codelibrary
    linked = list(library._cubin_cache.values())
    if (
        kernel.launch_config_sensitive
        or library.referenced_objects
        or library._linking_files
        or len(linked) != 1
    ):
        return None
    places = [str(Path(file).absolute()) for file in files]
    texts = {"ptx": library.get_asm_str(), "linked": bytes(linked[0].code).decode()}
    for name, text in texts.items():
        for file in {found[2] for found in _FILE.finditer(text)}:
            if file not in places:
                return None
            # a notebook's cell lies in another file each time
            text = text.replace(f'"{file}"', f'"<{places.index(file)}>"')
        texts[name] = text
    facts = {
        "entry": kernel.entry_name,
        "name": library.name,
        "cooperative": kernel.cooperative,
        "registers": library._max_registers,
    }
    return {"facts": json.dumps(facts).encode()} | {n: t.encode() for n, t in texts.items()}


def _restore(parts: dict[str, bytes], files: list[str], dispatcher: Any, types: tuple) -> Any:
    """Return a kernel of numba, made of what was kept."""
    from cuda.core import ObjectCode
    from numba.cuda.dispatcher import _Kernel
    from numba.cuda.types import void

    facts = json.loads(parts["facts"])
    texts = {name: parts[name].decode() for name in ("ptx", "linked")}
    for number, file in enumerate(files):
        for name, text in texts.items():
            texts[name] = text.replace(f'"<{number}>"', f'"{Path(file).absolute()}"')
    codegen = dispatcher.targetctx.codegen()
    library = codegen._library_class(codegen, facts["name"], facts["entry"], facts["registers"])
    capability = library._ensure_cc(None)
    library._llvm_strs = []
    library._ptx_cache[capability] = [texts["ptx"]]
    library._cubin_cache[capability] = ObjectCode.from_ptx(texts["linked"].encode())
    library._linkerinfo_cache[capability] = ""
    library.use_cooperative = facts["cooperative"]
    library._finalized = True
    kernel = _Kernel._rebuild(
        facts["cooperative"], facts["entry"], void(*types), library, False, True, None, []
    )
    kernel.__class__ = _kernel_class()
    kernel.origin = dispatcher, types
    kernel.bind()
    return kernel


@functools.cache
def _kernel_class() -> type:
    from numba.cuda.dispatcher import _Kernel

    class Kernel(_Kernel):
        """A kernel without what numba has only while it compiles."""

        objectmode = False  # what numba sets in its constructor

        @functools.cached_property
        def _compiled(self) -> _Kernel:
            dispatcher, types = self.origin
            return _Kernel(dispatcher.py_func, types, **dispatcher.targetoptions)

        def inspect_types(self, file: Any = None) -> None:
            """Print the annotated source; the kernel is compiled for it."""
            self._compiled.inspect_types(file)

        def inspect_llvm(self) -> str:
            """Return the LLVM IR; the kernel is compiled for it."""
            return self._compiled.inspect_llvm()

        def inspect_asm(self, cc: Any) -> str:
            """Return the PTX for a compute capability; the kernel is compiled for it."""
            return self._compiled.inspect_asm(cc)

        def inspect_lto_ptx(self, cc: Any) -> str:
            """Return the PTX behind LTO; the kernel is compiled for it."""
            return self._compiled.inspect_lto_ptx(cc)

    return Kernel
