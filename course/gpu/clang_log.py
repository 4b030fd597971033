"""clang's diagnostics in the form and, where a hint hangs on them, the words of NVRTC's."""

import re
from collections.abc import Iterator

_HEAD = re.compile(
    r"^(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<severity>fatal error|error|warning|note): (?P<text>.*)$"
)
_BARE = re.compile(r"^(?:fatal )?error: (.*)$")

_QUALIFIERS = ("global", "device", "shared", "constant", "forceinline")

#: clang's words and NVRTC's.
_WORDS = (
    (r"use of undeclared identifier '(.+?)'.*", r'identifier "\1" is undefined'),
    (r"unknown type name '(.+?)'.*", r'identifier "\1" is undefined'),
    (r"no (?:member|template|type) named '(.+?)' in namespace '(.+?)'.*",
     r'namespace "\2" has no member "\1"'),
    (r"'(.+?)' file not found.*", r'cannot open source file "\1"'),
    (r"unused variable '(.+?)'", r'variable "\1" was declared but never referenced'),
    (r"variable '(.+?)' set but not used", r'variable "\1" was set but never used'),
    (r"reference to __host__ function '(.+?)' in.*",
     r"`\1` is a host function: nothing in front of it says __device__ or __global__"),
    (r"reference to __host__ variable '(.+?)' in .*",
     "this is a host variable: a kernel sees variables outside functions only if they are "
     "__device__, __constant__ or constexpr"),
    (r"expected ';'(.*)", r'expected a ";"\1'),
    (r"expected '(.+?)'(.*)", r'expected a "\1"\2'),
)  # fmt: skip


def as_nvrtc(log: str) -> str:
    """Return a log of clang in NVRTC's form: ``cell.cu(3): error: ...``, source line, caret.

    Parameters
    ----------
    log : str
        With ``-fno-diagnostics-show-line-numbers``, without colours.
    """
    lines: list[str] = []
    for entry in _entries(log.splitlines()):
        lines += entry
    return "\n".join(lines)


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines of each error and warning, notes worked in."""
    entry: list[str] = []
    in_note = False
    for line in lines:
        head = _HEAD.match(line)
        if head and head["severity"] == "note":
            in_note = True
            _work_in(entry, head)
        elif head:
            yield entry
            severity = head["severity"].removeprefix("fatal ")
            entry = [f"{head['file']}({head['line']}): {severity}: {_reworded(head['text'])}"]
            in_note = False
        elif bare := _BARE.match(line):  # of an option, or of the back end
            yield entry
            entry, in_note = [f"At end of source: error: {bare[1]}"], False
        elif entry and not in_note and not line.startswith("In file included from"):
            entry.append("  " + re.sub(r"[~^]+", _caret, line) if _is_marks(line) else "  " + line)
    yield entry


def _is_marks(line: str) -> bool:
    return not line.strip(" ~^") and "^" in line


def _caret(match: re.Match) -> str:
    """Keep the caret and lose the underlining, which NVRTC has not."""
    return match[0].replace("~", " ") if "^" in match[0] else " " * len(match[0])


def _work_in(entry: list[str], note: re.Match) -> None:
    """Put what a note says where NVRTC says it."""
    text = note["text"]
    if not entry:
        return
    if made := re.match(r"in instantiation of .*?'(.+)' requested here", text):
        where = f"at line {note['line']}"
        if not entry[0].startswith(f"{note['file']}("):
            where += f' of "{note["file"]}"'
        entry.append(f'  detected during instantiation of "{made[1]}" {where}')
    elif opened := re.match(r"to match this '(.+)'", text):
        said = entry[0].partition(": ")[2]
        entry[:] = [f'{note["file"]}({note["line"]}): {said} to match this "{opened[1]}"']
    elif reason := re.match(
        r"candidate (?:function|template).*?(?:not viable|ignored): (.+)", text
    ):
        place, kind, said = entry[0].split(": ", 2)
        if reason[1].startswith("call to __host__ function"):
            name = re.sub(r'.*"(.+)"', r"'\1'", said)
            entry[0] = f"{place}: {kind}: {_reworded(f'reference to __host__ function {name} in')}"
        elif said.startswith("no matching") and ": " not in said:
            entry[0] += f": {_reworded(reason[1])}"


def _reworded(text: str) -> str:
    if (name := re.match(r"unknown type name '_*([a-z]+?)_*'", text)) and name[1] in _QUALIFIERS:
        return "this declaration has no storage class or type specifier"
    for pattern, words in _WORDS:
        if re.fullmatch(pattern, text):
            return re.sub(f"^{pattern}$", words, text)
    return re.sub(r"(?<!\w)'(.+?)'(?!\w)", r'"\1"', text)
