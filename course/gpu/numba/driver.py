# ruff: noqa: D102 - NVIDIA documents what these functions do
"""The CUDA driver's functions, as far as numba-cuda calls them, for the virtual GPU.

A method here is a function of the driver's C interface under its own name ("CUDA Driver API").
Nothing is asynchronous: when a call returns, its work is done, so streams have an order of their
own and waiting never takes time. Handles are plain integers in the types of cuda.bindings.
"""

import functools
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver as binding

from course import vgpu
from course.gpu.numba import attributes, occupancy
from course.gpu.numba.memory import Memory, NotAllocated

#: What numba compiles for: the generation of H100 and H200.
CAPABILITY = (9, 0)
NAME = "virtual GPU"
UUID = "00000000-0000-0000-0000-000000000000"

#: What the driver of CUDA 13.0 calls itself.
_VERSION = 13000

#: The one context there is.
CONTEXT = binding.CUcontext(1)
_NO_CONTEXT = binding.CUcontext(0)


class Refused(Exception):
    """A function of the driver does not succeed; `status` names the CUresult."""

    def __init__(self, status: str, text: str = "") -> None:
        super().__init__(text)
        self.status = status


def _from_memory(function: Callable) -> Callable:
    """Report what `memory` refuses as the driver does."""

    @functools.wraps(function)
    def checked(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except NotAllocated as wrong:
            raise Refused("CUDA_ERROR_INVALID_VALUE", str(wrong)) from None
        except vgpu.OutOfMemory as full:
            raise Refused("CUDA_ERROR_OUT_OF_MEMORY", str(full)) from None

    return checked


class Driver:
    """One virtual GPU behind the driver's interface.

    Attributes
    ----------
    memory : Memory
        Its memory.
    modules : dict
        What has been loaded (`linker.Image`), by handle.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.modules: dict[int, Any] = {}
        self._thread = threading.local()
        self._handles = itertools.count(16)  # small numbers mean default streams
        self._events: dict[int, float | None] = {}

    # --- the device and its context

    @property
    def _contexts(self) -> list[Any]:
        """The stack of contexts, which each thread has for itself."""
        if not hasattr(self._thread, "contexts"):
            self._thread.contexts = []
        return self._thread.contexts

    def cuInit(self, flags: int) -> None: ...

    def cuDriverGetVersion(self) -> int:
        return _VERSION

    def cuDeviceGetCount(self) -> int:
        return 1

    def cuDeviceGetAttribute(self, attribute: Any, device: int) -> int:
        name = attribute.name.removeprefix("CU_DEVICE_ATTRIBUTE_")
        if name not in attributes.VALUES:
            raise Refused("CUDA_ERROR_INVALID_VALUE", f"the virtual GPU does not say its {name}")
        return attributes.VALUES[name]

    def cuDeviceCanAccessPeer(self, device: int, peer: Any) -> int:
        return 0

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return CONTEXT

    def cuDevicePrimaryCtxRelease(self, device: int) -> None: ...

    def cuDevicePrimaryCtxReset(self, device: int) -> None: ...

    def cuCtxGetCurrent(self) -> Any:
        return self._contexts[-1] if self._contexts else _NO_CONTEXT

    def cuCtxGetDevice(self) -> Any:
        return binding.CUdevice(0)

    def cuCtxPushCurrent(self, context: Any) -> None:
        self._contexts.append(context)

    def cuCtxPopCurrent(self) -> Any:
        if not self._contexts:
            raise Refused("CUDA_ERROR_INVALID_CONTEXT", "there is no current context")
        return self._contexts.pop()

    def cuCtxSynchronize(self) -> None: ...

    def cuCtxEnablePeerAccess(self, context: Any, flags: int) -> None:
        raise Refused("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "there is one virtual GPU")

    def cuProfilerStart(self) -> None: ...

    def cuProfilerStop(self) -> None: ...

    # --- memory

    def cuMemGetInfo(self) -> tuple[int, int]:
        arena = self.memory.arena
        return arena.capacity - arena.top, arena.capacity

    @_from_memory
    def cuMemAlloc(self, size: int) -> Any:
        if size <= 0:
            raise Refused("CUDA_ERROR_INVALID_VALUE", f"{size} bytes cannot be allocated")
        return binding.CUdeviceptr(self.memory.allocate(size))

    @_from_memory
    def cuMemAllocManaged(self, size: int, flags: int) -> Any:
        return binding.CUdeviceptr(self.memory.allocate_managed(size)[1])

    def cuMemFree(self, address: Any) -> None:
        if not self.memory.free_managed(int(address)):
            self.memory.free(int(address))

    @_from_memory
    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        return self.memory.allocate_host(size)

    def cuMemFreeHost(self, host: int) -> None:
        self.memory.free_host(host)

    @_from_memory
    def cuMemHostRegister(self, host: int, size: int, flags: int) -> None:
        if flags & binding.CU_MEMHOSTREGISTER_DEVICEMAP:
            self.memory.map(host, size)

    def cuMemHostUnregister(self, host: int) -> None:
        self.memory.unmap(host)

    @_from_memory
    def cuMemHostGetDevicePointer(self, host: int, flags: int) -> Any:
        return binding.CUdeviceptr(self.memory.mapping(host))

    @_from_memory
    def cuMemGetAddressRange(self, address: Any) -> tuple[Any, int]:
        begin, size = self.memory.extent(int(address))
        return binding.CUdeviceptr(begin), size

    def cuPointerGetAttribute(self, attribute: Any, address: Any) -> Any:
        return address

    @_from_memory
    def cuMemcpyHtoD(self, target: Any, source: Any, size: int) -> None:
        self.memory.upload(int(target), int(source), size)

    @_from_memory
    def cuMemcpyDtoH(self, target: Any, source: Any, size: int) -> None:
        self.memory.download(int(target), int(source), size)

    @_from_memory
    def cuMemcpyDtoD(self, target: Any, source: Any, size: int) -> None:
        self.memory.copy(int(target), int(source), size)

    @_from_memory
    def cuMemsetD8(self, address: Any, byte: int, size: int) -> None:
        self.memory.fill(int(address), byte, size)

    def cuMemcpyHtoDAsync(self, target: Any, source: Any, size: int, stream: Any) -> None:
        self.cuMemcpyHtoD(target, source, size)

    def cuMemcpyDtoHAsync(self, target: Any, source: Any, size: int, stream: Any) -> None:
        self.cuMemcpyDtoH(target, source, size)

    def cuMemcpyDtoDAsync(self, target: Any, source: Any, size: int, stream: Any) -> None:
        self.cuMemcpyDtoD(target, source, size)

    def cuMemsetD8Async(self, address: Any, byte: int, size: int, stream: Any) -> None:
        self.cuMemsetD8(address, byte, size)

    # --- streams and events

    def cuStreamCreate(self, flags: int) -> Any:
        return binding.CUstream(next(self._handles))

    def cuStreamDestroy(self, stream: Any) -> None: ...

    def cuStreamSynchronize(self, stream: Any) -> None: ...

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> None: ...

    def cuEventCreate(self, flags: int) -> Any:
        event = binding.CUevent(next(self._handles))
        self._events[int(event)] = None
        return event

    def cuEventDestroy(self, event: Any) -> None:
        self._events.pop(int(event), None)

    def cuEventRecord(self, event: Any, stream: Any) -> None:
        self._events[int(event)] = time.perf_counter()

    def cuEventQuery(self, event: Any) -> None: ...

    def cuEventSynchronize(self, event: Any) -> None: ...

    def cuEventElapsedTime(self, begin: Any, end: Any) -> float:
        first, last = self._events.get(int(begin)), self._events.get(int(end))
        if first is None or last is None:
            raise Refused("CUDA_ERROR_INVALID_HANDLE", "an event has not been recorded")
        return 1000 * (last - first)

    # --- modules and kernels

    def load(self, image: Any) -> int:
        """Take code into the virtual GPU and return a handle for it."""
        handle = next(self._handles)
        self.modules[handle] = image
        return handle

    def cuLibraryUnload(self, library: int) -> None:
        self.modules.pop(library, None)

    def cuLibraryGetGlobal(self, library: int, name: bytes) -> tuple[Any, int]:
        address, size = self.modules[library].variable(name.decode())
        return binding.CUdeviceptr(address), size

    def cuKernelSetCacheConfig(self, kernel: Any, config: Any, device: int) -> None: ...

    def cuKernelSetAttribute(self, *_: Any) -> None: ...

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, kernel: Any, threads: int, shared: int
    ) -> int:
        usage = kernel.usage
        return occupancy.blocks(threads, usage.registers, usage.shared + shared)

    def cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        self, kernel: Any, threads: int, shared: int, flags: int
    ) -> int:
        return self.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel, threads, shared)
