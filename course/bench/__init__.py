"""Benchmarks: each measures ours beside its peers in one run, and keeps what it measured."""

import datetime
import importlib
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from course import Problem

#: Name of a benchmark -> what it measures. Each is a module here with ``run() -> list[Record]``.
BENCHES = {
    "microbench": "the memory of a GPU: latency, bandwidth, bank conflicts",
    "sizes": "matrix products of growing size by cuBLAS",
    "vgpu": "the virtual GPU beside numba-cuda's simulator",
}

#: Name of a benchmark -> what to know below its table.
LEGENDS = {
    "vgpu": """\
plain, counters, races: the launch alone, on the virtual GPU that counts nothing, counts, looks for
races. end_to_end: the call from Python with copies; cold is the first call with an empty cache of
compiled kernels, warm the best of the later ones. The peer's time is that of its call, as it has no
other: the first for cold, the best for the rest. ratio: how many times faster ours is; above 1,
ours is faster.""",
}

_PACKAGES = ("torch", "numpy", "numba", "numba-cuda", "llvmlite", "nvidia-cuda-nvrtc")


@dataclass(frozen=True)
class Record:
    """One measurement.

    Attributes
    ----------
    case : str
        What was run: type, pass and shape.
    variant : str
        The rung or mode of ours.
    value : float
        What was measured, in `unit`.
    unit : str
        Such as ``s`` or ``TFLOP/s``; seconds are better when fewer, rates when more.
    peer : str or None
        What it is compared with.
    peer_value : float or None
        The same for the peer.
    """

    case: str
    variant: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times better ours is; above 1 is better."""
        if self.peer_value is None:
            return None
        fewer_is_better = self.unit == "s"
        return self.peer_value / self.value if fewer_is_better else self.value / self.peer_value


def measure(name: str | None) -> dict[str, Any]:
    """Run benchmark `name` and return its records with device, versions and date, as plain data.

    Raises
    ------
    Problem
        If there is no such benchmark, or none is named; the message lists them.
    """
    if name not in BENCHES:
        known = "\n".join(f"  {n}: {what}" for n, what in BENCHES.items())
        fault = f"There is no benchmark {name!r}." if name else "Say which benchmark."
        raise Problem(f"{fault} There are:\n{known}")
    records = importlib.import_module(f"course.bench.{name}").run()
    return {
        "bench": name,
        "device": _device(),
        "versions": {p: _version(p) for p in _PACKAGES} | {"python": platform.python_version()},
        "date": datetime.date.today().isoformat(),
        "records": [asdict(record) | {"ratio": record.ratio} for record in records],
    }


def write(result: dict[str, Any], path: Path) -> None:
    """Write a result as JSON."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def table(result: dict[str, Any]) -> str:
    """Return a result as text for a terminal, with what to know of its columns below it."""
    rows = [("case", "variant", "value", "unit", "peer", "peer's value", "ratio")]
    for r in result["records"]:
        peer = r["peer_value"]
        rows.append(
            (
                r["case"], r["variant"], f"{r['value']:.4g}", r["unit"], r["peer"] or "",
                "" if peer is None else f"{peer:.4g}",
                "" if r["ratio"] is None else f"{r['ratio']:.4g}",
            )
        )  # fmt: skip
    legend = LEGENDS.get(result["bench"])
    return columns(rows) + (f"\n\n{legend}" if legend else "")


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text with aligned columns; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join(lines)


def _device() -> str:
    from course import tiers

    tier = tiers.detect()
    return tier.gpu if tier.level else f"CPU: {platform.processor() or platform.machine()}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
