"""The rest of numba.cuda's interface on the virtual GPU: the device, kernels' needs, memory."""

import threading

import numpy as np
import pytest

from course import gpu  # noqa: F401

cuda = pytest.importorskip("numba.cuda")
if cuda.implementation != "NVIDIA":
    pytest.skip("numba-cuda is not installed", allow_module_level=True)

from numba.types import float64  # noqa: E402

from course.gpu.numba import occupancy, ptx_text  # noqa: E402


def test_the_device(capsys):
    assert cuda.is_available() and len(cuda.gpus) == 1
    device = cuda.get_current_device()
    assert device.compute_capability == (9, 0) and device.name == "virtual GPU"
    assert device.WARP_SIZE == 32 and device.MULTIPROCESSOR_COUNT == 132
    assert device.MAX_THREADS_PER_BLOCK == 1024 and device.MAX_GRID_DIM_X == 2**31 - 1
    assert device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN == 227 * 1024
    assert cuda.select_device(0).id == 0
    assert cuda.detect()
    assert "virtual GPU" in capsys.readouterr().out
    with pytest.raises(IndexError):
        cuda.select_device(1)
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match="does not say its CLOCK_RATE"):
        device.CLOCK_RATE  # noqa: B018


def test_the_context():
    context = cuda.current_context()
    free, total = context.get_memory_info()
    assert 0 < free <= total
    cuda.synchronize()
    cuda.profile_start()
    cuda.profile_stop()
    with cuda.gpus[0]:
        assert cuda.current_context() == context
    cuda.close()
    array = cuda.to_device(np.arange(5))
    assert array.copy_to_host().tolist() == [0, 1, 2, 3, 4]


@cuda.jit("void(float64[::1])")
def needs(a):
    tile = cuda.shared.array((10, 10), float64)
    spill = cuda.local.array(50, float64)
    i = cuda.threadIdx.x
    for k in range(50):
        spill[k] = a[k]
    tile[i % 10, i // 10] = spill[int(a[0])]
    cuda.syncthreads()
    a[i] = tile[0, i % 10]


def test_what_a_kernel_needs():
    assert 10 < needs.get_regs_per_thread() < 100
    assert needs.get_shared_mem_per_block() == 800
    assert needs.get_local_mem_per_thread() >= 400
    assert needs.get_max_threads_per_block() == 1024
    assert needs.get_const_mem_size() >= 0
    (asm,) = needs.inspect_asm().values()
    assert (".entry" in asm and "ld.global" in asm) or "ld.f64" in asm
    (sass,) = needs.inspect_sass().values()
    assert "EXIT" in sass and "BAR.SYNC" in sass


def test_registers_can_be_limited():
    def kernel(a):
        total = 0.0
        for k in range(40):
            total += a[k] * a[a.size - 1 - k]
        a[0] = total

    free = cuda.jit("void(float64[::1])")(kernel)
    tight = cuda.jit("void(float64[::1])", max_registers=24)(kernel)
    assert tight.get_regs_per_thread() <= 24 < free.get_regs_per_thread()
    a = np.arange(80.0)
    tight[1, 1](a)
    assert a[0] == sum(k * (79 - k) for k in range(40))


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks"),
    [
        # limits of an H100 or H200: 64 warps, 32 blocks, 64 Ki registers, 228 KB a multiprocessor
        (1024, 32, 0, 2),
        (1024, 33, 0, 1),
        (256, 32, 0, 8),
        (32, 16, 0, 32),
        (96, 40, 0, 16),
        (128, 255, 0, 2),
        (256, 32, 48 * 1024, 4),
        (64, 32, 227 * 1024, 1),
        (64, 32, 113 * 1024, 2),
        (64, 32, 114 * 1024, 1),
    ],
)
def test_occupancy(threads, registers, shared, blocks):
    assert occupancy.blocks(threads, registers, shared) == blocks


def test_occupancy_through_numba():
    function = next(iter(needs.overloads.values()))._codelibrary.get_cufunc()
    context = cuda.current_context()
    assert context.get_active_blocks_per_multiprocessor(function, 1024, 0) in (1, 2)
    assert context.get_active_blocks_per_multiprocessor(function, 32, 200_000) == 1
    assert context.get_active_blocks_per_multiprocessor(function, 32, 232_000) == 0


def test_memory_is_used_again():
    """A loop that makes arrays anew must not use up the GPU's memory."""
    free, _ = cuda.current_context().get_memory_info()
    array = None
    for _ in range(200):
        array = cuda.to_device(np.zeros(1 << 20, np.uint8))
    assert free - cuda.current_context().get_memory_info()[0] < 40 << 20
    assert array.copy_to_host().sum() == 0


def test_memory_that_is_full():
    with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match="OUT_OF_MEMORY"):
        cuda.device_array(1 << 40, np.uint8)


def test_copies_outside_of_an_array_are_refused():
    array = cuda.device_array(10, np.uint8)
    driver = cuda.cudadrv.driver.driver
    host = np.zeros(600, np.uint8)
    address = array.device_ctypes_pointer.value
    for size, at in ((11, address), (1, address + 10), (1, 4096)):
        with pytest.raises(cuda.cudadrv.driver.CudaAPIError, match="INVALID_VALUE"):
            driver.cuMemcpyHtoD(at, host.ctypes.data, size)


def test_threads_launch_side_by_side():
    @cuda.jit
    def work(a, n):
        i = cuda.grid(1)
        for _ in range(n):
            a[i] += i

    results = [np.zeros(256, np.int64) for _ in range(6)]

    def launch(a, n):
        for _ in range(5):
            work[4, 64](a, n)

    threads = [threading.Thread(target=launch, args=(a, n)) for n, a in enumerate(results)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, a in enumerate(results):
        assert np.array_equal(a, 5 * n * np.arange(256))


def test_numbas_own_cache_works(tmp_path, monkeypatch):
    from numba.cuda.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for hits in (0, 1):

        @cuda.jit(cache=True)
        def kernel(a):
            a[0] = 42

        a = np.zeros(1, np.float32)
        kernel[1, 1](a)
        assert a[0] == 42
        assert sum(kernel.stats.cache_hits.values()) == hits


def test_modules_of_ptx_become_one():
    first = """.version 8.0
.target sm_90
.extern .func (.param .b32 r) twice(.param .b32 a);
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.global .align 4 .b8 text[4];
.visible .entry k() {
 .loc 1 5 0
 ret; }
.file 1 "one.py"
"""
    second = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 text[8] = {1};
.visible .func (.param .b32 r) twice(.param .b32 a) {
 .loc 2 7 0, inlined_at 1 8 0
 mov.u64 %rd1, text; ret; }
.file 1 "two.cu"
.file 2 "three.h"
"""
    whole = ptx_text.join([first, second])
    assert whole.count(".version") == whole.count(".target") == 1
    assert ".visible .func (.param .b32 r) twice(.param .b32 a);" in whole
    assert ".extern .func (.param .b32 r) vprintf" in whole
    assert "text[4]" in whole and "text$1[8]" in whole and "mov.u64 %rd1, text$1;" in whole
    assert '.file 1 "one.py"' in whole and '.file 3 "three.h"' in whole
    assert ".loc 1 5 0" in whole and ".loc 3 7 0, inlined_at 2 8 0" in whole
