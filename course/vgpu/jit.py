"""LLVM text to machine code, kept on disk so that a second run compiles nothing."""

import ctypes
import functools
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from . import access, atomics, lanes, runtime, watch  # noqa: F401 - their native functions are the runtime
from .native import NATIVES, module_ir

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def cache_folder() -> Path | None:
    """Return the folder for compiled code: ``COURSE_CACHE`` or the user's own cache folder.

    A user without a home, as in some containers, has none: then nothing is kept.
    """
    if os.environ.get("COURSE_CACHE"):
        return Path(os.environ["COURSE_CACHE"]) / "vgpu"
    chosen = {"win32": "LOCALAPPDATA", "darwin": ""}.get(sys.platform, "XDG_CACHE_HOME")
    usual = {"win32": "AppData/Local", "darwin": "Library/Caches"}.get(sys.platform, ".cache")
    try:
        base = os.environ.get(chosen) or Path.home() / usual
    except RuntimeError:
        return None
    return Path(base) / "gpus-and-flashattention" / "vgpu"


_CPU = llvm.get_host_cpu_name()
_FEATURES = llvm.get_host_cpu_features().flatten()
_VERSION = f"1 {llvmlite.__version__} {_CPU} {_FEATURES} {sys.platform}"


class Code:
    """A compiled LLVM module; keeps its machine code alive."""

    def __init__(self, text: str, level: int) -> None:
        """Compile `text` (level 0 quickly, 2 well), or take the object file of an earlier run."""
        key = hashlib.sha256(f"{_VERSION} {level}\n{text}".encode()).hexdigest()[:40]
        folder = cache_folder()
        path = folder / f"{key}.o" if folder else None
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=_CPU, features=_FEATURES, opt=level, jit=True, codemodel="jitdefault"
        )
        stored = _read(path)
        if stored is not None:
            # MCJIT wants a module beside the object that the cache hands it
            module = llvm.parse_assembly("")
            module.name = key
        else:
            module = llvm.parse_assembly(text)
            module.verify()
            module.name = key
            if level:
                _optimise(module, machine)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.set_object_cache(lambda _module, obj: _write(path, obj), lambda _module: stored)
        self.engine.finalize_object()
        self.from_cache = stored is not None

    def address(self, name: str) -> int:
        """Return the address of function `name`."""
        return self.engine.get_function_address(name)


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _read(path: Path | None) -> bytes | None:
    """Return a stored object if it is whole: its last 32 bytes are the hash of the rest."""
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body, check = data[:-32], data[-32:]
    return body if hashlib.sha256(body).digest() == check else None


def _write(path: Path | None, obj: bytes) -> None:
    """Store an object so that no other process ever sees half of it; a full disk does no harm."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(obj + hashlib.sha256(obj).digest())
        os.replace(file.name, path)
    except OSError:
        pass


#: What every launch needs. All other runtime functions are compiled when a kernel first calls them.
_CORE = [
    "runtime.run_blocks",
    "runtime.dispatch",
    "runtime.park",
    "runtime.split_lanes",
    "runtime.scatter_lanes",
    "runtime.give_up",
    "runtime.exit_lanes",
    "runtime.exit_some",
    "runtime.at_barrier",
    "access.mem_load",
    "access.mem_store",
    "access.raise_fault",
    "access.use_poison",
]


class Library:
    """The runtime's native functions, for launches that are watched or for those that are not.

    In the plain library everything that observes a launch (watch.py) is left out. Kernels find a
    function under the name of the library and its own: ``plain.mem_load``.
    """

    def __init__(self, watched: bool) -> None:
        self.name = "watched" if watched else "plain"
        self.stubbed = "" if watched else "watch"
        self.known: set[str] = set()
        self.codes = [self.compile(_CORE)]

    def compile(self, roots: Iterable[str]) -> Code:
        """Compile native functions and make them known to the linker of kernels."""
        code = Code(module_ir(roots, self.stubbed), level=2)
        for root in roots:
            short = root.rpartition(".")[2]
            self.known.add(short)
            llvm.add_symbol(f"{self.name}.{short}", code.address(root))
        return code

    def require(self, text: str) -> None:
        """Compile what the LLVM text of a kernel declares of this library and is not there yet."""
        for short in re.findall(rf"@{self.name}\.(\w+)", text):
            if short not in self.known:
                root = next(n for n in NATIVES if n.rpartition(".")[2] == short)
                self.codes.append(self.compile([root]))

    @functools.cached_property
    def run_blocks(self) -> ctypes._CFuncPtr:
        """The scheduler; it runs without the interpreter's lock."""
        address = self.codes[0].address("runtime.run_blocks")
        return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(address)

    @functools.cached_property
    def look_closer(self) -> ctypes._CFuncPtr:
        """What a warp in an endless loop does at its last, told by its record."""
        self.codes.append(self.compile(["runtime.look_closer"]))
        address = self.codes[-1].address("runtime.look_closer")
        return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)


@functools.cache
def library(watched: bool) -> Library:
    """Return the library for launches that are watched (counters, races) or not."""
    return Library(watched)
