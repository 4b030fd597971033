"""The race detector's memory, and its findings decoded."""

import numpy as np

from .arena import Arena
from .faults import Decoder, Fault, place_of
from .program import Kernel
from .records import (
    GLOBAL_BASE,
    GlobalCell,
    Race,
    RaceBlock,
    Races,
    SharedCell,
    SyncPlace,
)

#: Blocks of a grid that can be compared with each other: each has clocks of all their warps.
MOST_BLOCKS = 2048
_MOST_REPORTS = 64
_PLACES_BYTES = 1 << 28  # at most; memory that is not used is not taken either
_WARPS = 32
_OWN_PLACES = 256


class Detector:
    """What races.py writes to during one launch."""

    def __init__(self, kernel: Kernel, blocks: int, warps: int, arena: Arena) -> None:
        self.kernel, self.warps, self.agents = kernel, warps, blocks * warps
        sizes = [s.size for s in kernel.layout.sites if s.size]
        self.unit = 1 if any(size < 4 for size in sizes) else 4
        self.cells = np.zeros(arena.top // self.unit + 1, GlobalCell.dtype)
        place_bytes = _eight(SyncPlace.size + 4 * self.agents)
        most_places = min(1 << 16, 1 << (_PLACES_BYTES // place_bytes).bit_length() - 1)
        self.places = np.zeros(place_bytes * most_places, np.uint8)
        self.reports = np.zeros(_MOST_REPORTS, Race.dtype)
        self.record = np.zeros(1, Races.dtype)
        for name, value in {
            "cells": self.cells.ctypes.data,
            "place": self.places.ctypes.data,
            "report": self.reports.ctypes.data,
            "agents": self.agents,
            "unit": self.unit,
            "cell_bytes": SharedCell.size + 16 * warps,
            "most_places": most_places,
            "place_bytes": place_bytes,
            "most_reports": _MOST_REPORTS,
        }.items():
            self.record[name] = value
        self.kept: list[np.ndarray] = []

    def block(self, shared: int) -> np.ndarray:
        """Return a RaceBlock for a block with `shared` bytes of shared memory."""
        place_bytes = SyncPlace.size + 4 * _WARPS
        sizes = {
            "cells": (shared // self.unit + 1) * (SharedCell.size + 16 * self.warps),
            "clocks": 4 * _WARPS * _WARPS,
            "fences": 4 * 2 * _WARPS * _WARPS,
            "barriers": 4 * 16 * 3 * _WARPS,
            "seen": 4 * _WARPS * _WARPS,
            "pairs": 4 * _WARPS * _WARPS * self.warps,
            "known": 4 * self.agents,
            "place": place_bytes * _OWN_PLACES,
        }
        memory = np.zeros(sum(map(_eight, sizes.values())), np.uint8)
        record = np.zeros(1, RaceBlock.dtype)
        start = memory.ctypes.data
        for name, size in sizes.items():
            record[name] = start
            start += _eight(size)
        record["bytes"] = memory.size
        record["most_places"], record["place_bytes"] = _OWN_PLACES, place_bytes
        self.kept += [record, memory]
        return record

    def fault(
        self, decoder: Decoder, grid: tuple[int, int, int], block: tuple[int, int, int]
    ) -> Fault | None:
        """Return the first race as a Fault (its `others` hold the rest), or None."""
        found = [
            _decode(race, decoder, grid, block)
            for race in self.reports[: int(self.record["reports"][0])]
        ]
        if not found:
            return None
        found[0].others = tuple(found[1:])
        return found[0]


def _eight(size: int) -> int:
    """Return `size`, rounded up to a multiple of eight."""
    return -(-size // 8) * 8


_SENTENCES = {
    0: "{name} reads {what} while another thread writes it",
    1: "two threads of {name} write {what}",
    2: "{name} updates {what} atomically while another thread accesses it plainly",
    3: "two lanes of one warp of {name} write different values to {what} in one instruction",
    4: "{name} writes {what} while another thread reads it",
}


def _decode(
    race: np.void, decoder: Decoder, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> Fault:
    site, other = (decoder.site(int(race[n])) for n in ("site", "other_site"))
    address = int(race["address"])
    generic = type(site)(3, site.size, 1)
    target = (
        decoder.global_target(address, 1)
        if address >= GLOBAL_BASE
        else decoder.target(generic, address)
    )
    who, whom = (
        _thread(int(race[p + "block"]), int(race[p + "warp"]), int(race[p + "lane"]), grid, block)
        for p in ("", "other_")
    )
    same_block = race["block"] == race["other_block"]
    same_warp = same_block and race["warp"] == race["other_warp"]
    same_line = site.instruction.loc is not None and site.instruction.loc == other.instruction.loc
    atomics = {i.instruction.opcode in ("atom", "red") for i in (site, other) if i.instruction}
    if atomics == {True, False}:
        hint = (
            "one of the two is an ordinary access: make it volatile, or atomic too (a read is "
            "atomicAdd(p, 0))"
        )
    elif same_line and same_block:
        hint = (
            "do all threads update one place? use an atomic operation. Do they change what others "
            "still read? read first, then a barrier, then write"
        )
    elif same_warp and int(race["kind"]) != 3:
        hint = "lanes of a warp need __syncwarp() between writing and reading each other's data"
    elif same_warp:
        hint = "give each lane an element of its own, or use an atomic operation"
    elif same_block:
        hint = "is a __syncthreads() missing between the two lines?"
    else:
        hint = "blocks run in any order: use an atomic operation, or a second kernel"
    summary = _SENTENCES[int(race["kind"])].format(name=decoder.kernel, what=target.what)
    return Fault(
        "race",
        summary,
        kernel=decoder.kernel,
        place=place_of(site.instruction.loc, decoder.files),
        other=place_of(other.instruction.loc, decoder.files) if other.instruction else None,
        instruction=site.instruction.text,
        block=who[0],
        warp=int(race["warp"]),
        lanes=(int(race["lane"]),),
        threads=(who[1],),
        other_block=whom[0],
        other_thread=whom[1],
        target=target,
        count=int(race["count"]),
        hint=hint,
    )


def _thread(
    linear: int, warp: int, lane: int, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    thread = 32 * warp + lane
    return (
        (linear % grid[0], linear // grid[0] % grid[1], linear // (grid[0] * grid[1])),
        (thread % block[0], thread // block[0] % block[1], thread // (block[0] * block[1])),
    )
