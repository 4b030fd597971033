"""Runs fuzz kernels on the virtual GPU."""

import fuzz
import numpy as np
from cases import Case
from forms import SOURCES, Form

from course import vgpu


def mismatches(forms: list[Form], every: bool = True) -> list[str]:
    """Run one kernel with all of `forms` in whole and in partial warps; return what differs."""
    data = fuzz.Data(forms[0])
    builder = fuzz.Builder(forms, every)
    program = vgpu.Program(builder.ptx(data))
    return [report for block in (32, 24) for report in launch(program, builder, data, block)]


def launch(program: vgpu.Program, builder: fuzz.Builder, data: fuzz.Data, block: int) -> list[str]:
    """Launch the kernel in blocks of `block` threads and compare."""
    machine = vgpu.Machine()
    arrays = []
    for letter in SOURCES[: len(builder.kinds)]:
        arrays += [data.varying[letter], data.uniform[letter]]
    selection = fuzz.selection()
    if block != 32:
        selection |= 1
    out = np.full((len(builder.slots), fuzz.THREADS * 8), fuzz.UNTOUCHED, np.uint8)
    addresses = []
    for array in (*arrays, selection, out):
        addresses.append(machine.arena.allocate(array.nbytes))
        machine.arena.write(addresses[-1], array)
    params = np.array(addresses, np.uint64).tobytes()
    machine.launch(program, "k", (fuzz.THREADS // block, 1, 1), (block, 1, 1), params)
    result = machine.arena.read(addresses[-1], out.nbytes).reshape(out.shape)
    live, guard = selection & 1 > 0, selection & 2 > 0
    return fuzz.compare(builder, data, result, block, live, guard)


def differences(case: Case, options: vgpu.Options) -> list[str]:
    """Run a case and return what differs from what it must leave."""
    machine = vgpu.Machine()
    addresses = [machine.arena.allocate(b.nbytes) for b in case.buffers]
    for address, buffer in zip(addresses, case.buffers, strict=True):
        machine.arena.write(address, buffer)
    program = vgpu.Program(case.ptx)
    function = program.module.functions["k"]
    raw = bytearray(function.param_bytes)
    by_value = len(function.params) != len(addresses)
    pointers = addresses[:1] if by_value else addresses
    for param, address in zip(function.params, pointers, strict=False):
        raw[param.offset : param.offset + 8] = address.to_bytes(8, "little")
    if by_value:  # the last buffer holds the parameters behind the pointer
        raw[function.params[1].offset :] = case.buffers[-1].tobytes()
    machine.launch(program, "k", case.grid, case.block, bytes(raw), 0, options)
    reports = []
    for index, wanted in case.expected.items():
        data = machine.arena.read(addresses[index], wanted.nbytes).view(wanted.dtype)
        wrong = np.flatnonzero(data != wanted.ravel())
        if wrong.size:
            first = wrong[0]
            reports.append(
                f"{case.name}: buffer {index}, element {first} of {wrong.size} wrong ones: "
                f"{data[first]:#x}, expected {wanted.ravel()[first]:#x}"
            )
    return reports
