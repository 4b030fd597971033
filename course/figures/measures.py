"""Quantities that the counts of a source line can be asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Count = Callable[[Mapping[str, int]], int]


@dataclass(frozen=True)
class Measure:
    """How to read a quantity from the counts of a line.

    Attributes
    ----------
    name : str
        What it is, as people say it.
    amount, per : callable
        The quantity is `amount`, or, where there is `per`, their ratio.
    wasted, waste : callable, str
        The part that a better kernel would not have, and what it is.
    full : int, optional
        The value at which nothing is wasted: the rest up to it is the waste.
    """

    name: str
    amount: Count
    per: Count | None = None
    wasted: Count | None = None
    waste: str = ""
    full: int | None = None

    def of(self, counts: Mapping[str, int]) -> float | None:
        """Return the quantity, or None if the line has nothing of the kind."""
        if self.per is None:
            return self.amount(counts) or None
        return self.amount(counts) / self.per(counts) if self.per(counts) else None

    def lost(self, counts: Mapping[str, int]) -> float:
        """Return the part of the bar that is waste."""
        if self.full is not None:
            return self.full - (self.of(counts) or 0)
        return self.wasted(counts) if self.wasted else 0

    def written(self, value: float | None) -> str:
        """Return a value as the figure prints it."""
        if value is None:
            return "0" if self.per is None else ""
        if self.per is None:
            return f"{value:,}"
        return f"{value:.1f}" + (f" of {self.full}" if self.full else "")


def _sum(*names: str) -> Count:
    return lambda counts: sum(counts[name] for name in names)


_REQUESTS = _sum("global_loads", "global_stores")
_SHARED = _sum("shared_loads", "shared_stores")
_SECTORS = _sum("load_sectors", "store_sectors")

#: What `source_heat` can draw; the names are those of the columns of ``trace.table()``.
MEASURES = {
    "instructions": Measure("warp instructions", _sum("instructions")),
    "lanes": Measure(
        "active lanes per instruction",
        _sum("lanes"),
        _sum("instructions"),
        waste="idle lanes",
        full=32,
    ),
    "FLOP": Measure("floating-point operations", _sum("flops")),
    "global requests": Measure("requests to global memory", _REQUESTS),
    "sectors": Measure("sectors of 32 bytes", _SECTORS),
    "sectors/request": Measure("sectors per request", _SECTORS, _REQUESTS),
    "shared requests": Measure("requests to shared memory", _SHARED),
    "wavefronts": Measure(
        "wavefronts of shared memory",
        _sum("wavefronts"),
        wasted=_sum("conflicts"),
        waste="because of bank conflicts",
    ),
    "wavefronts/request": Measure("wavefronts per request", _sum("wavefronts"), _SHARED),
    "conflicts": Measure("wavefronts because of bank conflicts", _sum("conflicts")),
}
