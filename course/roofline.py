"""How fast a kernel could be: its counts divided by what a GPU can do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course.specs import Gpu

if TYPE_CHECKING:
    from course.gpu.trace import Trace

_SECTOR_BYTES = 32


def attainable(intensity: float, peak: float, bandwidth: float) -> float:
    """Return the rate that a kernel of this arithmetic intensity can reach.

    Parameters
    ----------
    intensity : float
        FLOP per byte of memory traffic.
    peak : float
        The arithmetic's peak in FLOP/s.
    bandwidth : float
        The memory's bandwidth in bytes/s.

    Returns
    -------
    float
        ``min(peak, intensity * bandwidth)`` in FLOP/s.
    """
    return min(peak, intensity * bandwidth)


@dataclass(frozen=True)
class Prediction:
    """The least time that each resource of a GPU needs for what was counted.

    Attributes
    ----------
    seconds : Mapping
        Time by resource: ``memory`` (different bytes over DRAM bandwidth), ``fp32`` (FLOPs over
        the CUDA cores' peak), ``shared`` (wavefronts, one a clock and SM), ``issue`` (warp
        instructions, one a clock and scheduler).
    """

    seconds: Mapping[str, float]

    @property
    def bound(self) -> str:
        """The resource that needs longest."""
        return max(self.seconds, key=lambda name: self.seconds[name])

    @property
    def time(self) -> float:
        """The longest of the times, in seconds: no launch can be faster."""
        return self.seconds[self.bound]

    def __str__(self) -> str:
        parts = [f"{name} {1e6 * value:.3g} µs" for name, value in self.seconds.items()]
        return f"at least {1e6 * self.time:.3g} µs, bound by {self.bound} ({', '.join(parts)})"


def predict(trace: "Trace", gpu: Gpu) -> Prediction:
    """Return how long the launches of `trace` take at least on `gpu`.

    Each count is divided by the rate at which the whole chip can work it off; the longest of these
    times is the prediction. What it cannot know: whether the grid fills the chip, latency that
    nothing hides, launch overhead (microseconds), which sectors the caches serve (it takes each
    different byte from DRAM once, and no byte twice), power and clocks, and what the assembler
    makes of the PTX that was counted (registers, predication, instructions that merge or split).

    Parameters
    ----------
    trace : gpu.Trace
        Launches that were counted.
    gpu : specs.Gpu
        The chip.

    Returns
    -------
    Prediction
        Times in seconds.
    """
    total = trace.total
    moved = sum(c.unique_loaded + c.unique_stored for c in trace.launches)
    clock = gpu.sms * gpu.clock_boost_hz
    return Prediction(
        {
            "memory": moved / gpu.memory_bandwidth,
            "fp32": total.flops / gpu.peak("fp32"),
            "shared": total.wavefronts / clock,
            "issue": total.instructions / (clock * gpu.partitions_per_sm),
        }
    )
