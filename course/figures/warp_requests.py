"""One request of a warp, as a trace keeps it: which lane touches which bytes, sectors and banks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from course.figures.names import shorten

#: Bytes: a word of a bank, the piece in which global memory moves, a line of the cache.
WORD, SECTOR, LINE = 4, 32, 128
LANES = BANKS = 32

#: Letters of an array's or a file's name.
_NAME = 40

#: Lanes that shared memory serves together, where it is not the whole warp: by bytes for each lane.
_TOGETHER = {8: 16, 16: 8}


@dataclass(frozen=True)
class Request:
    """A memory instruction of one warp.

    Attributes
    ----------
    starts : dict of int to int
        For each lane that takes part, its first byte, counted from the beginning of the array
        (global memory) or of the block's shared memory.
    size : int
        Bytes that each lane touches.
    kind, array, place : str
        ``load``, ``store`` or ``atomic``; the array's name and the source line, where known.
    """

    starts: dict[int, int]
    size: int
    kind: str
    array: str
    place: str

    @property
    def verb(self) -> str:
        """What a lane does: ``loads``, ``stores`` or ``updates``."""
        return f"{self.verbs}s"

    @property
    def verbs(self) -> str:
        """What several lanes do: ``load``, ``store`` or ``update``."""
        return "update" if self.kind == "atomic" else self.kind

    @property
    def wanted(self) -> set[int]:
        """The different bytes that lanes touch."""
        return {start + n for start in self.starts.values() for n in range(self.size)}

    @property
    def sectors(self) -> list[int]:
        """The first bytes of all sectors that move, ascending."""
        return sorted({byte // SECTOR * SECTOR for byte in self.wanted})

    def words(self, lane: int) -> range:
        """Return the numbers of the 4-byte words that `lane` touches."""
        start = self.starts[lane]
        return range(start // WORD, (start + self.size - 1) // WORD + 1)

    @property
    def groups(self) -> list[range]:
        """The lanes that shared memory serves together: 32, or 16 of 8 bytes, or 8 of 16 bytes."""
        together = _TOGETHER.get(self.size, LANES)
        groups = [range(first, first + together) for first in range(0, LANES, together)]
        return [group for group in groups if any(lane in self.starts for lane in group)]

    def banks(self, group: range) -> list[set[int]]:
        """Return, for each bank, the different words in it that the lanes of `group` touch."""
        banks: list[set[int]] = [set() for _ in range(BANKS)]
        for lane in self.starts:
            if lane in group:
                for word in self.words(lane):
                    banks[word % BANKS].add(word)
        return banks

    def passes(self, group: range) -> int:
        """Return the wavefronts of `group`: the most words that one bank has to serve."""
        return max(map(len, self.banks(group)))

    @property
    def wavefronts(self) -> int:
        """Passes through the banks that the request takes."""
        return sum(map(self.passes, self.groups))


def request(pattern: Mapping[str, Any], space: str, function: str) -> Request:
    """Check a pattern of a trace that `function` is to draw, and return what it says.

    Raises
    ------
    ValueError
        If it is no request of a warp, or one to another space than `space`.
    """
    missing = {"space", "kind", "size", "offsets"} - set(pattern)
    if missing:
        raise ValueError(
            f"{function}() expects a pattern of a trace, trace.to_dict()['launches'][0]['patterns']"
            f"[0] for example; this one lacks {', '.join(sorted(missing))}."
        )
    if pattern["space"] != space:
        other = {"global": "access_pattern()", "shared": "bank_map()"}
        raise ValueError(
            f"{function}() draws requests to {space} memory, and this one is to "
            f"{pattern['space']} memory: {other.get(pattern['space'], 'nothing')} draws that."
        )
    offsets, size = pattern["offsets"], pattern["size"]
    starts = {lane: start for lane, start in enumerate(offsets) if start is not None}
    if len(offsets) != LANES or not starts or min(starts.values()) < 0 or not 1 <= size <= SECTOR:
        raise ValueError(
            f"{function}() expects 32 offsets, one for each lane, none negative and not all None, "
            f"and 1 to 32 bytes for each lane; it got {size} bytes and the offsets {offsets}."
        )
    file = shorten(re.split(r"[\\/]", pattern.get("file", ""))[-1], _NAME)
    place = f"{file}:{pattern['line']}" if file else ""
    return Request(starts, size, pattern["kind"], shorten(pattern.get("array", ""), _NAME), place)


# --------------------------------------------------------------------------------------- in words


def count(number: int, noun: str) -> str:
    """Return ``1 sector`` or ``5 sectors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def spans(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the runs of consecutive numbers among ascending ones: first and last of each."""
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    return [(run[0][1], run[-1][1]) for run in (list(run) for _, run in runs)]


def lanes_in_words(lanes: list[int]) -> str:
    """Return ``Lanes 0 to 19``, ``Lane 3`` or ``16 lanes (0, 2, 4, …)``."""
    if len(lanes) == 1:
        return f"Lane {lanes[0]}"
    if len(spans(lanes)) == 1:
        return f"Lanes {lanes[0]} to {lanes[-1]}"
    return f"{len(lanes)} lanes ({some(lanes)})"


def some(numbers: list[int]) -> str:
    """Return all of up to four numbers, or the first three and the last."""
    shown = numbers if len(numbers) <= 4 else [*numbers[:3], "…", numbers[-1]]
    return ", ".join(map(str, shown))


def step(numbers: list[int]) -> int | None:
    """Return the difference between neighbours, or None if it is not the same everywhere."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(steps) == 1 else None


def even(starts: dict[int, int]) -> list[list[int]]:
    """Divide lanes into groups of neighbours whose places are the same distance apart."""
    groups: list[list[int]] = []
    for lane in starts:
        if groups and step([starts[other] for other in [*groups[-1], lane]]) is not None:
            groups[-1].append(lane)
        else:
            groups.append([lane])
    return groups
