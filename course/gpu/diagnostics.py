"""The compiler's log, told to the person who wrote the kernel.

NVRTC's log lists every error, most of which follow from the first, and whole headers. Here the
first ones remain, with the source lines as they were written and a hint where one is known.
"""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from course.gpu import hints, mangling

if TYPE_CHECKING:
    from course.gpu.compiler import Source

_SHOWN = 3

_HEAD = re.compile(
    r"^(?:(?P<file>.+?)\((?P<line>\d+)\)|At end of source): "
    r"(?P<severity>error|catastrophic error|warning|note)(?: #[\w-]+)?: (?P<text>.*)$"
)
_CARET = re.compile(r"^\s*\^\s*$")
_ASSEMBLER_LINE = re.compile(r"ptxas .*?, line (\d+); error\s*: (.*)")
_TOO_MUCH_SHARED = re.compile(r"'([^']+)' uses too much shared data \((\w+) bytes, (\w+) max\)")
_ASSEMBLER = re.compile(r"ptxas (?:error|fatal)\s*: (.*)")


@dataclass
class _Diagnostic:
    file: str
    line: int
    severity: str
    text: str
    body: list[str] = field(default_factory=list)

    @property
    def caret(self) -> tuple[str, str] | None:
        """The source line and the caret below it, as the log shows them."""
        for above, line in zip(self.body, self.body[1:], strict=False):
            if _CARET.match(line):
                return above[2:], line[2:]
        return None


def explain(log: str, source: "Source", ptx: str = "") -> str:
    """Return what is wrong with a source, for the person who wrote it.

    Parameters
    ----------
    log : str
        NVRTC's log of a compilation that failed.
    source : Source
        What was compiled.
    ptx : str, optional
        Its PTX, to trace an error of the assembler back to a source line.
    """
    found = [d for d in _parse(log) if "error" in d.severity]
    if not found:
        return _explain_assembler(log, source, ptx)
    chosen = _first_of_each_line(found)
    unknown = {m[1] for d in found if (m := re.match(r'identifier "(.+)" is undef', d.text))}
    parts, told = [], set()
    for diagnostic in chosen:
        hint = _hint(diagnostic, source, unknown)
        if hint and hint in told:
            continue
        told.add(hint)
        parts.append(_render(diagnostic, source) + (f"\n  {hint}" if hint else ""))
        if len(parts) == _SHOWN:
            break
    hidden = len(found) - len(parts)
    if hidden:
        more = f"{hidden} more error{'s' * (hidden > 1)}"
        parts.append(f"({more}, often a consequence of the first.)")
    return "\n".join(parts)


def warnings(log: str, source: "Source") -> tuple[str, ...]:
    """Return the front end's warnings about the source itself, not about headers."""
    found = (d for d in _parse(log) if d.severity == "warning")
    return tuple(
        f"{source.name}, line {d.line}: {d.text}"
        for d in found
        # a static kernel has no caller in its source
        if source.shown(d.file) == source.name and not d.text.startswith("function ")
    )


def _parse(log: str) -> list[_Diagnostic]:
    found: list[_Diagnostic] = []
    for line in log.splitlines():
        if head := _HEAD.match(line):
            number = int(head["line"] or 0)
            new = _Diagnostic(head["file"] or "", number, head["severity"], head["text"])
            if new.severity != "note":
                found.append(new)
            elif found and not found[-1].line:  # `expected a "}"` knows only where it opened
                found[-1].file, found[-1].line = new.file, new.line
                found[-1].text += f" {new.text}"
        elif found:
            found[-1].body.append(line)
    return found


def _first_of_each_line(found: list[_Diagnostic]) -> list[_Diagnostic]:
    """Keep one error a source line: an unknown name explains the others on its line."""

    def unknown(diagnostic: _Diagnostic) -> bool:
        return "is undefined" in diagnostic.text or "has no member" in diagnostic.text

    kept: dict[tuple[str, int], _Diagnostic] = {}
    for diagnostic in found:
        place = (diagnostic.file, diagnostic.line)
        if place not in kept or (unknown(diagnostic) and not unknown(kept[place])):
            kept[place] = diagnostic
    return list(kept.values())


def _render(diagnostic: _Diagnostic, source: "Source") -> str:
    text = _reworded(diagnostic)
    if diagnostic.file == "__nv_name_map":  # the compiler's name for what module["..."] asked
        return text
    where = source.shown(diagnostic.file)
    lines = [f"{where}, line {diagnostic.line}: {text}"]
    if where != source.name and (own := _own_line(diagnostic, source)):
        lines.append(_excerpt(own, _line(source, own)))
    elif diagnostic.caret:
        lines.append(_excerpt(diagnostic.line, *diagnostic.caret))
    elif where == source.name:
        lines.append(_excerpt(diagnostic.line, _line(source, diagnostic.line)))
    for line in diagnostic.body:
        if "detected during" in line or "operand types are" in line:
            lines.append("  " + line.strip())
    return "\n".join(lines)


def _excerpt(number: int, line: str, caret: str = "") -> str:
    rows = [f"{number:>5} | {line.rstrip()}"]
    if caret:
        rows.append(f"      | {caret.rstrip()}")
    return "\n".join(rows)


def _line(source: "Source", number: int) -> str:
    lines = source.text.splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _own_line(diagnostic: _Diagnostic, source: "Source") -> int | None:
    """Return the line of the source that led into the header where the error is."""
    for line in diagnostic.body:
        match = re.search(r"at line (\d+) of \"?([^\"]+?)\"?$", line)
        if match and source.shown(match[2]) == source.name:
            return int(match[1])
    return None


def _reworded(diagnostic: _Diagnostic) -> str:
    text = diagnostic.text
    shown = diagnostic.caret[0] if diagnostic.caret else ""
    if text.startswith("A function without execution space annotations"):
        name = re.search(r"([\w:~]+)\s*\(", shown)
        name = f"`{name[1]}`" if name else "this function"
        return f"{name} is a host function: nothing in front of it says __device__ or __global__"
    if text.startswith("A namespace scope variable without memory space annotations"):
        return (
            "this is a host variable: a kernel sees variables outside functions only if they are "
            "__device__, __constant__ or constexpr"
        )
    return text


def _hint(diagnostic: _Diagnostic, source: "Source", unknown: set[str]) -> str | None:
    own = source.shown(diagnostic.file) == source.name
    shown = diagnostic.caret[0] if diagnostic.caret else _line(source, diagnostic.line)
    if own and hints.is_host_code(shown):
        return hints.HOST_CODE
    return hints.hint(diagnostic.text, source.text, diagnostic.line, unknown)


def _explain_assembler(log: str, source: "Source", ptx: str) -> str:
    """Explain an error of the assembler, whose line numbers are those of the PTX."""
    if match := _ASSEMBLER_LINE.search(log):
        number, text = int(match[1]), match[2]
        statement = ptx.splitlines()[number - 1].strip() if ptx else ""
        rows = [f"the assembler refuses `{statement}`: {text}"]
        if own := _line_of_ptx(ptx, number):
            rows[0] = f"{source.name}, line {own}: {rows[0]}"
            rows.append(_excerpt(own, _line(source, own)))
        return "\n".join(rows)
    if match := _TOO_MUCH_SHARED.search(log):
        kernel, used, limit = mangling.readable(match[1]), int(match[2], 16), int(match[3], 16)
        way_out = "Use a smaller tile."
        if limit == 48 * 1024:
            way_out = (
                "Use a smaller tile, or dynamic shared memory, which may be larger: "
                "`extern __shared__` and kernel[grid, block, bytes](...)."
            )
        return (
            f"{source.name}: {kernel} declares {used:,} bytes of shared memory, and a block can "
            f"have {limit:,}. {way_out}"
        )
    texts = _ASSEMBLER.findall(log)
    return f"{source.name}: " + ("; ".join(texts) or log.removeprefix("nvrtc: error: ").strip())


def _line_of_ptx(ptx: str, number: int) -> int | None:
    """Return the source line of a PTX line, by the last ``.loc 1 LINE COLUMN`` above it."""
    for line in reversed(ptx.splitlines()[:number]):
        if match := re.match(r"\s*\.loc\s+1\s+(\d+)", line):
            return int(match[1])
    return None
