"""The scheduler: lanes of a warp, warps of a block, blocks of a grid. Native code (native.py)."""

from . import access, lanes, watch
from .native import Function, ctz, i32, i64, native, popcount, ptr, u8, u16, u32, u64, void
from .records import (
    AT_BARRIER,
    BARRIER_COUNT,
    DEADLOCK,
    DIVERGENT_BARRIER,
    DONE,
    FAULT,
    FULL,
    LANES,
    MORE,
    TO_FAST,
    TO_MASKED,
    YIELD,
    Cta,
    Launch,
    Warp,
)  # fmt: skip

NOWHERE = 0xFFFFFFFF
KERNEL = Function(i32, (ptr(Warp),))
ROUND_ROBIN, REVERSE, RANDOM, GREEDY = range(4)


# --- lanes


@native
def dispatch(w: ptr(Warp)) -> i32:
    """Choose the lowest block at which lanes wait (from `prefer` on) and let those lanes run.

    Returns the block, or the complement of a code when no lane can run.
    """
    ready = w.live & ~w.waiting & ~w.syncing
    if ready == 0 and w.syncing != 0:
        lanes.open_meetings(w, 1)
        ready = w.live & ~w.waiting & ~w.syncing
        if ready == 0 and w.counted == 0:
            lanes.blame_absent(w)
    if w.fault != 0:
        return ~i32(FAULT)
    if ready == 0:
        w.mask = 0
        return ~i32(DONE) if w.live == 0 else ~i32(AT_BARRIER)
    best = u32(NOWHERE)
    lowest = u32(NOWHERE)
    for lane in range(i32(LANES)):
        if (ready >> u32(lane)) & 1 != 0:
            pc = w.pc[lane]
            if pc < lowest:
                lowest = pc
            if pc >= w.prefer and pc < best:
                best = pc
    if best == NOWHERE:
        best = lowest
        w.prefer = 0
    mask = u32(0)
    pend = u32(NOWHERE)
    for lane in range(i32(LANES)):
        if (ready >> u32(lane)) & 1 != 0:
            if w.pc[lane] == best:
                mask |= u32(1) << u32(lane)
            elif w.pc[lane] < pend:
                pend = w.pc[lane]
    if w.prefer != 0:
        # lanes below must not be starved by the ones preferred now: look again at the next edge
        pend = 0
    w.mask = mask
    w.pend = pend
    if mask == FULL and w.fast_allowed != 0 and w.poisoned == 0 and w.prefer == 0:
        w.resume = best
        w.fast_allowed = 0
        return ~i32(TO_FAST)
    return i32(best)


@native
def park(w: ptr(Warp), target: u32) -> void:
    """Let the active lanes wait at block `target`."""
    for lane in range(i32(LANES)):
        if (w.mask >> u32(lane)) & 1 != 0:
            w.pc[lane] = target
    w.fast_allowed = w.fast_exists


@native
def split_lanes(w: ptr(Warp), lanes: u32, taken: u32, other: u32, block: u32) -> void:
    """Send `lanes` of the active ones to block `taken` and the rest to `other`."""
    active = w.mask if w.fast == 0 else u32(FULL)
    for lane in range(i32(LANES)):
        bit = u32(1) << u32(lane)
        if active & bit != 0:
            w.pc[lane] = taken if lanes & bit != 0 else other
    w.convert = 2 * block + 1
    w.fast_allowed = w.fast_exists


@native
def scatter_lanes(w: ptr(Warp), table: ptr(u32), lanes: u32, block: u32, after: u32) -> void:
    """Send each active lane to the block its index (component 0) picks; others go on."""
    active = w.mask if w.fast == 0 else u32(FULL)
    index = ptr(u32)(w.data)
    for lane in range(i32(LANES)):
        bit = u32(1) << u32(lane)
        if active & bit != 0:
            if lanes & bit != 0:
                w.pc[lane] = table[index[lane]]
            else:
                w.pc[lane] = after
    w.convert = 2 * block + 1
    w.fast_allowed = w.fast_exists


@native
def give_up(w: ptr(Warp), block: u32) -> void:
    """Leave the fast version: all lanes start `block` again."""
    for lane in range(i32(LANES)):
        w.pc[lane] = block
    w.convert = 2 * block
    w.fast_allowed = 0


@native
def exit_lanes(w: ptr(Warp), leaving: u32) -> void:
    """End the threads in `leaving` that are active."""
    w.fast_allowed = 0
    _end(w, w.mask & leaving)


@native
def exit_some(w: ptr(Warp), leaving: u32, after: u32, block: u32) -> void:
    """End the active threads in `leaving`; the other active ones go on at block `after`."""
    active = w.mask if w.fast == 0 else u32(FULL)
    for lane in range(i32(LANES)):
        if active & ~leaving & (u32(1) << u32(lane)) != 0:
            w.pc[lane] = after
    w.convert = 2 * block + 1
    _end(w, active & leaving)


@native
def _end(w: ptr(Warp), leaving: u32) -> void:
    """End threads: whoever waits for other lanes of this warp waits no longer for them."""
    w.live = w.live & ~leaving
    lanes.open_meetings(w, 0)
    if leaving != 0 and w.waiting != 0 and w.waiting == w.live:
        if w.counted == w.waiting:
            _count_ended(w)
        else:
            _count_arrival(w, w.waiting & ~w.counted)


# --- fast and masked versions


@native
def _to_masked(w: ptr(Warp)) -> void:
    """Spread uniform and affine registers over their 32 lanes."""
    launch = ptr(Launch)(w.launch)
    starts = ptr(u32)(launch.conversion_starts)
    first = starts[w.convert]
    last = starts[w.convert + 1]
    base = u64(w)
    for k in range(first, last):
        entry = ptr(u32)(launch.conversions) + 4 * k
        width = entry[0]
        stride = u64(i64(i32(entry[1])))
        scalar = base + u64(entry[2])
        slot = base + u64(entry[3])
        if width == 1:
            ptr(u32)(slot)[0] = u32(FULL) if ptr(u8)(scalar)[0] & 1 != 0 else 0
        elif width == 64:
            value = ptr(u64)(scalar)[0]
            for lane in range(u64(LANES)):
                ptr(u64)(slot)[lane] = value + lane * stride
        elif width == 32:
            value32 = ptr(u32)(scalar)[0]
            for lane in range(u64(LANES)):
                ptr(u32)(slot)[lane] = value32 + u32(lane * stride)
        elif width == 16:
            value16 = ptr(u16)(scalar)[0]
            for lane in range(u64(LANES)):
                ptr(u16)(slot)[lane] = value16 + u16(lane * stride)
        else:
            value8 = ptr(u8)(scalar)[0]
            for lane in range(u64(LANES)):
                ptr(u8)(slot)[lane] = value8 + u8(lane * stride)


@native
def _to_fast(w: ptr(Warp)) -> i32:
    """Gather uniform and affine registers, if the lanes still agree; say whether they do."""
    launch = ptr(Launch)(w.launch)
    starts = ptr(u32)(launch.conversion_starts)
    base = u64(w)
    for k in range(starts[2 * w.resume], starts[2 * w.resume + 1]):
        entry = ptr(u32)(launch.conversions) + 4 * k
        width = entry[0]
        stride = u64(i64(i32(entry[1])))
        scalar = base + u64(entry[2])
        slot = base + u64(entry[3])
        if width == 1:
            mask = ptr(u32)(slot)[0]
            if mask != 0 and mask != FULL:
                return 0
            ptr(u8)(scalar)[0] = u8(mask & 1)
        elif width == 64:
            value = ptr(u64)(slot)[0]
            for lane in range(u64(LANES)):
                if ptr(u64)(slot)[lane] != value + lane * stride:
                    return 0
            ptr(u64)(scalar)[0] = value
        elif width == 32:
            value32 = ptr(u32)(slot)[0]
            for lane in range(u64(LANES)):
                if ptr(u32)(slot)[lane] != value32 + u32(lane * stride):
                    return 0
            ptr(u32)(scalar)[0] = value32
        elif width == 16:
            value16 = ptr(u16)(slot)[0]
            for lane in range(u64(LANES)):
                if ptr(u16)(slot)[lane] != value16 + u16(lane * stride):
                    return 0
            ptr(u16)(scalar)[0] = value16
        else:
            value8 = ptr(u8)(slot)[0]
            for lane in range(u64(LANES)):
                if ptr(u8)(slot)[lane] != value8 + u8(lane * stride):
                    return 0
            ptr(u8)(scalar)[0] = value8
    return 1


@native
def step(w: ptr(Warp)) -> i32:
    """Run a warp until it ends, waits, gives way or faults."""
    launch = ptr(Launch)(w.launch)
    while True:
        if w.fast != 0:
            code = KERNEL(launch.fast)(w)
            if code == TO_MASKED:
                _to_masked(w)
                w.fast = 0
                continue
            return code
        code = KERNEL(launch.masked)(w)
        if code == TO_FAST:
            if _to_fast(w) != 0:
                w.fast = 1
            continue
        return code


# --- barriers of a block


@native
def at_barrier(
    w: ptr(Warp),
    site: u32,
    mask: u32,
    kind: u32,
    aligned: u32,
    how: u32,
    predicates: u32,
    after: u32,
    block: u32,
) -> i32:
    """Let the lanes in `mask` arrive at a named barrier; all active ones then go on at `after`.

    `kind`: 0 wait, 1 arrive only, 2 wait and reduce. The lanes of a warp may come one after the
    other, from a loop that some leave later. An aligned barrier counts them when all that have not
    ended are there; lanes that come to another barrier instead are a fault.

    Returns 0 if the active lanes can go on at once, 1 if all of them wait, 2 if some do.
    """
    active = w.mask if w.fast == 0 else u32(FULL)
    if w.fast == 0 or mask != FULL:  # a whole warp goes on at Warp.resume
        for lane in range(i32(LANES)):
            if active & (u32(1) << u32(lane)) != 0:
                w.pc[lane] = after
        w.convert = 2 * block + 1
        w.fast_allowed = w.fast_exists
        if mask == 0:
            return 0
    leader = ctz(mask)
    number = ptr(u32)(w.data)[leader]
    count = ptr(u32)(w.data)[leader + 64]
    early = w.waiting & ~w.counted  # lanes that wait for the rest of their warp
    if early != 0 and w.barrier_site != site:
        access.record_fault(w, DIVERGENT_BARRIER, site, mask)
        return 1
    agreed = number <= 15 and count & 31 == 0
    if early != 0 and (w.barrier != number or w.barrier_count != count):
        agreed = False
    for lane in range(i32(LANES)):
        if mask & (u32(1) << u32(lane)) != 0:
            if ptr(u32)(w.data)[lane] != number or ptr(u32)(w.data)[lane + 64] != count:
                agreed = False
    if not agreed:
        access.record_fault(w, BARRIER_COUNT, site, mask)
        return 1
    before = w.barrier_lanes if early != 0 else u32(0)
    w.barrier = number
    w.barrier_count = count
    w.barrier_site = site
    w.barrier_kind = kind
    w.barrier_how = how
    w.barrier_lanes = before | (predicates & mask)
    w.waiting = w.waiting | mask
    if w.counted == 0:
        w.scattered = 1 - aligned
    if aligned == 0 or w.waiting == w.live:
        _count_arrival(w, early | mask)
    if w.waiting & active == 0:
        return 0
    return 1 if w.waiting & active == active else 2


@native
def _count_arrival(w: ptr(Warp), mask: u32) -> void:
    """Count lanes at their barrier."""
    c = ptr(Cta)(w.cta)
    number = w.barrier
    if c.arrived[number] != 0 and c.expected[number] != w.barrier_count:
        access.record_fault(w, BARRIER_COUNT, w.barrier_site, mask)
        return
    c.expected[number] = w.barrier_count
    if w.barrier_kind == 2:
        _reduce_at_barrier(c, number, mask, w.barrier_lanes, w.barrier_how)
    c.arrived[number] = c.arrived[number] + u32(popcount(mask))
    if w.waiting == w.live:
        _count_ended(w)
    watch.barrier_arrival(w, number)
    if w.barrier_kind == 1:
        w.waiting = w.waiting & ~mask
        return
    w.counted = w.counted | mask
    if w.scattered != 0:
        for lane in range(i32(LANES)):
            if mask & (u32(1) << u32(lane)) != 0:
                w.barrier_of[lane] = number


@native
def _count_ended(w: ptr(Warp)) -> void:
    """Count the lanes of a warp that have ended: a barrier counts whole warps."""
    c = ptr(Cta)(w.cta)
    c.arrived[w.barrier] = c.arrived[w.barrier] + 32 - u32(popcount(w.live))


@native
def _reduce_at_barrier(c: ptr(Cta), number: u32, mask: u32, predicates: u32, how: u32) -> void:
    """Add one warp's predicates to a barrier's reduction (0 count, 1 and, 2 or)."""
    first = c.arrived[number] == 0
    holds = predicates & mask
    if how == 0:
        c.reduced[number] = (0 if first else c.reduced[number]) + u32(popcount(holds))
    elif how == 1:
        every = u32(1) if holds == mask else u32(0)
        c.reduced[number] = every if first else c.reduced[number] & every
    else:
        some = u32(1) if holds != 0 else u32(0)
        c.reduced[number] = some if first else c.reduced[number] | some


@native
def _warp_at(c: ptr(Cta), k: u32) -> ptr(Warp):
    launch = ptr(Launch)(c.launch)
    return ptr(Warp)(c.warps + u64(k) * u64(launch.record_bytes))


@native
def _released(w: ptr(Warp), number: u32) -> u32:
    """Return the lanes of a warp that a barrier has counted."""
    if w.scattered == 0:
        return w.counted if w.barrier == number else u32(0)
    lanes_there = u32(0)
    for lane in range(i32(LANES)):
        if w.barrier_of[lane] == number:
            lanes_there |= u32(1) << u32(lane)
    return lanes_there & w.counted


@native
def _open_barriers(c: ptr(Cta)) -> i32:
    """Open every barrier at which enough threads have arrived; return how many opened."""
    launch = ptr(Launch)(c.launch)
    opened = i32(0)
    for number in range(u32(16)):
        if c.arrived[number] == 0:
            continue
        wanted = c.expected[number]
        if wanted == 0:
            wanted = 32 * c.alive
        if c.arrived[number] < wanted:
            continue
        c.arrived[number] = 0
        opened += 1
        for k in range(launch.warps):
            w = _warp_at(c, k)
            leaving = _released(w, number)
            if leaving != 0:
                w.waiting = w.waiting & ~leaving
                w.counted = w.counted & ~leaving
                w.barrier_result = c.reduced[number]
                watch.barrier_departure(w, number)
                if w.state == AT_BARRIER:
                    w.state = YIELD
        watch.barrier_opened(c, number)
    return opened


# --- a block


@native
def _random(c: ptr(Cta)) -> u32:
    """Xorshift; the seed belongs to the block, so that runs repeat whatever thread runs it."""
    x = c.random
    x = x ^ (x << 13)
    x = x ^ (x >> 17)
    x = x ^ (x << 5)
    c.random = x
    return x


@native
def _start_warp(c: ptr(Cta), k: u32, first_block: u32) -> void:
    launch = ptr(Launch)(c.launch)
    w = _warp_at(c, k)
    w.launch = u64(launch)
    w.cta = u64(c)
    w.shared = c.shared
    w.shared_shadow = c.shared_shadow
    w.counts = c.counts
    w.index = k
    w.flags = launch.flags
    w.local = c.local + u64(k) * u64(LANES) * u64(launch.local_size)
    w.local_shadow = c.local_shadow + u64(k) * u64(LANES) * u64(launch.local_size)
    w.state = YIELD
    w.fault = 0
    w.poisoned = 0
    w.waiting = 0
    w.counted = 0
    w.scattered = 0
    w.syncing = 0
    w.prefer = 0
    w.resume = 0
    w.tired = 0
    w.mask = 0
    live = u32(0)
    width = launch.block[0]
    height = launch.block[1]
    for lane in range(u32(LANES)):
        thread = k * u32(LANES) + lane
        w.pc[lane] = 0
        w.tid[lane] = thread % width
        w.tid[lane + 32] = thread // width % height
        w.tid[lane + 64] = thread // (width * height)
        if thread < launch.threads:
            live |= u32(1) << lane
    w.live = live
    whole = live == FULL and launch.fast != 0 and launch.flags == 0
    w.fast_exists = 1 if whole else 0
    w.fast = w.fast_exists
    w.fast_allowed = 0
    for byte in range(u64(launch.local_size) * u64(LANES)):
        ptr(u8)(w.local_shadow)[byte] = 1


@native
def _start_block(c: ptr(Cta), number: u64) -> void:
    launch = ptr(Launch)(c.launch)
    width = u64(launch.grid[0])
    height = u64(launch.grid[1])
    linear = u32(number)
    c.linear = linear
    c.index[0] = u32(number % width)
    c.index[1] = u32(number // width % height)
    c.index[2] = u32(number // width // height)
    c.alive = launch.warps
    c.fault = 0
    c.running = 1
    c.spun = 0
    c.random = u32(launch.random) ^ ((linear + 1) * 2654435761)
    if c.random == 0:
        c.random = 1
    for number in range(16):
        c.arrived[number] = 0
    # shared memory starts undefined: poison it, so that a use shows also in the values
    for byte in range(u64(launch.shared_size)):
        ptr(u8)(c.shared)[byte] = 255
        ptr(u8)(c.shared_shadow)[byte] = 1
    for k in range(launch.warps):
        _start_warp(c, k, 0)
    watch.block_started(c)


@native
def _run_warp(c: ptr(Cta), w: ptr(Warp)) -> i32:
    """Run one warp for a turn; return FAULT or 0."""
    launch = ptr(Launch)(c.launch)
    turn = launch.slice
    if launch.schedule == RANDOM:
        turn = i32(_random(c) & 255)
    w.budget = turn
    code = step(w)
    launch.work = launch.work + 32 + u64(turn - w.budget)
    if code == FAULT:
        c.fault = w.fault
        c.fault_warp = w.index
        return FAULT
    w.state = u32(code)
    c.spun = 1 if code == YIELD else 0
    if code == DONE:
        c.alive = c.alive - 1
        launch.progress = launch.progress + 1
    if code == YIELD:
        w.tired = 1
        # lanes that spin on a lock must let the lane that holds it run: look at others first
        w.prefer = w.pc[ctz(w.mask)] + 1 if w.fast == 0 and w.mask != 0 else 0
        lanes.open_meetings(w, 1)
    return 0


@native
def _run_round(c: ptr(Cta)) -> i32:
    """Give every warp of a block that can run one turn. Returns DONE, YIELD or FAULT."""
    launch = ptr(Launch)(c.launch)
    ran = u32(0)
    for turn in range(launch.warps):
        k = turn
        if launch.schedule == REVERSE:
            k = launch.warps - 1 - turn
        elif launch.schedule == RANDOM:
            k = _random(c) % launch.warps
        w = _warp_at(c, k)
        if w.state != YIELD or (launch.schedule == GREEDY and w.tired != 0):
            continue
        ran += 1
        if _run_warp(c, w) == FAULT:
            return FAULT
        if _open_barriers(c) != 0:
            launch.progress = launch.progress + 1
        if launch.schedule == GREEDY:
            break
    if c.alive == 0:
        return DONE
    return YIELD if ran != 0 else _next_turns(c)


@native
def _next_turns(c: ptr(Cta)) -> i32:
    """Let all warps that can run have turns again; without any the block is stuck."""
    launch = ptr(Launch)(c.launch)
    ready = u32(0)
    for k in range(launch.warps):
        w = _warp_at(c, k)
        w.tired = 0
        if w.state == YIELD:
            ready += 1
    if ready == 0:
        c.fault = DEADLOCK
        return FAULT
    return YIELD


@native
def run_blocks(launch: ptr(Launch)) -> i32:
    """Run blocks Launch.following..last-1 of the grid on the places there are, turn by turn.

    Returns DONE; FAULT, with Launch.faulty naming the block; YIELD after a while, to be called
    again; MORE if all blocks that run spin in loops, perhaps for one that could run beside them.
    """
    launch.work = 0
    while launch.work < launch.pace:
        busy = u32(0)
        spun = u32(0)
        for place in range(launch.open):
            c = ptr(Cta)(ptr(u64)(launch.places)[place])
            if c.running == 0:
                if launch.following == launch.last:
                    continue
                _start_block(c, launch.following)
                launch.following = launch.following + 1
            busy += 1
            code = _run_round(c)
            if code == FAULT:
                launch.faulty = u64(c)
                return FAULT
            if code == DONE:
                c.running = 0
            else:
                spun += c.spun
        if busy == 0:
            return DONE
        if spun == busy and launch.open < launch.most and launch.following < launch.last:
            return MORE
    return YIELD


@native
def look_closer(w: ptr(Warp)) -> void:
    """Run a warp that spins a little longer, lane by lane, so that its last addresses are known."""
    if w.fast != 0:
        for lane in range(i32(LANES)):
            w.pc[lane] = w.resume
        w.convert = 2 * w.resume
        _to_masked(w)
        w.fast = 0
    w.fast_allowed = 0
    w.fast_exists = 0
    w.budget = 0
    step(w)
