"""From which parameter of its kernel an address comes, where the instructions alone tell."""

import numpy as np

from .arena import Arena
from .cfg import Graph
from .ptx import Instruction, Operand, Reg, Sym
from .records import GLOBAL_BASE

#: Offsets of the parameters that a register may be computed from: none for a plain number, and None
#: if it may point anywhere (or tell how far two arrays are apart).
Bases = frozenset[int] | None
_NUMBER: Bases = frozenset()
#: In place of an offset: what memory held, a number or a pointer.
_LOADED = -1
#: What makes a number of a parameter or of what was loaded: nobody scales pointers.
_SCALING = {"mul", "mul24", "shl", "shr", "popc", "clz", "bfind", "div", "rem", "not", "neg"}


def find(graph: Graph) -> dict[Reg, Bases]:
    """Return the bases of a kernel's 64-bit registers, over all places that write them."""
    offsets = {p.name: p.offset for p in graph.function.params}
    writes = [
        (i.operands[0], i)
        for block in graph.blocks
        for i in block.instructions
        if i.operands and i.opcode not in ("st", "red", "bra")
    ]
    known: dict[Reg, Bases] = {}
    before = None
    while before != known:
        before = dict(known)
        for target, item in writes:
            for register in getattr(target, "items", (target,)):
                if isinstance(register, Reg) and register.width == 64:
                    new = _result(item, known, offsets)
                    known[register] = _either(known.get(register, _NUMBER), new)
    return known


def only(bases: Bases) -> int | None:
    """Return the one parameter that an address comes from, if that is certain."""
    if bases is None or len(bases) != 1 or _LOADED in bases:
        return None
    return next(iter(bases))


def _either(a: Bases, b: Bases) -> Bases:
    return None if a is None or b is None else a | b


def _result(item: Instruction, known: dict[Reg, Bases], offsets: dict[str, int]) -> Bases:
    """Return the bases of what an instruction writes."""
    sources = item.operands[1:]
    bases = [_base(o, known) for o in sources]
    if item.opcode == "ld" and "param" in item.mods and isinstance(sources[0].base, Sym):
        base = sources[0].base
        if base.name not in offsets:
            return None
        return frozenset({offsets[base.name] + base.offset + sources[0].offset})
    if item.opcode in ("ld", "ldu"):
        return frozenset({_LOADED})
    if item.opcode in _SCALING:
        return None if None in bases else _NUMBER
    if item.opcode == "cvt" and item.mods[-1][1:] != "64":
        return _NUMBER
    if item.opcode in ("mov", "cvta", "cvt") and len(bases) == 1:
        return bases[0]
    if item.opcode == "add" or (item.opcode == "sub" and bases[1] == _NUMBER):
        return _either(*bases)
    if item.opcode == "selp":
        return _either(*bases[:2])
    if item.opcode == "mad" and bases[0] == bases[1] == _NUMBER:
        return bases[2]
    if item.opcode in ("and", "or", "xor", "sub", "min", "max", "mad", "bfe", "bfi"):
        return _NUMBER if all(b == _NUMBER for b in bases) else None
    return None


def _base(operand: Operand, known: dict[Reg, Bases]) -> Bases:
    if isinstance(operand, Reg):
        return known.get(operand, _NUMBER) if operand.width == 64 else _NUMBER
    return None if isinstance(operand, Sym) else _NUMBER


def bounds(offsets: list[int], params: bytes, arena: Arena) -> np.ndarray:
    """Return begin and size, as device addresses, of the arrays that parameters point at.

    Parameters
    ----------
    offsets : list of int
        Where the pointers lie in the parameter block.
    params : bytes
        The parameter block of a launch.
    arena : Arena
        Global memory; a pointer into none of its allocations may be used for all of it.
    """
    table = np.empty((max(1, len(offsets)), 2), np.uint64)
    table[:] = GLOBAL_BASE, len(arena.bytes)
    for row, offset in zip(table, offsets, strict=False):
        found = arena.holder(int.from_bytes(params[offset : offset + 8], "little"))
        if found is not None:
            row[:] = found.address, found.size
    return table
