"""A kernel's blocks as LLVM functions: masked (always right) and fast (while all lanes agree)."""

from . import records
from .cfg import CONTROL, WAITING, Block
from .emit import Val
from .layout import Layout, SiteInfo
from .operands import Operands
from .ptx import Reg
from .records import LANES, Warp
from .table import TABLE
from .undefined import Poison, by_byte

__all__ = ["Layout", "Lowering", "SiteInfo"]


class Lowering(Operands):
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
        """Prepare to lower; functions called are those of `library` (see jit.Library)."""
        super().__init__(layout, fast, tid_is_affine, library)
        self.texts: dict[int, list[str]] = {}
        self.mask_text = ""  # the lanes that run a block, once loaded

    # --- driving

    def function(self, name: str) -> str:
        """Return the LLVM text of the kernel as function `name`."""
        dispatch = f"@{self.library}.dispatch"
        self.declared[dispatch] = f"declare i32 {dispatch}(ptr)"
        self.lower_blocks()
        body = [line for block in self.graph.blocks for line in self.texts[block.index]]
        arms = " ".join(f"i32 {b.index}, label %B{b.index}" for b in self.graph.blocks)
        entry = ["entry:", *(line for lines in self.hoisted.values() for line in lines)]
        if self.fast:
            entry += [
                f"  %resume.at = getelementptr i8, ptr %w, i64 {Warp.fields['resume'][1]}",
                "  %resume = load i32, ptr %resume.at",
                f"  switch i32 %resume, label %never [ {arms} ]",
            ]
        else:
            entry += [
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
        return "\n".join([*self.declared.values(), head, *entry, *body, *tail, "}"])

    def lower_blocks(self) -> None:
        """Lower every block, again and again until what it assumed of registers holds."""
        assumed: dict[int, set] = {}
        pending = self.graph.blocks
        while pending:
            for block in pending:
                self.lower_block(block)
                assumed[block.index] = self.assumed
            pending = [
                block
                for block in self.graph.blocks
                if any(self.form(r) != form for r, form in assumed[block.index])
            ]

    def lower_block(self, block: Block) -> None:
        """Write the text of `block`."""
        self.start_block(block)
        self.label(f"B{block.index}")
        self.leaves = False
        if not self.fast:
            self.mask_text = self.load_field("mask")
            self.count_block()
        for item in block.instructions:
            self.item, self.poison = item, ()
            if item.opcode not in TABLE:
                raise self.unsupported("this opcode")
            entry = TABLE[item.opcode]
            self.need(entry.accepts(item.mods), f"this form of {item.opcode}")
            count = len(item.operands)
            self.need(count in entry.operands, f"{item.opcode} with {count} operands")
            try:
                entry.lower(self, item)
            except (IndexError, ValueError, AttributeError) as error:
                # too few operands, or of another kind than the form has
                raise self.unsupported("these operands") from error
        last = block.instructions[-1]
        if last.opcode not in CONTROL and last.opcode not in WAITING:
            self.commit()
            self.edge(block.index + 1)
        if self.leaves:
            self.label(f"{self.prefix}leave")
            self.runtime("void", "give_up", f"i32 {block.index}")
            self.emit(f"ret i32 {records.TO_MASKED}")
        self.texts[block.index] = self.lines

    # --- masks, giving up, faults

    def running(self) -> str:
        """Return the lanes that run the current block, as an i32 mask."""
        return "-1" if self.fast else self.mask_text

    def active(self) -> str:
        """Return the lanes that execute the current instruction, as an i32 mask."""
        if self.item.guard is None:
            return self.running()
        lanes = self.mask(self.guard())
        return lanes if self.fast else self.fresh(f"and i32 {self.mask_text}, {lanes}")

    def give_up_unless(self, condition: str) -> None:
        """Fast version: start this block again in the masked version unless `condition` holds."""
        stay, self.leaves = self.new_label("stay"), True
        self.emit(f"br i1 {condition}, label %{stay}, label %{self.prefix}leave")
        self.label(stay)

    def widen_index(self, value: Val, kind: str, signed: bool) -> Val:
        """Extend an index. In the fast version an affine one stays so: it gives up on a wrap."""
        span = value.stride * (LANES - 1)
        if value.kind != "a" or value.type != "i32" or not -(1 << 31) <= span < 1 << 31:
            return self.widen(value, kind, signed)
        # base + span must not wrap: compute it in the wide type and narrow it again
        name = "sext" if signed else "zext"
        base = self.fresh(f"{name} {value.type} {value.text} to {kind}")
        last = self.fresh(f"add {kind} {base}, {span}")
        back = self.fresh(f"trunc {kind} {last} to {value.type}")
        again = self.fresh(f"{name} {value.type} {back} to {kind}")
        self.give_up_unless(self.fresh(f"icmp eq {kind} {again}, {last}"))
        return Val("a", kind, base, value.stride)

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
        site, mask = self.make_site(SiteInfo()), mask or self.active()
        self.runtime(
            "void", "use_poison", f"i32 {site}", f"i32 {mask}", f"i32 {self.lanes(value.poison)}"
        )
        self.check_fault()

    def make_site(self, info: SiteInfo) -> int:
        """Return the number of the current instruction in the site table."""
        return self.extra_site(id(self.item), info)

    def extra_site(self, key: object, info: SiteInfo) -> int:
        """Return the number of a site that the current instruction has beside its own."""
        info.instruction = self.item
        return self.layout.site(key, info)

    def deposit(self, name: str, value: Val, component: int = 0) -> None:
        """Store an operand of an operation for which lanes meet; those that wait keep theirs."""
        place = self.field_address(name, records.COMPONENT * component)
        shape, text = f"<{LANES} x {value.type}>", self.vector(value)
        if not self.fast:
            lanes = self.bits_of_mask(self.active())
            old = self.fresh(f"load {shape}, ptr {place}, align 4")
            text = self.fresh(f"select <{LANES} x i1> {lanes}, {shape} {text}, {shape} {old}")
        self.emit(f"store {shape} {text}, ptr {place}, align 4")

    def put(self, component: int, value: Val) -> None:
        """Store a vector operand into Warp.data for a runtime call."""
        place = self.field_address("data", records.COMPONENT * component)
        self.emit(f"store <{LANES} x {value.type}> {self.vector(value)}, ptr {place}, align 8")

    def put_poison(self, poisons: list[Poison | None], size: int) -> None:
        """Store in which lanes each byte of vector operands of `size` bytes is undefined."""
        total = size * len(poisons)
        if not any(poisons):
            place = self.field_address("poison")
            self.emit(f"store <{total} x i32> zeroinitializer, ptr {place}, align 4")
            return
        bytes_ = [part for poison in poisons for part in by_byte(poison or (), 8 * size)]
        for n, part in enumerate(bytes_):
            # a byte of which some bits are known counts as known, so that bit-fields can be filled
            known = tuple((mask, bits) for mask, bits in part if bits.bit_count() == 8)
            self.store_field("poison", self.lanes(known), extra=4 * n)

    def get(self, component: int, kind: str) -> Val:
        """Load a vector result of a runtime call from Warp.data."""
        place = self.field_address("data", records.COMPONENT * component)
        return Val("v", kind, self.fresh(f"load <{LANES} x {kind}>, ptr {place}, align 8"))

    # --- counting, block ends

    def count_block(self) -> None:
        """Count that a block runs, and for how many lanes."""
        counts = self.fixed_field(Warp, "counts", "ptr")
        lanes = self.fresh(f"call i32 @llvm.ctpop.i32(i32 {self.mask_text})")
        self.declared["@llvm.ctpop.i32"] = "declare i32 @llvm.ctpop.i32(i32)"
        wide = self.fresh(f"zext i32 {lanes} to i64")
        for offset, amount in ((16 * self.block.index, "1"), (16 * self.block.index + 8, wide)):
            place = self.at(offset, counts)
            more = self.fresh(f"add i64 {self.fresh(f'load i64, ptr {place}')}, {amount}")
            self.emit(f"store i64 {more}, ptr {place}")

    def commit(self) -> None:
        """Store the registers that later blocks need."""
        for register in sorted(self.written & self.block.live_out, key=lambda r: r.name):
            value = self.values[register]
            if self.fast:
                self.commit_fast(register, value)
            else:
                self.commit_masked(register, value)

    def commit_masked(self, register: Reg, value: Val) -> None:
        """Store a register for the lanes that run."""
        place = self.at(self.layout.slots[register])
        if register.width == 1:
            old = self.fresh(f"load i32, ptr {place}")
            merged = self.merge_masks(self.mask_text, self.mask(value), old)
            self.emit(f"store i32 {merged}, ptr {place}")
        else:
            shape = f"<{LANES} x i{register.width}>"
            lanes = self.bits_of_mask(self.mask_text)
            old = self.fresh(f"load {shape}, ptr {place}, align 32")
            new = self.fresh(
                f"select <{LANES} x i1> {lanes}, {shape} {self.vector(value)}, {shape} {old}"
            )
            self.emit(f"store {shape} {new}, ptr {place}, align 32")
        parts = self.assume(register)
        whole = value.poison or ()
        for n, part in enumerate([whole] if parts < 2 else by_byte(whole, register.width)[:parts]):
            if parts:
                place = self.at(self.layout.poisons[register] + 4 * n)
                old = self.fresh(f"load i32, ptr {place}")
                new = self.merge_masks(self.mask_text, self.lanes(part), old)
                self.emit(f"store i32 {new}, ptr {place}")

    def commit_fast(self, register: Reg, value: Val) -> None:
        """Store a register in the form that all of its writes have in common."""
        form, _ = self.assume(register)
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
            self.take_turns(target)
        if self.fast:
            self.emit(f"br label %B{target}")
            return
        first = self.fresh(f"icmp ult i32 {target}, {self.load_field('pend')}")
        wait = self.new_label("wait")
        self.emit(f"br i1 {first}, label %B{target}, label %{wait}")
        self.label(wait)
        self.park(target)
        self.emit("br label %dispatch")

    def take_turns(self, target: int) -> None:
        """Jump back only until so much is done: then other lanes, and other warps, have a turn.

        That is 2,000 jumps, fewer in large loops: a turn should not last long.
        """
        loop = self.graph.blocks[target : self.block.index + 1]
        cost = max(32, sum(len(block.instructions) for block in loop))
        less = self.fresh(f"sub i32 {self.load_field('budget')}, {cost}")
        self.store_field("budget", less)
        spent = self.fresh(f"icmp slt i32 {less}, 0")
        go, rest = self.new_label("go"), self.new_label("rest")
        self.emit(f"br i1 {spent}, label %{rest}, label %{go}")
        self.label(rest)
        self.park(target)
        self.emit(f"ret i32 {records.YIELD}")
        self.label(go)

    def park(self, target: int) -> None:
        """Let all active lanes wait at block `target`."""
        if self.fast:
            self.store_field("resume", str(target))
        else:
            self.runtime("void", "park", f"i32 {target}")

    def branch(self, condition: Val, taken: int, other: int) -> None:
        """Go to `taken` where `condition` holds, else to `other`; registers are committed."""
        if condition.kind == "u":
            yes, no = self.new_label("yes"), self.new_label("no")
            self.emit(f"br i1 {condition.text}, label %{yes}, label %{no}")
            self.two_edges(yes, taken, no, other)
            return
        active = self.running()
        lanes = self.fresh(f"and i32 {condition.text}, {active}")
        none = self.fresh(f"icmp eq i32 {lanes}, 0")
        every = self.fresh(f"icmp eq i32 {lanes}, {active}")
        no, some, yes, split = (self.new_label(s) for s in ("no", "some", "yes", "split"))
        self.emit(f"br i1 {none}, label %{no}, label %{some}")
        self.label(some)
        self.emit(f"br i1 {every}, label %{yes}, label %{split}")
        self.label(split)
        self.runtime(
            "void", "split_lanes", f"i32 {lanes}", f"i32 {taken}", f"i32 {other}",
            f"i32 {self.block.index}",
        )  # fmt: skip
        self.emit(f"ret i32 {records.TO_MASKED}" if self.fast else "br label %dispatch")
        self.two_edges(yes, taken, no, other)

    def two_edges(self, yes: str, taken: int, no: str, other: int) -> None:
        """Write both ends of a branch."""
        self.label(yes)
        self.edge(taken)
        self.label(no)
        self.edge(other)
