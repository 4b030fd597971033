"""Lanes of a warp that talk to each other: shuffles, votes, matches, reductions. Native code."""

from . import access
from .native import ctz, i32, native, ptr, u32, void
from .records import BAD_MASK, FULL, INACTIVE_LANE, LANES, MEMBERS, Warp


@native
def check_members(w: ptr(Warp), site: u32, mask: u32) -> void:
    """Check masks: a caller is a member of its own, and all members that live are here with it."""
    members = ptr(u32)(w.data) + MEMBERS
    for lane in range(u32(LANES)):
        bit = u32(1) << lane
        if mask & bit == 0:
            continue
        if members[lane] & bit == 0:
            wrong = bit
            for other in range(u32(LANES)):
                if mask & ~members[other] & (u32(1) << other) != 0:
                    wrong |= u32(1) << other
            access.record_fault(w, BAD_MASK, site, wrong)
            return
        missing = members[lane] & ~mask & w.live
        if missing != 0:
            # members that are alive but elsewhere: the lanes here would read what nobody gives
            access.record_fault(w, INACTIVE_LANE, site, missing)
            return
        for other in range(u32(LANES)):
            if members[lane] & mask & (u32(1) << other) != 0 and members[other] != members[lane]:
                access.record_fault(w, BAD_MASK, site, bit | (u32(1) << other))
                return


@native
def members_are_all(w: ptr(Warp)) -> void:
    """Note that all lanes are members, where that is known without looking."""
    for lane in range(u32(LANES)):
        ptr(u32)(w.data)[MEMBERS + lane] = FULL


@native
def vote_lanes(w: ptr(Warp), mask: u32, lanes: u32, mode: u32) -> void:
    """``vote``: 0 any, 1 all, 2 uniform (to `predicate`), 3 ballot (to component 3)."""
    members = ptr(u32)(w.data) + MEMBERS
    result = ptr(u32)(w.data) + 192
    truth = u32(0)
    for lane in range(u32(LANES)):
        group = members[lane] & mask
        votes = lanes & group
        result[lane] = votes
        some = votes != 0
        every = votes == group
        if (mode == 0 and some) or (mode == 1 and every) or (mode == 2 and (every or not some)):
            truth |= u32(1) << lane
    w.predicate = truth


@native
def elect_leader(w: ptr(Warp), mask: u32) -> void:
    """``elect``: the lowest member leads; its number goes to component 3."""
    members = ptr(u32)(w.data) + MEMBERS
    result = ptr(u32)(w.data) + 192
    leaders = u32(0)
    for lane in range(u32(LANES)):
        group = members[lane] & mask
        result[lane] = ctz(group)
        if group != 0 and ctz(group) == lane:
            leaders |= u32(1) << lane
    w.predicate = leaders


@native
def shuffle(w: ptr(Warp), site: u32, mask: u32, mode: u32, poison: u32) -> u32:
    """``shfl``: value, b and c in components 0-2, result in 3, in-range lanes in `predicate`.

    What a lane reads from one that does not take part is undefined; the mask of lanes with
    undefined results goes to `poison`.
    """
    value = ptr(u32)(w.data)
    members = value + MEMBERS
    inside = u32(0)
    spoiled = u32(0)
    for lane in range(u32(LANES)):
        if mask & (u32(1) << lane) == 0:
            continue
        b = value[64 + lane] & 31
        c = value[128 + lane]
        segment = (c >> 8) & 31
        clamp = c & 31
        most = (lane & segment) | (clamp & ~segment)
        least = lane & segment
        source = lane
        good = u32(0)
        if mode == 1:
            source = lane - b
            good = 1 if i32(source) >= i32(most) else 0
        elif mode == 2:
            source = lane + b
            good = 1 if source <= most else 0
        elif mode == 3:
            source = lane ^ b
            good = 1 if source <= most else 0
        else:
            source = least | (b & ~segment)
            good = 1 if source <= most else 0
        if good == 0:
            source = lane
        else:
            inside |= u32(1) << lane
        value[192 + lane] = value[source]
        if mask & members[lane] & (u32(1) << source) == 0:
            spoiled |= u32(1) << lane
            w.origin_site[lane] = site
            w.poisoned = 1
        elif poison & (u32(1) << source) != 0:
            spoiled |= u32(1) << lane
            w.origin_site[lane] = w.origin_site[source]
            w.origin_address[lane] = w.origin_address[source]
    w.predicate = inside
    w.poison[0] = spoiled
    return inside


@native
def match_values(w: ptr(Warp), mask: u32, every: u32) -> void:
    """``match``: 64-bit values in component 0, masks of equal lanes in component 3."""
    value = w.data
    members = ptr(u32)(w.data) + MEMBERS
    result = ptr(u32)(w.data) + 192
    agree = u32(0)
    for lane in range(u32(LANES)):
        group = members[lane] & mask
        if mask & (u32(1) << lane) == 0:
            continue
        same = u32(0)
        for other in range(u32(LANES)):
            if group & (u32(1) << other) != 0 and value[other] == value[lane]:
                same |= u32(1) << other
        if every != 0:
            result[lane] = group if same == group else u32(0)
            if same == group:
                agree |= u32(1) << lane
        else:
            result[lane] = same
    w.predicate = agree


@native
def reduce_lanes(w: ptr(Warp), mask: u32, op: u32, signed: u32) -> void:
    """``redux``: add, min, max, and, or, xor over the members of each lane; to component 3."""
    for lane in range(u32(LANES)):
        group = ptr(u32)(w.data)[MEMBERS + lane] & mask
        if mask & (u32(1) << lane) != 0:
            (ptr(u32)(w.data))[192 + lane] = _reduce_group(w, group, op, signed)


@native
def _reduce_group(w: ptr(Warp), group: u32, op: u32, signed: u32) -> u32:
    value = ptr(u32)(w.data)
    result = u32(0)
    first = True
    for lane in range(u32(LANES)):
        if group & (u32(1) << lane) == 0:
            continue
        x = value[lane]
        if first:
            result = x
            first = False
            continue
        less = x < result if signed == 0 else i32(x) < i32(result)
        if op == 0:
            result += x
        elif op == 1:
            result = x if less else result
        elif op == 2:
            result = result if less else x
        elif op == 3:
            result &= x
        elif op == 4:
            result |= x
        else:
            result ^= x
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
