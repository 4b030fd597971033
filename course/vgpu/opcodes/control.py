"""Branches, barriers, the end of a thread, calls of the runtime."""

from .. import records
from ..cfg import names_all_lanes, target_of
from ..emit import Val
from ..lanes import SYNC
from ..lowering import Lowering, SiteInfo
from ..ptx import Instruction, Sym
from ..records import LANES
from ..table import opcode
from .warp import meet


@opcode("bra", "[.uni]", operands=1)
def branch(e: Lowering, i: Instruction) -> None:
    """``@p bra target``."""
    target = target_of(e.graph, i.operands[0])
    if i.guard is None:
        e.commit()
        e.edge(target)
        return
    condition = e.guard()
    e.forbid_poison(condition, e.load_field("mask") if not e.fast else "-1")
    e.commit()
    e.branch(condition, target, e.block.index + 1)


@opcode("brx", ".idx[.uni]", operands=2)
def indexed_branch(e: Lowering, i: Instruction) -> None:
    """``brx.idx index, targets``: one comparison after the other."""
    index = e.source(i.operands[0], "u32")
    e.forbid_poison(index)
    e.commit()
    targets = [e.graph.labels[t] for t in e.graph.branch_targets[i.operands[1].name]]
    if e.fast and index.kind == "u":
        arms = " ".join(f"i32 {n}, label %arm{e.block.index}.{n}" for n in range(len(targets)))
        e.emit(f"switch i32 {index.text}, label %never [ {arms} ]")
        for number, target in enumerate(targets):
            e.label(f"arm{e.block.index}.{number}")
            e.edge(target)
        return
    # all lanes wait at their targets; the dispatcher takes the lowest first
    table = e.fresh(f"alloca [{len(targets)} x i32]")
    for number, target in enumerate(targets):
        e.emit(f"store i32 {target}, ptr {e.at(4 * number, table)}")
    e.put(0, index)
    guard = "-1" if i.guard is None else e.mask(e.guard())
    e.runtime(
        "void", "scatter_lanes", f"ptr {table}", f"i32 {guard}", f"i32 {e.block.index}",
        f"i32 {e.block.index + 1}",
    )  # fmt: skip
    e.emit(f"ret i32 {records.TO_MASKED}" if e.fast else "br label %dispatch")


@opcode("ret", "[.uni]", operands=0)
@opcode("exit", operands=0)
def leave(e: Lowering, i: Instruction) -> None:
    """End the thread (returns from device functions have become branches)."""
    e.commit()
    if i.guard is None:
        _exit(e, "-1")
        return
    condition = e.guard()
    e.forbid_poison(condition)
    if condition.kind == "u":
        go, stay = e.new_label("exit"), e.new_label("stay")
        e.emit(f"br i1 {condition.text}, label %{go}, label %{stay}")
        e.label(go)
        _exit(e, "-1")
        e.label(stay)
        e.edge(e.block.index + 1)
        return
    if e.fast:
        lanes = e.mask(condition)
        none = e.fresh(f"icmp eq i32 {lanes}, 0")
        stay, go = e.new_label("stay"), e.new_label("go")
        e.emit(f"br i1 {none}, label %{stay}, label %{go}")
        e.label(go)
        # let the masked version run this block's exit: the branch is the last instruction
        e.runtime(
            "void", "exit_some", f"i32 {lanes}", f"i32 {e.block.index + 1}", f"i32 {e.block.index}"
        )
        e.emit(f"ret i32 {records.TO_MASKED}")
        e.label(stay)
        e.edge(e.block.index + 1)
        return
    lanes = e.mask(condition)
    e.runtime(
        "void", "exit_some", f"i32 {lanes}", f"i32 {e.block.index + 1}", f"i32 {e.block.index}"
    )
    e.emit("br label %dispatch")


def _exit(e: Lowering, lanes: str) -> None:
    if e.fast:
        e.store_field("live", "0")
        e.emit(f"ret i32 {records.DONE}")
    else:
        e.runtime("void", "exit_lanes", f"i32 {lanes}")
        e.emit("br label %dispatch")


@opcode("trap", operands=0)
def trap(e: Lowering, i: Instruction) -> None:
    """Stop the launch with a fault."""
    site = e.make_site(SiteInfo())
    mask = e.active()
    e.runtime("void", "raise_fault", f"i32 {records.TRAP}", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    e.commit()
    e.edge(e.block.index + 1) if e.block.index + 1 < len(e.graph.blocks) else _exit(e, "-1")


@opcode(
    "bar",
    "[.cta].(sync|arrive)",
    "[.cta].red.popc.u32",
    "[.cta].red.(and|or).pred",
    ".warp.sync",
    operands=(1, 3),
)
@opcode(
    "barrier",
    "[.cta].(sync|arrive)[.aligned]",
    "[.cta].red.popc[.aligned].u32",
    "[.cta].red.(and|or)[.aligned].pred",
    operands=(1, 3),
)
def barrier(e: Lowering, i: Instruction) -> None:
    """``bar.sync a{, b}``, ``bar.arrive a, b``, ``bar.red``, ``bar.warp.sync m``; ``barrier``."""
    mods = [m for m in i.mods if m != "cta"]
    if mods[0] == "warp":
        return _warp_barrier(e, i)
    e.need(mods[0] in ("sync", "arrive", "red"), "this barrier")
    aligned = i.opcode == "bar" or "aligned" in mods
    operands = list(i.operands)
    predicate = e.source(operands.pop(), "pred") if mods[0] == "red" else None
    number = e.source(operands[0], "u32")
    count = e.source(operands[1], "u32") if len(operands) > 1 else Val("u", "i32", "0")
    site, mask = e.make_site(SiteInfo()), e.active()
    for component, value in enumerate((number, count)):
        e.put(component, value)
    kind = {"sync": 0, "arrive": 1, "red": 2}[mods[0]]
    lanes = e.mask(predicate) if predicate else "0"
    operation = next((n for n, m in enumerate(("popc", "and", "or")) if m in mods), 0)
    e.commit()
    after = e.block.index + 1
    code = e.runtime(
        "i32", "at_barrier", f"i32 {site}", f"i32 {mask}", f"i32 {kind}", f"i32 {int(aligned)}",
        f"i32 {operation}", f"i32 {lanes}", f"i32 {after}", f"i32 {e.block.index}",
    )  # fmt: skip
    e.check_fault()
    if not e.fast:
        e.emit("br label %dispatch")
        return None
    e.store_field("resume", str(after))
    wait, part, go = (e.new_label(name) for name in ("wait", "part", "go"))
    e.emit(f"switch i32 {code}, label %{part} [ i32 0, label %{go} i32 1, label %{wait} ]")
    e.label(wait)
    e.emit(f"ret i32 {records.AT_BARRIER}")
    e.label(part)
    e.emit(f"ret i32 {records.TO_MASKED}")
    e.label(go)
    e.edge(after)
    return None


@opcode(
    "barresult", "[.cta].red.popc[.aligned].u32", "[.cta].red.(and|or)[.aligned].pred", operands=1
)
def barrier_result(e: Lowering, i: Instruction) -> None:
    """Read what a barrier reduced, once it has opened."""
    value = Val("u", "i32", e.load_field("barrier_result"))
    if i.mods[-1] == "pred":
        value = e.compare("icmp ne {T} {0}, {1}", value, Val("u", "i32", "0"))
    e.write(i.operands[0], value)


def _warp_barrier(e: Lowering, i: Instruction) -> None:
    """``bar.warp.sync membermask``: lanes of one warp wait for each other."""
    members = e.source(i.operands[0], "b32")
    if e.fast and names_all_lanes(i):
        e.commit()
        e.edge(e.block.index + 1)
    else:
        meet(e, members, SYNC)


@opcode("call", "[.uni]", operands=3)
def call(e: Lowering, i: Instruction) -> None:
    """Call the runtime: printf and assert (other functions have been inlined)."""
    name, arguments, returns = i.operands
    site, mask = e.make_site(SiteInfo()), e.active()
    values = [_call_argument(e, a) for a in arguments.items]
    for component, value in enumerate(values):
        e.put(component, e.widen_plain(value, "i64"))
    if name.name == "__assertfail":
        e.runtime("void", "raise_fault", f"i32 {records.ASSERTION}", f"i32 {site}", f"i32 {mask}")
        e.check_fault()
        return
    e.need(name.name == "vprintf", f"the call of {name.name}")
    e.runtime("void", "print_lanes", f"i32 {site}", f"i32 {mask}")
    for item in returns.items:
        place = e.layout.local[item.name]
        e.emit(
            f"store <{LANES} x i64> splat (i64 {place}), ptr {e.field_address('address')}, align 8"
        )
        e.put(0, Val("u", "i32", "1"))
        e.put_poison([None], 4)
        result = e.extra_site(("result", item.name), SiteInfo(records.LOCAL, 4, 1, store=1))
        e.runtime("void", "write_result", f"i32 {result}", f"i32 {mask}")


def _call_argument(e: Lowering, argument: Sym) -> Val:
    """Load the first bytes of a call parameter, which lies in local memory."""
    size = min(8, e.graph.local[argument.name].size)
    place = e.layout.local[argument.name]
    e.emit(f"store <{LANES} x i64> splat (i64 {place}), ptr {e.field_address('address')}, align 8")
    site = e.extra_site(("argument", argument.name), SiteInfo(records.LOCAL, size, 1))
    e.runtime("i32", "mem_load", f"i32 {site}", f"i32 {e.active()}")
    return e.get(0, f"i{8 * size}")
