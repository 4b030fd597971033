"""PTX of a module, and its kernels compiled for this machine when they are first launched."""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from . import opcodes, ptx  # noqa: F401 - opcodes fills the table of lowerings
from .cfg import Graph, build, cycle
from .jit import Code, library
from .lowering import Layout, Lowering
from .records import Site


@dataclass
class Kernel:
    """A kernel, ready to run: its code and the tables the runtime reads."""

    name: str
    layout: Layout
    code: Code
    masked: int
    fast: int
    sites: np.ndarray
    conversions: np.ndarray
    conversion_starts: np.ndarray

    @property
    def graph(self) -> Graph:
        """The kernel's blocks."""
        return self.layout.graph

    @functools.cached_property
    def ordered(self) -> bool:
        """Whether results may depend on the order in which blocks run."""
        return any(
            i.opcode in ("atom", "red", "call", "trap") or _sees_others(i)
            for i in self._instructions()
        )

    @functools.cached_property
    def waits(self) -> bool:
        """Whether a block may wait in a loop for what another block writes."""
        return any(
            any(_sees_others(i) for i in block.instructions) and cycle(self.graph, block.index)
            for block in self.graph.blocks
        )

    @functools.cached_property
    def synchronises_grid(self) -> bool:
        """Whether the kernel uses the workspace of cooperative grids: all blocks must be there."""
        return any(
            isinstance(o, ptx.Special) and o.name in ("%envreg1", "%envreg2")
            for i in self._instructions()
            for o in i.operands
        )

    def _instructions(self) -> Iterator[ptx.Instruction]:
        for block in self.graph.blocks:
            yield from block.instructions


@dataclass
class Program:
    """A module of PTX."""

    text: str
    module: ptx.Module = field(init=False)
    kernels: dict[tuple[str, bool, bool, bool], Kernel] = field(default_factory=dict)
    number: int = field(default_factory=itertools.count(1).__next__)  # different for each

    def __post_init__(self) -> None:
        self.module = ptx.parse(self.text)

    @property
    def entries(self) -> list[str]:
        """Names of the kernels."""
        return [f.name for f in self.module.functions.values() if f.is_entry]

    def kernel(self, entry: str, tid_is_affine: bool, fast: bool, watched: bool) -> Kernel:
        """Return kernel `entry`, compiled.

        Parameters
        ----------
        entry : str
            Its name in PTX.
        tid_is_affine : bool
            Each warp is a row of threads: ``tid.x`` counts up by one from lane to lane.
        fast : bool
            Make a fast version too.
        watched : bool
            Memory accesses are counted or compared: the fast version is of no use then.
        """
        key = (entry, tid_is_affine, fast, watched)
        if key not in self.kernels:
            self.kernels[key] = _compile(self.module, *key)
        return self.kernels[key]


def _compile(
    module: ptx.Module, entry: str, tid_is_affine: bool, fast: bool, watched: bool
) -> Kernel:
    runtime = library(watched)
    graph = build(module, entry)
    layout = Layout(module, graph)
    masked = Lowering(layout, fast=False, library=runtime.name)
    text = masked.function("masked")
    kinds: dict = {}
    if fast:
        quick = Lowering(layout, True, tid_is_affine, runtime.name)
        text = _join(text, quick.function("fast"))
        kinds = quick.kinds
    runtime.require(text)
    code = Code(text, level=0)
    conversions, starts = _conversions(layout, kinds)
    sites = np.zeros(max(1, len(layout.sites)), Site.dtype)
    for row, info in zip(sites, layout.sites, strict=False):
        for name in ("space", "size", "count", "op", "kind", "store", "scope", "releases", "base"):
            row[name] = getattr(info, name)
    return Kernel(
        entry, layout, code, code.address("masked"), code.address("fast") if fast else 0, sites,
        conversions, starts,
    )  # fmt: skip


def _sees_others(item: ptx.Instruction) -> bool:
    """Say whether an instruction is there to see what other threads write meanwhile."""
    if item.opcode in ("atom", "membar", "fence"):
        return True
    ordered = ("volatile", "relaxed", "acquire")
    return item.opcode == "ld" and any(m in ordered for m in item.mods)


def _join(*texts: str) -> str:
    """Put functions into one module; the same declaration may stand only once."""
    seen: dict[str, None] = {}
    rest: list[str] = []
    for text in texts:
        for line in text.split("\n"):
            if line.startswith("declare"):
                seen[line] = None
            else:
                rest.append(line)
    return "\n".join([*seen, *rest])


def _conversions(layout: Layout, kinds: dict) -> tuple[np.ndarray, np.ndarray]:
    """List, for the entry and the end of each block, the registers that are scalars when fast."""
    rows: list[tuple[int, int, int, int]] = []
    starts = [0]
    for block in layout.graph.blocks:
        for live in (block.live_in, block.live_out):
            for register in sorted(live, key=lambda r: r.name):
                form, stride = kinds.get(register, ("u", 0))
                if form != "v":
                    rows.append(
                        (
                            register.width,
                            stride % (1 << 32),
                            layout.scalars[register],
                            layout.slots[register],
                        )
                    )
            starts.append(len(rows))
    table = np.array(rows or [(0, 0, 0, 0)], np.uint32)
    return table, np.array(starts, np.uint32)
