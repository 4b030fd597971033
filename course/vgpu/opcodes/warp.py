"""Instructions in which the lanes of a warp talk to each other.

Each has two halves: here lanes leave their operands and wait for all members of their mask; ``met``
takes the result. A warp that is whole anyway has its result at once.
"""

from collections.abc import Callable

from .. import records
from ..cfg import names_all_lanes
from ..emit import Val
from ..lanes import ELECT, MATCH, REDUCE, SHUFFLE, VOTE
from ..lowering import Lowering, SiteInfo
from ..ptx import Instruction, Operand, Pair
from ..table import opcode
from ..undefined import ones


def meet(e: Lowering, members: Val, op: int, votes: str = "0") -> None:
    """Let the active lanes wait for their `members` (see lanes.meet), and end the block.

    Their other operands have been deposited; `votes` is a mask of lanes.
    """
    site, mask, poison = e.make_site(SiteInfo()), e.active(), e.lanes(e.poison)
    e.deposit("sync_mask", members)
    e.commit()
    after = e.block.index + 1
    code = e.runtime(
        "i32", "meet", f"i32 {site}", f"i32 {mask}", f"i32 {op}", f"i32 {votes}", f"i32 {poison}",
        f"i32 {after}", f"i32 {e.block.index}",
    )  # fmt: skip
    e.check_fault()
    go, wait = e.new_label("go"), e.new_label("wait")
    e.emit(f"br i1 {e.fresh(f'icmp ne i32 {code}, 0')}, label %{go}, label %{wait}")
    e.label(wait)
    e.emit(f"ret i32 {records.TO_MASKED}" if e.fast else "br label %dispatch")
    e.label(go)
    e.edge(after)


def _operation(
    e: Lowering, i: Instruction, op: int, operands: dict[int, Val], votes: str = "0"
) -> None:
    """Lower a warp operation whose last operand is the mask of members.

    `operands` go to components of Warp.met.
    """
    members = e.source(i.operands[-1], "b32")
    for component, value in operands.items():
        e.deposit("met", value, component)
    if not (e.fast and names_all_lanes(i)):
        meet(e, members, op, votes)
        return
    if votes != "0":
        e.store_field("met_votes", votes)
    e.runtime("void", "perform_all", f"i32 {e.make_site(SiteInfo())}", f"i32 {op}")
    _write(e, i.operands[0], lambda: Val("v", "i32", _result(e)), lambda: _truth(e))
    _go_on(e)


def _go_on(e: Lowering) -> None:
    e.commit()
    e.edge(e.block.index + 1)


def _result(e: Lowering) -> str:
    return e.fresh(f"load <{records.LANES} x i32>, ptr {e.field_address('met_result')}, align 4")


def _truth(e: Lowering) -> Val:
    return Val("v", "pred", e.load_field("met_truth"))


def _write(
    e: Lowering, operand: Operand, value: Callable[[], Val], truth: Callable[[], Val]
) -> None:
    """Write a destination ``d``, ``p`` or ``d|p``."""
    parts = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
    for part in parts:
        if part is not None:
            e.write(part, truth() if part.width == 1 else value())


@opcode("met", "[.whole]", operands=1)
def take_result(e: Lowering, i: Instruction) -> None:
    """Take what an operation gave each lane."""
    if e.fast and i.mods:
        return  # it has been taken
    if not e.fast:
        e.poison = ((e.load_field("spoiled"), ones(32)),)
    _write(e, i.operands[0], lambda: Val("v", "i32", _result(e)), lambda: _truth(e))


_SHUFFLE = {"idx": 0, "up": 1, "down": 2, "bfly": 3}


@opcode("shfl", ".sync.(up|down|bfly|idx).b32", operands=5)
def shuffle(e: Lowering, i: Instruction) -> None:
    """``shfl.sync.mode.b32 d{|p}, a, b, c, membermask``."""
    mode = next(m for m in i.mods if m in _SHUFFLE)
    b, c = (e.source(o, "b32") for o in i.operands[2:4])
    e.poison = ()  # of the operands only the value may be undefined
    value = e.source(i.operands[1], "b32")
    _operation(e, i, SHUFFLE + _SHUFFLE[mode], {0: value, 1: b, 2: c})


_VOTE = {"any": 0, "all": 1, "uni": 2, "ballot": 3}


@opcode("vote", ".sync.(all|any|uni).pred", ".sync.ballot.b32", operands=3)
def vote(e: Lowering, i: Instruction) -> None:
    """``vote.sync.{all,any,uni}.pred p, a, m`` and ``vote.sync.ballot.b32 d, a, m``."""
    mode = i.mods[1]
    votes = e.mask(e.source(i.operands[1], "pred"))
    if not (e.fast and names_all_lanes(i)):
        _operation(e, i, VOTE + _VOTE[mode], {}, votes)
        return
    result = _vote_of_all(e, mode, votes)
    # the masked version may have to take the result after all
    if mode == "ballot":
        e.deposit("met_result", result)
    else:
        e.store_field("met_truth", e.mask(result))
    e.store_field("spoiled", "0")
    e.write(i.operands[0], result)
    _go_on(e)


def _vote_of_all(e: Lowering, mode: str, lanes: str) -> Val:
    """Return the vote of a warp whose 32 lanes all take part: one result for all."""
    if mode == "ballot":
        return Val("u", "i32", lanes)
    some = e.fresh(f"icmp ne i32 {lanes}, 0")
    every = e.fresh(f"icmp eq i32 {lanes}, -1")
    if mode == "uni":
        every = e.fresh(f"or i1 {every}, {e.fresh(f'xor i1 {some}, true')}")
    return Val("u", "pred", some if mode == "any" else every)


@opcode("match", ".(any|all).sync.(b32|b64)", operands=3)
def match(e: Lowering, i: Instruction) -> None:
    """``match.{any,all}.sync.type d{|p}, a, m``: which lanes hold the same value."""
    value = e.widen_plain(e.source(i.operands[1], i.mods[-1]), "i64")
    _operation(e, i, MATCH + int("all" in i.mods), {3: value})


_REDUX = {"add": 0, "min": 1, "max": 2, "and": 3, "or": 4, "xor": 5}


@opcode("redux", ".sync.(add|min|max).(u32|s32)", ".sync.(and|or|xor).b32", operands=3)
def reduce(e: Lowering, i: Instruction) -> None:
    """``redux.sync.op.type d, a, m``: one result for all members."""
    name = next(m for m in i.mods if m in _REDUX)
    value = e.source(i.operands[1], "b32")
    signed = name in ("min", "max") and i.mods[-1] == "s32"
    _operation(e, i, REDUCE + _REDUX[name] + 8 * signed, {0: value})


@opcode("activemask", ".b32", operands=1)
def active_mask(e: Lowering, i: Instruction) -> None:
    """``activemask.b32 d``: the lanes that run together at this moment."""
    e.write(i.operands[0], Val("u", "i32", e.active()))


@opcode("elect", ".sync", operands=2)
def elect(e: Lowering, i: Instruction) -> None:
    """``elect.sync d|p, membermask``: the lowest member is the leader."""
    _operation(e, i, ELECT, {})
