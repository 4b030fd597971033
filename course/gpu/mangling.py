"""Types out of the names that the compiler gives to functions (the Itanium C++ ABI).

The compiler is the one that knows what a kernel's parameters are, through macros, typedefs and
templates, and it writes the answer into the name: ``_Z1fPKfi`` is ``f(const float*, int)``. This
reads the part of that language that kernels use.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class CppType:
    """A C++ type.

    Attributes
    ----------
    text : str
        As a programmer writes it: ``const float*``.
    pointee : CppType or None
        What it points or refers to; None for a value.
    const : bool
        Whether the type itself is const: the pointee of ``const float*``, not the pointer.
    """

    text: str
    pointee: "CppType | None" = None
    const: bool = False


@dataclass(frozen=True)
class Function:
    """A name taken apart: ``scope::name<arguments>(parameters)``."""

    name: str
    arguments: str
    parameters: tuple[CppType, ...]


class Unreadable(ValueError):
    """The name uses a part of the language that kernels have no need of."""


_BUILTIN = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
}
_POINTERS = {"P": "*", "R": "&", "O": "&&"}


def demangle(name: str) -> Function:
    """Take the name of a plain C++ function apart.

    Parameters
    ----------
    name : str
        Such as ``_ZN2ml4geluEPKfPfi``.

    Returns
    -------
    Function
        Parameters of a template are left empty: they would refer to the template's own.

    Raises
    ------
    Unreadable
        It is no mangled name, or a kind that kernels do not have.
    """
    reader = _Reader(name)
    reader.expect("_Z")
    text, arguments = reader.name(of_function=True)
    if arguments:
        return Function(text, arguments, ())
    return Function(text, "", reader.parameters())


def readable(name: str) -> str:
    """Return a function's C++ name with its scope; ``extern "C"`` names are their own."""
    try:
        taken = demangle(name)
    except Unreadable:
        return name
    return taken.name.removeprefix("(anonymous)::") + taken.arguments


def function_type(name: str) -> tuple[CppType, ...]:
    """Return the parameters of the function type that instantiates a template ``t<F>``.

    Parameters
    ----------
    name : str
        The mangled name of ``t<void (const float*, int)>``.
    """
    reader = _Reader(name)
    reader.expect("_Z")
    reader.source_name()
    reader.substitutions.append(CppType("t"))
    reader.expect("IF")
    reader.type()
    return reader.parameters()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.substitutions: list[CppType] = []

    def take(self, *options: str) -> str | None:
        for option in options:
            if self.text.startswith(option, self.at):
                self.at += len(option)
                return option
        return None

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise Unreadable(self.text)

    def match(self, pattern: str) -> str:
        found = re.compile(pattern).match(self.text, self.at)
        if not found:
            raise Unreadable(self.text)
        self.at = found.end()
        return found[0]

    def parameters(self) -> tuple[CppType, ...]:
        types = []
        while self.at < len(self.text) and not self.take("E"):
            types.append(self.type())
        return () if [t.text for t in types] == ["void"] else tuple(types)

    def source_name(self) -> str:
        self.take("L")  # internal linkage, in clang's names
        size = int(self.match(r"\d+"))
        name = self.text[self.at : self.at + size]
        if len(name) < size:
            raise Unreadable(self.text)
        self.at += size
        return "(anonymous)" if name.startswith("_GLOBAL__N_") else name

    def name(self, of_function: bool = False) -> tuple[str, str]:
        """Read a possibly nested name and its last template arguments."""
        if not self.take("N"):
            return self._component("", of_function, last=None)
        self.take("K")
        text, arguments = "", ""
        if known := self.substitution():
            text = known.text
        while not self.take("E"):
            text, arguments = self._component(text + "::" if text else "", of_function, last="E")
        return text, arguments

    def _component(self, scope: str, of_function: bool, last: str | None) -> tuple[str, str]:
        text = scope + self.source_name()
        ends = last is None or self.text.startswith(last, self.at)
        templated = self.text.startswith("I", self.at)
        if templated or not (ends and of_function):
            self.substitutions.append(CppType(text))
        if not templated:
            return text, ""
        arguments = self.template_arguments()
        ends = last is None or self.text.startswith(last, self.at)
        if ends and of_function:
            return text, arguments
        self.substitutions.append(CppType(text + arguments))
        return text + arguments, ""

    def template_arguments(self) -> str:
        self.expect("I")
        arguments = []
        while not self.take("E"):
            arguments.append(self.literal() if self.take("L") else self.type().text)
        return f"<{', '.join(arguments)}>"

    def literal(self) -> str:
        kind = self.type().text
        value = self.match(r"n?\d+").replace("n", "-")
        self.expect("E")
        if kind == "bool":
            return "true" if value == "1" else "false"
        return value if kind in _BUILTIN.values() else f"({kind}){value}"

    def substitution(self) -> CppType | None:
        if not self.take("S"):
            return None
        if self.take("t"):
            return CppType("std")
        digits = self.match(r"[0-9A-Z]*")
        self.expect("_")
        index = int(digits, 36) + 1 if digits else 0
        if index >= len(self.substitutions):
            raise Unreadable(self.text)
        return self.substitutions[index]

    def type(self) -> CppType:
        """Read a type; everything but plain built-in types can be referred to later on."""
        if known := self.substitution():
            return known if not self.text.startswith("I", self.at) else self._templated(known)
        if qualifiers := self.match(r"r?V?K?"):
            plain = self.type()
            words = {"K": "const ", "V": "volatile ", "r": ""}
            text = "".join(words[q] for q in reversed(qualifiers)) + plain.text
            if plain.pointee:
                text = plain.text + (" const" if "K" in qualifiers else "")
            return self._remember(CppType(text, plain.pointee, "K" in qualifiers))
        if pointer := self.take(*_POINTERS):
            target = self.type()
            return self._remember(CppType(target.text + _POINTERS[pointer], target))
        if self.take("A"):
            size = self.match(r"\d+")
            self.expect("_")
            element = self.type()
            return self._remember(CppType(f"{element.text}[{size}]", None, element.const))
        if self.take("F"):
            self.take("Y")
            result = self.type()
            inner = ", ".join(t.text for t in self.parameters())
            return self._remember(CppType(f"{result.text} ({inner})"))
        if builtin := self.take(*_BUILTIN):
            return CppType(_BUILTIN[builtin])
        if self.text[self.at : self.at + 1].isdigit() or self.text.startswith("N", self.at):
            text, _ = self.name()
            return CppType(text)
        raise Unreadable(self.text)

    def _templated(self, template: CppType) -> CppType:
        return self._remember(CppType(template.text + self.template_arguments()))

    def _remember(self, made: CppType) -> CppType:
        self.substitutions.append(made)
        return made
