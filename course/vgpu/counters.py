"""Counts of a launch, for each source line and in total."""

from collections import Counter
from dataclasses import asdict, dataclass, field

import numpy as np

from .arena import Arena
from .cfg import RESULTS
from .lowering import SiteInfo
from .program import Kernel
from .ptx import Instruction
from .records import GLOBAL, TOUCHED_LOAD, TOUCHED_STORE

#: Opcode -> class of instruction.
CLASSES = {
    **dict.fromkeys(("ld", "ldu", "st", "atom", "red", "prefetch"), "memory"),
    **dict.fromkeys(("bra", "brx", "ret", "exit", "call", "bar", "barrier"), "control"),
    **dict.fromkeys(("shfl", "vote", "match", "redux", "activemask", "elect"), "warp"),
    **dict.fromkeys(("cvt", "cvta", "mov", "selp", "setp", "set", "slct", "isspacep"), "move"),
    **dict.fromkeys(("membar", "fence"), "fence"),
    **dict.fromkeys(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh"), "special"),
}
_FLOPS = {"fma": 2, "mad": 2} | dict.fromkeys(
    [
        "add",
        "sub",
        "mul",
        "div",
        "rcp",
        "sqrt",
        "rsqrt",
        "ex2",
        "lg2",
        "sin",
        "cos",
        "tanh",
        "min",
        "max",
    ],
    1,
)
_FLOAT_TYPES = {"f16": 1, "bf16": 1, "f32": 1, "f64": 1, "f16x2": 2, "bf16x2": 2}


@dataclass
class Line:
    """Counts of one source line (or of a whole launch).

    `instructions` counts warp instructions issued, `lanes` the lanes that took part in them,
    `sectors` 32-byte pieces of global memory, `wavefronts` passes through the banks of shared
    memory, of which `conflicts` would not be needed without bank conflicts.
    """

    instructions: int = 0
    lanes: int = 0
    flops: int = 0
    classes: Counter = field(default_factory=Counter)
    global_loads: int = 0  # requests: warp instructions
    global_stores: int = 0
    load_sectors: int = 0
    store_sectors: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0
    shared_loads: int = 0
    shared_stores: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    atomics: int = 0
    barriers: int = 0
    branches: int = 0

    @property
    def lanes_per_instruction(self) -> float:
        """Mean active lanes of an issued instruction: 32 without divergence."""
        return self.lanes / self.instructions if self.instructions else 0.0

    def add(self, other: "Line") -> None:
        """Add the counts of `other`."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict:
        """Return the counts as plain data."""
        result = {n: getattr(self, n) for n in self.__dataclass_fields__ if n != "classes"}
        return result | {"classes": dict(self.classes)}


@dataclass(frozen=True)
class Pattern:
    """The first request of a memory instruction: which lane touched what.

    Attributes
    ----------
    file, line : str, int
        The source line.
    space : str
        ``global`` or ``shared``.
    kind : str
        ``load``, ``store`` or ``atomic``.
    array : str
        The array's name, if it is known.
    size : int
        Bytes that each lane touches.
    offsets : tuple of int or None
        For each of the 32 lanes, the byte offset from the beginning of the array (global) or of the
        block's shared memory; None for a lane that took no part.
    """

    file: str
    line: int
    space: str
    kind: str
    array: str
    size: int
    offsets: tuple[int | None, ...]


@dataclass
class Counts:
    """What a launch did: `lines` maps (file, line) to counts, `patterns` holds examples."""

    kernel: str
    lines: dict[tuple[str, int], Line]
    unique_loaded: int
    unique_stored: int
    patterns: list[Pattern]

    @property
    def total(self) -> Line:
        """Sum over all lines."""
        total = Line()
        for line in self.lines.values():
            total.add(line)
        return total

    def to_dict(self) -> dict:
        """Return everything as plain data (JSON)."""
        return {
            "kernel": self.kernel,
            "total": self.total.to_dict(),
            "unique_bytes_loaded": self.unique_loaded,
            "unique_bytes_stored": self.unique_stored,
            "lines": [
                {"file": file, "line": line, **counts.to_dict()}
                for (file, line), counts in sorted(self.lines.items())
            ],
            "patterns": [asdict(p) for p in self.patterns],
        }


def collect(kernel: Kernel, probes: np.ndarray, blocks: np.ndarray, arena: Arena) -> Counts:
    """Combine how often each block ran with what its instructions are."""
    files = kernel.layout.module.files
    lines: dict[tuple[str, int], Line] = {}

    def line_of(item: Instruction) -> Line:
        key = (files.get(item.loc.file, "?"), item.loc.line) if item.loc else ("?", 0)
        return lines.setdefault(key, Line())

    for block, (runs, lanes) in zip(kernel.graph.blocks, blocks, strict=True):
        for item in block.instructions:
            if not item.mods and item.opcode == "ret" and not item.text:
                continue  # the end that PTX leaves unwritten
            if item.opcode in RESULTS:
                continue  # the second half of the instruction before it
            line = line_of(item)
            line.instructions += int(runs)
            line.lanes += int(lanes)
            line.classes[CLASSES.get(item.opcode, "arithmetic")] += int(runs)
            line.flops += flops(item) * int(lanes)
            line.barriers += int(runs) * (
                item.opcode in ("bar", "barrier") and "warp" not in item.mods
            )
            line.branches += int(runs) * (item.opcode == "bra" and item.guard is not None)
    patterns = []
    for info, probe in zip(kernel.layout.sites, probes, strict=False):
        if info.size and info.instruction is not None and int(probe["requests"]):
            _add_access(line_of(info.instruction), info.store, probe)
            patterns.append(_pattern(info, probe, arena, files))
    shadow = arena.shadow
    unique = [int(np.count_nonzero(shadow & bit)) for bit in (TOUCHED_LOAD, TOUCHED_STORE)]
    shadow &= np.uint8(255 ^ (TOUCHED_LOAD | TOUCHED_STORE))
    return Counts(kernel.name, lines, *unique, patterns)


def flops(item: Instruction) -> int:
    """Return the floating-point operations of one lane of an instruction; a fused one is two."""
    if not item.mods or item.mods[-1] not in _FLOAT_TYPES or item.opcode not in _FLOPS:
        return 0
    return _FLOPS[item.opcode] * _FLOAT_TYPES[item.mods[-1]]


def _add_access(line: Line, store: int, probe: np.void) -> None:
    requests, sectors = int(probe["requests"]), int(probe["sectors"])
    is_shared = int(probe["wavefronts"]) > 0
    if store == 2:
        line.atomics += int(probe["lanes"])
    if is_shared:
        line.wavefronts += int(probe["wavefronts"])
        line.conflicts += int(probe["wavefronts"]) - int(probe["ideal"])
        name = "shared_stores" if store else "shared_loads"
        setattr(line, name, getattr(line, name) + requests)
    elif sectors:
        kind = "store" if store else "load"
        setattr(line, f"global_{kind}s", getattr(line, f"global_{kind}s") + requests)
        setattr(line, f"{kind}_sectors", getattr(line, f"{kind}_sectors") + sectors)
        name = "bytes_stored" if store else "bytes_loaded"
        setattr(line, name, getattr(line, name) + int(probe["bytes"]))


def _pattern(info: SiteInfo, probe: np.void, arena: Arena, files: dict[int, str]) -> Pattern:
    mask = int(probe["sample_mask"])
    addresses = [int(a) if mask >> n & 1 else None for n, a in enumerate(probe["sample"])]
    start, name = 0, ""
    is_global = int(probe["sample_space"]) == GLOBAL
    if is_global:
        found = arena.find(next(a for a in addresses if a is not None))
        if found is not None:
            start, name = found[0].address, found[0].name
    loc = info.instruction.loc
    return Pattern(
        files.get(loc.file, "?") if loc else "?",
        loc.line if loc else 0,
        "global" if is_global else "shared",
        ("load", "store", "atomic")[info.store],
        name,
        info.size * info.count,
        tuple(None if a is None else a - start for a in addresses),
    )
