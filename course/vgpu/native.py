"""A small typed subset of Python, compiled to LLVM IR: what the hardware is written in.

The scheduler, the memory checks and the counters of the virtual GPU must run at native speed and be
ready at once, also the first time on a machine. Written in this subset they read like Python and
compile in a fraction of a second. A function is marked ``@native`` and annotated with the types
below; its body may use integers, floats, pointers, structures, ``if``, ``while``, ``for ... in
range``, ``break``, ``continue``, ``return``, conditional expressions and calls of other natives.
Nothing is converted silently: ``u64(x)`` converts, and mixing types is an error.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np


class NativeError(TypeError):
    """A native function uses something outside the subset, or mixes types."""


@dataclass(frozen=True)
class Type:
    """A machine type; calling it inside a native function converts to it."""

    name: str  # as in this language
    llvm: str
    bits: int
    kind: str  # "int", "float", "bool", "ptr", "void"
    signed: bool = False
    to: Any = None  # what a pointer points at

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return -(-self.bits // 8)

    def __call__(self, value: Any) -> Any:
        """Refuse: a conversion has a meaning in native code alone."""
        raise NativeError(f"{self.name}(...) converts inside a native function only")


i8, i16, i32, i64 = (Type(f"i{b}", f"i{b}", b, "int", True) for b in (8, 16, 32, 64))
u8, u16, u32, u64 = (Type(f"u{b}", f"i{b}", b, "int", False) for b in (8, 16, 32, 64))
f16, f32, f64 = (
    Type(n, t, b, "float")
    for n, t, b in (("f16", "half", 16), ("f32", "float", 32), ("f64", "double", 64))
)
boolean = Type("boolean", "i1", 1, "bool")
void = Type("void", "void", 0, "void")


def ptr(to: Any) -> Type:
    """Return the type of a pointer to `to` (a Type or a Struct)."""
    return Type(
        f"ptr({getattr(to, 'name', to.__name__ if isinstance(to, type) else to)})",
        "ptr",
        64,
        "ptr",
        to=to,
    )


@dataclass(frozen=True)
class Function:
    """The type of a pointer to a native function."""

    returns: Type
    args: tuple[Type, ...]
    llvm: str = "ptr"
    bits: int = 64
    bytes: int = 8
    kind: str = "function"


@dataclass(frozen=True)
class Array:
    """A fixed number of elements inside a Struct."""

    element: Any
    count: int


class Struct:
    """Base of structures: annotations are the fields, laid out as C would."""

    fields: dict[str, tuple[Any, int]]
    size: int
    dtype: np.dtype

    def __init_subclass__(cls) -> None:
        cls.fields, offset, largest = {}, 0, 1
        names, formats, offsets = [], [], []
        for name, kind in inspect.get_annotations(cls).items():
            element, count = (kind.element, kind.count) if isinstance(kind, Array) else (kind, 1)
            align = element.bytes
            largest = max(largest, align)
            offset = -(-offset // align) * align
            cls.fields[name] = (kind, offset)
            names.append(name)
            code = {"float": "f", "int": "i" if getattr(element, "signed", False) else "u"}
            base = np.dtype(f"{code.get(element.kind, 'u')}{element.bytes}")
            formats.append((base, (count,)) if isinstance(kind, Array) else base)
            offsets.append(offset)
            offset += element.bytes * count
        cls.size = -(-offset // largest) * largest
        cls.dtype = np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": cls.size}
        )


NATIVES: dict[str, "Native"] = {}


@dataclass
class Native:
    """A function of this language; `ir()` is its LLVM text."""

    python: Callable
    name: str
    returns: Type
    args: dict[str, Type]
    internal: bool
    text: str = field(default="", repr=False)

    def ir(self) -> str:
        """Return the function's LLVM text."""
        if not self.text:
            self.text = _Compiler(self).compile()
        return self.text

    def stub(self) -> str:
        """Return LLVM text of a function that does nothing."""
        arguments = ", ".join(t.llvm for t in self.args.values())
        return f"define internal void @{self.name}({arguments}) {{\n  ret void\n}}\n"

    def __call__(self, *args: Any) -> Any:
        """Refuse: native code is called by native code."""
        raise NativeError(f"{self.name} is native code: call it from native code")


def native(function: Callable) -> Native:
    """Mark `function` as native; it is compiled when the runtime is built."""
    hints = inspect.get_annotations(function, eval_str=True)
    returns = hints.pop("return", None) or void
    module = function.__module__.rpartition(".")[2]
    name = function.__name__
    private = name.startswith("_")
    made = Native(function, f"{module}.{name}", returns, hints, private)
    if made.name in NATIVES:
        raise NativeError(f"two native functions are called {made.name}")
    NATIVES[made.name] = made
    return made


def module_ir(roots: Iterable[str], stubbed: str = "") -> str:
    """Return the LLVM text of the native functions `roots` and of all that they call.

    Functions of the Python module `stubbed` do nothing; none of those returns a value.
    """
    wanted, texts = list(roots), {}
    while wanted:
        name = wanted.pop()
        if name in texts:
            continue
        made = NATIVES[name]
        stub = stubbed and name.startswith(stubbed + ".")
        texts[name] = made.stub() if stub else made.ir()
        wanted += [called for called in _CALLED.findall(texts[name]) if called in NATIVES]
    return "\n".join([*_INTRINSICS.values(), *(texts[name] for name in sorted(texts))])


_CALLED = re.compile(r"@([\w.]+)\(")


# --- intrinsics: name -> (llvm declaration); they take and return the type of their argument

_INTRINSICS = {
    f"{name}.i{bits}": f"declare i{bits} @llvm.{name}.i{bits}({args.replace('T', f'i{bits}')})"
    for bits in (32, 64)
    for name, args in (("cttz", "T, i1"), ("ctlz", "T, i1"), ("ctpop", "T"))
}


@dataclass(frozen=True)
class _Value:
    type: Any  # Type, or None for an integer literal that takes its neighbour's type
    text: str


_INT_OPS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.LShift: "shl",
}  # fmt: skip
_FLOAT_OPS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_COMPARE = {
    ast.Eq: ("eq", "eq", "oeq"), ast.NotEq: ("ne", "ne", "une"), ast.Lt: ("slt", "ult", "olt"),
    ast.LtE: ("sle", "ule", "ole"), ast.Gt: ("sgt", "ugt", "ogt"), ast.GtE: ("sge", "uge", "oge"),
}  # fmt: skip


class _Compiler:
    """Compiles one native function. Locals live in allocas; LLVM turns them into registers."""

    def __init__(self, function: Native) -> None:
        self.function = function
        source = textwrap.dedent(inspect.getsource(function.python))
        self.tree = ast.parse(source).body[0]
        self.names = function.python.__globals__
        self.lines: list[str] = []
        self.allocas: list[str] = []
        self.locals: dict[str, Type] = {}
        self.loops: list[tuple[str, str]] = []  # where continue and break go
        self.broken: set[str] = set()  # loops that a break leaves
        self.counter = 0
        self.terminated = False
        self.expected: Any = None  # type of the place a value goes to, for literals

    def compile(self) -> str:
        f = self.function
        arguments = ", ".join(f"{t.llvm} %arg.{n}" for n, t in f.args.items())
        for name, kind in f.args.items():
            self.declare(name, kind)
            self.emit(f"store {kind.llvm} %arg.{name}, ptr %l.{name}")
        self.block(self.tree.body)
        if not self.terminated:
            if f.returns is not void:
                self.fail(self.tree, "the function may end without a value")
            self.emit("ret void")
        linkage = "internal " if f.internal else ""
        body = "\n".join(["entry:", *self.allocas, *self.lines])
        return f"define {linkage}{f.returns.llvm} @{f.name}({arguments}) {{\n{body}\n}}\n"

    # --- helpers

    def fail(self, node: ast.AST, what: str) -> None:
        raise NativeError(
            f"{self.function.name}, line {getattr(node, 'lineno', '?')}: {what}: "
            f"{ast.unparse(node)[:120]}"
        )

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def fresh(self, line: str) -> str:
        self.counter += 1
        self.emit(f"%t{self.counter} = {line}")
        return f"%t{self.counter}"

    def label(self, name: str) -> None:
        if not self.terminated:
            self.emit(f"br label %{name}")
        self.lines.append(f"{name}:")
        self.terminated = False

    def new_labels(self, *stems: str) -> list[str]:
        self.counter += 1
        return [f"{stem}.{self.counter}" for stem in stems]

    def declare(self, name: str, kind: Type) -> None:
        self.locals[name] = kind
        self.allocas.append(f"  %l.{name} = alloca {kind.llvm}")

    def typed(self, node: ast.AST, value: _Value, kind: Any) -> str:
        """Return the text of `value` as `kind`; only literals adapt."""
        if value.type is None:
            if kind.kind == "float":
                return _float_text(float(value.text), kind)
            if kind.kind == "ptr" and value.text == "0":
                return "null"
            return value.text
        same = value.type == kind or (value.type.kind == kind.kind == "ptr")
        if not same:
            self.fail(node, f"expected {kind.name}, got {value.type.name}")
        return value.text

    def unify(self, node: ast.AST, a: _Value, b: _Value) -> tuple[Any, str, str]:
        kind = a.type or b.type or self.expected or i32
        return kind, self.typed(node, a, kind), self.typed(node, b, kind)

    # --- statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.terminated:
                self.fail(statement, "this statement can never run")
            getattr(self, "do_" + type(statement).__name__, self.unknown)(statement)

    def unknown(self, node: ast.AST) -> Any:
        self.fail(node, f"{type(node).__name__} is outside the native subset")

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            self.unknown(node)
        target = node.targets[0]
        known = self.locals.get(target.id) if isinstance(target, ast.Name) else None
        if isinstance(target, ast.Attribute | ast.Subscript):
            known = self.place_type(target)
        self.assign(node, target, self.value(node.value, known))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        kind = self.constant(node.annotation)
        if node.target.id not in self.locals:
            self.declare(node.target.id, kind)
        value = self.value(node.value, kind) if node.value else _Value(None, "0")
        self.assign(node, node.target, value)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        value = self.value(ast.BinOp(node.target, node.op, node.value, lineno=node.lineno))
        self.assign(node, node.target, value)

    def assign(self, node: ast.AST, target: ast.expr, value: _Value) -> None:
        if isinstance(target, ast.Name):
            if target.id not in self.locals:
                self.declare(target.id, value.type or i32)
            kind = self.locals[target.id]
            self.emit(f"store {kind.llvm} {self.typed(node, value, kind)}, ptr %l.{target.id}")
        else:
            kind, place = self.place(target)
            text = self.typed(node, value, kind)
            self.emit(f"store {kind.llvm} {text}, ptr {place}, align {min(kind.bytes, 8)}")

    def do_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.emit("ret void")
        else:
            kind = self.function.returns
            self.emit(f"ret {kind.llvm} {self.typed(node, self.value(node.value, kind), kind)}")
        self.terminated = True

    def do_If(self, node: ast.If) -> None:
        then, other, end = self.new_labels("then", "else", "endif")
        condition = self.condition(node.test)
        self.emit(f"br i1 {condition}, label %{then}, label %{other if node.orelse else end}")
        self.terminated = True
        self.label(then)
        self.block(node.body)
        ends = self.terminated
        if not ends:
            self.emit(f"br label %{end}")
            self.terminated = True
        if node.orelse:
            self.label(other)
            self.block(node.orelse)
            if ends and self.terminated:
                return
        elif ends:
            self.terminated = True
        if node.orelse and not self.terminated:
            self.emit(f"br label %{end}")
        self.terminated = True
        self.label(end)

    def do_While(self, node: ast.While) -> None:
        test, body, end = self.new_labels("while", "body", "endwhile")
        self.label(test)
        condition = self.condition(node.test)
        self.emit(f"br i1 {condition}, label %{body}, label %{end}")
        self.terminated = True
        self.loop(node.body, body, test, end)
        if isinstance(node.test, ast.Constant) and end not in self.broken:
            self.emit("unreachable")
            self.terminated = True

    def do_For(self, node: ast.For) -> None:
        if not (isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"):
            self.unknown(node)
        bounds = [self.value(a) for a in node.iter.args]
        first, last = (_Value(None, "0"), bounds[0]) if len(bounds) == 1 else bounds[:2]
        kind, start, stop = self.unify(node, first, last)
        step = self.typed(node, bounds[2], kind) if len(bounds) == 3 else "1"
        if node.target.id not in self.locals:
            self.declare(node.target.id, kind)
        test, body, after, end = self.new_labels("for", "body", "next", "endfor")
        self.emit(f"store {kind.llvm} {start}, ptr %l.{node.target.id}")
        self.label(test)
        at = self.fresh(f"load {kind.llvm}, ptr %l.{node.target.id}")
        less = self.fresh(f"icmp {'s' if kind.signed else 'u'}lt {kind.llvm} {at}, {stop}")
        self.emit(f"br i1 {less}, label %{body}, label %{end}")
        self.terminated = True
        self.loop(node.body, body, after, None)
        self.label(after)
        at = self.fresh(f"load {kind.llvm}, ptr %l.{node.target.id}")
        more = self.fresh(f"add {kind.llvm} {at}, {step}")
        self.emit(f"store {kind.llvm} {more}, ptr %l.{node.target.id}")
        self.emit(f"br label %{test}")
        self.terminated = True
        self.lines = [line.replace(f"%{body}.end", f"%{end}") for line in self.lines]
        self.label(end)

    def loop(self, statements: list, body: str, again: str, end: str | None) -> None:
        self.loops.append((again, end or f"{body}.end"))
        self.label(body)
        self.block(statements)
        if not self.terminated:
            self.emit(f"br label %{again}")
            self.terminated = True
        self.loops.pop()
        if end:
            self.label(end)

    def do_Break(self, node: ast.Break) -> None:
        self.emit(f"br label %{self.loops[-1][1]}")
        self.broken.add(self.loops[-1][1])
        self.terminated = True

    def do_Continue(self, node: ast.Continue) -> None:
        self.emit(f"br label %{self.loops[-1][0]}")
        self.terminated = True

    # --- expressions

    def condition(self, node: ast.expr) -> str:
        value = self.value(node)
        if value.type is not boolean:
            if value.type is None:
                return "true" if value.text != "0" else "false"
            self.fail(node, "a condition must compare something")
        return value.text

    def constant(self, node: ast.expr) -> Any:
        """Evaluate what is known when compiling: a name of the module, or a type expression."""
        return eval(compile(ast.Expression(node), "<native>", "eval"), dict(self.names))

    def value(self, node: ast.expr, expected: Any = None) -> _Value:
        before, self.expected = self.expected, expected or self.expected
        result = getattr(self, "get_" + type(node).__name__, self.unknown)(node)
        self.expected = before
        return result

    def get_Constant(self, node: ast.Constant) -> _Value:
        if isinstance(node.value, bool):
            return _Value(boolean, "true" if node.value else "false")
        if isinstance(node.value, float):
            return _Value(f64, _float_text(node.value, f64))
        return _Value(None, str(node.value))

    def get_Name(self, node: ast.Name) -> _Value:
        if node.id in self.locals:
            kind = self.locals[node.id]
            return _Value(kind, self.fresh(f"load {kind.llvm}, ptr %l.{node.id}"))
        return self.known(node, self.names.get(node.id))

    def known(self, node: ast.expr, value: Any) -> _Value:
        """Return a name of a module: another native function or a number."""
        if isinstance(value, Native):
            return _Value(Function(value.returns, tuple(value.args.values())), f"@{value.name}")
        if isinstance(value, int):
            return _Value(None, str(int(value)))
        return self.fail(node, "unknown name")

    def get_UnaryOp(self, node: ast.UnaryOp) -> _Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return _Value(boolean, self.fresh(f"xor i1 {self.condition(node.operand)}, true"))
        if value.type is None and isinstance(node.op, ast.USub):
            return _Value(None, str(-int(value.text)))
        kind = value.type
        if isinstance(node.op, ast.USub):
            if kind.kind == "float":
                return _Value(kind, self.fresh(f"fneg {kind.llvm} {value.text}"))
            return _Value(kind, self.fresh(f"sub {kind.llvm} 0, {value.text}"))
        if isinstance(node.op, ast.Invert):
            return _Value(kind, self.fresh(f"xor {kind.llvm} {value.text}, -1"))
        return self.unknown(node)

    def get_BinOp(self, node: ast.BinOp) -> _Value:
        left, right = self.value(node.left), self.value(node.right)
        if left.type is None and right.type is None:
            return _Value(None, str(eval(f"({left.text}) {_SYMBOL[type(node.op)]} ({right.text})")))
        if left.type is not None and left.type.kind == "ptr":
            return self.pointer_arithmetic(node, left, right)
        kind, a, b = self.unify(node, left, right)
        if kind.kind == "float":
            return _Value(kind, self.fresh(f"{_FLOAT_OPS[type(node.op)]} {kind.llvm} {a}, {b}"))
        if isinstance(node.op, ast.RShift):
            name = "ashr" if kind.signed else "lshr"
        elif isinstance(node.op, ast.FloorDiv | ast.Mod):
            # as C divides: towards zero
            name = ("s" if kind.signed else "u") + (
                "div" if isinstance(node.op, ast.FloorDiv) else "rem"
            )
        else:
            name = _INT_OPS.get(type(node.op)) or self.unknown(node)
        return _Value(kind, self.fresh(f"{name} {kind.llvm} {a}, {b}"))

    def pointer_arithmetic(self, node: ast.BinOp, left: _Value, right: _Value) -> _Value:
        size = left.type.to.size if _is_struct(left.type.to) else left.type.to.bytes
        if right.type is None:
            offset = str(int(right.text) * size)
        else:
            wide = self.convert(node, right, u64 if not right.type.signed else i64).text
            offset = self.fresh(f"mul i64 {wide}, {size}")
        if isinstance(node.op, ast.Sub):
            offset = self.fresh(f"sub i64 0, {offset}")
        elif not isinstance(node.op, ast.Add):
            self.unknown(node)
        return _Value(left.type, self.fresh(f"getelementptr i8, ptr {left.text}, i64 {offset}"))

    def get_Compare(self, node: ast.Compare) -> _Value:
        if len(node.ops) != 1:
            self.unknown(node)
        kind, a, b = self.unify(node, self.value(node.left), self.value(node.comparators[0]))
        signed, unsigned, floating = _COMPARE[type(node.ops[0])]
        if kind.kind == "float":
            return _Value(boolean, self.fresh(f"fcmp {floating} {kind.llvm} {a}, {b}"))
        name = signed if getattr(kind, "signed", False) else unsigned
        return _Value(boolean, self.fresh(f"icmp {name} {kind.llvm} {a}, {b}"))

    def get_BoolOp(self, node: ast.BoolOp) -> _Value:
        self.counter += 1
        slot = f"bool.{self.counter}"
        self.declare(slot, boolean)
        (end,) = self.new_labels("endbool")
        is_and = isinstance(node.op, ast.And)
        for index, item in enumerate(node.values):
            value = self.condition(item)
            self.emit(f"store i1 {value}, ptr %l.{slot}")
            if index < len(node.values) - 1:
                (more,) = self.new_labels("more")
                yes, no = (more, end) if is_and else (end, more)
                self.emit(f"br i1 {value}, label %{yes}, label %{no}")
                self.terminated = True
                self.label(more)
        self.label(end)
        return _Value(boolean, self.fresh(f"load i1, ptr %l.{slot}"))

    def get_IfExp(self, node: ast.IfExp) -> _Value:
        condition = self.condition(node.test)
        kind, a, b = self.unify(node, self.value(node.body), self.value(node.orelse))
        return _Value(kind, self.fresh(f"select i1 {condition}, {kind.llvm} {a}, {kind.llvm} {b}"))

    def place_type(self, node: ast.expr) -> Any:
        """Return the type of a place without keeping the code that computes it."""
        length, counter = len(self.lines), self.counter
        kind, _ = self.place(node)
        del self.lines[length:]
        self.counter = counter
        return kind

    def place(self, node: ast.expr) -> tuple[Any, str]:
        """Return type and address of what an attribute or subscript names."""
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            struct = base.type.to
            if not _is_struct(struct) or node.attr not in struct.fields:
                self.fail(node, "no such field")
            kind, offset = struct.fields[node.attr]
            return kind, self.fresh(f"getelementptr i8, ptr {base.text}, i64 {offset}")
        if isinstance(node, ast.Subscript):
            base = self.value(node.value)
            item = self.pointer_arithmetic(
                ast.BinOp(node.value, ast.Add(), node.slice), base, self.value(node.slice)
            )
            return base.type.to, item.text
        return self.unknown(node)

    def get_Attribute(self, node: ast.Attribute) -> _Value:
        owner = self.names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(owner, ModuleType) or _is_struct(owner):
            return self.known(node, getattr(owner, node.attr, None))
        kind, place = self.place(node)
        if isinstance(kind, Array):
            return _Value(ptr(kind.element), place)
        return _Value(kind, self.fresh(f"load {kind.llvm}, ptr {place}"))

    def get_Subscript(self, node: ast.Subscript) -> _Value:
        kind, place = self.place(node)
        if _is_struct(kind):
            return _Value(ptr(kind), place)
        align = kind.bytes if kind.bytes < 8 else 8
        return _Value(kind, self.fresh(f"load {kind.llvm}, ptr {place}, align {align}"))

    def get_Call(self, node: ast.Call) -> _Value:
        if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
            return getattr(self, "call_" + node.func.id)(node)
        kind = self.type_named(node.func)
        if kind is not None:
            return self.convert(node, self.value(node.args[0]), kind)
        target = self.value(node.func)
        if not isinstance(target.type, Function):
            self.fail(node, "not a function")
        args = [
            f"{kind.llvm} {self.typed(a, self.value(a, kind), kind)}"
            for a, kind in zip(node.args, target.type.args, strict=True)
        ]
        call = f"call {target.type.returns.llvm} {target.text}({', '.join(args)})"
        if target.type.returns is void:
            self.emit(call)
            return _Value(void, "")
        return _Value(target.type.returns, self.fresh(call))

    def type_named(self, node: ast.expr) -> Any:
        """Return the type that `node` names (``u32``, ``ptr(u8)``, a Function), or None."""
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ptr":
            return self.constant(node)
        known = self.names.get(node.id) if isinstance(node, ast.Name) else None
        return known if isinstance(known, Type | Function) else None

    def convert(self, node: ast.AST, value: _Value, kind: Any) -> _Value:
        if value.type is None:
            return _Value(kind, self.typed(node, value, kind))
        source, text = value.type, value.text
        pair = (source.kind, kind.kind)
        if source == kind or (pair == ("int", "int") and source.bits == kind.bits):
            return _Value(kind, text)
        if pair in (("ptr", "ptr"), ("ptr", "function"), ("function", "ptr")):
            return _Value(kind, text)
        if pair in (("int", "int"), ("bool", "int")):
            widen = "sext" if source.kind == "int" and source.signed else "zext"
            name = widen if kind.bits > source.bits else "trunc"
        elif pair == ("ptr", "int"):
            name = "ptrtoint"
        elif pair in (("int", "ptr"), ("int", "function")):
            name = "inttoptr"
        elif pair == ("int", "float"):
            name = "sitofp" if source.signed else "uitofp"
        elif pair == ("float", "int"):
            name = "fptosi" if kind.signed else "fptoui"
        elif pair == ("float", "float"):
            name = "fpext" if kind.bits > source.bits else "fptrunc"
        else:
            self.fail(node, f"no conversion from {source} to {kind}")
        return _Value(kind, self.fresh(f"{name} {source.llvm} {text} to {kind.llvm}"))

    # --- builtins

    def unary_intrinsic(self, node: ast.Call, name: str, extra: str = "") -> _Value:
        value = self.value(node.args[0])
        kind = value.type
        return _Value(
            kind,
            self.fresh(
                f"call {kind.llvm} @llvm.{name}.i{kind.bits}({kind.llvm} {value.text}{extra})"
            ),
        )

    def call_ctz(self, node: ast.Call) -> _Value:
        return self.unary_intrinsic(node, "cttz", ", i1 false")

    def call_clz(self, node: ast.Call) -> _Value:
        return self.unary_intrinsic(node, "ctlz", ", i1 false")

    def call_popcount(self, node: ast.Call) -> _Value:
        return self.unary_intrinsic(node, "ctpop")

    def call_reinterpret(self, node: ast.Call) -> _Value:
        """``reinterpret(f32, bits)``: the same bits as another type."""
        kind, value = self.constant(node.args[0]), self.value(node.args[1])
        return _Value(kind, self.fresh(f"bitcast {value.type.llvm} {value.text} to {kind.llvm}"))

    def call_atomic_add(self, node: ast.Call) -> _Value:
        """``atomic_add(pointer, value)``: add and return what was there."""
        pointer, value = self.value(node.args[0]), self.value(node.args[1])
        kind = pointer.type.to
        text = self.typed(node, value, kind)
        return _Value(
            kind, self.fresh(f"atomicrmw add ptr {pointer.text}, {kind.llvm} {text} seq_cst")
        )

    def call_compare_exchange(self, node: ast.Call) -> _Value:
        """``compare_exchange(pointer, expected, new)``: return what was there."""
        pointer, expected, new = (self.value(a) for a in node.args)
        kind = pointer.type.to
        a, b = self.typed(node, expected, kind), self.typed(node, new, kind)
        pair = self.fresh(
            f"cmpxchg ptr {pointer.text}, {kind.llvm} {a}, {kind.llvm} {b} seq_cst seq_cst"
        )
        return _Value(kind, self.fresh(f"extractvalue {{ {kind.llvm}, i1 }} {pair}, 0"))


_BUILTINS = {"ctz", "clz", "popcount", "reinterpret", "atomic_add", "compare_exchange"}
_SYMBOL = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitOr: "|", ast.BitAnd: "&", ast.FloorDiv: "//",
}  # fmt: skip


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _float_text(value: float, kind: Type) -> str:
    if kind.bits == 32:
        value = float(np.float32(value))
    return f"0x{int(np.float64(value).view(np.uint64)):016X}"


def _only_native(*args: Any) -> Any:
    """Stand for a builtin of native code, so that editors and linters know the name."""
    raise NativeError("this is a builtin of native code")


ctz = clz = popcount = reinterpret = atomic_add = compare_exchange = _only_native
