"""The lines of a source with their counts: which of them a figure shows, and which stand out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course.figures.measures import MEASURES

#: Lines of a source that is shown whole, and of a longer one the lines around those with counts.
_WHOLE, _CONTEXT = 40, 2


@dataclass(frozen=True)
class Row:
    """A row of the figure: a line, or without a number a gap, a heading or what is elsewhere."""

    number: int | None
    text: str
    counts: Mapping[str, int] | None = None


class Listing:
    """The source with the counts of its lines, and the quantity that is asked for."""

    def __init__(
        self,
        lines: Sequence[Mapping[str, Any]],
        source: Sequence[str] | Mapping[str, Sequence[str]],
        counts: str,
    ) -> None:
        if counts not in MEASURES:
            raise ValueError(f"source_heat() can draw {', '.join(MEASURES)}, and not {counts!r}.")
        if not lines or not all({"file", "line", "instructions"} <= set(line) for line in lines):
            raise ValueError(
                "source_heat() expects the lines of a launch, for example "
                "trace.to_dict()['launches'][0]['lines']: mappings with a file, a line and counts."
            )
        self.measure = MEASURES[counts]
        self.counts: dict[tuple[str, int], Counter] = {}
        for line in lines:
            own = self.counts.setdefault((line["file"], line["line"]), Counter())
            own.update(
                {name: n for name, n in line.items() if isinstance(n, int) and name != "line"}
            )
        self.total = sum(self.counts.values(), Counter())
        self.files = self._files(source)

    def _files(
        self, source: Sequence[str] | Mapping[str, Sequence[str]]
    ) -> dict[str, Sequence[str]]:
        """Return the source's lines by file, after a look whether the counts are of this source."""
        names = sorted({file for file, line in self.counts if line > 0})
        if not isinstance(source, Mapping):
            if isinstance(source, str) or len(names) > 1:
                raise ValueError(
                    "source_heat() expects the lines of the one file that the counts are of, or a "
                    "mapping of file names to lines such as trace.sources; the counts are of "
                    f"{', '.join(names)}, and the source is a {type(source).__name__}."
                )
            source = dict.fromkeys(names, source)
        if not set(names) & set(source):
            raise ValueError(
                f"source_heat() got the source of {', '.join(source) or 'no file'}, and counts of "
                f"{', '.join(names) or 'no known line'}."
            )
        for file, number in self.counts:
            if file in source and number > len(source[file]):
                raise ValueError(
                    f"source_heat() got counts of line {number} of {file}, but a source of only "
                    f"{len(source[file])} lines. Is it the source of another kernel?"
                )
        return {file: source[file] for file in names if file in source}

    @property
    def waste(self) -> str:
        """What the wasted parts of bars are, if there are any."""
        shown = [counts for counts in self.counts.values() if self.measure.of(counts) is not None]
        return self.measure.waste if any(map(self.measure.lost, shown)) else ""

    def _of(self, file: str) -> list[Row]:
        """Return all lines of a file."""
        return [
            Row(number, text.rstrip().expandtabs(4), self.counts.get((file, number)))
            for number, text in enumerate(self.files[file], 1)
        ]

    def rows(self) -> list[Row]:
        """Return what is to be drawn from top to bottom."""
        rows: list[Row] = []
        for file in self.files:
            rows += [Row(None, file)] * (len(self.files) > 1) + self._shown(self._of(file))
        others = [c for (file, _), c in self.counts.items() if file not in self.files]
        elsewhere = sum(others, Counter())
        if self.measure.of(elsewhere) is not None:
            rows.append(Row(None, "elsewhere", elsewhere))
        return rows

    def _shown(self, rows: list[Row]) -> list[Row]:
        """Return a short source whole, of a long one the lines with counts and those around."""
        written = [row.number for row in rows if row.text.strip()]
        if len(rows) <= _WHOLE:
            return rows[written[0] - 1 : written[-1]] if written else []
        counted = [row.number for row in rows if self.value(row) is not None]
        counted = counted or [row.number for row in rows if row.counts]
        near = {n + d for n in counted for d in range(-_CONTEXT, _CONTEXT + 1)}
        near |= {n for n in range(len(rows)) if {n - 1, n + 1} <= near}  # no gap of a single line
        kept: list[Row] = []
        for row in rows:
            if row.number in near:
                kept.append(row)
            elif not kept or kept[-1].number is not None:
                kept.append(Row(None, "…"))
        return kept

    def value(self, row: Row) -> float | None:
        """Return the quantity of a row, None where there is nothing of the kind."""
        return None if row.counts is None else self.measure.of(row.counts)

    def hottest(self, number: int) -> list[Row]:
        """Return the lines that stand out: the largest values, or the fewest active lanes."""
        rows = [row for file in self.files for row in self._of(file)]
        rows = [row for row in rows if self.value(row) is not None]
        sign = 1 if self.measure.full else -1
        return sorted(rows, key=lambda row: (sign * self.value(row), row.number))[:number]


def cut(text: str, letters: int) -> str:
    """Return the beginning of `text`, at most `letters` long."""
    return text if len(text) <= letters else text[: letters - 1] + "…"
