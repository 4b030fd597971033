"""Watching launches: ``with gpu.trace() as t:`` runs them on the virtual GPU and counts."""

import contextlib
import html
import linecache
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from course.gpu import devices

if TYPE_CHECKING:
    from course import vgpu

#: Columns of the table by line: title, and how to read it from the counts of a line.
_COLUMNS = {
    "instructions": lambda c: f"{c.instructions:,}",
    "lanes": lambda c: f"{c.lanes_per_instruction:.1f}",
    "FLOP": lambda c: f"{c.flops:,}",
    "global requests": lambda c: f"{c.global_loads + c.global_stores:,}",
    "sectors/request": lambda c: _ratio(
        c.load_sectors + c.store_sectors, c.global_loads + c.global_stores
    ),
    "shared requests": lambda c: f"{c.shared_loads + c.shared_stores:,}",
    "wavefronts/request": lambda c: _ratio(c.wavefronts, c.shared_loads + c.shared_stores),
    "conflicts": lambda c: f"{c.conflicts:,}",
}


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else ""


@dataclass
class Trace:
    """What the launches inside a ``with gpu.trace()`` did.

    Attributes
    ----------
    launches : list of vgpu.Counts
        One for each launch, in order.
    sources : dict
        The lines of the source files that the launches came from, by file name.
    """

    launches: list["vgpu.Counts"] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> "vgpu.Line":
        """The counts of all launches together."""
        from course import vgpu

        total = vgpu.Line()
        for counts in self.launches:
            total.add(counts.total)
        return total

    def by_line(self) -> dict[tuple[str, int], "vgpu.Line"]:
        """Return counts by (file, source line), all launches together."""
        from course import vgpu

        lines: dict[tuple[str, int], vgpu.Line] = {}
        for counts in self.launches:
            for key, line in counts.lines.items():
                lines.setdefault(key, vgpu.Line()).add(line)
        return dict(sorted(lines.items()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data: ``{"launches": [...], "total": {...}}``."""
        return {
            "launches": [counts.to_dict() for counts in self.launches],
            "total": self.total.to_dict(),
        }

    def table(self) -> "Table":
        """Return the counts of each source line, as a table for people."""
        rows = [["line", "source", *_COLUMNS]]
        for (file, number), counts in self.by_line().items():
            text = self.sources.get(file) or linecache.getlines(file)
            source = text[number - 1].strip() if 0 < number <= len(text) else file
            rows.append([str(number), source[:60], *(c(counts) for c in _COLUMNS.values())])
        rows.append(["", "all lines", *(c(self.total) for c in _COLUMNS.values())])
        return Table(rows)


@dataclass(frozen=True)
class Table:
    """Rows of text; the first is the header. Prints as text, and as HTML in a notebook."""

    rows: list[list[str]]

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = []
        for row in self.rows:
            cells = [
                cell.ljust(width) if index < 2 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cell(tag: str, index: int, text: str) -> str:
            side = "left" if index < 2 else "right"
            inner = (
                f"<code>{html.escape(text)}</code>"
                if tag == "td" and index == 1
                else html.escape(text)
            )
            return f'<{tag} style="text-align:{side}">{inner}</{tag}>'

        body = [
            "<tr>" + "".join(cell("td", i, text) for i, text in enumerate(row)) + "</tr>"
            for row in self.rows[1:]
        ]
        head = "".join(cell("th", i, text) for i, text in enumerate(self.rows[0]))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


@contextlib.contextmanager
def trace(*, races: bool = False, schedule: str = "round-robin", seed: int = 0) -> Iterator[Trace]:
    """Run the launches inside on the virtual GPU, also where there is a real one, and count.

    A module's ``__device__`` variables are those of the virtual GPU's other launches.

    Parameters
    ----------
    races : bool
        Look for races too: a launch that has one raises KernelFault.
    schedule : str
        In which order warps run: ``round-robin``, ``reverse``, ``random`` (by `seed`), ``greedy``.
    seed : int
        For the random schedule.

    Yields
    ------
    Trace
        Filled as launches end.
    """
    from course import vgpu
    from course.gpu.module import of_ptx
    from course.gpu.virtual_device import VirtualDevice, current

    result = Trace()

    def observe(image: str, launch: vgpu.Result) -> None:
        result.launches.append(launch.counts)
        module = of_ptx(image)
        if module is not None:
            result.sources[module.name] = module.source.splitlines()

    options = vgpu.Options(counters=True, races=races, schedule=schedule, seed=seed)
    chosen = devices.chosen()
    usual = chosen if isinstance(chosen, VirtualDevice) else current()
    with devices.use(VirtualDevice(options, observe, like=usual)):
        yield result
