"""The virtual GPU: loads PTX, runs kernels, reports faults, counts."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from . import jit, printing, provenance, records
from .arena import Arena
from .counters import Counts, collect
from .detector import MOST_BLOCKS, Detector
from .faults import Decoder, Fault
from .program import Kernel, Program
from .records import GLOBAL_BASE, Cta, Launch, Probe, Warp

SCHEDULES = {"round-robin": 0, "reverse": 1, "random": 2, "greedy": 3}
_LOG_WORDS = 1 << 16


class LaunchRefused(ValueError):
    """A launch asks for more than the imitated GPU has."""


@dataclass(frozen=True)
class Limits:
    """What the imitated GPU can run; the defaults are those of compute capability 9.0."""

    threads_per_block: int = 1024
    block: tuple[int, int, int] = (1024, 1024, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    shared_per_block: int = 232_448


@dataclass(frozen=True)
class Options:
    """How a launch is watched and scheduled.

    Attributes
    ----------
    schedule : str
        ``round-robin``, ``reverse``, ``random`` (by `seed`) or ``greedy`` (one warp as far as it
        gets).
    counters, races : bool
        Count memory traffic; look for races.
    fast : bool
        Use the fast version of kernels where it is safe. Without it all goes the masked way.
    cooperative : bool
        All blocks run at once, turn by turn, so that they can wait for each other.
    patience : int
        How often a block's warps may use up their time slice before it counts as an endless loop.
    """

    schedule: str = "round-robin"
    seed: int = 0
    counters: bool = False
    races: bool = False
    fast: bool = True
    cooperative: bool = False
    patience: int = 200_000
    slice: int = 2000

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(
                f"schedule is one of {', '.join(SCHEDULES)}, and {self.schedule!r} came"
            )


@dataclass
class Result:
    """What a launch leaves behind.

    Attributes
    ----------
    counts : Counts or None
        If they were asked for.
    printed : list of str
        What threads printed.
    seconds : float
        How long the blocks ran, without compiling and without copying arrays.
    """

    counts: Counts | None
    printed: list[str]
    seconds: float


@dataclass
class Machine:
    """A GPU with its memory.

    Attributes
    ----------
    limits : Limits
        What a launch may ask for.
    arena : Arena
        Global memory.
    """

    limits: Limits = field(default_factory=Limits)
    arena: Arena = field(default_factory=Arena)
    _placed: dict[int, tuple[Program, dict[str, int]]] = field(default_factory=dict)

    def symbols(self, program: Program) -> dict[str, int]:
        """Return the device addresses of a program's variables; the first call places them."""
        if id(program) not in self._placed:
            self._placed[id(program)] = (program, self._place(program))
        return self._placed[id(program)][1]

    def _place(self, program: Program) -> dict[str, int]:
        variables = [v for v in program.module.variables.values() if v.space in ("global", "const")]
        places = {v.name: self.arena.allocate(max(v.size, 1), v.name) for v in variables}
        for variable in variables:
            data = np.zeros(max(variable.size, 1), np.uint8)
            if variable.data is not None:
                data[: variable.size] = np.frombuffer(variable.data, np.uint8)
            for offset, symbol, added in variable.relocations:
                address = np.array([places[symbol] + added], np.uint64)
                data[offset : offset + 8] = address.view(np.uint8)
            # the host fills constant memory; until then it is zero, as on a real GPU
            self.arena.write(places[variable.name], data, variable.space == "const")
        return places

    def launch(
        self,
        program: Program,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes = b"",
        shared: int = 0,
        options: Options = Options(),
    ) -> Result:
        """Run kernel `entry`.

        Parameters
        ----------
        program : Program
            The module with the kernel.
        entry : str
            Its name in PTX.
        grid, block : tuple of int
            Blocks and threads in x, y, z.
        params : bytes
            The parameter block, laid out as the kernel declares it.
        shared : int
            Bytes of dynamic shared memory.
        options : Options
            Schedule, counters, races.

        Raises
        ------
        LaunchRefused
            The launch exceeds a limit, or the kernel does not exist.
        Fault
            The kernel did something wrong.
        Unsupported
            The kernel uses a form of PTX that the virtual GPU does not run.
        """
        affine = block[0] % 32 == 0 or block[1] * block[2] == 1
        watched = options.counters or options.races
        kernel = program.kernel(entry, affine, options.fast and not watched, watched)
        self._check(kernel, grid, block, shared)
        blocks = grid[0] * grid[1] * grid[2]
        if options.races and blocks > MOST_BLOCKS:
            raise LaunchRefused(
                f"{entry}: races are looked for in grids of up to {MOST_BLOCKS} blocks, and this "
                f"one has {blocks}"
            )
        with self.arena.lock:
            run = _Run(self, program, kernel, grid, block, params, shared, options)
            try:
                return run.result()
            finally:
                run.close()

    def _check(
        self, kernel: Kernel, grid: tuple[int, ...], block: tuple[int, ...], shared: int
    ) -> None:
        limits = self.limits
        threads = int(np.prod(block, dtype=np.int64))
        for what, sizes, most in (("grid", grid, limits.grid), ("block", block, limits.block)):
            if any(not 1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
                raise LaunchRefused(
                    f"{kernel.name}: the {what} is {tuple(sizes)}, and each must lie between 1 "
                    f"and {most}"
                )
        if threads > limits.threads_per_block:
            raise LaunchRefused(
                f"{kernel.name}: a block of {threads} threads, and the limit is "
                f"{limits.threads_per_block}"
            )
        bounds = kernel.graph.function.directives.get("maxntid")
        if bounds and threads > int(np.prod(bounds)):
            raise LaunchRefused(
                f"{kernel.name}: a block of {threads} threads, but __launch_bounds__ promised at "
                f"most {int(np.prod(bounds))}"
            )
        total = kernel.layout.static_shared + shared
        if total > limits.shared_per_block:
            raise LaunchRefused(
                f"{kernel.name}: {total:,} bytes of shared memory a block, and the limit is "
                f"{limits.shared_per_block:,}"
            )


class _Run:
    """One launch: its records, its workers, and what they leave."""

    def __init__(
        self,
        machine: Machine,
        program: Program,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes,
        shared: int,
        options: Options,
    ) -> None:
        self.machine, self.program, self.kernel, self.options = machine, program, kernel, options
        self.grid, self.block, self.shared = grid, block, shared
        self.blocks = grid[0] * grid[1] * grid[2]
        layout = kernel.layout
        self.warps = -(-block[0] * block[1] * block[2] // 32)
        self.kept: list[np.ndarray] = []  # what the records point at must live as long as they
        symbols = machine.symbols(program)
        table = np.array([symbols[n] for n in layout.symbols] or [0], np.uint64)
        size = max(16, layout.graph.function.param_bytes)
        self.params = machine.arena.allocate(size, "the kernel's parameters")
        padded = np.frombuffer(params.ljust(size, b"\0"), np.uint8)
        machine.arena.write(self.params, padded, read_only=True)
        arena = machine.arena
        self.cooperative = options.cooperative or kernel.synchronises_grid
        # as NVIDIA's cooperative_groups expects it: its own size, and the barrier
        self.workspace = arena.allocate(64, "the grid's workspace")
        arena.write(self.workspace, np.array([64] + [0] * 15, np.uint32))
        self.log = np.zeros(_LOG_WORDS, np.uint64)
        self.detector = Detector(kernel, self.blocks, self.warps, arena) if options.races else None
        self.launch = np.zeros(1, Launch.dtype)
        flags = records.COUNTING * options.counters + records.RACES * options.races
        self._fill(
            self.launch[0],
            arena=arena.bytes, shadow=arena.shadow, arena_size=len(arena.bytes),
            params=arena.bytes.ctypes.data + self.params - GLOBAL_BASE, params_address=self.params,
            bounds=provenance.bounds(layout.bases, params, arena),
            workspace=self.workspace,
            sites=kernel.sites, fast=kernel.fast, masked=kernel.masked,
            conversions=kernel.conversions, conversion_starts=kernel.conversion_starts,
            grid=grid, block=block, warps=self.warps,
            threads=block[0] * block[1] * block[2],
            shared_size=layout.static_shared + shared, local_size=layout.local_size,
            record_bytes=layout.record_bytes, flags=flags, schedule=SCHEDULES[options.schedule],
            slice=options.slice, patience=options.patience, dynamic_shared=shared,
            static_shared=layout.static_shared, blocks=len(layout.graph.blocks), symbols=table,
            log=self.log, log_size=len(self.log), random=options.seed,
            races=self.detector.record if self.detector else 0,
        )  # fmt: skip

    def _fill(self, record: np.void, **values: object) -> None:
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                self.kept.append(value)
                value = value.ctypes.data
            record[name] = value

    def result(self) -> Result:
        """Run all blocks and return what they leave, or raise their fault."""
        workers = self._workers()
        resident = self._resident()
        bounds = np.linspace(0, self.blocks, workers + 1).astype(int)
        places = [self._place(resident) for _ in range(workers)]
        launches = [self._own_launch(place) for place in places]
        run = jit.library(self.options.counters or self.options.races).run_blocks
        jobs = [
            (place.ctypes.data, min(resident, int(last - first)), int(first), int(last))
            for place, first, last in zip(places, bounds[:-1], bounds[1:], strict=True)
        ]
        start = time.perf_counter()
        if workers == 1:
            codes = [run(*jobs[0])]
        else:
            with ThreadPoolExecutor(workers) as pool:
                codes = list(pool.map(lambda job: run(*job), jobs))
        seconds = time.perf_counter() - start
        for code, place, launch in zip(codes, places, launches, strict=True):
            if code == records.FAULT:
                raise self._fault(place, launch)
        race = self.detector and self.detector.fault(self._decoder(), self.grid, self.block)
        if race:
            raise race
        printed = [
            text
            for launch in launches
            for text in printing.messages(
                self.log, int(launch["log_used"][0]), self._decoder().string
            )
        ]
        counts = (
            collect(self.kernel, self.probes, self.counts, self.machine.arena)
            if self.options.counters
            else None
        )
        return Result(counts, printed, seconds)

    def close(self) -> None:
        """Give the parameter block back."""
        self.machine.arena.free(self.workspace)
        self.machine.arena.free(self.params)

    def _workers(self) -> int:
        """Blocks run side by side only if nothing they do depends on the order."""
        options = self.options
        plain = options.schedule == "round-robin" and not (
            options.counters or options.races or self.cooperative or self.kernel.ordered
        )
        heavy = self.blocks * self.warps >= 256
        return min(os.cpu_count() or 1, self.blocks, 16) if plain and heavy else 1

    def _resident(self) -> int:
        if self.cooperative:
            return self.blocks
        # blocks that wait for each other must be there together, as many as a GPU would hold
        return min(self.blocks, 64) if self.kernel.waits else 1

    def _own_launch(self, place: np.ndarray) -> np.ndarray:
        launch = self.launch.copy()
        self.kept.append(launch)
        place["launch"] = launch.ctypes.data
        return launch

    def _place(self, resident: int) -> np.ndarray:
        """Return `resident` Cta records with memory of their own."""
        layout = self.kernel.layout
        shared = layout.static_shared + self.shared
        local = self.warps * 32 * layout.local_size
        self.counts = np.zeros((len(layout.graph.blocks), 2), np.uint64)
        self.probes = np.zeros(max(1, len(layout.sites)), Probe.dtype)
        places = np.zeros(resident, Cta.dtype)
        for record in places:
            self._fill(
                record,
                shared=_aligned(shared + 64), shared_shadow=_aligned(shared + 64),
                warps=_aligned(self.warps * layout.record_bytes),
                local=_aligned(local + 64), local_shadow=_aligned(local + 64),
                counts=self.counts, probe=self.probes,
            )  # fmt: skip
            if self.detector:
                record["races"] = self.detector.block(shared).ctypes.data
        self.kept.append(places)
        return places

    def _decoder(self) -> Decoder:
        return Decoder(
            self.kernel.name, self.kernel.layout, self.program.module.files, self.machine.arena,
            self.block, self.kernel.layout.static_shared + self.shared, self.params,
        )  # fmt: skip

    def _fault(self, places: np.ndarray, launch: np.ndarray) -> Fault:
        index = (int(launch["faulty"][0]) - places.ctypes.data) // Cta.size
        cta = places[index]
        size = self.kernel.layout.record_bytes
        raw = next(k for k in self.kept if k.ctypes.data == int(cta["warps"]))
        warps = [np.frombuffer(raw, Warp.dtype, 1, n * size)[0] for n in range(self.warps)]
        return self._decoder().decode(cta, warps[int(cta["fault_warp"])], warps)


def _aligned(size: int) -> np.ndarray:
    """Return zeroed bytes that start at a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]
