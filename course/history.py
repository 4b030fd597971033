"""What the lectures say about the past: computation for training, and clocks, with their sources.

The rows are in history.toml.
"""

import datetime
import functools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_suffix(".toml")
_DAYS_PER_YEAR = 365.25


@dataclass(frozen=True)
class Point:
    """One row: what a model took to train, or how fast a processor's clock ran.

    Attributes
    ----------
    name : str
        Of the model or processor.
    year : float
        When: 2012.5 is the middle of 2012.
    value : float
        FLOP of the whole training, or Hz.
    how : str
        How the value follows from the source, "" if it stands there.
    source, url : str
        Where it is from.
    """

    name: str
    year: float
    value: float
    how: str
    source: str
    url: str


@dataclass(frozen=True)
class Trend:
    """Exponential growth, fitted: ``value = start * 2 ** ((year - origin) / doubling)``.

    Attributes
    ----------
    origin : float
        A year.
    start : float
        The value in that year.
    doubling : float
        Years in which the value doubles.
    """

    origin: float
    start: float
    doubling: float

    def at(self, year: float) -> float:
        """Return the fitted value in a year."""
        return self.start * 2 ** ((year - self.origin) / self.doubling)


def models() -> list[Point]:
    """Return what models took to train, in FLOP, oldest first."""
    return [_model(row) for row in _rows()["model"]]


def clocks() -> list[Point]:
    """Return the clocks of Intel's desktop processors, in Hz, oldest first."""
    rows = _rows()
    return [
        Point(row["name"], _year(row["date"]), row["hz"], "", **rows["clock_sources"][row["from"]])
        for row in rows["clock"]
    ]


def fit(points: Sequence[Point]) -> Trend:
    """Fit exponential growth: a straight line through (year, log2 of the value), least squares.

    Raises
    ------
    ValueError
        If there are fewer than two years.
    """
    if len({p.year for p in points}) < 2:
        raise ValueError(f"fit() needs points of two years or more, and got {len(points)} points.")
    years, logs = [p.year for p in points], [math.log2(p.value) for p in points]
    year, log = sum(years) / len(points), sum(logs) / len(points)
    rise = sum((x - year) * (y - log) for x, y in zip(years, logs, strict=True))
    run = sum((x - year) ** 2 for x in years)
    return Trend(year, 2**log, run / rise)


@functools.cache
def _rows() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def _year(date: datetime.date) -> float:
    return date.year + (date - datetime.date(date.year, 1, 1)).days / _DAYS_PER_YEAR


def _model(row: dict[str, Any]) -> Point:
    value, how = row.get("flop"), ""
    if "tokens" in row:
        value, how = 6 * row["parameters"] * row["tokens"], "6 x parameters x tokens"
    elif "examples" in row:
        value, how = 6 * row["multiply_adds"] * row["examples"], "6 x multiply-adds x examples"
    return Point(row["name"], _year(row["date"]), value, how, row["source"], row["url"])
