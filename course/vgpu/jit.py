"""LLVM text to machine code, kept on disk so that a second run compiles nothing."""

import ctypes
import hashlib
import os
import sys
import tempfile
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from . import access, runtime, watch  # noqa: F401 - their native functions are the runtime
from .native import NATIVES, module_ir

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def cache_folder() -> Path:
    """Return the folder for compiled code: ``COURSE_CACHE`` or the user's own cache folder."""
    if os.environ.get("COURSE_CACHE"):
        return Path(os.environ["COURSE_CACHE"]) / "vgpu"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "gpus-and-flashattention" / "vgpu"


_CPU = llvm.get_host_cpu_name()
_FEATURES = llvm.get_host_cpu_features().flatten()
_VERSION = f"1 {llvmlite.__version__} {_CPU} {_FEATURES} {sys.platform}"


class Code:
    """A compiled LLVM module; keeps its machine code alive."""

    def __init__(self, text: str, level: int) -> None:
        """Compile `text`, or take the object file of an earlier run. `level`: 0 quick, 2 optimised."""
        key = hashlib.sha256(f"{_VERSION} {level}\n{text}".encode()).hexdigest()[:40]
        path = cache_folder() / f"{key}.o"
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


def _read(path: Path) -> bytes | None:
    """Return a stored object if it is whole: its last 32 bytes are the hash of the rest."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body, check = data[:-32], data[-32:]
    return body if hashlib.sha256(body).digest() == check else None


def _write(path: Path, obj: bytes) -> None:
    """Store an object so that no other process ever sees half of it; a full disk does no harm."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(obj + hashlib.sha256(obj).digest())
        os.replace(file.name, path)
    except OSError:
        pass


_runtime: Code | None = None
_EXPORTED = [
    "dispatch",
    "park",
    "split_lanes",
    "scatter_lanes",
    "give_up",
    "exit_lanes",
    "exit_some",
    "sync_warp",
    "at_barrier",
    "tick",
    "mem_load",
    "mem_store",
    "mem_atomic",
    "write_result",
    "use_poison",
    "raise_fault",
    "check_members",
    "shuffle",
    "match_values",
    "reduce_lanes",
    "find_nth_set",
    "print_lanes",
    "fence",
]


def runtime_code() -> Code:
    """Return the compiled runtime, its functions known to the linker of kernels."""
    global _runtime
    if _runtime is None:
        _runtime = Code(module_ir(), level=2)
        for name in _EXPORTED:
            module = "runtime" if f"runtime.{name}" in NATIVES else "access"
            llvm.add_symbol(name, _runtime.address(f"{module}.{name}"))
    return _runtime


def function(code: Code, name: str, returns: type, *args: type) -> ctypes._CFuncPtr:
    """Return native function `name` as a callable that runs without the interpreter's lock."""
    return ctypes.CFUNCTYPE(returns, *args)(code.address(name))
