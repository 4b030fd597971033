"""Lanes of a warp that meet: ``__syncwarp``, shuffles, votes, matches, reductions. Native code.

A lane that comes to such an operation leaves its operands in its warp's record and waits until all
members of its mask have come to the same operation with the same mask. Members that have ended do
not count. Then the operation is done for all of them, and each goes on with its result. By which
way lanes came, and whether some ran far ahead, makes no difference.
"""

from . import access, watch
from .native import ctz, i32, native, ptr, u32, u64, void
from .records import BAD_MASK, COMPONENT, FULL, INACTIVE_LANE, LANES, MATCHED, Warp

#: What lanes meet for; an operation is one of these in the high bits and its mode in the low four.
SYNC, SHUFFLE, VOTE, MATCH, REDUCE, ELECT = (16 * n for n in range(6))
_MODE = 15
_B, _C = COMPONENT // 4, 2 * COMPONENT // 4  # operands of a shuffle, counted in words of Warp.met


@native
def meet(
    w: ptr(Warp), site: u32, mask: u32, op: u32, lanes: u32, poison: u32, after: u32, block: u32
) -> u32:
    """Let the lanes in `mask` wait for their members; all active lanes then go on at `after`.

    Masks and operands are in Warp.sync_mask and Warp.met, predicates in `lanes`. Returns whether
    the active lanes, and no others, can go on at once.
    """
    active = w.mask if w.fast == 0 else u32(FULL)
    strangers = u32(0)
    for lane in range(u32(LANES)):
        bit = u32(1) << lane
        if mask & bit != 0:
            w.sync_op[lane] = op
            w.sync_site[lane] = site
            if w.sync_mask[lane] & bit == 0:
                strangers |= bit
    if strangers != 0:
        access.record_fault(w, BAD_MASK, site, strangers)
        return 0
    w.met_votes = (w.met_votes & ~mask) | (lanes & mask)
    w.met_poison = (w.met_poison & ~mask) | (poison & mask)
    before = w.syncing
    w.syncing = before | mask
    open_meetings(w, 0)
    if w.syncing == before and (w.fast == 0 or w.spoiled & mask == 0):
        return 1
    for lane in range(u32(LANES)):
        if active & (u32(1) << lane) != 0:
            w.pc[lane] = after
    w.convert = 2 * block + 1
    w.fast_allowed = 0  # the fast version would not look for the results
    return 0


@native
def _company(w: ptr(Warp), lane: u32, anywhere: u32) -> u32:
    """Return the lanes that wait for the same operation as `lane`, at its place or `anywhere`."""
    found = u32(0)
    for other in range(u32(LANES)):
        same = w.sync_mask[other] == w.sync_mask[lane] and w.sync_op[other] == w.sync_op[lane]
        if same and (anywhere != 0 or w.sync_site[other] == w.sync_site[lane]):
            found |= u32(1) << other
    return found & w.syncing


@native
def open_meetings(w: ptr(Warp), anywhere: u32) -> void:
    """Let lanes go on whose members are all there or have ended.

    Members usually meet at one instruction. PTX also allows several of the same kind, as in the two
    branches of an ``if``; lanes look `anywhere` once there is no other way to go on.
    """
    pending = w.syncing
    while pending != 0:
        lane = ctz(pending)
        company = _company(w, lane, anywhere)
        pending = pending & ~company
        if company == w.sync_mask[lane] & w.live:
            w.syncing = w.syncing & ~company
            _perform(w, company, w.sync_op[lane])


@native
def blame_absent(w: ptr(Warp)) -> void:
    """Record the fault that lanes wait for a member that cannot come."""
    lane = ctz(w.syncing)
    absent = w.sync_mask[lane] & w.live & ~_company(w, lane, 1)
    first = ctz(absent)
    kind = u32(INACTIVE_LANE)
    if w.syncing & (u32(1) << first) != 0 and w.sync_op[first] == w.sync_op[lane]:
        kind = BAD_MASK  # it is at the same operation, with another mask
    access.record_fault(w, kind, w.sync_site[lane], absent)


@native
def _perform(w: ptr(Warp), group: u32, op: u32) -> void:
    """Do an operation for the lanes in `group`, all of which are there."""
    kind = op & ~u32(_MODE)
    mode = op & _MODE
    w.spoiled = (w.spoiled & ~group) | (w.met_poison & group)
    if kind == SYNC:
        watch.warp_synchronised(w, group)
    elif kind == SHUFFLE:
        _shuffle(w, group, mode)
    elif kind == VOTE:
        _vote(w, group, mode)
    elif kind == MATCH:
        _match(w, group, mode)
    elif kind == REDUCE:
        _give(w, group, _reduced(w, group, mode))
    else:
        _give(w, group, ctz(group))
        w.met_truth = (w.met_truth & ~group) | (u32(1) << ctz(group))


@native
def perform_all(w: ptr(Warp), site: u32, op: u32) -> void:
    """Do an operation for a whole warp, none of whose lanes wait."""
    if op & ~u32(_MODE) == SHUFFLE:
        for lane in range(u32(LANES)):
            w.sync_site[lane] = site
    w.met_poison = 0
    _perform(w, FULL, op)


@native
def _give(w: ptr(Warp), group: u32, value: u32) -> void:
    """Give all lanes of a group the same result."""
    for lane in range(u32(LANES)):
        if group & (u32(1) << lane) != 0:
            w.met_result[lane] = value


# --- the operations


@native
def _vote(w: ptr(Warp), group: u32, mode: u32) -> void:
    """``vote``: 0 any, 1 all, 2 uniform, 3 ballot."""
    votes = w.met_votes & group
    some = votes != 0
    every = votes == group
    w.met_truth = w.met_truth & ~group
    if (mode == 0 and some) or (mode == 1 and every) or (mode == 2 and (every or not some)):
        w.met_truth = w.met_truth | group
    _give(w, group, votes)


@native
def _shuffle(w: ptr(Warp), group: u32, mode: u32) -> void:
    """``shfl``: 0 idx, 1 up, 2 down, 3 butterfly; value, b and c are components of Warp.met.

    What comes from a lane that does not take part is undefined.
    """
    value = ptr(u32)(w.met)
    inside = u32(0)
    for lane in range(u32(LANES)):
        if group & (u32(1) << lane) == 0:
            continue
        b = value[_B + lane] & 31
        c = value[_C + lane]
        segment = (c >> 8) & 31
        clamp = c & 31
        least = lane & segment
        most = least | (clamp & ~segment)
        source = lane
        good = False
        if mode == 1:
            source = lane - b
            good = i32(source) >= i32(most)
        elif mode == 2:
            source = lane + b
            good = source <= most
        elif mode == 3:
            source = lane ^ b
            good = source <= most
        else:
            source = least | (b & ~segment)
            good = source <= most
        if good:
            inside |= u32(1) << lane
        else:
            source = lane
        bit = u32(1) << source
        w.met_result[lane] = value[source]
        if group & bit == 0:
            w.spoiled = w.spoiled | (u32(1) << lane)
            w.poisoned = 1
            w.origin_site[lane] = w.sync_site[lane]
            w.origin_address[lane] = u64(source)
        elif w.met_poison & bit != 0:
            w.spoiled = w.spoiled | (u32(1) << lane)
            w.origin_site[lane] = w.origin_site[source]
            w.origin_address[lane] = w.origin_address[source]
        else:
            w.spoiled = w.spoiled & ~(u32(1) << lane)
    w.met_truth = (w.met_truth & ~group) | inside


@native
def _match(w: ptr(Warp), group: u32, every: u32) -> void:
    """``match``: which members hold the same 64-bit value; with `every`, whether all do."""
    value = w.met + MATCHED
    agree = u32(0)
    for lane in range(u32(LANES)):
        if group & (u32(1) << lane) == 0:
            continue
        same = u32(0)
        for other in range(u32(LANES)):
            if value[other] == value[lane]:
                same |= u32(1) << other
        same = same & group
        if same == group:
            agree |= u32(1) << lane
        elif every != 0:
            same = 0
        w.met_result[lane] = same
    w.met_truth = (w.met_truth & ~group) | agree


@native
def _reduced(w: ptr(Warp), group: u32, op: u32) -> u32:
    """``redux``: 0 add, 1 min, 2 max, 3 and, 4 or, 5 xor; 8 more for signed numbers."""
    value = ptr(u32)(w.met)
    first = ctz(group)
    result = value[first]
    rest = group & (group - 1)
    while rest != 0:
        x = value[ctz(rest)]
        rest = rest & (rest - 1)
        less = x < result if op & 8 == 0 else i32(x) < i32(result)
        kind = op & 7
        if kind == 0:
            result += x
        elif kind == 1:
            result = x if less else result
        elif kind == 2:
            result = result if less else x
        elif kind == 3:
            result &= x
        elif kind == 4:
            result |= x
        else:
            result ^= x
    if w.met_poison & group != 0:
        w.spoiled = w.spoiled | group
    return result


@native
def find_nth_set(w: ptr(Warp)) -> void:
    """``fns``: mask, base and offset in components 0-2, result in 0."""
    value = ptr(u32)(w.data)
    for lane in range(u32(LANES)):
        mask = value[lane]
        at = i32(value[64 + lane])
        count = i32(value[128 + lane])
        found = u32(FULL)
        if count == 0:
            if at >= 0 and at < 32 and (mask >> u32(at)) & 1 != 0:
                found = u32(at)
        else:
            step = i32(1) if count > 0 else i32(-1)
            left = count if count > 0 else -count
            while at >= 0 and at < 32:
                if (mask >> u32(at)) & 1 != 0:
                    left -= 1
                    if left == 0:
                        found = u32(at)
                        break
                at += step
        value[lane] = found
