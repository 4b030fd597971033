"""PTX text into typed data: modules, functions, variables, instructions with their source lines.

The grammar is that of NVIDIA's "Parallel Thread Execution ISA" (versions 8.x and 9.x), as far as
compilers emit it. Scopes ``{ }`` are flattened: registers and labels of an inner scope get unique
names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Bits of a register or memory type. Untyped, signed, unsigned and float types share a width.
WIDTH = {f"{kind}{bits}": bits for kind in "bsuf" for bits in (8, 16, 32, 64, 128)}
WIDTH |= {"pred": 1, "f16x2": 32, "bf16x2": 32, "bf16": 16, "tf32": 32, "e4m3x2": 16, "e5m2x2": 16}

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|(?:[\w$%.]|::)+|[^\s\w]')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# these directives end with their line; all others end with a semicolon
_LINE_DIRECTIVE = re.compile(
    r"^([ \t]*\.(?:loc|file|version|target|address_size)\b[^\n;]*)$", re.MULTILINE
)
_STATE_SPACES = ("global", "const", "shared", "local", "param")


class PtxError(ValueError):
    """The text is not PTX that the virtual GPU reads; the message names the place."""


@dataclass(frozen=True)
class Reg:
    """A virtual register, `width` bits wide (1 for a predicate)."""

    name: str
    width: int


@dataclass(frozen=True)
class Imm:
    """A constant: `value` holds the bits of a ``0f``/``0d`` constant, or a plain integer."""

    value: int
    floating: int = 0  # 32 or 64 for 0f.../0d... constants, 0 for integers


@dataclass(frozen=True)
class Sym:
    """The address of a variable, function or parameter, plus bytes."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Special:
    """A special register such as ``%tid.x``."""

    name: str


@dataclass(frozen=True)
class Address:
    """A memory operand ``[base + offset]``, with coordinates for tensor operations."""

    base: "Reg | Sym | Imm"
    offset: int = 0
    coordinates: tuple["Operand", ...] = ()


@dataclass(frozen=True)
class Vec:
    """A brace list ``{a, b, c, d}``."""

    items: tuple["Operand", ...]


@dataclass(frozen=True)
class Not:
    """A negated predicate operand ``!%p1``."""

    operand: Reg


@dataclass(frozen=True)
class Pair:
    """Two destinations ``%r1|%p1``; either may be None for the sink ``_``."""

    first: Reg | None
    second: Reg | None


Operand = Reg | Imm | Sym | Special | Address | Vec | Not | Pair | None


@dataclass(frozen=True)
class Loc:
    """A source line and, if it was inlined, the line of the call."""

    file: int
    line: int
    inlined_at: "Loc | None" = None


@dataclass
class Instruction:
    """One instruction. `mods` are the dotted parts behind the opcode, in order."""

    opcode: str
    mods: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Reg | None = None
    guard_negated: bool = False
    loc: Loc | None = None
    text: str = ""

    @property
    def name(self) -> str:
        """The opcode with all its modifiers, as written."""
        return ".".join((self.opcode, *self.mods))


@dataclass
class Variable:
    """A variable of a module or function: `size` bytes in `space`, perhaps with initial `data`."""

    name: str
    space: str
    align: int
    size: int
    data: bytes | None = None
    # (byte offset in data, symbol, added bytes): addresses that are known only when placed
    relocations: tuple[tuple[int, str, int], ...] = ()
    external: bool = False


@dataclass
class Param:
    """A parameter at a byte `offset` of its function's parameter block."""

    name: str
    type: str
    size: int
    align: int
    offset: int


@dataclass
class Function:
    """A kernel (`is_entry`) or a device function."""

    name: str
    is_entry: bool
    params: list[Param]
    returns: list[Param]
    body: list["Instruction | str"] = field(default_factory=list)  # a str is a label
    variables: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    defined: bool = False

    @property
    def param_bytes(self) -> int:
        """Size of the parameter block in bytes."""
        return max((p.offset + p.size for p in self.params), default=0)


@dataclass
class Module:
    """A parsed PTX module."""

    version: str
    target: str
    functions: dict[str, Function]
    variables: dict[str, Variable]
    files: dict[int, str]


def parse(text: str) -> Module:
    """Parse PTX `text`.

    Raises
    ------
    PtxError
        If a statement is not understood; the message quotes it.
    """
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        text = _COMMENT.sub(" ", text)
        text = text.replace("\0", "").replace(".reg.", ".reg .")
        self.tokens = _TOKEN.findall(_LINE_DIRECTIVE.sub(r"\1;", text))
        self.at = 0
        self.result = Module("", "", {}, {}, {})
        self.scope: list[dict[str, str]] = []  # names of an inner scope -> unique names
        self.registers: dict[str, int] = {}
        self.unique = 0
        self.function: Function | None = None

    # --- tokens

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        if not token:
            raise PtxError("the PTX ends in the middle of a statement")
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            around = " ".join(self.tokens[max(0, self.at - 8) : self.at + 4])
            raise PtxError(f"expected {token!r} but found {self.peek()!r} near: {around}")

    def until(self, end: str) -> list[str]:
        start = self.at
        while self.next() != end:
            pass
        return self.tokens[start : self.at - 1]

    # --- module level

    def module(self) -> Module:
        while self.at < len(self.tokens):
            self.statement()
        return self.result

    def statement(self) -> None:
        token = self.next()
        if token == ";":
            return
        if token in (".version", ".target", ".address_size"):
            words = self.until(";")
            if token == ".version":
                self.result.version = words[0]
            elif token == ".target":
                self.result.target = words[0]
        elif token == ".file":
            words = self.until(";")
            self.result.files[int(words[0])] = words[1].strip('"')
        elif token in (".visible", ".weak", ".extern", ".common"):
            self.linkage(token)
        elif token in (".entry", ".func"):
            self.function_definition(token)
        elif token.startswith(".") and token[1:] in _STATE_SPACES:
            variable = self.variable(token[1:], external=False)
            self.result.variables[variable.name] = variable
        elif token in (".pragma", ".alias"):
            self.until(";")
        elif token == ".section":  # debugging information
            self.until("}")
        else:
            raise PtxError(f"unknown directive {token!r} at module level")

    def linkage(self, first: str) -> None:
        external = first == ".extern"
        token = self.next()
        if token in (".entry", ".func"):
            self.function_definition(token)
        else:
            variable = self.variable(token[1:], external)
            known = self.result.variables.get(variable.name)
            if known is None or known.external:
                self.result.variables[variable.name] = variable

    def variable(self, space: str, external: bool) -> Variable:
        align, kind = 0, ""
        while self.peek().startswith("."):
            word = self.next()[1:]
            if word == "align":
                align = int(self.next(), 0)
            elif word in WIDTH:
                kind = word
            elif word in ("attribute",):
                self.expect("(")
                self.until(")")
        name, count = self.next(), 1
        while self.accept("["):
            size = 0 if self.peek() == "]" else int(self.next(), 0)
            self.expect("]")
            count *= size
        element = WIDTH[kind] // 8
        data, relocations = None, []
        if self.accept("="):
            data, relocations = self.initialiser(element, count * element)
        self.expect(";")
        return Variable(
            name, space, align or element, count * element, data, tuple(relocations), external
        )

    def initialiser(self, element: int, size: int) -> tuple[bytes, list[tuple[int, str, int]]]:
        data, relocations = bytearray(), []

        def item() -> None:
            if self.accept("{"):
                while not self.accept("}"):
                    item()
                    self.accept(",")
                return
            token = self.next()
            if token in ("+", "-") or token[0].isdigit():
                negative = token == "-"
                token = self.next() if token in ("+", "-") else token
                value = -_number(token).value if negative else _number(token).value
                data.extend((value % (1 << 8 * element)).to_bytes(element, "little"))
                return
            if token == "generic":
                self.expect("(")
                token = self.next()
                self.expect(")")
            added = int(self.next(), 0) if self.accept("+") else 0
            relocations.append((len(data), token, added))
            data.extend(bytes(element))

        item()
        return bytes(data).ljust(size, b"\0"), relocations

    # --- functions

    def function_definition(self, kind: str) -> None:
        returns: list[Param] = []
        if self.peek() == "(":
            returns = self.param_list()
        name = self.next()
        params = self.param_list() if self.peek() == "(" else []
        function = Function(name, kind == ".entry", params, returns)
        while self.peek() not in ("{", ";"):
            word = self.next()[1:]
            values = []
            while self.peek()[0].isdigit() or self.peek() == ",":
                token = self.next()
                if token != ",":
                    values.append(int(token, 0))
            function.directives[word] = tuple(values)
        if self.accept(";"):
            self.result.functions.setdefault(name, function)
            return
        function.defined = True
        self.result.functions[name] = function
        self.function, self.registers, self.loc = function, {}, None
        self.expect("{")
        self.block()
        self.function = None

    def param_list(self) -> list[Param]:
        params: list[Param] = []
        offset = 0
        self.expect("(")
        while not self.accept(")"):
            if self.accept(","):
                continue
            align, kind = 0, ""
            while self.peek().startswith("."):
                word = self.next()[1:]
                if word == "align":
                    align = int(self.next(), 0)
                elif word in WIDTH:
                    kind = word
            name, count = self.next(), 1
            if self.accept("["):
                count = 0 if self.peek() == "]" else int(self.next(), 0)
                self.expect("]")
            element = WIDTH[kind] // 8
            # .align behind .ptr speaks of what is pointed at, never of the parameter itself
            align = align if count != 1 and align else element
            offset = -(-offset // align) * align
            params.append(Param(name, kind, count * element, align, offset))
            offset += count * element
        return params

    def block(self) -> None:
        """Parse statements up to the closing brace; names declared here are known only here."""
        self.scope.append({})
        while not self.accept("}"):
            self.body_statement()
        self.scope.pop()

    def rename(self, name: str) -> str:
        for names in reversed(self.scope):
            if name in names:
                return names[name]
        return name

    def declare(self, name: str) -> str:
        unique = name
        if len(self.scope) > 1:
            self.unique += 1
            unique = f"{name}@{self.unique}"
        self.scope[-1][name] = unique
        return unique

    def body_statement(self) -> None:
        token = self.next()
        if token == "{":
            self.declare_labels()
            self.block()
        elif token == ";":
            pass
        elif token == ".loc":
            self.loc = self.location(self.until(";"))
        elif token == ".reg":
            self.register_declaration()
        elif token == ".pragma":
            self.until(";")
        elif token == ".branchtargets" or token == ".calltargets" or token == ".callprototype":
            raise PtxError(f"{token} needs a label before it")
        elif token.startswith(".") and token[1:] in _STATE_SPACES:
            variable = self.variable(token[1:], external=False)
            variable.name = self.declare(variable.name)
            self.function.variables.append(variable)
        elif self.peek() == ":" and not token.startswith("@"):
            self.next()
            self.label(token)
        else:
            self.instruction(token)

    def declare_labels(self) -> None:
        """Give the labels of the scope that starts here unique names before they are used."""
        depth, at, found = 1, self.at, []
        while depth:
            token = self.tokens[at]
            depth += (token == "{") - (token == "}")
            if depth == 1 and self.tokens[at + 1] == ":":
                found.append(token)
            at += 1
        # block() opens a scope of its own: this outer one holds the labels
        names = {}
        for name in found:
            self.unique += 1
            names[name] = f"{name}@{self.unique}"
        self.scope[-1] = self.scope[-1] | names

    def label(self, token: str) -> None:
        name = self.rename(token)
        if self.peek() == ".branchtargets":
            self.next()
            targets = [self.rename(word) for word in self.until(";") if word != ","]
            self.function.branch_targets[name] = tuple(targets)
        elif self.peek() in (".callprototype", ".calltargets"):
            self.until(";")
        else:
            self.function.body.append(name)

    def location(self, words: list[str]) -> Loc | None:
        place = Loc(int(words[0]), int(words[1]))
        if "inlined_at" in words:
            at = words.index("inlined_at")
            outer = Loc(int(words[at + 1]), int(words[at + 2]))
            # the chain beyond one level is not in the directive: the call's own .loc has it
            place = Loc(place.file, place.line, outer)
        return place if place.line else self.loc

    def register_declaration(self) -> None:
        width = WIDTH[self.next()[1:]]
        while not self.accept(";"):
            name = self.next()
            if name == ",":
                continue
            if self.accept("<"):
                count = int(self.next())
                self.expect(">")
                for index in range(count):
                    self.registers[self.declare(f"{name}{index}")] = width
            else:
                self.registers[self.declare(name)] = width

    # --- instructions

    def instruction(self, token: str) -> None:
        start = self.at - 1
        guard, negated = None, False
        if token == "@":
            negated = self.accept("!")
            guard = self.register(self.next())
            token = self.next()
        opcode, *mods = token.split(".")
        operands = tuple(self.operands())
        text = " ".join(self.tokens[start : self.at - 1])
        self.function.body.append(
            Instruction(opcode, tuple(mods), operands, guard, negated, self.loc, _tidy(text))
        )

    def operands(self) -> Iterator[Operand]:
        while not self.accept(";"):
            if self.accept(","):
                continue
            yield self.operand()

    def operand(self) -> Operand:
        token = self.next()
        if token == "{":
            return Vec(tuple(self.list_until("}")))
        if token == "(":
            return Vec(tuple(self.list_until(")")))
        if token == "[":
            return self.address()
        if token == "!":
            return Not(self.register(self.next()))
        first = self.atom(token)
        if self.accept("|"):
            return Pair(first, self.atom(self.next()))
        return first

    def list_until(self, end: str) -> Iterator[Operand]:
        while not self.accept(end):
            if not self.accept(","):
                yield self.operand()

    def address(self) -> Address:
        base, offset, coordinates = self.atom(self.next()), 0, ()
        if self.accept("+"):
            sign = -1 if self.accept("-") else 1
            offset = sign * int(self.next(), 0)
        elif self.accept("-"):
            offset = -int(self.next(), 0)
        while self.accept(","):
            item = self.operand()
            coordinates += item.items if isinstance(item, Vec) else (item,)
        self.expect("]")
        return Address(base, offset, coordinates)

    def atom(self, token: str) -> Operand:
        if token == "_":
            return None
        if token == "-":
            value = _number(self.next())
            return Imm(-value.value, value.floating)
        if token[0].isdigit():
            return _number(token)
        name = self.rename(token)
        if name in self.registers:
            return Reg(name, self.registers[name])
        if token.startswith("%"):
            return Special(token)
        if self.peek() == "+" and self.tokens[self.at + 1][0].isdigit():
            self.next()
            return Sym(name, int(self.next(), 0))
        return Sym(name)

    def register(self, token: str) -> Reg:
        name = self.rename(token)
        if name not in self.registers:
            raise PtxError(f"register {token} is used but not declared")
        return Reg(name, self.registers[name])


def _number(token: str) -> Imm:
    if token[:2] in ("0f", "0F"):
        return Imm(int(token[2:], 16), 32)
    if token[:2] in ("0d", "0D"):
        return Imm(int(token[2:], 16), 64)
    if "." in token:
        raise PtxError(f"constant {token!r}: write floating-point constants as 0f... or 0d...")
    token = token.rstrip("U")
    if len(token) > 1 and token[0] == "0" and token[1].isdigit():
        return Imm(int(token, 8))
    return Imm(int(token, 0))


def _tidy(text: str) -> str:
    """Join tokens back into something that reads like the line it came from."""
    text = re.sub(r"\s+([,;\]\)}|])", r"\1", text)
    return re.sub(r"([\[({!@|])\s+", r"\1", text).replace(" + ", "+").replace(" |", "|")
