"""The places where numba-cuda gets something else than a real driver, and why: all of them.

numba-cuda is written against cuda.bindings and cuda.core, which need libcuda. Its own code asks
them through few names, and only these are replaced. Each is looked up first: another version of
numba-cuda that lacks one says so when a kernel is used, instead of failing somewhere.
"""

import functools
import importlib
import operator
import os
import re
import sys
import warnings
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from course.gpu.errors import ArgumentError, NoDevice

#: The two functions of NVIDIA's device runtime library that numba's grid groups call, in PTX.
GRID_SYNC = Path(__file__).with_name("grid_sync.ptx")

#: What must be there to be replaced or used: a module of ``numba.cuda``, names in it.
_NEEDED = {
    "cudadrv.driver": (
        "driver._cuda_python_wrap_fn", "CudaAPIError", "ExperimentalDevice", "ExperimentalStream",
        "_Linker.complete", "LinkerError", "load_module_image", "_module_finalizer",
        "CudaPythonModule", "CudaPythonFunction", "FuncAttr", "Function", "ManagedMemory",
    ),
    "cudadrv.devicearray": (
        "_to_strided_memory_view", "_make_strided_memory_view", "_StridedLayoutShim",
        "errmsg_contiguous_buffer",
    ),
    "cudadrv.libs": ("get_cudalib",),
    "cudadrv.nvrtc": ("Program",),
    "codegen": (
        "CUDACodeLibrary.get_cubin", "CUDACodeLibrary.get_ltoir", "get_cudalib", "run_nvdisasm",
    ),
    "dispatcher": (
        "launch", "LaunchConfig", "compile_cuda", "CUDADispatcher.call", "CUDADispatcher.compile",
        "NullCache", "_Kernel._rebuild",
    ),
    "memory_management.nrt": ("launch", "LaunchConfig"),
    "core.config": ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY"),
}  # fmt: skip


def adapt(cuda: ModuleType) -> None:
    """Put the virtual GPU under `numba.cuda`, or let it say why it does not run kernels here.

    Parameters
    ----------
    cuda : module
        ``numba.cuda``, imported. With a real GPU, and with numba's own simulator, it is left as
        it is.
    """
    if cuda.config.ENABLE_CUDASIM:
        return
    problem = _problem(cuda)
    if not _without_gpu():
        if not problem:
            _follow_other_devices()
    elif problem:
        _explain(problem)
    else:
        _Patches().apply()


def _follow_other_devices() -> None:
    """Let launches go elsewhere inside ``gpu.use`` and ``gpu.trace``; touch nothing until then."""
    from course.gpu import devices

    def follow(chosen: devices.Device) -> AbstractContextManager:
        from course.gpu.numba import bridge

        return bridge.follow(chosen)

    devices.followers.append(follow)


def _without_gpu() -> bool:
    wanted = os.environ.get("COURSE_DEVICE")
    if wanted:
        return wanted == "virtual"
    from course.gpu import cuda_device

    try:
        cuda_device.current()
    except NoDevice:
        return True
    return False


def _problem(cuda: ModuleType) -> str:
    """Return why this numba.cuda cannot be adapted, or nothing."""
    if getattr(cuda, "implementation", "") != "NVIDIA":
        if sys.platform == "darwin":
            return (
                "kernels in numba.cuda cannot run on macOS: NVIDIA publishes no numba-cuda and no "
                "compiler library for it. Open the course in a Linux container (Docker, Podman or "
                "OrbStack; an arm64 image runs at full speed on Apple silicon), or on a remote "
                "Linux machine. Lectures and assignments without kernels work here as they are."
            )
        return (
            "kernels in numba.cuda run on the virtual GPU with the package numba-cuda, which is "
            "missing here; numba's own numba.cuda needs a CUDA toolkit and a GPU. Install it with "
            "`pip install numba-cuda[cu13]`, or let `python3 -m course` make the environment."
        )
    missing = [
        f"{module}.{name}"
        for module, names in _NEEDED.items()
        for name in names
        if not _exists(f"numba.cuda.{module}", name)
    ]
    if missing:
        return (
            f"numba-cuda {metadata.version('numba-cuda')} does not fit the virtual GPU of this "
            f"course: it has no {missing[0]}. Install the version that requirements.txt names, or "
            "let `python3 -m course` make the environment."
        )
    return ""


def _exists(module: str, name: str) -> bool:
    try:
        operator.attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return False
    return True


def _explain(text: str) -> None:
    """Let every use of the driver fail with `text`, in numba's own way."""
    from numba.cuda.cudadrv import driver

    driver.driver.is_initialized = True
    driver.driver.initialization_error = text


def note_dispatchers() -> Callable[[], None]:
    """Let `launcher.calling` know whose kernel is launched; return what ends it."""
    from numba.cuda.dispatcher import CUDADispatcher

    from course.gpu.numba import launcher

    call = CUDADispatcher.call

    @functools.wraps(call)
    def noted(self: Any, arguments: Any, launch_config: Any) -> None:
        before = getattr(launcher.calling, "dispatcher", None)
        launcher.calling.dispatcher = self
        try:
            call(self, arguments, launch_config)
        finally:
            launcher.calling.dispatcher = before

    CUDADispatcher.call = noted
    return functools.partial(setattr, CUDADispatcher, "call", call)


class _Patches:
    """The replacements, one method for each reason."""

    def __init__(self) -> None:
        from course.gpu import virtual_device
        from course.gpu.numba import driver, launcher, memory

        machine = virtual_device.VirtualDevice().machine
        self.machine = machine
        self.memory = memory.Memory(machine.arena)
        self.driver = driver.Driver(self.memory)
        self.launcher = launcher.Launcher(machine, self.memory)

    def apply(self) -> None:
        """Put everything in place."""
        self.answer_for_the_driver()
        self.stand_in_for_cuda_core()
        self.launch()
        self.link_to_ptx()
        self.load_ptx()
        self.know_lines_and_names()
        self.keep_on_disk()
        self.be_quiet()

    def answer_for_the_driver(self) -> None:
        """Answer the functions ``cu...``: one object of numba's looks them up, by name."""
        from numba.cuda.cudadrv import driver as theirs

        def look_up(name: str) -> Any:
            found = getattr(self.driver, name, None)

            def call(*arguments: Any) -> Any:
                if found is None:
                    code = theirs.binding.CUresult.CUDA_ERROR_NOT_SUPPORTED
                    raise theirs.CudaAPIError(code, f"the virtual GPU has no {name}")
                try:
                    return found(*arguments)
                except ours.Refused as refusal:
                    code = getattr(theirs.binding.CUresult, refusal.status)
                    message = f"Call to {name} results in {refusal.status}: {refusal}"
                    raise theirs.CudaAPIError(code, message) from None

            setattr(theirs.driver, name, call)  # from now on it is found without being looked up
            return call

        from course.gpu.numba import driver as ours

        theirs.driver._cuda_python_wrap_fn = look_up
        theirs.driver.initialization_error = None
        theirs.driver.is_initialized = False

        managed_host = self.memory.managed_host

        class ManagedMemory(theirs.ManagedMemory):
            """A GPU has one address for host and device; here they are two."""

            def __init__(self, *arguments: Any, **keywords: Any) -> None:
                super().__init__(*arguments, **keywords)
                self._bufptr_ = managed_host(int(self.device_pointer))

        theirs.ManagedMemory = ManagedMemory

    def stand_in_for_cuda_core(self) -> None:
        """Replace what numba takes from cuda.core: that is compiled and calls libcuda itself."""
        from numba.cuda.cudadrv import devicearray, driver, nvrtc

        from course.gpu.numba import stand_ins

        driver.ExperimentalDevice = stand_ins.Device
        driver.ExperimentalStream = stand_ins.Stream
        nvrtc.Program = stand_ins.CompilesToPtx

        theirs = devicearray._to_strided_memory_view

        @functools.wraps(theirs)
        def to_strided_memory_view(
            obj: Any, stream: Any = 0, copy: bool = True, user_explicit: bool = False
        ) -> tuple[Any, bool]:
            on_device = driver.is_device_memory(obj) or hasattr(obj, "__cuda_array_interface__")
            if on_device or isinstance(obj, devicearray.StridedMemoryView):
                return theirs(obj, stream, copy, user_explicit)
            if hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray):
                kind = type(obj).__name__
                raise ArgumentError(
                    f"numba kernels take NumPy arrays and device arrays, and a {kind} in host "
                    "memory came, which a GPU cannot reach. Pass it as NumPy: tensor.numpy() "
                    "shares its memory."
                )
            array = np.asanyarray(obj)
            c, f = array.flags.c_contiguous, array.flags.f_contiguous
            if not (c or f):
                raise ValueError(devicearray.errmsg_contiguous_buffer)
            layout = devicearray._StridedLayoutShim(
                strides_in_bytes=array.strides,
                is_contiguous_c=c,
                is_contiguous_f=f,
                is_contiguous_any=True,
            )
            on_device = stand_ins.DeviceCopy(array, self.memory, layout)
            if copy:
                self.memory.upload(on_device.ptr, array.ctypes.data, array.nbytes)
            return on_device, True

        devicearray._to_strided_memory_view = to_strided_memory_view
        devicearray._make_strided_memory_view = stand_ins.HostArray

    def launch(self) -> None:
        """Replace what numba launches with: compiled functions of cuda.core again."""
        from numba.cuda import dispatcher
        from numba.cuda.memory_management import nrt

        from course.gpu.numba import launcher

        for module in (dispatcher, nrt):
            module.launch = self.launcher.launch
            module.LaunchConfig = launcher.Config

    def link_to_ptx(self) -> None:
        """Link to PTX: numba links to machine code, and the virtual GPU runs PTX."""
        from numba.cuda import codegen
        from numba.cuda.cudadrv import driver, libs

        from course.gpu.numba import linker

        def complete(self: Any) -> Any:
            try:
                result = linker.link(self._object_codes, self.max_registers, self.lineinfo)
            except linker.NotPtx as problem:
                raise driver.LinkerError(str(problem)) from None
            self.linker, self._complete = result, True
            self._info_log = self._error_log = ""
            return result

        driver._Linker.complete = complete

        get_cubin = codegen.CUDACodeLibrary.get_cubin

        @functools.wraps(get_cubin)
        def through_ptx(self: Any, cc: Any = None) -> Any:
            # numba has made PTX already. LTO-IR, its usual way, takes longer, and nvJitLink often
            # refuses it with source lines ("broken module")
            lto, self._lto = self._lto, any(map(linker.has_no_ptx, self._linking_files))
            try:
                return get_cubin(self, cc)
            finally:
                self._lto = lto

        codegen.CUDACodeLibrary.get_cubin = through_ptx

        get_ltoir = codegen.CUDACodeLibrary.get_ltoir

        @functools.wraps(get_ltoir)
        def with_flags_of_nvrtc(self: Any, cc: Any = None) -> Any:
            # code with source lines from numba and from NVRTC is linked only if both demand the
            # same version of debugging information in the same way (1: anything else is an error)
            self._llvm_strs = [
                re.sub(r'i32 2, !"(Debug Info|Dwarf) Version"', r'i32 1, !"\1 Version"', text)
                for text in self.llvm_strs
            ]
            return get_ltoir(self, cc)

        codegen.CUDACodeLibrary.get_ltoir = with_flags_of_nvrtc

        find = libs.get_cudalib

        @functools.wraps(find)
        def get_cudalib(lib: str, static: bool = False) -> str:
            return str(GRID_SYNC) if lib == "cudadevrt" else find(lib, static)

        libs.get_cudalib = codegen.get_cudalib = get_cudalib

        disassemble = codegen.run_nvdisasm

        @functools.wraps(disassemble)
        def run_nvdisasm(code: Any, flags: list[str]) -> str:
            if code.code_type == "ptx":
                cubin, _ = linker.assemble(bytes(code.code).decode())
                code = linker.ObjectCode.from_cubin(cubin)
            return disassemble(code, flags)

        codegen.run_nvdisasm = run_nvdisasm

    def load_ptx(self) -> None:
        """Load code and say what a kernel needs, which cuda.core asks the driver for."""
        from numba.cuda.cudadrv import driver

        from course.gpu.numba import linker

        def load_module_image(context: Any, code: Any, *callbacks: Any) -> Any:
            if code.code_type != "ptx":
                code = linker.link([code], None, True)
            image = linker.Image(bytes(code.code).decode().strip("\0"), self.machine, self.driver)
            finalizer = driver._module_finalizer(context, image)
            return driver.CudaPythonModule(weakref.proxy(context), image, finalizer, *callbacks)

        driver.load_module_image = load_module_image

        class Function(driver.CudaPythonFunction):
            """A kernel that asks the assembler for its registers only when somebody wants them."""

            def __init__(self, module: Any, kernel: Any, name: str) -> None:
                self.module, self.kernel, self.handle, self.name = module, kernel, kernel, name

            @functools.cached_property
            def attrs(self) -> Any:
                attributes = self.kernel.attributes
                return driver.FuncAttr(
                    regs=attributes.num_regs,
                    shared=attributes.shared_size_bytes,
                    local=attributes.local_size_bytes,
                    const=attributes.const_size_bytes,
                    maxthreads=attributes.max_threads_per_block,
                )

        driver.Function = Function

    def know_lines_and_names(self) -> None:
        """Keep source lines, which numba leaves out by default, and names, for messages."""
        from numba.cuda import dispatcher
        from numba.cuda.core import errors

        compile_cuda = dispatcher.compile_cuda

        @functools.wraps(compile_cuda)
        def with_lines(
            *arguments: Any, debug: bool = False, lineinfo: bool = False, **rest: Any
        ) -> Any:
            if debug or lineinfo:  # full debugging information has the lines too
                return compile_cuda(*arguments, debug=debug, lineinfo=lineinfo, **rest)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.NumbaDebugInfoWarning)  # nobody asked for it
                return compile_cuda(*arguments, debug=False, lineinfo=True, **rest)

        dispatcher.compile_cuda = with_lines

        note_dispatchers()

    def keep_on_disk(self) -> None:
        """Keep what has been compiled, unless numba does so itself (``cache=True``)."""
        from numba.cuda import dispatcher

        from course.gpu.numba import compiled

        compile_kernel = dispatcher.CUDADispatcher.compile

        @functools.wraps(compile_kernel)
        def load_or_compile(self: Any, sig: Any) -> Any:
            types, _ = dispatcher.sigutils.normalize_signature(sig)
            compile_it = functools.partial(compile_kernel, self, sig)
            known = self.specialized or types in self.overloads or not self._can_compile
            if known or not isinstance(self._cache, dispatcher.NullCache):
                return compile_it()
            return compiled.load_or_compile(compile_it, self, types)

        dispatcher.CUDADispatcher.compile = load_or_compile

    def be_quiet(self) -> None:
        """Switch off two warnings: here a small grid and a copy do not cost what they warn of."""
        from numba.cuda.core import config

        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
        config.CUDA_WARN_ON_IMPLICIT_COPY = 0
