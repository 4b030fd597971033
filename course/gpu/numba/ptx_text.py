"""Several modules of PTX as one text, and what else is done to PTX as text."""

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^[ \t]*\.(?:version|target|address_size)\b.*$", re.M)
_SECTION = re.compile(r"^[ \t]*\.section\s+[^{]*\{[^}]*\}", re.M)
_FILE = re.compile(r'^([ \t]*\.file\s+)(\d+)(\s+"(?:[^"\\]|\\.)*")[^\n]*', re.M)
_LOC = re.compile(r"^([ \t]*\.loc\s+)(\d+)([^\n]*)", re.M)
_INLINED = re.compile(r"(inlined_at\s+)(\d+)")
_FUNCTION = re.compile(r"\.func\b\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?[^;{]*([;{])")
_EXTERN = re.compile(r"\.extern\s+(\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*(?:\([^)]*\))?[^;{]*;)")
_PRIVATE = re.compile(
    r"^[ \t]*\.(?:global|const|shared)\b[^;={\n]*?([\w$]+)\s*(?:\[[^\]]*\]\s*)*[;=]", re.M
)
_ENTRY = re.compile(r"(\.entry\b[^{;]*)\{")


def join(modules: Sequence[str]) -> str:
    """Return one module that has all that `modules` have: what one declares, another may define."""
    texts = [_SECTION.sub("", text.strip("\0 \n")) for text in modules]
    files = 0
    for number, text in enumerate(texts):
        if number:
            text = _HEADER.sub("", text)
            for name in set(_PRIVATE.findall(text)):
                text = re.sub(rf"(?<![\w$]){re.escape(name)}(?![\w$])", f"{name}${number}", text)
        texts[number], count = _with_files_from(text, files)
        files += count
    whole = "\n".join(texts)
    defined = {name for name, end in _FUNCTION.findall(whole) if end == "{"}
    return _EXTERN.sub(lambda f: f".visible {f[1]}" if f[2] in defined else f[0], whole) + "\n"


def _with_files_from(text: str, first: int) -> tuple[str, int]:
    """Add `first` to the numbers of source files; return the text and how many it has."""

    def later(found: re.Match) -> str:
        rest = found[3] if len(found.groups()) > 2 else ""
        rest = _INLINED.sub(later, rest) if "inlined_at" in rest else rest
        return f"{found[1]}{int(found[2]) + first}{rest}"

    most = max((int(found[2]) for found in _FILE.finditer(text)), default=0)
    return _LOC.sub(later, _FILE.sub(later, text)), most


def limit_registers(text: str, most: int) -> str:
    """Ask the assembler to give the threads of all kernels at most `most` registers."""
    return _ENTRY.sub(rf"\g<1>.maxnreg {most}\n{{", text)


def rename(text: str, names: dict[str, str]) -> str:
    """Return PTX with other names for kernels and variables; ones that are in use stay."""
    for old, new in names.items():
        if re.fullmatch(r"[A-Za-z][\w$]*", new) and not re.search(rf"(?<![\w$%.]){new}\b", text):
            text = text.replace(old, new)
    return text
