"""requirements.txt as data: which pins hold for this machine, and which ones it does not meet."""

import operator
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from course import ROOT

FILE = ROOT / "requirements.txt"

PIN = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?==(?P<version>[\w.!+]+)")
CONDITION = re.compile(r"(\w+)\s*(<=|>=|==|!=|<|>)\s*[\"']([^\"']*)[\"']")
COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Pin:
    """One package that this machine needs, in exactly one version."""

    name: str
    version: str


@dataclass(frozen=True)
class Difference:
    """A pin that an environment does not meet; `found` is None where the package is missing."""

    name: str
    wanted: str
    found: str | None

    def __str__(self) -> str:
        return f"{self.name}: {self.found or 'missing'}, the course pins {self.wanted}"


def markers_for(version: Sequence[int] = sys.version_info[:3]) -> dict[str, str]:
    """Return the environment markers of this machine with a Python of that version."""
    return {
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "python_full_version": ".".join(map(str, version)),
    }


def read(file: Path = FILE, markers: dict[str, str] | None = None) -> list[Pin]:
    """Return the pins of `file` that hold on this machine (or on one with other `markers`).

    Raises
    ------
    ValueError
        If a line is not ``name==version``, with at most ``; marker op "value" [and ...]`` behind
        it: the rest of pip's language is left out on purpose, because every line is a pin.
    """
    markers = markers or markers_for()
    pins = []
    for line in file.read_text(encoding="utf-8").splitlines():
        requirement, _, condition = line.split("#")[0].strip().partition(";")
        if not requirement:
            continue
        pin = PIN.fullmatch(requirement.strip())
        if pin is None:
            raise ValueError(f"{file.name}: {line.strip()!r} is not of the form name==version")
        if _holds(condition.strip(), markers):
            pins.append(Pin(_normal(pin["name"]), pin["version"]))
    return pins


def differences(pins: Iterable[Pin], path: list[str] | None = None) -> list[Difference]:
    """Return the pins not met by the packages on `path` (by default those of this Python)."""
    found = ((pin, installed(pin.name, path)) for pin in pins)
    return [
        Difference(pin.name, pin.version, version)
        for pin, version in found
        if version is None or _release(version) != _release(pin.version)
    ]


def installed(name: str, path: list[str] | None = None) -> str | None:
    """Return the version of the package `name` on `path`, or None where it is not installed."""
    for distribution in metadata.distributions(name=name, path=sys.path if path is None else path):
        # an interrupted installation leaves folders without METADATA behind
        found = re.search(r"^Version: *(\S+)", distribution.read_text("METADATA") or "", re.M)
        return found and found[1]
    return None


def _holds(condition: str, markers: dict[str, str]) -> bool:
    for part in condition.split(" and ") if condition else []:
        match = CONDITION.fullmatch(part.strip())
        if match is None or match[1] not in markers:
            raise ValueError(f"requirements.txt: the marker {part.strip()!r} is not understood")
        name, sign, value = match.groups()
        # "3.11.10" is newer than "3.11.5": versions are compared as numbers, the rest as text
        key = _numbers if name == "python_full_version" else str
        if not COMPARE[sign](key(markers[name]), key(value)):
            return False
    return True


def _numbers(version: str) -> list[int]:
    """Return ``"3.12"`` as [3, 12, 0], comparable with a full version."""
    numbers = [int(part) for part in version.split(".")]
    return numbers + [0] * (3 - len(numbers))


def _normal(name: str) -> str:
    """Return the one spelling of a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _release(version: str) -> str:
    """Return `version` without its build (``+cpu``) and trailing zeros: 2.0 is 2.0.0."""
    return re.sub(r"(\.0)+$", "", version.partition("+")[0])
