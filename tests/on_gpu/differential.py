"""Runs the opcode forms and cases of tests/vgpu on a real GPU, and keeps what it made of them.

    python3 tests/on_gpu/differential.py FILE.json

Needs cuda-bindings and NumPy only. Compares with the twins, prints a table and writes a golden
file, with which tests/vgpu/test_golden.py compares the virtual GPU on machines without a GPU.
"""

import collections
import datetime
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from cuda.bindings import driver

sys.path.insert(0, str(Path(__file__).parents[1] / "vgpu"))

import cases
import forms
import fuzz
import golden

PROCESSES = 8


def call(function, *arguments):
    """Call the driver; return its results, or raise with the name of its error."""
    status, *results = function(*arguments)
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{function.__name__}: {driver.cuGetErrorName(status)[1].decode()}")
    return results[0] if len(results) == 1 else results


def open_gpu():
    """Make a context in this process; return the device."""
    call(driver.cuInit, 0)
    device = call(driver.cuDeviceGet, 0)
    call(driver.cuCtxSetCurrent, call(driver.cuDevicePrimaryCtxRetain, device))
    return device


def load(ptx: str):
    """Return kernel ``k`` of a module."""
    log = bytearray(8192)
    options = [
        driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER,
        driver.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ]
    status, module = driver.cuModuleLoadDataEx(ptx.encode() + b"\0", 2, options, [log, len(log)])
    if status != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(log.decode(errors="replace").strip("\0 \n"))
    return call(driver.cuModuleGetFunction, module, b"k")


def launch(function, buffers, grid, block, tail=b"") -> list[np.ndarray]:
    """Run a kernel on copies of `buffers`; return what is in them afterwards.

    Its parameters are pointers to the copies, then the bytes of `tail`.
    """
    pointers = []
    for array in buffers:
        pointers.append(int(call(driver.cuMemAlloc, max(array.nbytes, 1))))
        call(driver.cuMemcpyHtoD, pointers[-1], np.ascontiguousarray(array), array.nbytes)
    params = np.frombuffer(np.array(pointers, np.uint64).tobytes() + tail, np.uint8).copy()
    size = np.array([params.nbytes], np.uint64)
    # CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END
    extra = np.array([1, params.ctypes.data, 2, size.ctypes.data, 0], np.uint64)
    call(driver.cuLaunchKernel, function, *grid, *block, 0, 0, 0, extra.ctypes.data)
    call(driver.cuCtxSynchronize)
    results = [np.empty_like(np.ascontiguousarray(b)) for b in buffers]
    for array, pointer in zip(results, pointers, strict=True):
        call(driver.cuMemcpyDtoH, array, pointer, array.nbytes)
        call(driver.cuMemFree, pointer)
    return results


def run_forms(batch: list[int]) -> dict:
    """Run the forms with these numbers in one kernel; return digests and what differs."""
    rows = forms.all_forms()
    chosen = [rows[n] for n in batch]
    data, builder = fuzz.Data(chosen[0]), fuzz.Builder(chosen)
    found = {"digests": {}, "approximations": {}, "reports": [], "inputs": {}}
    try:
        function = load(builder.ptx(data))
        for block in fuzz.BLOCKS:
            grid = (fuzz.THREADS // block, 1, 1)
            buffers = fuzz.buffers(builder, data, block)
            out = launch(function, buffers, grid, (block, 1, 1))[-1]
            found["reports"] += fuzz.compare(builder, data, out, block)
            for name, digest in golden.digests(builder, data, out, block).items():
                found["digests"].setdefault(name, []).append(digest)
            if block == 32:
                raw = golden.approximations(builder, out)
                found["approximations"] = {k: golden.pack(v) for k, v in raw.items()}
    except RuntimeError as error:
        found["reports"] = [f"{form.name}: {error}" for form in chosen]
    found["inputs"] = {golden.group(chosen[0]): golden.inputs_digest(data)}
    return found


def run_case(number: int) -> list[str]:
    """Run a case; return what differs."""
    case = cases.all_cases()[number]
    try:
        function = load(case.ptx)
        after = launch(function, case.buffers, case.grid, case.block, case.tail)
    except RuntimeError as error:
        return [f"{case.name}: {error}"]
    return cases.differences(case, dict(enumerate(after)))


def main(path: str) -> None:
    device = open_gpu()
    name = call(driver.cuDeviceGetName, 64, device).decode().strip("\0")
    attribute = driver.CUdevice_attribute
    level = 10 * call(
        driver.cuDeviceGetAttribute, attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device
    ) + call(
        driver.cuDeviceGetAttribute, attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device
    )
    rows = forms.all_forms()
    index = {row.name: n for n, row in enumerate(rows)}
    able = [row for row in rows if row.needs <= level]
    batches = [[index[row.name] for row in batch] for batch in fuzz.batches(able)]
    all_cases = [n for n, case in enumerate(cases.all_cases()) if case.needs <= level]
    spawn = multiprocessing.get_context("spawn")  # the driver does not survive a fork
    with ProcessPoolExecutor(PROCESSES, spawn, open_gpu) as pool:
        parts = list(pool.map(run_forms, batches))
        failed = {n: reports for n, reports in enumerate(pool.map(run_case, all_cases)) if reports}
    reports = [report for part in parts for report in part["reports"]]
    record = {
        "device": name,
        "driver": call(driver.cuDriverGetVersion),
        "date": datetime.date.today().isoformat(),
        "inputs": {k: v for part in parts for k, v in part["inputs"].items()},
        "approximations": {k: v for part in parts for k, v in part["approximations"].items()},
        "digests": {k: v for part in parts for k, v in part["digests"].items()},
    }
    golden.write(Path(path), record)
    print("\n".join([*reports, *(r for rs in failed.values() for r in rs)]))
    different = collections.Counter(report.partition(" [")[0] for report in reports)
    bounded = sum(row.bound is not None for row in able)
    print(f"{name}: {len(able)} forms tried ({len(rows) - len(able)} need a later GPU)")
    print(f"  equal bit for bit or within the stated bound ({bounded} forms): "
          f"{len(able) - len(different)}; different: {len(different)}")  # fmt: skip
    print(f"  {len(all_cases)} cases, {len(failed)} different")


if __name__ == "__main__":
    main(sys.argv[1])
