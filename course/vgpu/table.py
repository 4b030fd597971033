"""The table of opcodes: which forms of an instruction there are, and what lowers them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

#: Opcode -> how it is lowered; filled by the modules of `opcodes`.
TABLE: dict[str, "Opcode"] = {}


@dataclass(frozen=True)
class Opcode:
    """What is known of an opcode.

    Attributes
    ----------
    lower : callable
        Takes the lowering and the instruction.
    forms : re.Pattern
        Matches the modifiers that are understood, each with its dot.
    operands : range
        How many operands there may be.
    """

    lower: Callable
    forms: re.Pattern
    operands: range

    def accepts(self, mods: tuple[str, ...]) -> bool:
        """Say whether an instruction with these modifiers is understood in full."""
        return _matches(self.forms, "".join(f".{m}" for m in mods))


@cache
def _matches(forms: re.Pattern, text: str) -> bool:
    return forms.fullmatch(text) is not None


def opcode(name: str, *forms: str, operands: int | tuple[int, int]) -> Callable:
    """Register a function as the lowering of opcode `name` with any of the modifiers `forms`.

    A form is written as the PTX ISA writes it: ``.(rn|rz)[.ftz].f32`` has one of two rounding
    modes, perhaps ``.ftz``, and then ``.f32``. What is not listed is refused, never ignored.
    `operands` is their number, or the least and the largest.
    """
    least, most = operands if isinstance(operands, tuple) else (operands, operands)
    pattern = re.compile("|".join(_pattern(form) for form in forms) if forms else "")

    def register(function: Callable) -> Callable:
        TABLE[name] = Opcode(function, pattern, range(least, most + 1))
        return function

    return register


def _pattern(form: str) -> str:
    for written, meant in ((".", r"\."), ("(", "(?:"), ("[", "(?:"), ("]", ")?")):
        form = form.replace(written, meant)
    return form
