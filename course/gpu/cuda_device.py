"""A real NVIDIA GPU, through the CUDA driver.

It works in the device's primary context, the one that torch uses: arrays and streams of torch can
be used in kernels of ours, in one process. Without torch it is complete all the same.
"""

import contextlib
import ctypes
import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from course.gpu import compiler
from course.gpu.devices import Array, Device, Limits, Pointer, Scalar
from course.gpu.errors import LaunchError, NoCompiler, NoDevice
from course.gpu.mangling import readable

#: Without opting in, a kernel gets no more dynamic shared memory than this.
_PLAIN_SHARED = 48 * 1024

#: The first driver for each major version of CUDA.
_FIRST_DRIVER = {12: 525, 13: 580}

_LOST = (
    "The GPU's context is lost with it, torch's work included: restart Python (in Jupyter: restart "
    "the kernel)."
)
_MEANING = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": (
        "it read or wrote an address that belongs to no array. The usual cause is an index past "
        f"the end: look at the guard, such as `if (i < n)`. {_LOST}"
    ),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (
        "it read or wrote at an address that is no multiple of the access's size, such as a float4 "
        f"at an odd float. {_LOST}"
    ),
    "CUDA_ERROR_ASSERT": f"an assert(...) in it failed; the line is printed above. {_LOST}",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": f"it ran into an illegal instruction or a trap. {_LOST}",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (
        f"it used an address of shared or local memory as a global one, or the reverse. {_LOST}"
    ),
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": (
        "its blocks wait for each other, so all must be on the GPU at once, and they do not fit. "
        "Use fewer blocks, each doing more in a loop."
    ),
    "CUDA_ERROR_INVALID_PC": f"it jumped to an address that holds no code. {_LOST}",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": f"its call stack overflowed or was overwritten. {_LOST}",
    "CUDA_ERROR_LAUNCH_FAILED": f"it failed for a reason that the driver does not name. {_LOST}",
    "CUDA_ERROR_LAUNCH_TIMEOUT": (
        f"it ran too long for a GPU that also drives a display: an endless loop? {_LOST}"
    ),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (
        "a block of this size needs more registers or shared memory than a multiprocessor has. Use "
        "a smaller block, or __launch_bounds__(threads) so that the compiler uses fewer registers."
    ),
    "CUDA_ERROR_OUT_OF_MEMORY": "the GPU's memory is full. Free tensors or use smaller arrays.",
    "CUDA_ERROR_INVALID_VALUE": "the driver refuses the launch's sizes or arguments.",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "its machine code is for another GPU.",
}


def current() -> "CudaDevice":
    """Return torch's current GPU, or the first one.

    Raises
    ------
    NoDevice
        With the reason in a few words.
    """
    torch = _torch()
    return _device(torch.cuda.current_device() if torch else 0)


@functools.cache
def _found(ordinal: int) -> "CudaDevice | str":
    try:
        return CudaDevice(ordinal)
    except NoDevice as reason:
        return str(reason)


def _device(ordinal: int) -> "CudaDevice":
    found = _found(ordinal)
    if isinstance(found, str):
        raise NoDevice(found)
    return found


def _torch() -> ModuleType | None:
    """Return torch if it is in use on a GPU in this process."""
    torch = sys.modules.get("torch")
    return torch if torch and torch.cuda.is_initialized() else None


@dataclass
class _Function:
    """A kernel in the GPU's memory, and what the driver says of it.

    Attributes
    ----------
    handle : CUfunction
        The driver's.
    most_threads : int
        The largest block that its registers allow.
    registers, static_shared : int
        Registers of a thread, and bytes of a block.
    granted : int
        Bytes of dynamic shared memory that it may use.
    """

    handle: Any
    most_threads: int
    registers: int
    static_shared: int
    granted: int


class CudaDevice(Device):
    """One GPU.

    Parameters
    ----------
    ordinal : int
        Its number among the visible ones.

    Raises
    ------
    NoDevice
        There is no such GPU, or its driver is too old.
    """

    kind = "cuda"
    image = "cubin"

    def __init__(self, ordinal: int) -> None:
        self._cuda = _driver()
        self._handle = self._get(self._cuda.cuDeviceGet(ordinal))
        self.name = self._get(self._cuda.cuDeviceGetName(64, self._handle)).split(b"\0")[0].decode()
        self.memory = f"cuda:{ordinal}"
        major = self._attribute("COMPUTE_CAPABILITY_MAJOR")
        capability = 10 * major + self._attribute("COMPUTE_CAPABILITY_MINOR")
        _check_capability(self.name, capability)
        # "a" is code for one chip alone, with all its instructions; Hopper has the first of them
        self.arch = f"sm_{capability}" + ("a" if capability >= 90 else "")
        self.limits = Limits(
            threads_per_block=self._attribute("MAX_THREADS_PER_BLOCK"),
            block=tuple(self._attribute(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"),
            grid=tuple(self._attribute(f"MAX_GRID_DIM_{axis}") for axis in "XYZ"),
            shared_per_block=self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        )
        self._context = None
        self._modules: dict[tuple[int, str | bytes], Any] = {}
        self._functions: dict[tuple[int, str | bytes, str], _Function] = {}
        self._unfinished: list[str] = []  # kernels launched since the last look at errors

    def launch(
        self,
        image: str | bytes,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        buffers: Sequence[Scalar | Array | Pointer],
        cooperative: bool = False,
        instance: int = 0,
    ) -> None:
        """Run a kernel from a cubin; see `Device.launch`."""
        with self._primary_context():
            stream = self._stream()
            function = self._function(image, entry, instance)
            self._check_fit(function, entry, block, shared)
            self._grant(function, entry, shared)
            arrays = [b for b in buffers if isinstance(b, Array)]
            how = function, entry, grid, block, shared, cooperative, stream, buffers
            if not arrays:
                self._start(*how, {})
                return
            with self._copies(arrays, stream) as addresses:
                self._start(*how, addresses)
                self._finish(entry, arrays, addresses, stream)

    # --- one launch, step by step -----------------------------------------------------------------

    def _function(self, image: str | bytes, entry: str, instance: int) -> _Function:
        found = self._functions.get((instance, image, entry))
        if found is None:
            module = self._modules.get((instance, image))
            if module is None:
                module = self._get(self._cuda.cuModuleLoadData(image), entry)
                self._modules[instance, image] = module
            handle = self._get(self._cuda.cuModuleGetFunction(module, entry.encode()), entry)
            static = self._function_attribute(handle, "SHARED_SIZE_BYTES")
            found = _Function(
                handle,
                self._function_attribute(handle, "MAX_THREADS_PER_BLOCK"),
                self._function_attribute(handle, "NUM_REGS"),
                static,
                max(_PLAIN_SHARED - static, 0),
            )
            self._functions[instance, image, entry] = found
        return found

    def _check_fit(
        self,
        function: _Function,
        entry: str,
        block: tuple[int, int, int],
        shared: int,
    ) -> None:
        threads = block[0] * block[1] * block[2]
        if threads > function.most_threads:
            raise LaunchError(
                f"{readable(entry)}: a block of {threads} threads does not fit: with "
                f"{function.registers} registers a thread at most {function.most_threads} do. Use "
                f"a smaller block, or __launch_bounds__({threads}) so that the compiler uses fewer "
                "registers."
            )
        if function.static_shared + shared > self.limits.shared_per_block:
            raise LaunchError(
                f"{readable(entry)}: {function.static_shared:,} bytes of static and {shared:,} of "
                "dynamic shared memory are more than a block can have "
                f"({self.limits.shared_per_block:,})."
            )

    def _grant(self, function: _Function, entry: str, shared: int) -> None:
        """Opt in to more dynamic shared memory than every kernel gets."""
        if shared > function.granted:
            attribute = self._cuda.CUfunction_attribute
            name = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._get(self._cuda.cuFuncSetAttribute(function.handle, name, shared), entry)
            function.granted = shared

    @contextlib.contextmanager
    def _copies(self, arrays: list[Array], stream: Any) -> Iterator[dict[int, int]]:
        """Copy arrays to the GPU for a while; yields device addresses by host address.

        Arrays that overlap in host memory share one copy, as they share their memory.
        """
        addresses: dict[int, int] = {}
        blocks = []
        try:
            for start, size, inside in _merged(arrays):
                block = self._get(self._cuda.cuMemAlloc(size), "copying arrays to the GPU")
                blocks.append(block)
                copied = self._cuda.cuMemcpyHtoDAsync(block, start, size, stream)
                self._get(copied, "copying arrays to the GPU")
                addresses |= {host: int(block) + host - start for host in inside}
            yield addresses
        finally:
            for block in blocks:
                self._cuda.cuMemFree(block)  # after a fault it fails too: the fault is the news

    @staticmethod
    def _value(buffer: Scalar | Array | Pointer, addresses: dict[int, int]) -> Any:
        if isinstance(buffer, Scalar):
            return ctypes.create_string_buffer(buffer.data, len(buffer.data))
        if isinstance(buffer, Array):
            return ctypes.c_uint64(addresses.get(buffer.data.ctypes.data, 0))
        return ctypes.c_uint64(buffer.address)

    def _start(
        self,
        function: _Function,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        cooperative: bool,
        stream: Any,
        buffers: Sequence[Scalar | Array | Pointer],
        addresses: dict[int, int],
    ) -> None:
        values = [self._value(buffer, addresses) for buffer in buffers]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        where = ctypes.addressof(pointers) if values else 0
        shape = function.handle, *grid, *block, shared, stream, where
        if cooperative:
            answer = self._cuda.cuLaunchCooperativeKernel(*shape)
        else:
            answer = self._cuda.cuLaunchKernel(*shape, 0)
        self._get(answer, entry)
        if entry not in self._unfinished:
            self._unfinished.append(entry)

    def _finish(
        self,
        entry: str,
        arrays: list[Array],
        addresses: dict[int, int],
        stream: Any,
    ) -> None:
        self._get(self._cuda.cuStreamSynchronize(stream), entry)
        self._unfinished.clear()
        for array in arrays:
            if array.writable and array.data.nbytes:
                host = array.data.ctypes.data
                copied = self._cuda.cuMemcpyDtoHAsync(
                    host, addresses[host], array.data.nbytes, stream
                )
                self._get(copied, entry)
        self._get(self._cuda.cuStreamSynchronize(stream), entry)

    # --- the driver -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _primary_context(self) -> Iterator[None]:
        """Make the primary context current, and leave the thread as it was."""
        cuda = self._cuda
        if self._context is None:
            self._context = self._get(cuda.cuDevicePrimaryCtxRetain(self._handle))
        if int(self._get(cuda.cuCtxGetCurrent())) == int(self._context):
            yield
            return
        self._get(cuda.cuCtxPushCurrent(self._context))
        try:
            yield
        finally:
            cuda.cuCtxPopCurrent()

    def _stream(self) -> Any:
        torch = _torch()
        return self._cuda.CUstream(torch.cuda.current_stream().cuda_stream if torch else 0)

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return self._get(self._cuda.cuDeviceGetAttribute(attribute, self._handle))

    def _function_attribute(self, function: Any, name: str) -> int:
        attribute = getattr(self._cuda.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return self._get(self._cuda.cuFuncGetAttribute(attribute, function))

    def _get(self, answer: tuple, doing: str = "") -> Any:
        """Return what the driver answered, or raise what it complains about."""
        status, *value = answer
        if int(status):
            raise LaunchError(self._explained(status.name, doing))
        return value[0] if value else None

    def _explained(self, status: str, doing: str) -> str:
        meaning = _MEANING.get(status, "the driver gives no more than this name.")
        earlier = [readable(name) for name in self._unfinished if name != doing]
        blame = ""
        if _LOST in meaning and earlier:
            blame = f" (or a kernel launched before it: {', '.join(earlier)})"
        return f"{readable(doing) or 'The driver'}{blame} failed with {status}: {meaning}"


def _merged(arrays: list[Array]) -> list[tuple[int, int, list[int]]]:
    """Return the memory that arrays cover: start, bytes and the arrays' addresses inside."""
    spans = sorted((a.data.ctypes.data, a.data.nbytes) for a in arrays if a.data.nbytes)
    merged: list[tuple[int, int, list[int]]] = []
    for start, size in spans:
        if merged and start < merged[-1][0] + merged[-1][1]:
            first, length, inside = merged[-1]
            merged[-1] = (first, max(length, start + size - first), [*inside, start])
        else:
            merged.append((start, size, [start]))
    return merged


@functools.cache
def _driver() -> ModuleType:
    """Return the driver's binding, with a driver behind it that our machine code runs on."""
    try:
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
        _, version = driver.cuDriverGetVersion()
    except Exception:  # an ImportError, or what the binding raises without libcuda
        raise NoDevice("it has no NVIDIA driver (libcuda was not found)") from None
    if int(status):
        raise NoDevice(f"the NVIDIA driver finds no GPU ({status.name})")
    _check_version(version)
    return driver


def _check_version(driver: int) -> None:
    """Refuse a driver whose CUDA is a generation older than the compiler's (13000 is 13.0)."""
    try:
        compiled_by = compiler.nvrtc_version()
    except NoCompiler as reason:
        raise NoDevice(f"there is a GPU but no compiler ({reason})") from None
    major = int(compiled_by.split(".")[0])
    if driver // 1000 < major:
        needed = _FIRST_DRIVER.get(major)
        raise NoDevice(
            f"its NVIDIA driver is too old: it supports CUDA {driver // 1000}.{driver % 1000 // 10}"
            f", and machine code made by NVRTC {compiled_by} needs CUDA {major}.0"
            + (f" (driver {needed} or newer)" if needed else "")
        )


def _check_capability(name: str, capability: int) -> None:
    known = compiler.supported_archs()
    if capability not in known:
        raise NoDevice(
            f"{name} has compute capability {capability // 10}.{capability % 10}, and NVRTC "
            f"{compiler.nvrtc_version()} compiles for {known[0] // 10}.{known[0] % 10} to "
            f"{known[-1] // 10}.{known[-1] % 10}"
        )
