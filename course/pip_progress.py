"""What pip says while it installs, boiled down to one line that moves."""

import re
import shutil
import sys
import time
from pathlib import Path

#: "Collecting torch==2.13.0 (from -r ...)"
PACKAGE = re.compile(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)")
#: "  Downloading torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl (526.6 MB)"
WHEEL = re.compile(
    r"\s*(?:Downloading|Using cached|Processing) (?:.*[/\\])?([\w.]+)-([\w.+!]+)-\S+\.whl"
    r"(?: \(([\d.]+) (kB|MB|GB)\))?\s*$"
)
MEGABYTES = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}

#: Without a terminal (a log): a new line this often, in seconds.
INTERVAL = 15.0


class Progress:
    """How far pip is: on a terminal one line, rewritten; elsewhere a new line now and then.

    Parameters
    ----------
    expected
        How many packages are asked for; more may come along with them.
    site_packages
        Where pip unpacks them.
    temporary
        Where pip puts the file that it is fetching.
    """

    def __init__(self, expected: int, site_packages: Path, temporary: Path) -> None:
        self.expected = expected
        self.site_packages = site_packages
        self.temporary = temporary
        self.began = time.monotonic()
        self.step = "starting pip"
        self.looked_up = self.fetched = self.unpacked_before = 0
        self.what = ""
        self.megabytes = 0.0
        self.packages: list[str] = []
        self.shown_steps: set[str] = set()
        self.shown_at = 0.0

    def hear(self, line: str) -> None:
        """Learn from one line of pip's output."""
        if found := PACKAGE.match(line):
            self.looked_up += 1
            self.step, self.what, self.megabytes = "looking up", found[1], 0.0
        elif found := WHEEL.match(line):
            self.fetched += 1
            self.step, self.what = "fetching", f"{found[1]} {found[2]}"
            self.megabytes = float(found[3]) * MEGABYTES[found[4]] if found[3] else 0.0
        elif line.startswith("Installing collected packages:"):
            self.packages = line.partition(":")[2].split(",")
            self.unpacked_before = self._unpacked()
            self.step, self.megabytes, self.expected = "unpacking", 0.0, len(self.packages)
        elif "Retrying (Retry(" in line:
            self.what = "no answer from the network, trying again"

    def show(self) -> None:
        """Print where things stand, if it is time to."""
        now = time.monotonic()
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r" + self.line()[:width].ljust(width))
        elif self.step not in self.shown_steps or now - self.shown_at > INTERVAL:
            sys.stderr.write(self.line() + "\n")
            self.shown_steps.add(self.step)
            self.shown_at = now
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the line as it is and go to the next one."""
        if sys.stderr.isatty():
            sys.stderr.write("\n")

    def line(self) -> str:
        """Return for example ``fetching 47 of 139   torch 2.13.0 (312 of 527 MB)   0:42``."""
        done = {"looking up": self.looked_up, "fetching": self.fetched}.get(self.step)
        if self.step == "unpacking":  # pip is silent meanwhile, but keeps to its list
            done = self._unpacked() - self.unpacked_before
            self.what = self.packages[min(done, len(self.packages) - 1)].strip()
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        count = "" if done is None else f" {done} of {max(done, self.expected)}"
        size = f" ({self._arrived():.0f} of {self.megabytes:.0f} MB)" if self.megabytes > 5 else ""
        parts = [self.step + count, self.what + size, f"{minutes}:{seconds:02d}"]
        return "  " + "   ".join(part for part in parts if part)

    def _unpacked(self) -> int:
        return sum(1 for _ in self.site_packages.glob("*.dist-info"))

    def _arrived(self) -> float:
        """Return how many megabytes of the file being fetched are on the disk."""
        sizes = {}
        for file in self.temporary.glob("pip-unpack-*/*.whl"):
            try:
                sizes[file.stat().st_mtime] = file.stat().st_size
            except FileNotFoundError:  # pip has just moved it
                continue
        return min(sizes[max(sizes)] / 1e6, self.megabytes) if sizes else 0.0
