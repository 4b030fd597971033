"""Tables of counts, as text and as HTML."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from course.flops.work import Work

PHASES = ("forward", "backward", "recompute")
NOTHING = Work()


@dataclass(frozen=True)
class Table:
    """Rows of text under headings; `numbers` are the columns to set flush right."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    numbers: Container[int] = ()

    def __str__(self) -> str:
        lines = [self.headings, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headings))]

        def aligned(line: Sequence[str]) -> str:
            cells = (
                cell.rjust(width) if i in self.numbers else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([aligned(self.headings), rule, *map(aligned, self.rows), *self.notes])

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str]) -> str:
            return "<tr>" + "".join(self._cell(tag, i, c) for i, c in enumerate(cells)) + "</tr>"

        body = "".join(line("td", row) for row in self.rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><thead>{line('th', self.headings)}</thead><tbody>{body}</tbody></table>{notes}"
        )

    def _cell(self, tag: str, column: int, text: str) -> str:
        align = "right" if column in self.numbers else "left"
        scope = ' scope="col"' if tag == "th" else ""
        indented = "&nbsp;" * 2 * (len(text) - len(text.lstrip())) + escape(text.lstrip())
        return f'<{tag}{scope} style="text-align:{align}">{indented}</{tag}>'


@dataclass(frozen=True)
class Row:
    """The work of one operator or module in each phase."""

    label: str
    forward: Work = NOTHING
    backward: Work = NOTHING
    recompute: Work = NOTHING

    @property
    def total(self) -> Work:
        """The work of all phases."""
        return self.forward + self.backward + self.recompute


class Breakdown(Mapping[str, Row]):
    """Rows by name, shown as a table: ``breakdown["mm"].backward.flops``.

    Parameters
    ----------
    by
        What the rows are: the heading of the first column.
    rows
        By name, in the order in which to show them.
    total
        What was counted altogether.
    unknown
        Calls of operators without a formula.
    """

    def __init__(self, by: str, rows: dict[str, Row], total: Row, unknown: dict[str, int]) -> None:
        self._by = by
        self._rows = rows
        self._total = total
        self._unknown = unknown

    def __getitem__(self, name: str) -> Row:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def table(self) -> Table:
        """Return the rows as text: FLOPs of each phase, then arithmetic and bytes of all phases."""
        phases = [name for name in PHASES if getattr(self._total, name).calls] or ["forward"]
        headings = [self._by, "calls", *phases, "share", "pointwise", "bytes"]
        lines = []
        for row in (*self._rows.values(), self._total):
            total, all_flops = row.total, self._total.total.flops
            share = f"{total.flops / all_flops:.1%}" if all_flops else "-"
            flops = [number(getattr(row, phase).flops) for phase in phases]
            done = [number(total.pointwise), number(total.bytes)]
            lines.append([row.label, number(total.calls), *flops, share, *done])
        return Table(headings, lines, self._notes(), numbers=range(1, len(headings)))

    def _notes(self) -> list[str]:
        if not self._unknown:
            return []
        calls = ", ".join(f"{name} ({calls}×)" for name, calls in self._unknown.items())
        return [f"No formula, so that their arithmetic is missing above: {calls}"]


def number(value: int) -> str:
    """Return `value` in full, or from a million million on with four digits and a prefix."""
    return f"{value:,}" if value < 10**12 else si(value)


def si(value: float) -> str:
    """Return `value` with four digits and a prefix, such as ``"12.58 M"``."""
    for prefix in ("", "k", "M", "G", "T", "P"):
        if abs(value) < 1000 or prefix == "P":
            break
        value /= 1000
    return f"{value:.4g} {prefix}"
