"""Operands of instructions as values: registers, constants, addresses, special registers."""

from collections.abc import Callable

from . import records
from .cfg import Block, Unsupported
from .emit import BITS, FLOAT_OF, Text, Val, immediate, literal, register_type
from .layout import Layout
from .ptx import WIDTH, Imm, Instruction, Not, Operand, Param, Reg, Special, Sym, Vec
from .records import LANES, Cta, Launch, Warp
from .undefined import Poison, by_byte, moved, ones, united

#: Form and stride of a register's value; a register that nobody has written is uniform.
Form = tuple[str, int]
UNIFORM, VARYING = ("u", 0), ("v", 0)


def llvm_type(kind: str) -> str:
    """Return the LLVM type that PTX type `kind` computes in."""
    if kind == "pred":
        return "pred"
    if kind in ("f16", "f32", "f64"):
        return FLOAT_OF[int(kind[1:])]
    return f"i{WIDTH[kind]}"


class Operands(Text):
    """Reads and writes what the instructions of one block name.

    Attributes
    ----------
    kinds : dict
        Fast version: the form of each register, over all of its writes.
    poisonous : dict
        Masked version: registers that may hold undefined values, and how many masks of lanes tell
        which: one, or one for each byte.
    poison : Poison
        What is undefined of the operands that the current instruction has read.
    """

    def __init__(self, layout: Layout, fast: bool, tid_is_affine: bool, library: str) -> None:
        super().__init__()
        self.layout, self.graph, self.fast = layout, layout.graph, fast
        self.tid_is_affine, self.library = tid_is_affine, library
        self.kinds: dict[Reg, Form] = {}
        self.poisonous: dict[Reg, int] = {}
        self.hoisted: dict[str, list[str]] = {}
        self.start_block(self.graph.blocks[0])

    def start_block(self, block: Block) -> None:
        """Forget what is known of registers: another block begins."""
        self.block, self.item = block, Instruction("", (), ())
        self.values: dict[Reg, Val] = {}
        self.written: set[Reg] = set()
        self.assumed: set[tuple[Reg, Form | int]] = set()
        self.poison: Poison = ()
        self.start_piece(f"b{block.index}.")

    def form(self, register: Reg) -> Form | int:
        """Return what the text of a block may depend on: a register's form, or its poison."""
        return self.kinds.get(register, UNIFORM) if self.fast else self.poisonous.get(register, 0)

    def assume(self, register: Reg) -> Form | int:
        """Return `form(register)`; should it change, the block is lowered again."""
        form = self.form(register)
        self.assumed.add((register, form))
        return form

    # --- errors

    def unsupported(self, what: str) -> Unsupported:
        """Return the error that `what` of the current instruction is not run."""
        loc = self.item.loc
        line = f", source line {loc.line}" if loc else ""
        return Unsupported(
            f"the virtual GPU does not run {what}: {self.item.name!r} in kernel "
            f"{self.graph.name}{line} ({self.item.text})"
        )

    def need(self, condition: bool, what: str) -> None:
        """Refuse the current instruction unless `condition` holds."""
        if not condition:
            raise self.unsupported(what)

    # --- fields of records

    def at(self, offset: int, base: str = "%w") -> str:
        """Return the address `offset` bytes behind pointer `base`."""
        if not offset:
            return base
        return self.fresh(f"getelementptr i8, ptr {base}, i64 {offset}")

    def field_address(self, name: str, extra: int = 0) -> str:
        """Return the address of a field of the warp's record."""
        return self.at(Warp.fields[name][1] + extra)

    def load_field(self, name: str, kind: str = "i32", extra: int = 0) -> str:
        """Load a field of the warp's record."""
        return self.fresh(f"load {kind}, ptr {self.field_address(name, extra)}")

    def store_field(self, name: str, text: str, kind: str = "i32", extra: int = 0) -> None:
        """Store a field of the warp's record."""
        self.emit(f"store {kind} {text}, ptr {self.field_address(name, extra)}")

    def once(self, name: str, *lines: str) -> str:
        """Return value `name`, computed by `lines` when the function is entered."""
        self.hoisted.setdefault(name, [f"  {line}" for line in lines])
        return f"%{name}"

    def fixed_field(self, record: type, name: str, kind: str, extra: int = 0) -> str:
        """Load a field that does not change while a warp runs."""
        base = {Warp: "%w", Launch: "%launch", Cta: "%cta"}[record]
        if record is not Warp:
            self.fixed_field(Warp, base[1:], "ptr")
        key = base[1:] if record is Warp and name == base[1:] else f"{base[1:]}.{name}.{kind}"
        key = (
            name
            if record is Warp and name in ("launch", "cta")
            else key + f".{extra}" * (extra > 0)
        )
        offset = record.fields[name][1] + extra
        return self.once(
            key, f"%{key}.at = getelementptr i8, ptr {base}, i64 {offset}",
            f"%{key} = load {kind}, ptr %{key}.at",
        )  # fmt: skip

    def launch_field(self, name: str, kind: str = "i32", extra: int = 0) -> Val:
        """Return a field that all blocks of a launch share."""
        return Val("u", kind, self.fixed_field(Launch, name, kind, extra))

    def cta_field(self, name: str, kind: str = "i32", extra: int = 0) -> Val:
        """Return a field of the block's record."""
        return Val("u", kind, self.fixed_field(Cta, name, kind, extra))

    # --- reading

    def read_register(self, register: Reg) -> Val:
        """Return a register's value and add its poison to the instruction's."""
        value = self.values.get(register)
        if value is None:
            value = self.values[register] = self.load_register(register)
        if value.poison:
            self.poison = united((self.poison, value.poison))
        return value

    def load_register(self, register: Reg) -> Val:
        """Load a register that an earlier block has written."""
        kind = register_type(register)
        if register not in self.layout.slots:
            # never written before it is read: PTX leaves the value undefined, take zero
            return Val("u", kind, "false" if kind == "pred" else "0")
        known = self.assume(register)
        form, stride = known if self.fast else VARYING
        if form != "v":
            scalar = "i1" if kind == "pred" else kind
            place = self.at(self.layout.scalars[register])
            return Val(form, kind, self.fresh(f"load {scalar}, ptr {place}"), stride)
        place = self.at(self.layout.slots[register])
        shape = "i32" if kind == "pred" else f"<{LANES} x {kind}>"
        align = 4 if kind == "pred" else 32
        text = self.fresh(f"load {shape}, ptr {place}, align {align}")
        poison = None if self.fast else self.load_poison(register, known)
        return Val("v", kind, text, poison=poison)

    def load_poison(self, register: Reg, parts: int) -> Poison:
        """Load what is undefined of a register: nothing, all or none of it, or byte by byte."""
        start = self.layout.poisons[register]
        masks = [self.fresh(f"load i32, ptr {self.at(start + 4 * n)}") for n in range(parts)]
        if parts == 1:
            return ((masks[0], ones(register.width)),)
        return tuple((mask, 255 << 8 * n) for n, mask in enumerate(masks))

    def source(self, operand: Operand, kind: str, wider: bool = False) -> Val:
        """Return `operand` as a value of PTX type `kind`.

        A register must have the type's width; `wider` ones may hold it in their low bits.
        """
        wanted = llvm_type(kind)
        if isinstance(operand, Not):
            return self.invert(self.source(operand.operand, kind))
        if isinstance(operand, Imm):
            return self.constant(operand, wanted)
        if isinstance(operand, Special):
            return self.fit(self.special(operand.name), wanted)
        if isinstance(operand, Sym):
            return self.fit(self.symbol_address(operand), wanted)
        if isinstance(operand, Vec):
            value = self.packed(operand)
            self.need(value.type == f"i{WIDTH[kind]}", f"a vector of this size as a .{kind}")
            return self.retype(value, wanted)
        self.need(isinstance(operand, Reg), "these operands")
        fits = operand.width >= BITS[wanted] if wider else operand.width == _width(wanted)
        self.need(fits, f"a {operand.width}-bit register as a .{kind}")
        return self.fit(self.read_register(operand), wanted)

    def constant(self, operand: Imm, wanted: str) -> Val:
        """Return a constant operand as LLVM type `wanted`."""
        if wanted == "pred":
            return Val("u", "pred", "true" if operand.value else "false")
        self.need(
            not operand.floating or operand.floating >= BITS[wanted] > 16,
            f"a {operand.floating}-bit floating-point constant here",
        )
        return immediate(operand, wanted)

    def fit(self, value: Val, wanted: str) -> Val:
        """Return the low bits of `value` (or zeros above it) as LLVM type `wanted`."""
        if value.type == wanted:
            return value
        self.need("pred" not in (value.type, wanted), "a predicate as a number")
        width = BITS[wanted]
        if value.type.startswith("i") and BITS[value.type] > width:
            value = self.narrow(value, f"i{width}")
        elif value.type.startswith("i") and BITS[value.type] < width:
            value = self.widen(value, f"i{width}", signed=False)
        return self.retype(value, wanted)

    def packed(self, operand: Vec) -> Val:
        """Return ``{low, ..., high}`` as one integer."""
        parts = [self.read_register(r) if isinstance(r, Reg) else r for r in operand.items]
        widths = {BITS[p.type] for p in parts if isinstance(p, Val) and p.type in BITS}
        self.need(len(widths) == 1, "a vector of these operands")
        width = widths.pop()
        parts = [p if isinstance(p, Val) else self.constant(p, f"i{width}") for p in parts]
        total = f"i{width * len(parts)}"
        result = self.widen_plain(parts[0], total)
        for index, part in enumerate(parts[1:], 1):
            wide, place = self.widen_plain(part, total), literal(total, width * index)
            shifted = self.map("shl {T} {0}, {1}", wide, place, out=total)
            result = self.map("or {T} {0}, {1}", result, shifted, out=total)
        return result._replace(
            poison=united(moved(part.poison, width * n) for n, part in enumerate(parts))
        )

    def widen_plain(self, value: Val, kind: str) -> Val:
        """Zero-extend, giving up an affine form."""
        return self.widen(value, kind, signed=False)

    def symbol_address(self, symbol: Sym) -> Val:
        """Return the address of a variable in its own state space, or the constant ``WARP_SZ``."""
        layout = self.layout
        if symbol.name == "WARP_SZ":
            return literal("i64", LANES)
        for places in (layout.shared, layout.local):
            if symbol.name in places:
                return literal("i64", places[symbol.name] + symbol.offset)
        if symbol.name in layout.symbols:
            place = self.at(
                8 * layout.symbols[symbol.name], self.launch_field("symbols", "ptr").text
            )
            base = Val("u", "i64", self.fresh(f"load i64, ptr {place}"))
            return self.add(base, literal("i64", symbol.offset)) if symbol.offset else base
        param = self.param(symbol.name)
        if param is not None:
            base = self.launch_field("params_address", "i64")
            return self.add(base, literal("i64", param.offset + symbol.offset))
        raise self.unsupported(f"the unknown symbol {symbol.name}")

    def param(self, name: str) -> Param | None:
        """Return the kernel parameter called `name`, if there is one."""
        return next((p for p in self.graph.function.params if p.name == name), None)

    # --- writing

    def write(self, operand: Operand, value: Val, sign: bool = False, wider: bool = False) -> None:
        """Write `value` to register `operand`; a `wider` one is filled with `sign` or zeros."""
        if operand is None:
            return
        self.need(isinstance(operand, Reg), "this destination")
        kind, width = register_type(operand), _width(value.type)
        fits = width <= operand.width if wider else width == operand.width
        self.need(fits, f"a {operand.width}-bit register for a result of {width} bits")
        if value.type != kind:
            value = self.widen(self.retype(value, f"i{width}"), kind, sign)
        width = operand.width
        value = value._replace(poison=None if self.fast else self.result_poison(value, width))
        if self.item.guard is not None:
            old = self.values.get(operand) or self.load_register(operand)
            value = self.select(self.guard(), value, old)
        far = value.kind == "a" and not -(1 << 31) <= value.stride < 1 << 31
        # the runtime spreads up to 64 bits, by strides of 32
        if far or (operand.width == 128 and value.kind != "v"):
            value = value._replace(kind="v", text=self.vector(value), stride=0)
        self.values[operand] = value
        self.written.add(operand)
        if self.fast:
            known, new = self.kinds.get(operand), (value.kind, value.stride)
            self.kinds[operand] = new if known in (None, new) else VARYING
        elif value.poison:
            whole = all(bits == ones(width) for _, bits in value.poison)
            parts = 1 if whole else -(-width // 8)
            self.poisonous[operand] = max(parts, self.poisonous.get(operand, 0))

    def result_poison(self, value: Val, width: int) -> Poison:
        """Return what is undefined of a result: all of it, unless `value` itself says otherwise."""
        poison = value.poison
        if poison is None:
            return ((self.lanes(self.poison), ones(width)),) if self.poison else ()
        if len(poison) > 8:
            parts = enumerate(by_byte(poison, width))
            poison = tuple((self.lanes(part), 255 << 8 * n) for n, part in parts if part)
        return poison

    def guard(self) -> Val:
        """Return the guard predicate of the instruction, negation applied."""
        keep = self.poison
        predicate = self.read_register(self.item.guard)
        self.poison = keep
        return self.invert(predicate) if self.item.guard_negated else predicate

    # --- special registers

    def special(self, name: str) -> Val:
        """Return a special register."""
        base, _, axis = name.partition(".")
        number = "xyzw".find(axis) if axis else 0
        if base in _BY_AXIS and number == 3:
            return literal("i32", 0)
        for table, argument in ((_BY_AXIS, number), (_SINGLE, None)):
            if base in table:
                return table[base](self) if argument is None else table[base](self, argument)
        if base.startswith("%lanemask_") and base[10:] in _LANE_MASKS:
            masks = ", ".join(f"i32 {_LANE_MASKS[base[10:]](lane)}" for lane in range(LANES))
            return Val("v", "i32", f"<{masks}>")
        if base.startswith("%envreg"):
            return literal("i32", 0)
        raise self.unsupported(f"the special register {name}")

    def thread_index(self, axis: int) -> Val:
        """Return ``%tid``: affine where a warp is a row of threads."""
        if self.fast and self.tid_is_affine:
            first = self.load_field("tid", extra=4 * LANES * axis)
            return Val("a", "i32", first, 1) if axis == 0 else Val("u", "i32", first)
        place = self.field_address("tid", 4 * LANES * axis)
        return Val("v", "i32", self.fresh(f"load <{LANES} x i32>, ptr {place}, align 4"))

    def lane_index(self) -> Val:
        """Return ``%laneid``."""
        lanes = Val("a", "i32", "0", 1)
        return lanes if self.fast else Val("v", "i32", self.vector(lanes))

    def clock(self, upper: bool) -> Val:
        """Return a clock's 64 bits, or the upper half of them."""
        now = Val("u", "i64", self.runtime("i64", "tick"))
        return self.map("lshr {T} {0}, {1}", now, literal("i64", 32), out="i64") if upper else now

    def workspace(self, upper: bool) -> Val:
        """Return half of the address of the memory in which the blocks of a grid synchronise."""
        whole = self.launch_field("workspace", "i64")
        return (
            self.map("lshr {T} {0}, {1}", whole, literal("i64", 32), out="i64") if upper else whole
        )

    def runtime(self, returns: str, name: str, *args: str) -> str:
        """Call native function `name` with the warp and `args`."""
        types = ", ".join(["ptr", *(a.split()[0] for a in args)])
        full = f"@{self.library}.{name}"
        self.declared[full] = f"declare {returns} {full}({types})"
        call = f"call {returns} {full}({', '.join(['ptr %w', *args])})"
        if returns == "void":
            self.emit(call)
            return ""
        return self.fresh(call)


def _width(kind: str) -> int:
    return 1 if kind == "pred" else BITS[kind]


_BY_AXIS: dict[str, Callable[[Operands, int], Val]] = {
    "%tid": Operands.thread_index,
    "%ntid": lambda e, axis: e.launch_field("block", extra=4 * axis),
    "%ctaid": lambda e, axis: e.cta_field("index", extra=4 * axis),
    "%nctaid": lambda e, axis: e.launch_field("grid", extra=4 * axis),
    # clusters of one block
    "%clusterid": lambda e, axis: e.cta_field("index", extra=4 * axis),
    "%nclusterid": lambda e, axis: e.launch_field("grid", extra=4 * axis),
    "%cluster_ctaid": lambda e, axis: literal("i32", 0),
    "%cluster_nctaid": lambda e, axis: literal("i32", 1),
}
_SINGLE: dict[str, Callable[[Operands], Val]] = {
    "%laneid": Operands.lane_index,
    "%warpid": lambda e: Val("u", "i32", e.fixed_field(Warp, "index", "i32")),
    "%nwarpid": lambda e: e.launch_field("warps"),
    "%smid": lambda e: literal("i32", 0),
    "%nsmid": lambda e: literal("i32", 1),
    "%gridid": lambda e: literal("i64", 0),
    "%cluster_ctarank": lambda e: literal("i32", 0),
    "%cluster_nctarank": lambda e: literal("i32", 1),
    "%is_explicit_cluster": lambda e: Val("u", "pred", "false"),
    "%dynamic_smem_size": lambda e: e.launch_field("dynamic_shared"),
    "%total_smem_size": lambda e: e.launch_field("shared_size"),
    "%aggr_smem_size": lambda e: e.launch_field("shared_size"),
    "%reserved_smem_offset_begin": lambda e: literal("i32", 0),
    "%clock": lambda e: e.clock(False),
    "%clock64": lambda e: e.clock(False),
    "%clock_hi": lambda e: e.clock(True),
    "%globaltimer": lambda e: e.clock(False),
    "%globaltimer_lo": lambda e: e.clock(False),
    "%globaltimer_hi": lambda e: e.clock(True),
    "%envreg1": lambda e: e.workspace(True),
    "%envreg2": lambda e: e.workspace(False),
}
_LANE_MASKS: dict[str, Callable[[int], int]] = {
    "eq": lambda lane: 1 << lane,
    "lt": lambda lane: (1 << lane) - 1,
    "le": lambda lane: (2 << lane) - 1,
    "gt": lambda lane: records.FULL ^ ((2 << lane) - 1),
    "ge": lambda lane: records.FULL ^ ((1 << lane) - 1),
}
