"""Global memory of the virtual GPU: one arena of bytes, and a shadow with each byte's state."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .records import ALLOCATED, DEFINED, GLOBAL_BASE, READ_ONLY

#: Bytes that belong to nobody between two allocations; an access there is out of bounds.
REDZONE = 512
_ALIGNMENT = 256  # as cudaMalloc aligns


class OutOfMemory(MemoryError):
    """The virtual GPU has less memory than was asked for."""


@dataclass(frozen=True)
class Allocation:
    """A piece of global memory: `dtype` and `shape` say how its owner looks at it."""

    address: int
    size: int
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


class Arena:
    """Global memory, addressed from ``GLOBAL_BASE`` on.

    It grows as needed up to `capacity` bytes. Addresses depend only on the order of allocations, so
    equal programs count equal sectors.

    Attributes
    ----------
    lock : threading.RLock
        Held while memory changes, and by a launch while it runs: growing moves the bytes.
    """

    def __init__(self, capacity: int = 8 << 30) -> None:
        self.capacity = capacity
        self.lock = threading.RLock()
        self.bytes = np.zeros(1 << 20, np.uint8)
        self.shadow = np.zeros(1 << 20, np.uint8)
        self.top = REDZONE
        self.allocations: dict[int, Allocation] = {}

    def allocate(
        self,
        size: int,
        name: str = "",
        dtype: np.dtype | str = np.uint8,
        shape: tuple[int, ...] | None = None,
    ) -> int:
        """Reserve `size` bytes (not defined yet) and return their device address."""
        with self.lock:
            start = self._place(size)
            top = start + size + REDZONE
            if top > self.capacity:
                raise OutOfMemory(
                    f"the virtual GPU has {self.capacity:,} bytes of memory; {size:,} more do not "
                    "fit"
                )
            self.top = max(self.top, top)
            if top > len(self.bytes):
                self._grow(top)
            self.shadow[start : start + size] = ALLOCATED
            address = GLOBAL_BASE + start
            kind = np.dtype(dtype)
            shape = (size // kind.itemsize,) if shape is None else shape
            self.allocations[address] = Allocation(address, size, name, kind, shape)
            return address

    def _place(self, size: int) -> int:
        """Return where `size` bytes fit: behind all others, or in a gap before memory grows."""
        behind = _aligned(self.top)
        if behind + size + REDZONE <= len(self.bytes):
            return behind
        end = REDZONE
        for address in sorted(self.allocations):
            begin = address - GLOBAL_BASE
            if _aligned(end) + size + REDZONE <= begin:
                return _aligned(end)
            end = begin + self.allocations[address].size + REDZONE
        return behind

    def _grow(self, size: int) -> None:
        wanted = 1 << (size - 1).bit_length()
        for name in ("bytes", "shadow"):
            larger = np.zeros(wanted, np.uint8)
            old = getattr(self, name)
            larger[: len(old)] = old
            setattr(self, name, larger)

    def free(self, address: int) -> None:
        """Give an allocation back: accesses to it are out of bounds from now on."""
        with self.lock:
            allocation = self.allocations.pop(address)
            start = address - GLOBAL_BASE
            self.shadow[start : start + allocation.size] = 0
            # memory is taken again from the end, as soon as nothing behind it is in use
            ends = [a.address + a.size for a in self.allocations.values()]
            self.top = max(ends, default=GLOBAL_BASE) - GLOBAL_BASE + REDZONE

    def write(self, address: int, data: np.ndarray, read_only: bool = False) -> None:
        """Copy the bytes of `data` to `address` and mark them defined."""
        with self.lock:
            raw = data.reshape(-1).view(np.uint8)
            start = address - GLOBAL_BASE
            self.bytes[start : start + raw.size] = raw
            flags = ALLOCATED | DEFINED | (READ_ONLY if read_only else 0)
            self.shadow[start : start + raw.size] = flags

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy `size` bytes from `source` to `target`; what is undefined stays so."""
        with self.lock:
            to, start = target - GLOBAL_BASE, source - GLOBAL_BASE
            self.bytes[to : to + size] = self.bytes[start : start + size].copy()
            known = self.shadow[start : start + size] & DEFINED
            self.shadow[to : to + size] = ALLOCATED | known

    def read(self, address: int, size: int) -> np.ndarray:
        """Return `size` bytes from `address` on, as a view."""
        start = address - GLOBAL_BASE
        return self.bytes[start : start + size]

    def find(self, address: int, among: Sequence[Allocation] = ()) -> tuple[Allocation, int] | None:
        """Return the allocation nearest to `address`, and the byte offset from its beginning.

        It is one of `among`, if there are any.
        """

        def distance(a: Allocation) -> int:
            return max(a.address - address, address - (a.address + a.size - 1), 0)

        nearest = min(among or self._all(), key=distance, default=None)
        return None if nearest is None else (nearest, address - nearest.address)

    def holder(self, address: int) -> Allocation | None:
        """Return the allocation that `address` lies in, or None."""
        at_its_start = self.allocations.get(address)
        if at_its_start is not None and at_its_start.size:
            return at_its_start
        return next((a for a in self._all() if 0 <= address - a.address < a.size), None)

    def _all(self) -> list[Allocation]:
        """Return all allocations; the collection of garbage may free some meanwhile."""
        return list(self.allocations.copy().values())

    def find_wrapped(
        self, address: int, among: Sequence[Allocation]
    ) -> tuple[Allocation, int] | None:
        """Return allocation and negative index whose unsigned 32-bit form leads to `address`."""
        for allocation in among:
            size = allocation.dtype.itemsize
            offset = address - allocation.address - (size << 32)
            if offset < 0 and offset % size == 0 and -offset // size <= max(allocation.size, 1024):
                return allocation, offset // size
        return None


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
