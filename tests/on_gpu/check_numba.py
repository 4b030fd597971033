"""numba.cuda on a real GPU: untouched by the course, and equal to the virtual GPU.

python3 -m pytest -q tests/on_gpu            skipped, and said so, where there is no GPU
"""

import os
import subprocess
import sys

import pytest

from course import ROOT, gpu

try:
    WHY_NOT = "" if gpu.device().kind == "cuda" else "these checks are for a real GPU"
except gpu.NoDevice as reason:
    WHY_NOT = str(reason)
if WHY_NOT:
    pytest.skip(WHY_NOT, allow_module_level=True)

from numba import cuda, float32

from course.gpu.numba import attributes, occupancy

#: What an H200 and another GPU may well differ in, or a computer from another.
ITS_OWN = {"PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID", "ECC_ENABLED"}


def test_numba_is_untouched():
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import driver

    assert "_cuda_python_wrap_fn" not in vars(driver.driver)
    assert dispatcher.launch.__module__.startswith("cuda.core")
    assert "course" not in dispatcher.CUDADispatcher.call.__module__
    assert cuda.get_current_device().name != "virtual GPU"


@pytest.mark.parametrize("file", ["test_numba_kernels.py", "test_numba_devices.py"])
def test_the_tests_of_the_virtual_gpu_pass_on_the_real_one(file):
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", str(ROOT / "tests/numba" / file)]
    environment = os.environ | {"COURSE_DEVICE": "cuda"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def test_attributes_of_an_h200():
    device = cuda.get_current_device()
    if "H200" not in device.name:
        pytest.skip(f"this is {device.name}")
    real = {name: getattr(device, name) for name in attributes.VALUES}
    differing = {
        name: (value, attributes.VALUES[name])
        for name, value in real.items()
        if value != attributes.VALUES[name] and name not in ITS_OWN
    }
    assert not differing


def test_occupancy():
    @cuda.jit
    def kernel(a):
        tile = cuda.shared.array(1000, float32)
        i = cuda.threadIdx.x
        tile[i] = a[i]
        cuda.syncthreads()
        a[i] = tile[999 - i]

    if cuda.get_current_device().compute_capability != (9, 0):
        pytest.skip("the table is that of compute capability 9.0")
    for most in (24, 32, 40, 64, 72, 96, 128, 168, 255):
        jitted = cuda.jit(max_registers=most)(kernel.py_func)
        compiled = jitted.compile((float32[::1],))
        function = compiled._codelibrary.get_cufunc()
        for registers in {function.attrs.regs}:
            for threads in (32, 96, 128, 256, 384, 512, 1024):
                for shared in (0, 1000, 10_000, 40_000):
                    real = cuda.current_context().get_active_blocks_per_multiprocessor(
                        function, threads, shared
                    )
                    whole = function.attrs.shared + shared
                    assert occupancy.blocks(threads, registers, whole) == real
