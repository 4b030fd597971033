"""The memory of a GPU, measured: latency, bandwidth, the halves of the L2 cache, bank conflicts.

The kernels are in kernels/microbench/. Times come from the GPU's own clock (cycles) or from events.
"""

from collections.abc import Iterator

import numpy as np
import torch
from tqdm import tqdm

from course import ROOT, Problem, gpu
from course.bench import Record
from course.bench.clock import need_a_gpu, seconds

FOLDER = ROOT / "kernels" / "microbench"
#: Elements of 8 bytes between the places of a chain: a cache line of 128 bytes.
APART = 16
#: Bytes that the chains of each level walk through.
FOOTPRINTS = {"L1": 2**13, "L2": 2**22, "HBM": 2**30}
#: Places to walk before the clock is read: more bytes than the L2 cache has.
WARM_UP = 2**20
#: Shared memory that keeps a second block off a multiprocessor.
MOST_SHARED = 200 * 1024


def run() -> list[Record]:
    """Measure everything; about a minute on an H200.

    Raises
    ------
    Problem
        There is no real GPU here.
    """
    need_a_gpu("microbench")
    parts = (latencies, partitions, bandwidths, gaps, flights, conflicts)
    return [r for part in tqdm(parts, "bench microbench", unit="part") for r in part()]


def compiled(name: str) -> gpu.Module:
    """Return a file of kernels/microbench/, compiled."""
    return gpu.compile(FOLDER / f"{name}.cu")


def chain(places: int, apart: int, itemsize: int, seed: int = 0) -> np.ndarray:
    """Return one cycle, from 0 through all multiples of `apart`, in random order.

    Returns
    -------
    numpy.ndarray, shape (places * apart,), of unsigned integers of `itemsize` bytes
        The byte offset of the next place at each place; 0 elsewhere.
    """
    dtype = np.dtype(f"u{itemsize}")
    order = np.random.default_rng(seed).permutation(places).astype(dtype)
    offsets = np.zeros((places, apart), dtype)
    offsets[order, 0] = np.roll(order, -1) * dtype.type(apart * itemsize)
    return offsets.ravel()


def chase(footprint: int, past_l1: bool, steps: int) -> tuple[float, float]:
    """Return the cycles and the nanoseconds of one load of a chain through `footprint` bytes."""
    module, lines = compiled("latency"), footprint // (8 * APART)
    places = torch.from_numpy(chain(lines, APART, 8).view(np.int64)).cuda()
    end, took = torch.zeros(3, dtype=torch.int64, device="cuda").split((1, 2))
    module["anchor"][1024, 256](places, len(places))
    kernel, runs = module[f"chase<{str(past_l1).lower()}>"], []
    for _ in range(3):
        kernel[1, 1](places, min(lines, WARM_UP), steps, end, took)
        runs.append(took.tolist())
    cycles, nanoseconds = min(runs)
    return cycles / steps, nanoseconds / steps


def latencies() -> Iterator[Record]:
    """Measure one load from every level, and by the size of what is walked through."""
    for name, footprint in FOOTPRINTS.items():
        cycles, nanoseconds = chase(footprint, name != "L1", 65536)
        yield Record(f"load from {name}", "latency", cycles, "cycles")
        yield Record(f"load from {name}", "latency", nanoseconds, "ns")
    places = torch.from_numpy(chain(1024, 1, 4).view(np.int32)).cuda()
    end = torch.zeros(1, dtype=torch.int32, device="cuda")
    took = torch.zeros(1, dtype=torch.int64, device="cuda")
    compiled("latency")["chase_shared"][1, 1, 4096](places, 1024, 4096, end, took)
    yield Record("load from shared memory", "latency", took.item() / 4096, "cycles")
    for power in range(13, 31):
        cycles, _ = chase(2**power, False, 32768)
        yield Record(f"chase through {2**power} bytes", "latency", cycles, "cycles")


def distances(lines: int, repeats: int = 32) -> np.ndarray:
    """Return the mean cycles of a load from L2, a row for each multiprocessor, a column a line."""
    kernel, count = compiled("l2_partitions")["distances"], _multiprocessors()
    zeros = torch.zeros(lines * 32, dtype=torch.int32, device="cuda")
    cycles = torch.full((count, lines), float("nan"), device="cuda")
    for chosen in range(count):
        kernel[count, 1, MOST_SHARED](zeros, lines, repeats, chosen, cycles)
    return cycles.cpu().numpy()


def halves(cycles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split multiprocessors, and lines, by which half of the L2 cache they belong to.

    Parameters
    ----------
    cycles : numpy.ndarray, shape (multiprocessors, lines)
        How far each line is from each multiprocessor.

    Returns
    -------
    two numpy.ndarray of bool, shapes (multiprocessors,) and (lines,)
        Lines are near to multiprocessors of equal value.
    """
    # what is left beside the means is, up to noise, one product of two signs
    rest = cycles - cycles.mean(0) - cycles.mean(1, keepdims=True) + cycles.mean()
    left, _, _ = np.linalg.svd(rest, full_matrices=False)
    side = left[:, 0] > 0
    return side, cycles[side].mean(0) < cycles[~side].mean(0)


def partitions() -> Iterator[Record]:
    """Measure how far 512 lines of the L2 cache are from each multiprocessor, by halves."""
    cycles = distances(512)
    side, lines = halves(cycles)
    near = side[:, None] == lines
    yield Record("load from L2", "near half", float(cycles[near].mean()), "cycles")
    yield Record("load from L2", "far half", float(cycles[~near].mean()), "cycles")
    yield Record("lines", "nearer to one side", float(lines.mean()), "fraction")
    for sm, row in enumerate(cycles):
        for name, chosen in (("one half", lines), ("other half", ~lines)):
            yield Record(f"load by SM {sm} from L2", name, float(row[chosen].mean()), "cycles")


def bandwidths() -> Iterator[Record]:
    """Measure copies that do not fit into the caches, and reads of more and more bytes again."""
    module, blocks = compiled("bandwidth"), 8 * _multiprocessors()
    for power in (26, 28, 30, 32):
        n = 2**power // 16
        a = torch.rand(4 * n, device="cuda")
        b = torch.full_like(a, float("nan"))
        time = seconds(module["copy"][blocks, 256], a, b, n)
        if not torch.equal(a, b):
            raise Problem(f"The copy of {2**power} bytes is not what was copied.")
        yield Record(f"copy {2**power} bytes", "read and written", 2 * 16 * n / time, "byte/s")
        del a, b
    total = torch.zeros(1, device="cuda")
    for megabytes in (1, 4, 8, 16, 24, 32, 40, 48, 64, 96, 128, 512, 2048):
        n, repeats = megabytes * 2**20 // 16, max(2, 8192 // megabytes)
        a = torch.rand(4 * n, device="cuda")
        time = seconds(module["read_again"][blocks, 256], a, n, repeats, total, launches=5)
        yield Record(f"read {megabytes} MiB again", "read", repeats * 16 * n / time, "byte/s")


def gaps() -> Iterator[Record]:
    """Measure reads whose neighbouring threads are further and further apart."""
    kernel, blocks = compiled("bandwidth")["read_apart"], 8 * _multiprocessors()
    a, total = torch.rand(2**30, device="cuda"), torch.zeros(1, device="cuda")
    for gap in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
        n = 2**30 // gap
        time = seconds(kernel[blocks, 256], a, n, gap, total, launches=5)
        yield Record(f"read every {gap} elements", "useful", 4 * n / time, "byte/s")


def flights() -> Iterator[Record]:
    """Measure reads with one 4-byte load in flight for each thread, with more and more threads."""
    kernel, count = compiled("bandwidth")["read_one_at_a_time"], _multiprocessors()
    n = 2**27
    zeros = torch.zeros(n, dtype=torch.int32, device="cuda")
    total = torch.zeros(1, dtype=torch.int32, device="cuda")
    for warps in (1, 2, 4, 8, 16, 32, 64):
        shape = (count, 32 * warps) if warps <= 32 else (2 * count, 16 * warps)
        time = seconds(kernel[shape], zeros, n, total, launches=5)
        yield Record(f"{warps} warps on a multiprocessor", "read", 4 * n / time, "byte/s")


def conflicts() -> Iterator[Record]:
    """Measure shared loads of 32 warps whose lanes are `stride` elements apart."""
    kernel, loads = compiled("shared")["strided"], 4096
    sums = torch.zeros(1024, dtype=torch.int32, device="cuda")
    cycles = torch.zeros(1, dtype=torch.int64, device="cuda")
    for stride in (0, 1, 2, 3, 4, 5, 8, 16, 17, 32, 33):
        for _ in range(2):
            kernel[1, 1024, 4 * 2048](stride, 2048, loads, sums, cycles)
        value = cycles.item() / (loads * 32)
        yield Record(f"shared loads {stride} apart", "a request", value, "cycles")


def _multiprocessors() -> int:
    return torch.cuda.get_device_properties(0).multi_processor_count
