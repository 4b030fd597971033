"""What was measured on real GPUs: one folder for each device, one file for each benchmark.

    h200 = measured.read("microbench")
    h200.value("load from HBM", unit="ns")
    h200.series("copy {} bytes")  # [(67108864, 2.36e12), ...]

`python3 -m course bench NAME --json FILE` writes such files.
"""

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Measured:
    """The result of a benchmark.

    Attributes
    ----------
    bench, device, date : str
        Which benchmark, on what, and when (ISO).
    versions : mapping
        Package -> version.
    records : sequence of mapping
        One for each measurement, with the fields of `course.bench.Record`.
    """

    bench: str
    device: str
    date: str
    versions: Mapping[str, str | None]
    records: Sequence[Mapping[str, Any]]

    def value(self, case: str, variant: str | None = None, unit: str | None = None) -> float:
        """Return the one value of a case, of a variant and in a unit where there are several.

        Raises
        ------
        KeyError
            There is no such record, or more than one.
        """
        rows = [r for r in self.records if r["case"] == case]
        found = [
            r["value"]
            for r in rows
            if variant in (None, r["variant"]) and unit in (None, r["unit"])
        ]
        if len(found) != 1:
            known = "; ".join(f"{r['variant']!r} in {r['unit']}" for r in rows) or "none"
            raise KeyError(
                f"{self.bench} on {self.device} has {len(found)} records of case {case!r}, variant "
                f"{variant!r}, unit {unit!r}; expected one. Of this case there are: {known}."
            )
        return found[0]

    def series(self, case: str, variant: str | None = None) -> list[tuple[int, float]]:
        """Return the values of cases that differ in one number: ``"copy {} bytes"``.

        Returns
        -------
        list of (int, float)
            The number in the place of ``{}`` and the value, in the order of the file.

        Raises
        ------
        KeyError
            There is no such case.
        """
        pattern = re.escape(case).replace(r"\{\}", r"(\d+)")
        rows = [
            (int(match[1]), r["value"])
            for r in self.records
            if (match := re.fullmatch(pattern, r["case"])) and variant in (None, r["variant"])
        ]
        if not rows:
            raise KeyError(f"{self.bench} on {self.device} has no case like {case!r}.")
        return rows

    def __str__(self) -> str:
        return f"recorded on an {self.device}, {self.date}"


@functools.cache
def read(bench: str, device: str = "nvidia-h200") -> Measured:
    """Return what was recorded.

    Raises
    ------
    KeyError
        Nothing was recorded under these names.
    """
    path = FOLDER / device / f"{bench}.json"
    if not path.is_file():
        known = sorted(f"{p.parent.name}/{p.stem}" for p in FOLDER.glob("*/*.json"))
        raise KeyError(f"No record {device}/{bench}. There are: {', '.join(known)}.")
    return Measured(**json.loads(path.read_text(encoding="utf-8")))
