"""The virtual GPU: loads PTX, runs kernels, reports faults, counts."""

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np

from . import jit, printing, provenance, records
from .arena import Arena
from .counters import Counts, collect
from .detector import MOST_BLOCKS, Detector
from .faults import Decoder, Fault
from .program import Kernel, Program
from .records import GLOBAL_BASE, Launch
from .residents import Residents, place_bytes

SCHEDULES = {"round-robin": 0, "reverse": 1, "random": 2, "greedy": 3}
_LOG_WORDS = 1 << 16
#: For blocks that run at the same time, as far as that is for us to say.
_MOST_BYTES = 1 << 30


class LaunchRefused(ValueError):
    """A launch asks for more than the imitated GPU has."""


@dataclass(frozen=True)
class Limits:
    """What the imitated GPU can run; the defaults are those of compute capability 9.0."""

    threads_per_block: int = 1024
    block: tuple[int, int, int] = (1024, 1024, 64)
    grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    shared_per_block: int = 232_448
    static_shared_per_block: int = 49_152
    multiprocessors: int = 132
    threads_per_multiprocessor: int = 2048
    blocks_per_multiprocessor: int = 32
    shared_per_multiprocessor: int = 233_472

    def resident(self, threads: int, shared: int) -> int:
        """Return how many blocks of `threads` threads and `shared` bytes run at the same time."""
        whole_warps = -(-threads // 32) * 32
        a_multiprocessor = min(
            self.blocks_per_multiprocessor,
            self.threads_per_multiprocessor // whole_warps,
            self.shared_per_multiprocessor // (shared + 1024),  # the system takes 1 KB a block
        )
        return self.multiprocessors * a_multiprocessor


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
    slice : int
        How many instructions a warp runs in loops before others have a turn; a jump back counts as
        32 at least.
    patience : float
        Seconds of computing in which no warp ends and no barrier opens, after which a launch counts
        as endless.
    """

    schedule: str = "round-robin"
    seed: int = 0
    counters: bool = False
    races: bool = False
    fast: bool = True
    cooperative: bool = False
    patience: float = 30
    slice: int = 64_000

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
    _placed: dict[int, dict[str, int]] = field(default_factory=dict)

    def symbols(self, program: Program, instance: int = 0) -> dict[str, int]:
        """Return the device addresses of a program's variables; the first call places them.

        Each `instance` has its own. A program that is loaded only once needs no number.
        """
        places = self._placed.setdefault(instance or -program.number, {})
        places |= self._place(program, places)
        return places

    def forget(self, unused: Callable[[int], bool]) -> None:
        """Free the variables of all instances that are `unused`."""
        for instance in [i for i in self._placed if i > 0 and unused(i)]:
            for address in self._placed.pop(instance).values():
                self.arena.free(address)

    def _place(self, program: Program, known: dict[str, int]) -> dict[str, int]:
        """Place the variables that are not `known` yet, and fill them."""
        variables = [
            v
            for v in program.module.variables.values()
            if v.space in ("global", "const") and v.name not in known
        ]
        new = {v.name: self.arena.allocate(max(v.size, 1), v.name) for v in variables}
        places = known | new
        for variable in variables:
            data = np.zeros(max(variable.size, 1), np.uint8)
            if variable.data is not None:
                data[: variable.size] = np.frombuffer(variable.data, np.uint8)
            for offset, symbol, added in variable.relocations:
                address = np.array([places[symbol] + added], np.uint64)
                data[offset : offset + 8] = address.view(np.uint8)
            # the host fills constant memory; until then it is zero, as on a real GPU
            self.arena.write(places[variable.name], data, variable.space == "const")
        return new

    def launch(
        self,
        program: Program,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        params: bytes = b"",
        shared: int = 0,
        options: Options = Options(),
        instance: int = 0,
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
        instance : int
            Whose variables the kernel sees; see `symbols`.

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
        self._check(kernel, program.module.target, grid, block, shared)
        blocks = grid[0] * grid[1] * grid[2]
        if options.races and blocks > MOST_BLOCKS:
            raise LaunchRefused(
                f"{entry}: races are looked for in grids of up to {MOST_BLOCKS} blocks, and this "
                f"one has {blocks}"
            )
        together = options.cooperative or kernel.synchronises_grid
        threads = block[0] * block[1] * block[2]
        fit = self.limits.resident(threads, kernel.layout.static_shared + shared)
        if together and blocks > fit:
            raise LaunchRefused(
                f"{entry}: all {blocks:,} blocks of a cooperative grid must run at the same time, "
                f"and of this size {fit:,} fit on the GPU"
            )
        with self.arena.lock:
            places = self.symbols(program, instance)
            run = _Run(self, program, kernel, places, grid, block, params, shared, options)
            try:
                return run.result()
            finally:
                run.close()

    def _check(
        self,
        kernel: Kernel,
        target: str,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        shared: int,
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
        static = kernel.layout.static_shared
        if static > limits.static_shared_per_block and not _is_specific(target):
            raise LaunchRefused(
                f"{kernel.name}: {static:,} bytes of static shared memory, and code for {target} "
                f"may have {limits.static_shared_per_block:,}. Declare it extern __shared__ and "
                "give its size at launch, or compile for sm_90a."
            )
        total = static + shared
        if total > limits.shared_per_block:
            raise LaunchRefused(
                f"{kernel.name}: {total:,} bytes of shared memory a block, and the limit is "
                f"{limits.shared_per_block:,}"
            )


def _is_specific(target: str) -> bool:
    """Say whether code is for one GPU alone, as for sm_90a: then static shared memory may be large.

    So does ptxas decide since CUDA 13.
    """
    number = target.removeprefix("sm_")
    return number[-1:] in ("a", "f") and int(number[:-1]) >= 90


class _Run:
    """One launch: its records, its workers, and what they leave."""

    def __init__(
        self,
        machine: Machine,
        program: Program,
        kernel: Kernel,
        symbols: dict[str, int],
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
            slice=options.slice, dynamic_shared=shared,
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
        teams = self._teams()
        library = jit.library(self.options.counters or self.options.races)
        start = time.perf_counter()
        codes = _run_all(teams, library, self.options.patience)
        seconds = time.perf_counter() - start
        fault = next(
            (self._fault(t) for t, c in zip(teams, codes, strict=True) if c == records.FAULT), None
        )
        if fault is None and self.detector:
            fault = self.detector.fault(self._decoder(), self.grid, self.block)
        printed = [text for team in teams for text in self._printed(team)]
        if fault:
            fault.printed = tuple(printed)
            raise fault
        counts = (
            collect(self.kernel, teams[0].probes, teams[0].counts, self.machine.arena)
            if self.options.counters
            else None
        )
        return Result(counts, printed, seconds)

    def _printed(self, team: Residents) -> list[str]:
        return printing.messages(self.log, int(team.record["log_used"]), self._decoder().string)

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

    def _teams(self) -> list[Residents]:
        """Divide the blocks among the workers."""
        workers = self._workers()
        most = self._most() if self.kernel.waits else 1
        bounds = [self.blocks * n // workers for n in range(workers + 1)]
        return [
            Residents(
                self.launch, self.kernel, self.detector, stretch, most, together=self.cooperative
            )
            for stretch in itertools.pairwise(bounds)
        ]

    def _most(self) -> int:
        """Return how many blocks run at the same time: as many as on a GPU, if memory lasts."""
        shared = int(self.launch[0]["shared_size"])
        fit = self.machine.limits.resident(int(np.prod(self.block)), shared)
        return min(fit, max(64, _MOST_BYTES // place_bytes(self.kernel, self.warps, shared)))

    def _decoder(self) -> Decoder:
        return Decoder(
            self.kernel.name, self.kernel.layout, self.program.module.files, self.machine.arena,
            self.block, self.kernel.layout.static_shared + self.shared, self.params,
        )  # fmt: skip

    def _fault(self, team: Residents) -> Fault:
        place = team.faulty()
        cta, warps = place.record[0], place.warps()
        fault = self._decoder().decode(cta, warps[int(cta["fault_warp"])], warps)
        if int(cta["fault"]) == records.ENDLESS and int(team.record["following"]) < self.blocks:
            started = int(team.record["following"])
            fault.waiting += (
                f"{started:,} of {self.blocks:,} blocks have started: no more fit on the GPU until "
                "one of them ends",
            )
        return fault


def _run_all(teams: list[Residents], library: jit.Library, patience: float) -> list[int]:
    """Run all teams, each in a thread if they are several; return how they ended."""
    if len(teams) == 1:
        return [teams[0].run(library, patience)]
    with ThreadPoolExecutor(len(teams)) as pool:
        jobs = [pool.submit(team.run, library, patience) for team in teams]
        try:
            # in short waits, because on Windows Ctrl-C does not end a wait
            while wait(jobs, timeout=0.2).not_done:
                pass
        except BaseException:
            for team in teams:
                team.stopped = True
            raise
    return [job.result() for job in jobs]
