"""Kernels as basic blocks: calls inlined, block boundaries, what is live where."""

import collections
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from .ptx import (
    Address,
    Function,
    Imm,
    Instruction,
    Loc,
    Module,
    Not,
    Operand,
    Pair,
    Reg,
    Sym,
    Variable,
    Vec,
)  # fmt: skip


class Unsupported(NotImplementedError):
    """A form of PTX that the virtual GPU does not run; the message names it and its line."""


_BARRIERS = {"bar", "barrier"}
#: Instructions for which lanes of a warp meet and that give each a result.
MEETINGS = {"shfl", "vote", "match", "redux", "elect"}
#: What `build` puts after them, to take that result.
RESULTS = {"barresult", "met"}
#: Instructions after which lanes may have to wait: they end a basic block.
WAITING = _BARRIERS | MEETINGS
#: What a block may end with.
CONTROL = {"bra", "brx", "ret", "exit", "trap"}
#: Instructions with an effect outside the registers: a block cannot be run again after them.
EFFECTS = {"st", "atom", "red", "call"}
_ACCESSES = {"ld", "ldu", "st", "atom", "red"}
#: Functions that the runtime itself provides.
SYSTEM_CALLS = {"vprintf", "__assertfail", "malloc", "free"}


@dataclass
class Block:
    """Instructions that run one after the other, for all lanes that enter."""

    index: int
    instructions: list[Instruction] = field(default_factory=list)
    successors: list[int] = field(default_factory=list)
    live_in: set[Reg] = field(default_factory=set)
    live_out: set[Reg] = field(default_factory=set)


@dataclass
class Graph:
    """A kernel, flattened: blocks in text order, and what its memory needs."""

    name: str
    blocks: list[Block]
    labels: dict[str, int]
    shared: dict[str, Variable]
    local: dict[str, Variable]
    branch_targets: dict[str, tuple[str, ...]]
    function: Function


def build(module: Module, entry: str) -> Graph:
    """Return the control-flow graph of kernel `entry`, its calls inlined."""
    function = module.functions[entry]
    _refuse_clusters(function)
    flat = _Inliner(module)
    body = flat.expand(function, "", (), {})
    blocks, labels = _split(_with_known_masks(body))
    graph = Graph(entry, blocks, labels, flat.shared, flat.local, flat.targets, function)
    _connect(graph)
    _liveness(blocks)
    return graph


def _refuse_clusters(function: Function) -> None:
    size = function.directives.get("reqnctapercluster", ())
    left_to_launch = "explicitcluster" in function.directives and not size
    if math.prod(size) != 1 or left_to_launch:
        shape = " x ".join(map(str, size)) or "a size given at launch"
        raise Unsupported(
            f"{function.name} runs in clusters of blocks (__cluster_dims__: {shape}), and the "
            "virtual GPU does not run clusters yet"
        )


# --- inlining


class _Inliner:
    """Replaces each call by the body of what is called, with names of its own."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.shared: dict[str, Variable] = {}
        self.local: dict[str, Variable] = {}
        self.targets: dict[str, tuple[str, ...]] = {}
        self.calls = 0

    def expand(
        self, function: Function, suffix: str, stack: tuple[str, ...], params: dict[str, str]
    ) -> list[Instruction | str]:
        if function.name in stack:
            chain = " -> ".join((*stack, function.name))
            raise Unsupported(f"the virtual GPU does not run recursive device functions: {chain}")
        renamed = dict(params)
        for variable in function.variables:
            name = variable.name + suffix
            # a shared variable of a device function exists once, whoever calls it
            if variable.space == "shared":
                self.shared[variable.name] = variable
                continue
            renamed[variable.name] = name
            self.local[name] = replace(variable, name=name)
        for label, targets in function.branch_targets.items():
            self.targets[label + suffix] = tuple(t + suffix for t in targets)
        end = f"$end{suffix}"
        result: list[Instruction | str] = []
        for item in function.body:
            if isinstance(item, str):
                result.append(item + suffix)
                continue
            labels = {"bra", "brx"}
            rename = _Renamer(suffix, renamed, item.opcode in labels)
            made = replace(
                item,
                operands=tuple(rename(o) for o in item.operands),
                guard=rename(item.guard) if item.guard else None,
            )
            if item.opcode == "call":
                result.extend(self.call(made, suffix, (*stack, function.name)))
            elif item.opcode == "ret" and stack:
                result.append(replace(made, opcode="bra", mods=(), operands=(Sym(end),)))
            else:
                result.append(made)
        if stack:
            result.append(end)
        return result

    def call(
        self, call: Instruction, suffix: str, stack: tuple[str, ...]
    ) -> list[Instruction | str]:
        lists = [o for o in call.operands if isinstance(o, Vec)]
        target = next(o for o in call.operands if not isinstance(o, Vec))
        if not isinstance(target, Sym):
            raise Unsupported(f"calls through a function pointer: {call.text}")
        name = target.name.removesuffix(suffix) if suffix else target.name
        if name in SYSTEM_CALLS:
            arguments = lists[-1] if lists else Vec(())
            returns = lists[0] if len(lists) > 1 else Vec(())
            return [replace(call, operands=(Sym(name), arguments, returns))]
        callee = self.module.functions.get(name)
        if callee is None or not callee.defined:
            raise Unsupported(
                f"the kernel calls {name}, which this PTX declares but does not define: {call.text}"
            )
        has_returns = len(lists) == 2 or (lists and isinstance(call.operands[0], Vec))
        returns = lists[0].items if has_returns else ()
        arguments = lists[-1].items if len(lists) == 2 or (not has_returns and lists) else ()
        names = {p.name: a.name for p, a in zip(callee.params, arguments, strict=True)}
        # what a callee does not return stays undefined, as where numba declares a void function
        names |= {p.name: r.name for p, r in zip(callee.returns, returns, strict=False)}
        self.calls += 1
        body = self.expand(callee, f"#{self.calls}", stack, names)
        body = [
            item if isinstance(item, str) else replace(item, loc=_inlined(item.loc, call.loc))
            for item in body
        ]
        if call.guard is None:
            return body
        skip = f"$skip#{self.calls}"
        jump = Instruction(
            "bra", (), (Sym(skip),), call.guard, not call.guard_negated, call.loc, call.text
        )
        return [jump, *body, skip]


def _inlined(loc: Loc | None, at: Loc | None) -> Loc | None:
    if loc is None or at is None:
        return loc or at
    inner = _inlined(loc.inlined_at, at) if loc.inlined_at else at
    return Loc(loc.file, loc.line, inner)


class _Renamer:
    """Gives the operands of an inlined body their own names."""

    def __init__(self, suffix: str, names: dict[str, str], labels: bool) -> None:
        self.suffix, self.names, self.labels = suffix, names, labels

    def __call__(self, operand: Operand) -> Operand:
        if isinstance(operand, Reg):
            return Reg(operand.name + self.suffix, operand.width)
        if isinstance(operand, Sym):
            if operand.name in self.names:
                return Sym(self.names[operand.name], operand.offset)
            return Sym(operand.name + self.suffix, operand.offset) if self.labels else operand
        if isinstance(operand, Address):
            return Address(
                self(operand.base), operand.offset, tuple(self(c) for c in operand.coordinates)
            )
        if isinstance(operand, Vec):
            return Vec(tuple(self(i) for i in operand.items))
        if isinstance(operand, Not):
            return Not(self(operand.operand))
        if isinstance(operand, Pair):
            return Pair(
                self(operand.first) if operand.first else None,
                self(operand.second) if operand.second else None,
            )
        return operand


# --- blocks


def _split(body: Iterable[Instruction | str]) -> tuple[list[Block], dict[str, int]]:
    blocks, labels = [Block(0)], {}
    effect = False

    def start() -> None:
        nonlocal effect
        effect = False
        if blocks[-1].instructions:
            blocks.append(Block(len(blocks)))

    for item in body:
        if isinstance(item, str):
            start()
            labels[item] = blocks[-1].index
            continue
        # the fast path gives up by starting the block again: nothing may have happened before an
        # instruction that can give up (a store can too, but then the masked version finds a fault)
        if effect and _can_give_up(item):
            start()
        # a result is there only when all have come and the wait is over: in the next block
        result = None
        if item.opcode in _BARRIERS and "red" in item.mods:
            result = replace(item, opcode="barresult", operands=item.operands[:1])
            item = replace(item, operands=item.operands[1:])
        elif item.opcode in MEETINGS:
            how = ("whole",) if names_all_lanes(item) else ()
            result = replace(item, opcode="met", mods=how, operands=item.operands[:1])
        blocks[-1].instructions.append(item)
        effect = effect or item.opcode in EFFECTS
        if item.opcode in CONTROL or item.opcode in WAITING:
            start()
        if result is not None:
            blocks[-1].instructions.append(result)
    if not blocks[-1].instructions or blocks[-1].instructions[-1].opcode not in CONTROL:
        blocks[-1].instructions.append(Instruction("ret", (), ()))
    return blocks, labels


def _with_known_masks(body: list[Instruction | str]) -> Iterator[Instruction | str]:
    """Yield `body` with the masks of warp operations as constants, where a register only holds one.

    NVRTC moves every mask into a register first.
    """
    written = collections.Counter(
        r for item in body if isinstance(item, Instruction) for r in defines(item)
    )
    known = {
        item.operands[0]: item.operands[1]
        for item in body
        if isinstance(item, Instruction) and item.opcode == "mov" and item.guard is None
        if isinstance(item.operands[-1], Imm) and written[item.operands[0]] == 1
    }
    for item in body:
        if isinstance(item, str) or not (item.opcode in MEETINGS or "warp" in item.mods):
            yield item
        else:
            *others, mask = item.operands
            yield replace(item, operands=(*others, known.get(mask, mask)))


def names_all_lanes(item: Instruction) -> bool:
    """Say whether all lanes take part in a warp operation, as far as its text tells."""
    mask = item.operands[-1]
    return item.guard is None and isinstance(mask, Imm) and mask.value & 0xFFFFFFFF == 0xFFFFFFFF


def _can_give_up(item: Instruction) -> bool:
    """Say whether the fast path may give up at `item`: it loads, or widens an index of 32 bits."""
    if item.opcode in ("ld", "ldu") or "wide" in item.mods:
        return True
    if item.opcode == "cvt":
        return item.mods[-2:-1] in (("s64",), ("u64",))
    addresses = [o.base for o in item.operands if isinstance(o, Address)]
    return item.opcode in _ACCESSES and any(
        isinstance(base, Reg) and base.width == 32 for base in addresses
    )


def _connect(graph: Graph) -> None:
    for block in graph.blocks:
        last, after = block.instructions[-1], block.index + 1
        targets: list[int] = []
        if last.opcode == "bra":
            targets.append(target_of(graph, last.operands[0]))
        elif last.opcode == "brx":
            for label in graph.branch_targets[last.operands[1].name]:
                targets.append(graph.labels[label])
        falls = last.opcode not in CONTROL or last.guard is not None
        if falls and after < len(graph.blocks):
            targets.append(after)
        block.successors = targets


def target_of(graph: Graph, operand: Operand) -> int:
    """Return the block that a branch operand names."""
    return graph.labels[operand.name]


def cycle(graph: Graph, index: int) -> set[int]:
    """Return the blocks of all loops that block `index` is part of; none if it is in no loop."""

    def reached(edges: dict[int, list[int]]) -> set[int]:
        found: set[int] = set()
        left = list(edges[index])
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                left += edges[at]
        return found

    onward = {block.index: block.successors for block in graph.blocks}
    back: dict[int, list[int]] = {block.index: [] for block in graph.blocks}
    for start, ends in onward.items():
        for end in ends:
            back[end].append(start)
    return reached(onward) & reached(back)


# --- liveness


def registers(operand: Operand) -> Iterable[Reg]:
    """Yield the registers in `operand`."""
    if isinstance(operand, Reg):
        yield operand
    elif isinstance(operand, Address):
        yield from registers(operand.base)
        for item in operand.coordinates:
            yield from registers(item)
    elif isinstance(operand, Vec):
        for item in operand.items:
            yield from registers(item)
    elif isinstance(operand, Not):
        yield operand.operand
    elif isinstance(operand, Pair):
        yield from (r for r in (operand.first, operand.second) if r)


def symbols(graph: Graph) -> set[str]:
    """Return the names of all variables and labels that a kernel's instructions mention."""

    def named(operand: Operand) -> Iterable[str]:
        if isinstance(operand, Sym):
            yield operand.name
        elif isinstance(operand, Address):
            yield from named(operand.base)
        elif isinstance(operand, Vec):
            for item in operand.items:
                yield from named(item)

    instructions = (i for block in graph.blocks for i in block.instructions)
    return {name for i in instructions for operand in i.operands for name in named(operand)}


#: Opcodes whose first operand is read, not written.
_NO_DESTINATION = {
    "st", "red", "bar", "barrier", "membar", "fence", "bra", "brx", "ret", "exit", "trap", "call",
    "prefetch", "prefetchu", "nanosleep", "pmevent", "brkpt", "discard", "applypriority",
    "griddepcontrol",
}  # fmt: skip

#: The carry flag of add.cc and its kin, as a predicate register.
CARRY = Reg("%carry", 1)


def has_destination(item: Instruction) -> bool:
    """Say whether the first operand is written."""
    return item.opcode not in _NO_DESTINATION


def defines(item: Instruction) -> set[Reg]:
    """Return the registers that `item` writes."""
    written = set(registers(item.operands[0])) if has_destination(item) and item.operands else set()
    return written | ({CARRY} if "cc" in item.mods else set())


def uses(item: Instruction) -> set[Reg]:
    """Return the registers that `item` reads; if it is guarded, also those that it may keep."""
    rest = item.operands[1:] if has_destination(item) else item.operands
    read = {r for operand in rest for r in registers(operand)}
    if item.opcode == "met":
        # the fast version may have the result already
        read |= defines(item)
    if item.opcode in ("addc", "subc", "madc"):
        read.add(CARRY)
    if item.guard is not None:
        read |= {item.guard} | defines(item)
    return read


def _liveness(blocks: list[Block]) -> None:
    kill, gen = [], []
    for block in blocks:
        written: set[Reg] = set()
        needed: set[Reg] = set()
        for item in block.instructions:
            needed |= uses(item) - written
            written |= defines(item)
        kill.append(written)
        gen.append(needed)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            out = set().union(*(blocks[s].live_in for s in block.successors))
            live = gen[block.index] | (out - kill[block.index])
            if out != block.live_out or live != block.live_in:
                block.live_out, block.live_in, changed = out, live, True
