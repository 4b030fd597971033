"""Which tier of the course this machine is, found out with NVIDIA's driver alone.

T0: no GPU that the course can use. T1: any CUDA GPU. T2: compute capability 8.0 or newer.
T3: compute capability 9.0, for which kernels are compiled as sm_90a.
"""

import ctypes
import importlib.util
import os
import sys
from dataclasses import dataclass
from functools import cache

from course import requirements

#: The course compiles with CUDA 13.0; that needs driver 580 and drops GPUs before Turing.
OLDEST_CUDA = 13000
OLDEST_DRIVER = "580"
OLDEST_CAPABILITY = (7, 5)

#: Where the driver's libraries are: Windows, Linux, Linux inside Windows.
DRIVER = ("nvcuda.dll", "libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
MANAGEMENT = ("nvml.dll", "libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")

#: From cuda.h and nvml.h.
CUDA_ERROR_NO_DEVICE = 100
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76
NVML_VERSION_BYTES = 80


@dataclass(frozen=True)
class Tier:
    """What this machine can run.

    Attributes
    ----------
    level : int
        0 to 3.
    gpu : str or None
        The name of the first GPU, also where the course cannot use it.
    compute_capability : tuple of two ints or None
        Of that GPU, for example (9, 0).
    driver : str or None
        The version of NVIDIA's driver, for example "580.65.06".
    note : str
        Why a GPU or driver that is here cannot be used; empty if it can, or if there is none.
    """

    level: int
    gpu: str | None = None
    compute_capability: tuple[int, int] | None = None
    driver: str | None = None
    note: str = ""


@cache
def detect() -> Tier:
    """Return the tier of this machine; whatever is missing or fails on the way means T0.

    Where there is a driver, it is initialised in this process (cuInit): a process that forks
    afterwards cannot use CUDA in its children.
    """
    library = _load(DRIVER)
    code = library.cuInit(0) if library else CUDA_ERROR_NO_DEVICE
    if code == CUDA_ERROR_NO_DEVICE:  # containers often have the driver's library and no GPU
        return Tier(0)
    driver = _driver_version()
    if code:
        return Tier(0, driver=driver, note=f"NVIDIA's driver does not start (cuInit: error {code})")
    found = _first_gpu(library)
    if found is None:
        return Tier(0, driver=driver, note="NVIDIA's driver does not describe the GPU")
    gpu, capability = found
    note = _obstacle(library, capability)
    return Tier(0 if note else _level(capability), gpu, capability, driver, note)


def banner() -> None:
    """Print one line for the top of a notebook: the tier, and where its kernels run."""
    print(describe(detect()))


def describe(tier: Tier) -> str:
    """Return `tier` as one line."""
    if tier.level:
        sm = "sm_{}{}".format(*tier.compute_capability)
        return f"T{tier.level}: {tier.gpu} ({sm}, driver {tier.driver}). Kernels run on it."
    if tier.note:
        return f"T0: {tier.gpu or 'a GPU'} cannot be used: {tier.note}. {_without_gpu()}"
    return f"T0: no NVIDIA GPU here. {_without_gpu()}"


def compiler() -> str:
    """Return the package whose compiler reads CUDA C++ here: NVRTC's, or for want of it clang's."""
    uses_clang = os.environ.get("COURSE_COMPILER", "") == "clang" or sys.platform == "darwin"
    return "ziglang" if uses_clang else "nvidia-cuda-nvrtc"


def has_compiler() -> bool:
    """Tell whether a compiler for CUDA C++ is installed."""
    return requirements.installed(compiler()) is not None


def has_virtual_gpu() -> bool:
    """Tell whether this version of the course has the virtual GPU."""
    package = importlib.util.find_spec("course.vgpu")
    return package is not None and package.origin is not None


def _without_gpu() -> str:
    """Say what becomes of kernels at T0."""
    if not has_compiler():
        return f"Kernels can be read here; their compiler ({compiler()}) is not installed."
    if has_virtual_gpu():
        return "Kernels run on the virtual GPU, which counts what they do; times are recorded ones."
    return "Kernels compile here and show what becomes of them; running them needs an NVIDIA GPU."


def _level(capability: tuple[int, int]) -> int:
    if capability == (9, 0):
        return 3
    return 2 if capability >= (8, 0) else 1


def _obstacle(library: ctypes.CDLL, capability: tuple[int, int]) -> str:
    """Say why the course cannot use the GPU, or return ``""``."""
    if os.environ.get("COURSE_DEVICE") == "virtual":
        return "COURSE_DEVICE=virtual is set"
    if capability < OLDEST_CAPABILITY:
        return (
            f"its compute capability {capability[0]}.{capability[1]} is older than "
            f"{OLDEST_CAPABILITY[0]}.{OLDEST_CAPABILITY[1]} (Turing), the oldest that CUDA 13 knows"
        )
    cuda = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(cuda)) or cuda.value < OLDEST_CUDA:
        return (
            f"its driver {_driver_version() or ''} is too old for CUDA 13.0: "
            f"install {OLDEST_DRIVER} or newer"
        )
    return ""


def _first_gpu(library: ctypes.CDLL) -> tuple[str, tuple[int, int]] | None:
    """Return name and compute capability of device 0 (CUDA_VISIBLE_DEVICES counts)."""
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    failed = (
        library.cuDeviceGet(ctypes.byref(device), 0)
        or library.cuDeviceGetName(name, len(name), device)
        or library.cuDeviceGetAttribute(ctypes.byref(major), COMPUTE_CAPABILITY_MAJOR, device)
        or library.cuDeviceGetAttribute(ctypes.byref(minor), COMPUTE_CAPABILITY_MINOR, device)
    )
    if failed:
        return None
    return name.value.decode("utf-8", "replace"), (major.value, minor.value)


def _driver_version() -> str | None:
    """Return the driver's version, which only NVIDIA's management library knows."""
    library = _load(MANAGEMENT)
    version = ctypes.create_string_buffer(NVML_VERSION_BYTES)
    if library is None or library.nvmlInit_v2():
        return None
    failed = library.nvmlSystemGetDriverVersion(version, NVML_VERSION_BYTES)
    library.nvmlShutdown()
    return None if failed else version.value.decode("ascii", "replace")


def _load(names: tuple[str, ...]) -> ctypes.CDLL | None:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None
