"""The blocks of a grid that are on the GPU together, and how they run to their end."""

import time

import numpy as np

from . import records
from .detector import Detector
from .jit import Library
from .program import Kernel
from .records import Cta, Probe, Warp


class Residents:
    """A stretch of a grid's blocks, run by one thread of the host.

    One block runs at a time, as far as it gets. Only when all that have begun spin in loops, so may
    wait for others, more begin beside them: as many as fit on a GPU.

    Attributes
    ----------
    launch : numpy.ndarray
        The Launch record, this stretch's own.
    counts, probes : numpy.ndarray
        What is counted.
    stopped : bool
        Set it to let `run` return soon.
    """

    def __init__(
        self,
        launch: np.ndarray,
        kernel: Kernel,
        detector: Detector | None,
        blocks: tuple[int, int],
        most: int,
        together: bool,
    ) -> None:
        """Prepare to run blocks first..last-1, at most `most` or all of them `together`."""
        self.launch = launch.copy()
        self.record = self.launch[0]
        self.kernel, self.detector = kernel, detector
        self.counts = np.zeros((len(kernel.graph.blocks), 2), np.uint64)
        self.probes = np.zeros(max(1, len(kernel.layout.sites)), Probe.dtype)
        self.places: list[_Place] = []
        self.stopped = False
        first, last = blocks
        self.most = last - first if together else max(1, min(most, last - first))
        self.table = np.zeros(self.most, np.uint64)
        self.record["following"], self.record["last"] = first, last
        self.record["places"] = self.table.ctypes.data
        self.record["most"] = self.most
        self.record["pace"] = 1 << 11
        self._make_room(self.most if together else 1)

    def _make_room(self, count: int) -> None:
        """Add memory for `count` more blocks."""
        for _ in range(count):
            place = _Place(self)
            self.table[len(self.places)] = place.record.ctypes.data
            self.places.append(place)
        self.record["open"] = len(self.places)

    def run(self, library: Library, patience: float) -> int:
        """Run all blocks; return DONE, FAULT, or ENDLESS if for long nothing ends.

        Native code comes back from time to time, so that Ctrl-C is heard and the clock read. What
        counts against `patience`, in seconds, is this thread's own time: a busy computer makes no
        loop endless.
        """
        seen, since = 0, time.thread_time()
        before = since
        while not self.stopped:
            code = library.run_blocks(self.launch.ctypes.data)
            if code not in (records.YIELD, records.MORE):
                return code
            if code == records.MORE:
                self._make_room(min(len(self.places), self.most - len(self.places)))
            progress, now = int(self.record["progress"]), time.thread_time()
            self._pace(now - before)
            before = now
            if progress != seen:
                seen, since = progress, now
            elif now - since > patience:
                self._blame(library)
                return records.FAULT
        return records.DONE

    def _pace(self, seconds: float) -> None:
        """Let native code work longer if it came back after a few `seconds`, less if after many."""
        if seconds < 0.01:
            self.record["pace"] *= 2
        elif seconds > 0.1:
            self.record["pace"] = max(1, int(self.record["pace"]) // 2)

    def _blame(self, library: Library) -> None:
        """Record that the first warp found in a loop does not leave it."""
        for place in self.places:
            for number, warp in enumerate(place.warps() if place.record["running"][0] else ()):
                if int(warp["state"]) == records.YIELD:
                    address = place.memory["warps"].ctypes.data + number * place.warp_bytes
                    library.look_closer(address)
                    place.record["fault"] = records.ENDLESS
                    place.record["fault_warp"] = number
                    self.record["faulty"] = place.record.ctypes.data
                    return

    def faulty(self) -> "_Place":
        """Return the place whose block has faulted."""
        return next(p for p in self.places if p.record.ctypes.data == int(self.record["faulty"]))


class _Place:
    """Memory for one block that runs: its record, and what that points at."""

    def __init__(self, team: Residents) -> None:
        launch, layout = team.record, team.kernel.layout
        self.count, self.warp_bytes = int(launch["warps"]), layout.record_bytes
        shared = int(launch["shared_size"])
        local = self.count * records.LANES * layout.local_size
        self.record = np.zeros(1, Cta.dtype)
        self.memory = {
            "shared": aligned(shared + 64),
            "shared_shadow": aligned(shared + 64),
            "warps": aligned(self.count * self.warp_bytes),
            "local": aligned(local + 64),
            "local_shadow": aligned(local + 64),
            "counts": team.counts,
            "probe": team.probes,
        }
        if team.detector:
            self.memory["races"] = team.detector.block(shared)
        for name, array in self.memory.items():
            self.record[name] = array.ctypes.data
        self.record["launch"] = team.launch.ctypes.data

    def warps(self) -> list[np.ndarray]:
        """Return the records of the block's warps, as views."""
        raw, size = self.memory["warps"], self.warp_bytes
        return [raw[n * size :][: Warp.size].view(Warp.dtype)[0] for n in range(self.count)]


def place_bytes(kernel: Kernel, warps: int, shared: int) -> int:
    """Return how much memory a block of `warps` warps takes while it runs."""
    layout = kernel.layout
    return warps * (layout.record_bytes + 64 * layout.local_size) + 2 * shared


def aligned(size: int) -> np.ndarray:
    """Return zeroed bytes that start at a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]
