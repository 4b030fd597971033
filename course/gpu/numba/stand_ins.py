"""What numba-cuda takes from cuda.core and that cannot exist without a real driver."""

from collections import namedtuple
from typing import Any

import numpy as np
from cuda.bindings import nvrtc
from cuda.core import ObjectCode, Program
from cuda.core._utils.cuda_utils import NVRTCError

from course.gpu.numba import driver
from course.gpu.numba.memory import Memory

ComputeCapability = namedtuple("ComputeCapability", "major minor")


class Context:
    """`cuda.core`'s context: a handle."""

    handle = driver.CONTEXT


class Device:
    """The device, as `cuda.core.Device`."""

    def __init__(self, number: int = 0) -> None:
        self.device_id = number
        self.compute_capability = ComputeCapability(*driver.CAPABILITY)
        self.name = driver.NAME
        self.uuid = driver.UUID
        self.context = Context()

    def set_current(self) -> None:
        """Do nothing: numba makes the context current itself."""


class Stream:
    """A stream, as `cuda.core.Stream`: a handle, since nothing here is asynchronous."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    @classmethod
    def from_handle(cls, handle: Any) -> "Stream":
        """Return the stream with this number."""
        return cls(int(handle))

    def sync(self) -> None:
        """Do nothing: work is done when it has been given."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


class CompilesToPtx(Program):
    """NVRTC, as `cuda.core.Program`, which asks the driver for its version before it makes PTX."""

    def __init__(self, code: str, code_type: str, options: Any = None) -> None:
        super().__init__(code, code_type, options)
        self._input = code, options

    def compile(
        self, target_type: str, *arguments: Any, logs: Any = None, **keywords: Any
    ) -> ObjectCode:
        """Compile to PTX here, to everything else as `cuda.core` does."""
        if target_type != "ptx":
            return super().compile(target_type, *arguments, logs=logs, **keywords)
        code, options = self._input
        flags = options.as_bytes("nvrtc")
        _, program = nvrtc.nvrtcCreateProgram(code.encode(), options.name.encode(), 0, [], [])
        try:
            (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), flags)
            log = _text("ProgramLog", program)
            if int(status):
                raise NVRTCError(f"{status.name}, compilation log:\n\n{log}")
            if log and logs:
                logs.write(log)
            return ObjectCode.from_ptx(_text("PTX", program).encode(), name=options.name)
        finally:
            nvrtc.nvrtcDestroyProgram(program)


def _text(what: str, program: Any) -> str:
    _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
    buffer = b" " * size
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.rstrip(b"\0 ").decode(errors="replace")


class HostArray:
    """Where a host array (or a record) lies, as `cuda.core.StridedMemoryView`."""

    def __init__(self, array: Any, *, stream_ptr: Any) -> None:
        self.ptr = array.__array_interface__["data"][0]


class DeviceCopy:
    """A copy of a host array on the device for one launch, as `cuda.core.StridedMemoryView`."""

    def __init__(self, array: np.ndarray, memory: Memory, layout: Any) -> None:
        self.shape = array.shape
        self.dtype = array.dtype
        self.size = array.size
        self._layout = layout
        self._memory = memory
        self.ptr = memory.allocate(array.nbytes) if array.nbytes else 0

    def __del__(self) -> None:
        if self.ptr:
            self._memory.free(self.ptr)
