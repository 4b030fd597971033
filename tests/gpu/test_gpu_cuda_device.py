"""The real GPU's device against a driver that is played by host memory."""

import ctypes
import enum
import sys
import types

import numpy as np
import pytest

from course import gpu
from course.gpu import cuda_device
from course.gpu.devices import Array, Pointer, Scalar


class Status(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class Names:
    """Any attribute is its own name."""

    def __getattr__(self, name):
        return name


class Driver:
    """The part of the driver that a launch uses; device memory is host memory elsewhere."""

    CUdevice_attribute = CUfunction_attribute = Names()
    CUstream = staticmethod(lambda number: number)

    def __init__(self, kernel):
        self.kernel = kernel
        self.memory = {}
        self.log = []
        self.fails = {}  # function name -> status
        self.attributes = {
            "COMPUTE_CAPABILITY_MAJOR": 9,
            "COMPUTE_CAPABILITY_MINOR": 0,
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 232_448,
            "NUM_REGS": 40,
            "SHARED_SIZE_BYTES": 1000,
        }

    def __getattr__(self, name):
        """Note every other call as one that works and returns a handle."""

        def call(*arguments):
            return self._answer(name, arguments, 0)

        return call

    def _answer(self, name, arguments, *value):
        self.log.append((name, *arguments))
        status = self.fails.get(name, Status.CUDA_SUCCESS)
        return (status, *value) if status == 0 else (status, *[None] * len(value))

    def cuDeviceGetName(self, *arguments):
        return self._answer("cuDeviceGetName", arguments, b"NVIDIA H200\0\0\0")

    def cuDeviceGetAttribute(self, attribute, device):
        name = attribute.removeprefix("CU_DEVICE_ATTRIBUTE_")
        return self._answer("cuDeviceGetAttribute", (), self.attributes.get(name, 1024))

    def cuFuncGetAttribute(self, attribute, function):
        name = attribute.removeprefix("CU_FUNC_ATTRIBUTE_")
        return self._answer("cuFuncGetAttribute", (), self.attributes.get(name, 1024))

    def cuMemAlloc(self, size):
        block = ctypes.create_string_buffer(size)
        address = ctypes.addressof(block)
        self.memory[address] = block
        return self._answer("cuMemAlloc", (size,), address)

    def cuMemFree(self, address):
        del self.memory[address]
        return self._answer("cuMemFree", ())

    def cuMemcpyHtoDAsync(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return self._answer("cuMemcpyHtoDAsync", (size, stream))

    def cuMemcpyDtoHAsync(self, target, source, size, stream):
        ctypes.memmove(target, source, size)
        return self._answer("cuMemcpyDtoHAsync", (size, stream))

    def cuLaunchKernel(self, function, *rest):
        grid, block, (shared, stream, parameters, _) = rest[:3], rest[3:6], rest[6:]
        answer = self._answer("cuLaunchKernel", (grid, block, shared, stream))
        if answer[0] == 0:
            self.kernel(parameters)
        return answer

    def calls(self, name):
        return [call for call in self.log if call[0] == name]


def parameters_at(address, *types_):
    """Read a launch's parameters as the driver does: an array of pointers to values."""
    pointers = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    return [kind.from_address(pointers[i]).value for i, kind in enumerate(types_)]


def floats_at(address, count):
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (count,))


@pytest.fixture
def make(monkeypatch):
    def made(kernel=lambda parameters: None, **attributes):
        driver = Driver(kernel)
        driver.attributes |= attributes
        monkeypatch.setattr(cuda_device, "_driver", lambda: driver)
        return cuda_device.CudaDevice(0), driver

    return made


def launch(device, *buffers, shared=0, block=(32, 1, 1), entry="_Z1fPf"):
    device.launch(b"cubin", entry, (2, 3, 1), block, shared, buffers)


def array(data, writable=True, name="x"):
    return Array(data, writable, name)


def test_what_it_is(make):
    device, _ = make()
    assert str(device) == "NVIDIA H200 (sm_90a)" and device.memory == "cuda:0"
    assert device.limits.shared_per_block == 232_448
    assert make(COMPUTE_CAPABILITY_MAJOR=8, COMPUTE_CAPABILITY_MINOR=6)[0].arch == "sm_86"
    assert make(COMPUTE_CAPABILITY_MAJOR=10)[0].arch == "sm_100a"


def test_arrays_go_there_and_come_back(make):
    def saxpy(parameters):
        kinds = ctypes.c_int, ctypes.c_float, ctypes.c_uint64, ctypes.c_uint64
        n, a, x, y = parameters_at(parameters, *kinds)
        x, y = floats_at(x, n), floats_at(y, n)
        y[:] = a * x + y
        x[:] = -1  # a const array must not show this

    device, driver = make(saxpy)
    x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    n, a = Scalar((5).to_bytes(4, "little")), Scalar(np.float32(2.5).tobytes())
    launch(device, n, a, array(x, False), array(y))
    np.testing.assert_array_equal(x, np.arange(5))
    np.testing.assert_array_equal(y, 2.5 * np.arange(5) + 1)
    assert driver.memory == {}
    assert driver.calls("cuLaunchKernel") == [("cuLaunchKernel", (2, 3, 1), (32, 1, 1), 0, 0)]


def test_overlapping_arrays_share_their_memory(make):
    seen = []

    def note(parameters):
        addresses = parameters_at(parameters, *[ctypes.c_uint64] * 4)
        seen.extend(addresses)
        floats_at(addresses[1], 1)[0] = 99

    device, driver = make(note)
    data = np.arange(10, dtype=np.float32)
    other = np.zeros(3, np.float32)
    launch(device, array(data[2:6]), array(data[4:9]), array(data[2:6]), array(other))
    a, b, c, d = seen
    assert a == c and b - a == 8 and d not in (a, b)
    np.testing.assert_array_equal(data, [0, 1, 2, 3, 99, 5, 6, 7, 8, 9])
    assert sorted(call[1] for call in driver.calls("cuMemAlloc")) == [12, 28]


def test_neighbours_do_not_overlap(make):
    device, driver = make()
    data = np.zeros(8, np.float32)
    launch(device, array(data[:4]), array(data[4:]))
    assert len(driver.calls("cuMemAlloc")) == 2


def test_empty_arrays_are_null(make):
    seen = []
    device, _ = make(lambda p: seen.extend(parameters_at(p, ctypes.c_uint64)))
    launch(device, array(np.zeros(0, np.float32)))
    assert seen == [0]


def test_pointers_do_not_wait(make):
    seen = []
    device, driver = make(lambda p: seen.extend(parameters_at(p, ctypes.c_uint64)))
    launch(device, Pointer(0x7000))
    assert seen == [0x7000]
    assert not driver.calls("cuStreamSynchronize") and not driver.calls("cuMemAlloc")


def test_no_parameters_at_all(make):
    device, driver = make()
    launch(device)
    assert len(driver.calls("cuLaunchKernel")) == 1


def test_the_code_is_loaded_once(make):
    device, driver = make()
    launch(device)
    launch(device)
    launch(device, entry="_Z1gPf")
    assert len(driver.calls("cuModuleGetFunction")) == 2


def test_a_thread_is_left_with_the_context_it_had(make):
    device, driver = make()
    driver.cuCtxGetCurrent = lambda: (Status.CUDA_SUCCESS, 17)
    launch(device)
    assert len(driver.calls("cuCtxPushCurrent")) == len(driver.calls("cuCtxPopCurrent")) == 1
    driver.cuCtxGetCurrent = lambda: (Status.CUDA_SUCCESS, 0)  # the primary context of this driver
    launch(device)
    assert len(driver.calls("cuCtxPushCurrent")) == 1


def test_much_shared_memory_is_opted_in_to_once(make):
    device, driver = make()
    launch(device, shared=48 * 1024 - 1000)
    assert not driver.calls("cuFuncSetAttribute")
    launch(device, shared=48 * 1024 - 999)  # with 1000 static bytes one too many
    assert len(driver.calls("cuFuncSetAttribute")) == 1
    launch(device, shared=100_000)
    launch(device, shared=60_000)
    _, call = driver.calls("cuFuncSetAttribute")
    assert call[2:] == ("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", 100_000)
    with pytest.raises(gpu.LaunchError, match=r"1,000 bytes of static and 232,000 of dynamic"):
        launch(device, shared=232_000)


def test_a_block_that_its_registers_forbid(make):
    device, driver = make(NUM_REGS=128)
    driver.attributes["MAX_THREADS_PER_BLOCK"] = 512
    with pytest.raises(gpu.LaunchError) as error:
        launch(device, block=(32, 32, 1), entry="_Z4busyPf")
    text = str(error.value)
    assert text.startswith("busy: a block of 1024 threads does not fit: with 128 registers")
    assert "at most 512" in text and "__launch_bounds__(1024)" in text


def test_a_fault_is_told_in_words_and_leaves_no_memory(make):
    device, driver = make()
    driver.fails["cuStreamSynchronize"] = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(gpu.LaunchError) as error:
        launch(device, array(np.zeros(4, np.float32)))
    text = str(error.value)
    assert text.startswith("f failed with CUDA_ERROR_ILLEGAL_ADDRESS: it read or wrote an address")
    assert "if (i < n)" in text and "restart the kernel" in text
    assert driver.memory == {}


def test_a_late_fault_names_those_before(make):
    device, driver = make()
    launch(device, Pointer(1), entry="_Z5firstPf")
    launch(device, Pointer(1), entry="second")
    driver.fails["cuLaunchKernel"] = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    with pytest.raises(gpu.LaunchError, match=r"f \(or a kernel launched before it: first, second"):
        launch(device, Pointer(1))


def test_a_full_gpu(make):
    device, driver = make()
    driver.fails["cuMemAlloc"] = Status.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(gpu.LaunchError, match=r"copying arrays to the GPU failed .* is full"):
        launch(device, array(np.zeros(4, np.float32)))


# --- finding one ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "fits"), [(13000, True), (13010, True), (12080, False), (11040, False)]
)
def test_a_driver_must_be_of_the_compilers_generation(version, fits, monkeypatch):
    monkeypatch.setattr(cuda_device.compiler, "nvrtc_version", lambda: "13.0")
    if fits:
        cuda_device._check_version(version)
    else:
        with pytest.raises(gpu.NoDevice, match=r"too old: it supports CUDA 1[12]\.[48], .* 580"):
            cuda_device._check_version(version)


@pytest.mark.parametrize(
    ("capability", "fits"), [(75, True), (90, True), (70, False), (999, False)]
)
def test_a_gpu_must_be_one_that_the_compiler_knows(capability, fits):
    if fits:
        cuda_device._check_capability("NVIDIA X", capability)
    else:
        with pytest.raises(gpu.NoDevice, match="NVIDIA X has compute capability"):
            cuda_device._check_capability("NVIDIA X", capability)


def binding(monkeypatch, **functions):
    """Put a driver's binding in the place of the real one."""
    package = types.ModuleType("cuda.bindings")
    package.driver = types.SimpleNamespace(**functions)
    monkeypatch.setitem(sys.modules, "cuda.bindings", package)


@pytest.fixture
def search():
    for function in (cuda_device._driver, cuda_device._found):
        function.cache_clear()
    yield lambda: cuda_device.current()
    for function in (cuda_device._driver, cuda_device._found):
        function.cache_clear()


def test_no_driver(monkeypatch, search):
    def missing(flags):
        raise RuntimeError("libcuda.so.1: cannot open shared object file")

    binding(monkeypatch, cuInit=missing)
    with pytest.raises(gpu.NoDevice, match="it has no NVIDIA driver"):
        search()


def test_a_driver_without_a_gpu(monkeypatch, search):
    binding(
        monkeypatch,
        cuInit=lambda flags: (Status.CUDA_ERROR_NO_DEVICE,),
        cuDriverGetVersion=lambda: (0, 13000),
    )
    with pytest.raises(gpu.NoDevice, match=r"finds no GPU \(CUDA_ERROR_NO_DEVICE\)"):
        search()


def test_an_old_driver_counts_as_no_gpu(monkeypatch, search):
    binding(
        monkeypatch,
        cuInit=lambda flags: (Status.CUDA_SUCCESS,),
        cuDriverGetVersion=lambda: (0, 12040),
    )
    monkeypatch.setitem(gpu.devices._KINDS, "cuda", search)
    monkeypatch.setenv("COURSE_DEVICE", "cuda")
    with pytest.raises(
        gpu.NoDevice, match=r"cannot be launched on this machine: its NVIDIA driver"
    ):
        gpu.device()
    assert gpu.compile("__global__ void f() {}").arch == "sm_90a"
