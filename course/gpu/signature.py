"""What a kernel expects of its callers: names, types and sizes of its parameters.

Three sources are put together. The PTX has each parameter's size, always. The compiler's mangled
names have the C++ types. The source text has the parameters' names, where it can be read.
"""

import re
from dataclasses import dataclass

from course.gpu.mangling import CppType


@dataclass(frozen=True)
class Slot:
    """One parameter as PTX sees it.

    Attributes
    ----------
    kind : str
        ``u``, ``s``, ``f`` or ``b`` (bytes of a struct).
    size, align : int
        In bytes.
    """

    kind: str
    size: int
    align: int


@dataclass(frozen=True)
class Entry:
    """One kernel of a PTX module.

    Attributes
    ----------
    name : str
        In PTX: ``_Z5saxpyifPKfPf``.
    slots : tuple of Slot
        Its parameters.
    most_threads : int or None
        The largest block that ``__launch_bounds__`` promises.
    exact_threads : int or None
        The only block size that ``__block_size__`` allows.
    cooperative : bool
        Whether it synchronises the grid (``cooperative_groups``), so must be launched as a whole.
    """

    name: str
    slots: tuple[Slot, ...]
    most_threads: int | None
    exact_threads: int | None
    cooperative: bool = False


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes
    ----------
    name : str
        As in the source; empty where that cannot be read.
    type : CppType or None
        None where only the size is known.
    slot : Slot
        Size, alignment and kind in PTX.
    """

    name: str
    type: CppType | None
    slot: Slot

    def __str__(self) -> str:
        known = self.type.text if self.type else f"{self.slot.size} bytes"
        return f"{known} {self.name}".strip()


_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((.*?)\))?([^{;]*)\{", re.S)
_PARAM = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.([usfb])(\d+)\s+"
    r"(?:\.ptr\s+(?:\.\w+\s+)??(?:\.align\s+\d+\s+)?)?[\w$]+(?:\[(\d+)\])?"
)


def entries(ptx: str) -> dict[str, Entry]:
    """Return the kernels of a PTX module by name, in its order."""
    found = {}
    for match in _ENTRY.finditer(ptx):
        name, parameters, directives = match.groups(default="")
        slots = []
        for align, kind, bits, count in _PARAM.findall(parameters):
            size = int(bits) // 8 * int(count or 1)
            slots.append(Slot(kind, size, int(align or size)))
        most, exact = (_threads(directives, word) for word in ("maxntid", "reqntid"))
        # the workspace of a cooperative grid is found through these registers
        body = ptx[match.end() : ptx.find("\n}", match.end())]
        found[name] = Entry(name, tuple(slots), most, exact, "%envreg" in body)
    return found


def _threads(directives: str, word: str) -> int | None:
    found = re.search(rf"\.{word}\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", directives)
    if not found:
        return None
    x, y, z = (int(n or 1) for n in found.groups())
    return x * y * z


def parameters(
    entry: Entry,
    types: tuple[CppType, ...] | None,
    names: list[str] | None,
) -> tuple[Parameter, ...]:
    """Put sizes, types and names together; what does not match the PTX is left out.

    Parameters
    ----------
    entry : Entry
        The kernel in PTX.
    types : tuple of CppType or None
        From the compiler.
    names : list of str or None
        From the source.
    """
    count = len(entry.slots)
    if types is None or len(types) != count:
        types = (None,) * count
    if names is None or len(names) != count:
        names = [""] * count
    return tuple(map(Parameter, names, types, entry.slots))


def parameter_names(text: str, kernel: str, count: int) -> list[str] | None:
    """Return the parameter names in a kernel's declaration, or None if it is not plainly there.

    Parameters
    ----------
    text : str
        CUDA C++.
    kernel : str
        The kernel's name without scope and template arguments.
    count : int
        How many parameters it has: tells overloads apart.
    """
    code = _without_comments(text)
    found = []
    for match in re.finditer(rf"\b{re.escape(kernel)}\s*\(", code):
        before = re.split(r"[;{}]", code[: match.start()])[-1]
        if "__global__" in before:
            names = [_last_name(p) for p in _split(code[match.end() :])]
            if len(names) == count and names not in found:
                found.append(names)
    return found[0] if len(found) == 1 else None


def _without_comments(text: str) -> str:
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def _split(text: str) -> list[str]:
    """Split what stands before the closing parenthesis at its outer commas."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "([{<":
            depth += 1
        elif depth and letter in ")]}>":
            depth -= 1
        elif letter == ")" or (letter == "," and not depth):
            parts.append(text[start:at].strip())
            start = at + 1
            if letter == ")":
                break
    return parts if parts != [""] else []


def _last_name(parameter: str) -> str:
    declared = re.sub(r"\[[^\]]*\]", "", parameter.split("=")[0])
    words = re.findall(r"[A-Za-z_]\w*", declared)
    types = {"int", "float", "double", "char", "long", "short", "unsigned", "bool", "const", "void"}
    return words[-1] if len(words) > 1 and words[-1] not in types else ""
