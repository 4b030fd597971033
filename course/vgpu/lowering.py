"""A kernel's blocks as LLVM functions: masked (always right) and fast (while all lanes agree)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from . import records
from .cfg import (
    CONTROL,
    Block,
    Graph,
    Unsupported,
)
from .emit import BITS, FLOAT_OF, Text, Val, immediate, register_type
from .ptx import (
    WIDTH,
    Address,
    Imm,
    Instruction,
    Module,
    Not,
    Operand,
    Reg,
    Special,
    Sym,
    Vec,
)
from .records import LANES, Cta, Launch, Warp

#: opcode -> how to lower it; filled by the modules of `opcodes`.
TABLE: dict[str, Callable[["Lowering", Instruction], None]] = {}


def opcode(*names: str) -> Callable:
    """Register a function as the lowering of the opcodes `names`."""

    def register(function: Callable) -> Callable:
        for name in names:
            TABLE[name] = function
        return function

    return register


def llvm_type(kind: str) -> str:
    """Return the LLVM type that PTX type `kind` computes in."""
    if kind == "pred":
        return "pred"
    if kind in ("f16", "f32", "f64"):
        return FLOAT_OF[int(kind[1:])]
    return f"i{WIDTH[kind]}"


@dataclass
class SiteInfo:
    """What a `Site` record says, for Python."""

    space: int = 0
    size: int = 0
    count: int = 1
    op: int = 0
    kind: int = 0
    store: int = 0
    order: int = 0
    instruction: Instruction | None = None


@dataclass
class Layout:
    """Where a kernel's registers and variables lie; the same for both versions."""

    module: Module
    graph: Graph
    slots: dict[Reg, int] = field(default_factory=dict)  # vectors of 32
    scalars: dict[Reg, int] = field(default_factory=dict)  # base of what is uniform or affine
    poisons: dict[Reg, int] = field(default_factory=dict)  # i32 masks
    shared: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)  # index in the symbol table
    sites: list[SiteInfo] = field(default_factory=list)
    record_bytes: int = 0
    static_shared: int = 0
    dynamic_align: int = 16
    local_size: int = 0
    site_of: dict[object, int] = field(default_factory=dict)  # by identity of the instruction

    def __post_init__(self) -> None:
        self.place_variables()
        self.place_registers()

    def place_variables(self) -> None:
        offset = 0
        module_shared = {n: v for n, v in self.module.variables.items() if v.space == "shared"}
        used = _symbols_in(self.graph)
        for name, variable in (module_shared | self.graph.shared).items():
            if variable.external or not variable.size or name not in used:
                continue
            offset = -(-offset // variable.align) * variable.align
            self.shared[name] = offset
            offset += variable.size
        for name, variable in module_shared.items():
            if variable.external or not variable.size:
                self.dynamic_align = max(self.dynamic_align, variable.align)
                self.shared[name] = -1  # dynamic: behind all static variables
        offset = -(-offset // self.dynamic_align) * self.dynamic_align
        self.shared = {n: offset if o < 0 else o for n, o in self.shared.items()}
        self.static_shared = offset
        offset = 0
        for name, variable in self.graph.local.items():
            offset = -(-offset // variable.align) * variable.align
            self.local[name] = offset
            offset += variable.size
        self.local_size = -(-offset // 16) * 16
        for name, variable in self.module.variables.items():
            if variable.space in ("global", "const"):
                self.symbols[name] = len(self.symbols)

    def place_registers(self) -> None:
        offset = -(-Warp.size // 64) * 64
        lasting = {r for b in self.graph.blocks for r in b.live_in | b.live_out}
        for register in sorted(lasting, key=lambda r: (-r.width, r.name)):
            self.slots[register] = offset
            offset += 4 if register.width == 1 else LANES * register.width // 8
        offset = -(-offset // 8) * 8
        for register in self.slots:
            self.scalars[register] = offset
            self.poisons[register] = offset + 8
            offset += 16
        self.record_bytes = -(-offset // 64) * 64


def _symbols_in(graph: Graph) -> set[str]:
    names: set[str] = set()

    def visit(operand: Operand) -> None:
        if isinstance(operand, Sym):
            names.add(operand.name)
        elif isinstance(operand, Address):
            visit(operand.base)
        elif isinstance(operand, Vec):
            for item in operand.items:
                visit(item)

    for block in graph.blocks:
        for item in block.instructions:
            for operand in item.operands:
                visit(operand)
    return names


class Lowering(Text):
    """Lowers all blocks of a kernel into one LLVM function.

    The masked version keeps every register as a vector and merges what the active lanes computed at
    the end of a block. The fast version runs only while all 32 lanes of a warp are together; its
    uniform and affine registers are scalars. Whenever something unusual happens there (lanes part,
    an access that is not plainly in bounds and defined) it gives up at the start of the block, and
    the masked version takes over.
    """

    def __init__(
        self, layout: Layout, fast: bool, tid_is_affine: bool = False, library: str = "plain"
    ) -> None:
        super().__init__()
        self.library = library  # whose functions are called: see jit.Library
        self.layout, self.graph, self.fast = layout, layout.graph, fast
        self.tid_is_affine = tid_is_affine
        self.kinds: dict[Reg, tuple[str, int]] = {}  # fast: form of each register
        self.poisonous: set[Reg] = set()  # masked: registers that may hold undefined values
        self.values: dict[Reg, Val] = {}
        self.written: set[Reg] = set()
        self.poison: str | None = None
        self.item = Instruction("", (), ())
        self.block = self.graph.blocks[0]

    # --- driving

    def function(self, name: str) -> str:
        """Return the LLVM text of the kernel as function `name`."""
        self.settle()
        dispatch = f"@{self.library}.dispatch"
        self.lines, self.declared = [], {dispatch: f"declare i32 {dispatch}(ptr)"}
        self.all_blocks()
        arms = " ".join(f"i32 {b.index}, label %B{b.index}" for b in self.graph.blocks)
        if self.fast:
            entry = [
                "entry:",
                f"  %resume.at = getelementptr i8, ptr %w, i64 {Warp.fields['resume'][1]}",
                "  %resume = load i32, ptr %resume.at",
                f"  switch i32 %resume, label %never [ {arms} ]",
            ]
        else:
            entry = [
                "entry:",
                "  br label %dispatch",
                "dispatch:",
                f"  %next = call i32 {dispatch}(ptr %w)",
                "  switch i32 %next, label %leave [ " + arms + " ]",
                "leave:",
                "  %code = xor i32 %next, -1",
                "  ret i32 %code",
            ]
        tail = ["never:", "  unreachable", "fault:", f"  ret i32 {records.FAULT}"]
        head = f"define i32 @{name}(ptr %w) {{"
        return "\n".join([*self.declared.values(), head, *entry, *self.lines, *tail, "}"])

    def settle(self) -> None:
        """Lower repeatedly, throwing the text away, until forms and poison of registers are stable."""
        while True:
            before = dict(self.kinds), set(self.poisonous)
            self.lines, self.counter = [], 0
            self.all_blocks()
            if before == (self.kinds, self.poisonous):
                return

    def all_blocks(self) -> None:
        for block in self.graph.blocks:
            self.lower_block(block)

    def lower_block(self, block: Block) -> None:
        self.block, self.values, self.written, self.splats = block, {}, set(), {}
        self.label(f"B{block.index}")
        if not self.fast:
            self.count_block()
        for position, item in enumerate(block.instructions):
            self.item, self.position, self.poison = item, position, None
            if item.opcode not in TABLE:
                raise self.unsupported("this opcode")
            TABLE[item.opcode](self, item)
        last = block.instructions[-1]
        if last.opcode not in CONTROL and last.opcode not in ("bar", "barrier"):
            self.commit()
            self.edge(block.index + 1)

    def unsupported(self, what: str) -> Unsupported:
        loc = self.item.loc
        line = f", source line {loc.line}" if loc else ""
        return Unsupported(
            f"the virtual GPU does not run {what}: {self.item.name!r} in kernel "
            f"{self.graph.name}{line} ({self.item.text})"
        )

    def need(self, condition: bool, what: str) -> None:
        if not condition:
            raise self.unsupported(what)

    # --- fields of records

    def at(self, offset: int, base: str = "%w") -> str:
        return self.fresh(f"getelementptr i8, ptr {base}, i64 {offset}")

    def field_address(self, name: str, extra: int = 0) -> str:
        return self.at(Warp.fields[name][1] + extra)

    def load_field(self, name: str, kind: str = "i32", extra: int = 0) -> str:
        return self.fresh(f"load {kind}, ptr {self.field_address(name, extra)}")

    def store_field(self, name: str, text: str, kind: str = "i32", extra: int = 0) -> None:
        self.emit(f"store {kind} {text}, ptr {self.field_address(name, extra)}")

    def launch_field(self, name: str, kind: str = "i32", extra: int = 0) -> Val:
        base = self.load_field("launch", "ptr")
        place = self.at(Launch.fields[name][1] + extra, base)
        return Val("u", kind, self.fresh(f"load {kind}, ptr {place}"))

    def cta_field(self, name: str, kind: str = "i32", extra: int = 0) -> Val:
        base = self.load_field("cta", "ptr")
        place = self.at(Cta.fields[name][1] + extra, base)
        return Val("u", kind, self.fresh(f"load {kind}, ptr {place}"))

    # --- operands

    def read_register(self, register: Reg) -> Val:
        value = self.values.get(register)
        if value is None:
            value = self.values[register] = self.load_register(register)
        if value.poison:
            self.poison = (
                value.poison
                if self.poison is None or self.poison == value.poison
                else self.fresh(f"or i32 {self.poison}, {value.poison}")
            )
        return value

    def load_register(self, register: Reg) -> Val:
        kind = register_type(register)
        form, stride = self.kinds.get(register, ("u", 0)) if self.fast else ("v", 0)
        if register not in self.layout.slots:
            # never written before it is read: PTX leaves the value undefined, take zero
            return Val("u", kind, "false" if kind == "pred" else "0")
        if form != "v":
            scalar = "i1" if kind == "pred" else kind
            place = self.at(self.layout.scalars[register])
            return Val(form, kind, self.fresh(f"load {scalar}, ptr {place}"), stride)
        place = self.at(self.layout.slots[register])
        shape = "i32" if kind == "pred" else f"<{LANES} x {kind}>"
        align = 4 if kind == "pred" else 32
        text = self.fresh(f"load {shape}, ptr {place}, align {align}")
        poison = None
        if register in self.poisonous:
            poison = self.fresh(f"load i32, ptr {self.at(self.layout.poisons[register])}")
        return Val("v", kind, text, poison=poison)

    def source(self, operand: Operand, kind: str) -> Val:
        """Return `operand` as a value of PTX type `kind` (registers may be wider)."""
        wanted = llvm_type(kind)
        if isinstance(operand, Not):
            return self.invert(self.source(operand.operand, kind))
        if isinstance(operand, Imm):
            if wanted == "pred":
                return Val("u", "pred", "true" if operand.value else "false")
            return immediate(operand, wanted)
        if isinstance(operand, Special):
            return self.fit(self.special(operand.name), wanted)
        if isinstance(operand, Sym):
            return self.fit(self.symbol_address(operand), wanted)
        if isinstance(operand, Vec):
            return self.fit(self.packed(operand), wanted)
        self.need(isinstance(operand, Reg), f"operand {operand}")
        return self.fit(self.read_register(operand), wanted)

    def fit(self, value: Val, wanted: str) -> Val:
        if value.type == wanted:
            return value
        width = BITS[wanted]
        if value.type.startswith("i") and BITS[value.type] > width:
            value = self.narrow(value, f"i{width}")
        elif value.type.startswith("i") and BITS[value.type] < width:
            value = self.widen(value, f"i{width}", signed=False)
        return self.retype(value, wanted)

    def packed(self, operand: Vec) -> Val:
        """Return ``{low, ..., high}`` as one integer."""
        parts = [self.read_register(r) if isinstance(r, Reg) else r for r in operand.items]
        width = next(BITS[p.type] for p in parts if isinstance(p, Val))
        parts = [p if isinstance(p, Val) else immediate(p, f"i{width}") for p in parts]
        total = f"i{width * len(parts)}"
        result = self.widen_plain(parts[0], total)
        for index, part in enumerate(parts[1:], 1):
            shifted = self.map(
                "shl {T} {0}, {1}",
                self.widen_plain(part, total),
                Val("u", total, str(width * index)),
                out=total,
            )
            result = self.map("or {T} {0}, {1}", result, shifted, out=total)
        return result

    def widen_plain(self, value: Val, kind: str) -> Val:
        """Zero-extend, giving up an affine form."""
        return self.widen(value, kind, signed=False)

    def widen_index(self, value: Val, kind: str, signed: bool) -> Val:
        """Extend an index. In the fast version an affine one stays affine: it gives up on a wrap."""
        if value.kind != "a":
            return self.widen(value, kind, signed)
        span = value.stride * (LANES - 1)
        bits = BITS[value.type]
        if bits < 32 or not -(1 << 31) <= span < 1 << 31:
            return self.widen(value, kind, signed)
        # base + span must not wrap: compute it in the wide type and narrow it again
        name = "sext" if signed else "zext"
        base = self.fresh(f"{name} {value.type} {value.text} to {kind}")
        last = self.fresh(f"add {kind} {base}, {span}")
        back = self.fresh(f"trunc {kind} {last} to {value.type}")
        again = self.fresh(f"{name} {value.type} {back} to {kind}")
        same = self.fresh(f"icmp eq {kind} {again}, {last}")
        self.give_up_unless(same)
        return Val("a", kind, base, value.stride, value.poison)

    def write(self, operand: Operand, value: Val, sign: bool = False) -> None:
        """Write `value` to register `operand` (extending it if the register is wider)."""
        if operand is None:
            return
        self.need(isinstance(operand, Reg), f"destination {operand}")
        kind = register_type(operand)
        if value.type != kind:
            if value.type == "i1":
                value = replace(value, type="pred")
            else:
                width = BITS[value.type]
                value = self.retype(value, f"i{width}")
                if width < operand.width:
                    value = self.widen(value, kind, sign)
                elif width > operand.width:
                    value = self.narrow(value, kind)
        poison = self.poison if value.poison is None else value.poison
        value = replace(value, poison=poison if not self.fast else None)
        if self.item.guard is not None:
            keep = self.poison
            old = self.values.get(operand) or self.load_register(operand)
            value = self.select(self.guard(), value, old)
            self.poison = keep
        self.values[operand] = value
        self.written.add(operand)
        if self.fast:
            self.kinds[operand] = _meet(self.kinds.get(operand), (value.kind, value.stride))
        elif value.poison:
            self.poisonous.add(operand)

    def guard(self) -> Val:
        """Return the guard predicate of the instruction, negation applied."""
        keep = self.poison
        predicate = self.read_register(self.item.guard)
        self.poison = keep
        return self.invert(predicate) if self.item.guard_negated else predicate

    def symbol_address(self, symbol: Sym) -> Val:
        """Return the address of a variable in its own state space."""
        layout = self.layout
        if symbol.name in layout.shared:
            return Val("u", "i64", str(layout.shared[symbol.name] + symbol.offset))
        if symbol.name in layout.local:
            return Val("u", "i64", str(layout.local[symbol.name] + symbol.offset))
        if symbol.name in layout.symbols:
            table = self.launch_field("symbols", "ptr").text
            place = self.at(8 * layout.symbols[symbol.name], table)
            base = Val("u", "i64", self.fresh(f"load i64, ptr {place}"))
            return self.add(base, Val("u", "i64", str(symbol.offset))) if symbol.offset else base
        param = self.param(symbol.name)
        if param is not None:
            base = self.launch_field("params_address", "i64")
            return self.add(base, Val("u", "i64", str(param.offset + symbol.offset)))
        raise self.unsupported(f"the unknown symbol {symbol.name}")

    def param(self, name: str):  # noqa: ANN201 - ptx.Param or None
        """Return the kernel parameter called `name`, if there is one."""
        return next((p for p in self.graph.function.params if p.name == name), None)

    def special(self, name: str) -> Val:
        """Return a special register."""
        base, _, axis = name.partition(".")
        number = "xyzw".find(axis) if axis else 0
        if base in ("%tid", "%ntid", "%ctaid", "%nctaid") and number == 3:
            return Val("u", "i32", "0")
        if base == "%tid":
            return self.thread_index(number)
        if base in ("%ntid", "%nctaid"):
            return self.launch_field("block" if base == "%ntid" else "grid", extra=4 * number)
        if base == "%ctaid":
            return self.cta_field("index", extra=4 * number)
        if base == "%laneid":
            if self.fast:
                return Val("a", "i32", "0", 1)
            return Val("v", "i32", self.vector(Val("a", "i32", "0", 1)))
        if base == "%warpid":
            return Val("u", "i32", self.load_field("index"))
        if base == "%nwarpid":
            return self.launch_field("warps")
        if base.startswith("%lanemask_"):
            return Val("v", "i32", _lane_masks(base.removeprefix("%lanemask_")))
        if base in (
            "%clock",
            "%clock64",
            "%globaltimer",
            "%clock_hi",
            "%globaltimer_lo",
            "%globaltimer_hi",
        ):
            now = Val("u", "i64", self.runtime("i64", "tick"))
            if base.endswith("_hi"):
                now = self.map("lshr {T} {0}, {1}", now, Val("u", "i64", "32"), out="i64")
            return now
        if base == "%dynamic_smem_size":
            return self.launch_field("dynamic_shared")
        if base in ("%total_smem_size", "%aggr_smem_size"):
            return self.launch_field("shared_size")
        if base in (
            "%smid",
            "%gridid",
            "%cluster_ctarank",
            "%cluster_ctaid",
            "%reserved_smem_offset_begin",
        ):
            return Val("u", "i32", "0")
        if base in ("%nsmid", "%cluster_nctarank", "%cluster_nctaid"):
            return Val("u", "i32", "1")
        if base == "%clusterid":
            return self.cta_field("index", extra=4 * number)
        if base == "%nclusterid":
            return self.launch_field("grid", extra=4 * number)
        if base == "%is_explicit_cluster":
            return Val("u", "pred", "false")
        if base in ("%envreg1", "%envreg2"):
            # high and low half of the address of the workspace in which grids synchronise
            whole = self.launch_field("workspace", "i64")
            if base == "%envreg1":
                whole = self.map("lshr {T} {0}, {1}", whole, Val("u", "i64", "32"), out="i64")
            return whole
        if base.startswith("%envreg"):
            return Val("u", "i32", "0")
        raise self.unsupported(f"the special register {name}")

    def thread_index(self, axis: int) -> Val:
        if self.fast and self.tid_is_affine:
            first = self.load_field("tid", extra=4 * LANES * axis)
            return Val("a", "i32", first, 1) if axis == 0 else Val("u", "i32", first)
        place = self.field_address("tid", 4 * LANES * axis)
        return Val("v", "i32", self.fresh(f"load <{LANES} x i32>, ptr {place}, align 4"))

    # --- masks, giving up, faults

    def active(self) -> str:
        """Return the lanes that execute the current instruction, as an i32 mask."""
        mask = "-1" if self.fast else self.load_field("mask")
        if self.item.guard is None:
            return mask
        lanes = self.mask(self.guard())
        return lanes if self.fast else self.fresh(f"and i32 {mask}, {lanes}")

    def give_up_unless(self, condition: str) -> None:
        """Fast version: start this block again in the masked version unless `condition` holds."""
        stay, leave = self.new_label("stay"), self.new_label("leave")
        self.emit(f"br i1 {condition}, label %{stay}, label %{leave}")
        self.label(leave)
        self.runtime("void", "give_up", f"i32 {self.block.index}")
        self.emit(f"ret i32 {records.TO_MASKED}")
        self.label(stay)

    def check_fault(self) -> None:
        """Leave the kernel if the runtime call before this one recorded a fault."""
        kind = self.load_field("fault")
        stay = self.new_label("ok")
        bad = self.fresh(f"icmp ne i32 {kind}, 0")
        self.emit(f"br i1 {bad}, label %fault, label %{stay}")
        self.label(stay)

    def forbid_poison(self, value: Val, mask: str | None = None) -> None:
        """Masked version: fault if `value` is undefined in an active lane."""
        if self.fast or not value.poison:
            return
        site = self.make_site(SiteInfo())
        self.runtime(
            "void",
            "use_poison",
            f"i32 {site}",
            f"i32 {mask or self.active()}",
            f"i32 {value.poison}",
        )
        self.check_fault()

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

    def make_site(self, info: SiteInfo) -> int:
        """Return the number of the current instruction in the site table."""
        return self.extra_site(id(self.item), info)

    def extra_site(self, key: object, info: SiteInfo) -> int:
        """Return the number of a site that the current instruction has beside its own."""
        info.instruction = self.item
        number = self.layout.site_of.setdefault(key, len(self.layout.sites))
        if number == len(self.layout.sites):
            self.layout.sites.append(info)
        elif info.size:
            self.layout.sites[number] = info
        return number

    def put(self, component: int, value: Val) -> None:
        """Store a vector operand into Warp.data for a runtime call."""
        place = self.field_address("data", records.COMPONENT * component)
        self.emit(f"store <{LANES} x {value.type}> {self.vector(value)}, ptr {place}, align 8")

    def get(self, component: int, kind: str) -> Val:
        """Load a vector result of a runtime call from Warp.data."""
        place = self.field_address("data", records.COMPONENT * component)
        return Val("v", kind, self.fresh(f"load <{LANES} x {kind}>, ptr {place}, align 8"))

    # --- counting, block ends

    def count_block(self) -> None:
        counts = self.load_field("counts", "ptr")
        lanes = self.fresh(f"call i32 @llvm.ctpop.i32(i32 {self.load_field('mask')})")
        self.declared["@ctpop"] = "declare i32 @llvm.ctpop.i32(i32)"
        wide = self.fresh(f"zext i32 {lanes} to i64")
        for offset, amount in ((16 * self.block.index, "1"), (16 * self.block.index + 8, wide)):
            place = self.at(offset, counts)
            more = self.fresh(f"add i64 {self.fresh(f'load i64, ptr {place}')}, {amount}")
            self.emit(f"store i64 {more}, ptr {place}")

    def commit(self, extra: Iterable[Reg] = ()) -> None:
        """Store the registers that later blocks need."""
        keep = self.block.live_out | set(extra)
        lanes = None
        for register in sorted(self.written & keep, key=lambda r: r.name):
            value = self.values[register]
            place = self.at(self.layout.slots[register])
            if self.fast:
                self.commit_fast(register, value)
                continue
            mask = self.load_field("mask")
            if register.width == 1:
                old = self.fresh(f"load i32, ptr {place}")
                self.emit(f"store i32 {self.merge_masks(mask, self.mask(value), old)}, ptr {place}")
            else:
                lanes = lanes or self.bits_of_mask(mask)
                shape = f"<{LANES} x i{register.width}>"
                old = self.fresh(f"load {shape}, ptr {place}, align 32")
                new = self.fresh(
                    f"select <{LANES} x i1> {lanes}, {shape} {self.vector(value)}, {shape} {old}"
                )
                self.emit(f"store {shape} {new}, ptr {place}, align 32")
            if register in self.poisonous:
                place = self.at(self.layout.poisons[register])
                old = self.fresh(f"load i32, ptr {place}")
                new = self.merge_masks(mask, value.poison or "0", old)
                self.emit(f"store i32 {new}, ptr {place}")

    def commit_fast(self, register: Reg, value: Val) -> None:
        form, stride = self.kinds[register]
        kind = "i1" if value.type == "pred" else value.type
        if form != "v":
            place = self.at(self.layout.scalars[register])
            self.emit(f"store {kind} {value.text}, ptr {place}")
            return
        place = self.at(self.layout.slots[register])
        if value.type == "pred":
            self.emit(f"store i32 {self.mask(value)}, ptr {place}")
        else:
            shape = f"<{LANES} x {kind}>"
            self.emit(f"store {shape} {self.vector(value)}, ptr {place}, align 32")

    def edge(self, target: int) -> None:
        """Go to block `target` with all active lanes."""
        if target <= self.block.index:
            budget = self.load_field("budget")
            less = self.fresh(f"sub i32 {budget}, 1")
            self.store_field("budget", less)
            spent = self.fresh(f"icmp slt i32 {less}, 0")
            go, rest = self.new_label("go"), self.new_label("rest")
            self.emit(f"br i1 {spent}, label %{rest}, label %{go}")
            self.label(rest)
            self.park(target)
            self.emit(f"ret i32 {records.YIELD}")
            self.label(go)
        if self.fast:
            self.emit(f"br label %B{target}")
            return
        first = self.fresh(f"icmp ult i32 {target}, {self.load_field('pend')}")
        wait = self.new_label("wait")
        self.emit(f"br i1 {first}, label %B{target}, label %{wait}")
        self.label(wait)
        self.park(target)
        self.emit("br label %dispatch")

    def park(self, target: int) -> None:
        """Let all active lanes wait at block `target`."""
        if self.fast:
            self.store_field("resume", str(target))
        else:
            self.runtime("void", "park", f"i32 {target}")

    def branch(self, condition: Val, taken: int, other: int) -> None:
        """Go to `taken` where `condition` holds and to `other` elsewhere; registers are committed."""
        if condition.kind == "u":
            yes, no = self.new_label("yes"), self.new_label("no")
            self.emit(f"br i1 {condition.text}, label %{yes}, label %{no}")
            self.two_edges(yes, taken, no, other)
            return
        active = "-1" if self.fast else self.load_field("mask")
        lanes = self.fresh(f"and i32 {condition.text}, {active}")
        none = self.fresh(f"icmp eq i32 {lanes}, 0")
        all_ = self.fresh(f"icmp eq i32 {lanes}, {active}")
        no, some, yes, split = (self.new_label(s) for s in ("no", "some", "yes", "split"))
        self.emit(f"br i1 {none}, label %{no}, label %{some}")
        self.label(some)
        self.emit(f"br i1 {all_}, label %{yes}, label %{split}")
        self.label(split)
        self.runtime(
            "void", "split_lanes", f"i32 {lanes}", f"i32 {taken}", f"i32 {other}",
            f"i32 {self.block.index}",
        )  # fmt: skip
        if self.fast:
            self.emit(f"ret i32 {records.TO_MASKED}")
        else:
            self.emit("br label %dispatch")
        self.two_edges(yes, taken, no, other)

    def two_edges(self, yes: str, taken: int, no: str, other: int) -> None:
        self.label(yes)
        self.edge(taken)
        self.label(no)
        self.edge(other)


def _meet(known: tuple[str, int] | None, new: tuple[str, int]) -> tuple[str, int]:
    """Return the form that covers both: uniform, affine with one stride, or varying."""
    if known is None or known == new:
        return new
    return ("v", 0)


def _lane_masks(which: str) -> str:
    one = {
        "eq": lambda i: 1 << i,
        "lt": lambda i: (1 << i) - 1,
        "le": lambda i: (2 << i) - 1,
        "gt": lambda i: 0xFFFFFFFF ^ ((2 << i) - 1),
        "ge": lambda i: 0xFFFFFFFF ^ ((1 << i) - 1),
    }[which]
    return "<" + ", ".join(f"i32 {one(i)}" for i in range(LANES)) + ">"
