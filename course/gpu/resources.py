"""What a kernel costs of a multiprocessor, as the assembler reports it."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """What one kernel uses.

    Attributes
    ----------
    registers : int
        32-bit registers of each thread.
    spill_stores, spill_loads : int
        Bytes of instructions that move registers to memory and back, because there are too few.
    stack : int
        Bytes of local memory of each thread: arrays that registers cannot hold, and spills.
    shared : int
        Bytes of static shared memory of each block; dynamic shared memory comes with the launch.
    constant : int
        Bytes of ``__constant__`` arrays and literals, without the launch's own arguments.
    barriers : int
        Of the block's 16 hardware barriers.
    """

    registers: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    stack: int = 0
    shared: int = 0
    constant: int = 0
    barriers: int = 0

    def __str__(self) -> str:
        spills = "no spills"
        if self.spill_stores or self.spill_loads:
            spills = f"SPILLS ({self.spill_stores} bytes stored, {self.spill_loads} loaded)"
        parts = [f"{self.registers} registers", f"{self.shared:,} bytes shared", spills]
        if self.stack:
            parts.append(f"{self.stack:,} bytes stack")
        return ", ".join(parts)


@dataclass(frozen=True)
class Resources:
    """What the kernels of a module use, by name, and what the assembler warns of."""

    kernels: dict[str, Usage]
    warnings: tuple[str, ...]

    def __getitem__(self, name: str) -> Usage:
        return self.kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __str__(self) -> str:
        lines = [f"{name}: {usage}" for name, usage in self.kernels.items()]
        return "\n".join([*lines, *(f"warning: {text}" for text in self.warnings)])

    __repr__ = __str__


def read(log: str, cubin: bytes, shown: dict[str, str]) -> Resources:
    """Return what an assembler's log and its output say.

    Parameters
    ----------
    log : str
        Of a compilation to a cubin with ``--ptxas-options=-v``.
    cubin : bytes
        What it made.
    shown : dict of str to str
        What to call each kernel, by its name in PTX; gives the order too.
    """
    found = _from_log(log)
    constants = _constant_bytes(cubin)
    common = sum(size for name, size in constants.items() if name.count(".") == 2)
    kernels = {}
    for entry, name in shown.items():
        own = sum(size for section, size in constants.items() if section.endswith(f".{entry}"))
        kernels[name] = Usage(**found.get(entry, {}), constant=common + own)
    return Resources(kernels, _warnings(log, shown))


_NUMBERS = {
    "registers": r"Used (\d+) registers",
    "barriers": r"used (\d+) barriers",
    "shared": r"(\d+) bytes smem",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
}


def _from_log(log: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    kernel = function = None
    for line in log.splitlines():
        if match := re.search(r"Compiling entry function '([^']+)'", line):
            kernel = function = match[1]
            found[kernel] = {}
        elif match := re.search(r"Function properties for (\S+)", line):
            function = match[1]
        elif kernel and function == kernel:
            for key, pattern in _NUMBERS.items():
                if match := re.search(pattern, line):
                    found[kernel][key] = int(match[1])
    return found


def _warnings(log: str, shown: dict[str, str]) -> tuple[str, ...]:
    """Warnings, and remarks with a number: (C7508) and its kin say what costs speed."""
    found = []
    for line in log.splitlines():
        match = re.match(r"ptxas (?:warning\s*:|info\s*:\s*(?=\(C\d+\)))\s*(.+)", line.strip())
        if match and match[1] not in found:
            found.append(match[1])
    for entry, name in shown.items():
        found = [text.replace(f"'{entry}'", f"'{name}'") for text in found]
    return tuple(found)


def _constant_bytes(cubin: bytes) -> dict[str, int]:
    """Return the sizes of the constant banks (ELF sections), bank 0 with the arguments apart."""
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [
        struct.unpack_from("<IIQQQQ", cubin, offset + index * size)  # name, type, .., .., at, size
        for index in range(count)
    ]
    text = cubin[headers[names_at][4] :]
    sections = {text[h[0] : text.index(b"\0", h[0])].decode(): h[5] for h in headers}
    return {n: s for n, s in sections.items() if re.match(r"\.nv\.constant[1-9]", n)}
