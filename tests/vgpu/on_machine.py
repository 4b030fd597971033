"""Runs fuzz kernels on the virtual GPU."""

import cases
import fuzz
import numpy as np
from forms import Form

from course import vgpu


def mismatches(forms: list[Form], every: bool = True) -> list[str]:
    """Run one kernel with all of `forms` in whole and in partial warps; return what differs."""
    data = fuzz.Data(forms[0])
    builder = fuzz.Builder(forms, every)
    program = vgpu.Program(builder.ptx(data))
    return [
        report
        for block in fuzz.BLOCKS
        for report in fuzz.compare(builder, data, launch(program, builder, data, block), block)
    ]


def launch(program: vgpu.Program, builder: fuzz.Builder, data: fuzz.Data, block: int) -> np.ndarray:
    """Launch the kernel in blocks of `block` threads and return the results' bytes."""
    machine = vgpu.Machine()
    arrays = fuzz.buffers(builder, data, block)
    addresses = []
    for array in arrays:
        addresses.append(machine.arena.allocate(array.nbytes))
        machine.arena.write(addresses[-1], array)
    params = np.array(addresses, np.uint64).tobytes()
    machine.launch(program, "k", (fuzz.THREADS // block, 1, 1), (block, 1, 1), params)
    return machine.arena.read(addresses[-1], arrays[-1].nbytes).reshape(arrays[-1].shape)


def differences(case: cases.Case, options: vgpu.Options) -> list[str]:
    """Run a case and return what differs from what it must leave."""
    machine = vgpu.Machine()
    addresses = [machine.arena.allocate(b.nbytes) for b in case.buffers]
    for address, buffer in zip(addresses, case.buffers, strict=True):
        machine.arena.write(address, buffer)
    program = vgpu.Program(case.ptx)
    params = np.array(addresses, np.uint64).tobytes() + case.tail
    machine.launch(program, "k", case.grid, case.block, params, 0, options)
    after = {i: machine.arena.read(addresses[i], w.nbytes) for i, w in case.expected.items()}
    return cases.differences(case, after)
