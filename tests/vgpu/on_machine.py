"""Runs fuzz kernels on the virtual GPU."""

import fuzz
import numpy as np
from forms import SOURCES, Form

from course import vgpu


def mismatches(forms: list[Form]) -> list[str]:
    """Run one kernel with all of `forms` in whole and in partial warps; return what differs."""
    data = fuzz.Data(forms[0])
    builder = fuzz.Builder(forms)
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
