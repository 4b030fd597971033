"""Device memory as the CUDA driver hands it out, in the virtual GPU's memory."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from course import vgpu

#: What memory holds that nobody has written: NaN as a float, -1 as an integer.
_GARBAGE = 0xFF


class NotAllocated(ValueError):
    """An address does not lie in what was allocated."""


@dataclass(frozen=True)
class _Twin:
    """Host memory that kernels see too, at `device`."""

    host: np.ndarray
    device: int


class Memory:
    """Allocations and copies. All methods take and return device addresses as ints.

    Attributes
    ----------
    arena : vgpu.Arena
        The memory of the virtual GPU.
    lock : threading.RLock
        The arena's: its bytes move when it grows.
    """

    def __init__(self, arena: vgpu.Arena) -> None:
        self.arena = arena
        self.lock = arena.lock
        self._hosts: dict[int, np.ndarray] = {}  # pinned host memory, by address
        self._twins: dict[int, _Twin] = {}  # mapped memory, by host address

    def allocate(self, size: int) -> int:
        """Reserve `size` bytes, which are undefined until something is written to them."""
        with self.lock:
            address = self.arena.allocate(size, "an array")
            self.arena.read(address, size)[:] = _GARBAGE
            return address

    def free(self, address: int) -> None:
        """Give an allocation back; what is not allocated (any more) is left alone."""
        with self.lock:
            if address in self.arena.allocations:
                self.arena.free(address)

    def extent(self, address: int) -> tuple[int, int]:
        """Return begin and size of the allocation in which `address` lies."""
        allocations = self.arena.allocations
        if address in allocations:
            return address, allocations[address].size
        found = self.arena.find(address)
        if not found or not 0 <= found[1] < found[0].size:
            raise NotAllocated(f"{address:#x} is not the address of device memory")
        return found[0].address, found[0].size

    def _check(self, address: int, size: int) -> None:
        begin, whole = self.extent(address)
        if address + size > begin + whole:
            raise NotAllocated(f"{size} bytes from {address:#x} on do not lie in one allocation")

    def upload(self, address: int, host: int, size: int) -> None:
        """Copy `size` bytes from host address `host`."""
        if size:
            with self.lock, self.mapped():
                self._check(address, size)
                self.arena.write(address, host_bytes(host, size))

    def download(self, host: int, address: int, size: int) -> None:
        """Copy `size` bytes to host address `host`."""
        if size:
            with self.lock, self.mapped():
                self._check(address, size)
                host_bytes(host, size)[:] = self.arena.read(address, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device. Bytes that are undefined stay so."""
        if size:
            with self.lock, self.mapped():
                self._check(target, size)
                self._check(source, size)
                self.arena.copy(target, source, size)

    def fill(self, address: int, byte: int, size: int) -> None:
        """Write the same byte everywhere."""
        if size:
            with self.lock, self.mapped():
                self._check(address, size)
                self.arena.write(address, np.full(size, byte & 0xFF, np.uint8))

    def name(self, address: int, name: str, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        """Say how a kernel calls an array, for messages: the whole allocation gets the name."""
        allocations = self.arena.allocations
        if address in allocations:
            old = allocations[address]
            if (old.name, old.dtype, old.shape) == (name, dtype, shape):
                return
            if old.size != dtype.itemsize * int(np.prod(shape)):  # a view of its beginning
                shape = (old.size // dtype.itemsize,)
            allocations[address] = replace(old, name=name, dtype=dtype, shape=shape)

    # --- host memory that the device knows

    def allocate_host(self, size: int) -> int:
        """Reserve pinned host memory and return its host address."""
        data = np.zeros(max(size, 1), np.uint8)
        self._hosts[data.ctypes.data] = data
        return data.ctypes.data

    def free_host(self, host: int) -> None:
        """Give pinned host memory back."""
        self.unmap(host)
        self._hosts.pop(host, None)

    def map(self, host: int, size: int) -> int:
        """Let kernels see `size` bytes at host address `host`; return the device address."""
        if host not in self._twins:
            self._twins[host] = _Twin(host_bytes(host, size), self.allocate(size))
        return self._twins[host].device

    def mapping(self, host: int) -> int:
        """Return the device address of mapped (or pinned) host memory."""
        if host not in self._twins and host in self._hosts:
            return self.map(host, self._hosts[host].size)
        if host not in self._twins:
            raise NotAllocated(f"{host:#x} is not the address of pinned host memory")
        return self._twins[host].device

    def unmap(self, host: int) -> None:
        """End what `map` began."""
        if twin := self._twins.pop(host, None):
            self.free(twin.device)

    def allocate_managed(self, size: int) -> tuple[int, int]:
        """Reserve memory that host and device see; return its host and its device address."""
        host = self.allocate_host(size)
        return host, self.map(host, max(size, 1))

    def managed_host(self, device: int) -> int:
        """Return the host address of managed memory."""
        return next(h for h, twin in self._twins.items() if twin.device == device)

    def free_managed(self, device: int) -> bool:
        """Give managed memory back, if `device` is its address."""
        for host, twin in list(self._twins.items()):
            if twin.device == device and host in self._hosts:
                self.free_host(host)
                return True
        return False

    @contextmanager
    def mapped(self) -> Iterator[None]:
        """Bring mapped memory to the device for what happens inside, and back after it."""
        twins = list(self._twins.values())
        for twin in twins:
            self.arena.write(twin.device, twin.host)
        yield
        for twin in twins:
            twin.host[:] = self.arena.read(twin.device, twin.host.size)


def host_bytes(address: int, size: int) -> np.ndarray:
    """Return host memory as an array of bytes."""
    return np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8)
