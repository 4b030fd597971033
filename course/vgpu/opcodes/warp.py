"""Instructions in which the lanes of a warp talk to each other."""

from ..emit import Val
from ..lowering import Lowering, SiteInfo
from ..ptx import Instruction, Pair
from ..table import opcode

_SHUFFLE = {"idx": 0, "up": 1, "down": 2, "bfly": 3}


def _member_mask(e: Lowering, i: Instruction, operand: int) -> tuple[int, str, bool]:
    """Check the mask operand of a ``.sync`` instruction.

    Returns the site, the active lanes, and whether all 32 lanes are known to be members. Lanes with
    different masks may run one instruction together: each group is a world of its own.
    """
    members = e.source(i.operands[operand], "b32")
    site, mask = e.make_site(SiteInfo()), e.active()
    if e.fast and members.kind == "u" and members.text == "-1" and i.guard is None:
        return site, mask, True
    e.put(7, members)
    e.runtime("void", "check_members", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    return site, mask, False


@opcode("shfl", ".sync.(up|down|bfly|idx).b32", operands=5)
def shuffle(e: Lowering, i: Instruction) -> None:
    """``shfl.sync.mode.b32 d{|p}, a, b, c, membermask``."""
    e.need(i.mods[0] == "sync", "shfl without .sync (removed after sm_70)")
    mode = next(m for m in i.mods if m in _SHUFFLE)
    value, b, c = (e.source(o, "b32") for o in i.operands[1:4])
    destination = i.operands[0]
    targets = (
        (destination.first, destination.second)
        if isinstance(destination, Pair)
        else (destination, None)
    )
    site, mask, everybody = _member_mask(e, i, 4)
    if everybody:
        e.runtime("void", "members_are_all")
    if e.fast and value.kind == "u":
        # all lanes hold the same: whatever is read, it is that
        value = Val("v", value.type, e.vector(value))
    for component, operand in enumerate((value, b, c)):
        e.put(component, operand)
    poison = value.poison or "0"
    e.runtime(
        "i32", "shuffle", f"i32 {site}", f"i32 {mask}", f"i32 {_SHUFFLE[mode]}", f"i32 {poison}"
    )
    e.poison = None
    result = e.get(3, "i32")
    if not e.fast:
        result = result._replace(poison=e.load_field("poison"))
    elif not everybody:
        e.give_up_unless(e.fresh(f"icmp eq i32 {e.load_field('poison')}, 0"))
    e.write(targets[0], result)
    if targets[1] is not None:
        e.poison = None
        e.write(targets[1], Val("v", "pred", e.load_field("predicate")))


@opcode("vote", ".sync.(all|any|uni).pred", ".sync.ballot.b32", operands=3)
def vote(e: Lowering, i: Instruction) -> None:
    """``vote.sync.{all,any,uni}.pred p, a, m`` and ``vote.sync.ballot.b32 d, a, m``."""
    e.need(i.mods[0] == "sync", "vote without .sync (removed after sm_70)")
    predicate = e.source(i.operands[1], "pred")
    _, mask, everybody = _member_mask(e, i, 2)
    mode = i.mods[1]
    if everybody:
        e.write(i.operands[0], _vote_of_all(e, mode, e.mask(predicate)))
        return
    e.runtime("void", "vote_lanes", f"i32 {mask}", f"i32 {e.mask(predicate)}", f"i32 {_VOTE[mode]}")
    if mode == "ballot":
        e.write(i.operands[0], e.get(3, "i32"))
    else:
        e.write(i.operands[0], Val("v", "pred", e.load_field("predicate")))


_VOTE = {"any": 0, "all": 1, "uni": 2, "ballot": 3}


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
    kind = i.mods[-1]
    value = e.source(i.operands[1], kind)
    _, mask, everybody = _member_mask(e, i, 2)
    if everybody:
        e.runtime("void", "members_are_all")
    e.put(0, e.widen_plain(value, "i64"))
    every = int("all" in i.mods)
    e.runtime("void", "match_values", f"i32 {mask}", f"i32 {every}")
    destination = i.operands[0]
    first = destination.first if isinstance(destination, Pair) else destination
    e.write(first, e.get(3, "i32"))
    if isinstance(destination, Pair):
        e.write(destination.second, Val("v", "pred", e.load_field("predicate")))


_REDUX = {"add": 0, "min": 1, "max": 2, "and": 3, "or": 4, "xor": 5}


@opcode("redux", ".sync.(add|min|max).(u32|s32)", ".sync.(and|or|xor).b32", operands=3)
def reduce(e: Lowering, i: Instruction) -> None:
    """``redux.sync.op.type d, a, m``: one result for all members."""
    kind = i.mods[-1]
    e.need(kind in ("u32", "s32", "b32"), "floating-point redux (it needs sm_100a)")
    name = next(m for m in i.mods if m in _REDUX)
    value = e.source(i.operands[1], "b32")
    _, mask, everybody = _member_mask(e, i, 2)
    if everybody:
        e.runtime("void", "members_are_all")
    e.put(0, value)
    e.runtime(
        "void", "reduce_lanes", f"i32 {mask}", f"i32 {_REDUX[name]}", f"i32 {int(kind == 's32')}"
    )
    e.write(i.operands[0], e.get(3, "i32"))


@opcode("activemask", ".b32", operands=1)
def active_mask(e: Lowering, i: Instruction) -> None:
    """``activemask.b32 d``: the lanes that run together at this moment."""
    e.write(i.operands[0], Val("u", "i32", e.active()))


@opcode("elect", ".sync", operands=2)
def elect(e: Lowering, i: Instruction) -> None:
    """``elect.sync d|p, membermask``: the lowest member is the leader."""
    _, mask, everybody = _member_mask(e, i, 1)
    if everybody:
        e.runtime("void", "members_are_all")
    e.runtime("void", "elect_leader", f"i32 {mask}")
    destination = i.operands[0]
    e.write(destination.first, e.get(3, "i32"))
    e.write(destination.second, Val("v", "pred", e.load_field("predicate")))
