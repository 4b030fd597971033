"""Memory accesses of a warp, checked byte by byte; shuffles, votes, printf. Native code."""

from . import watch
from .native import (  # noqa: F401
    atomic_add,
    clz,
    compare_exchange,
    ctz,
    f16,
    f32,
    f64,
    i32,
    i64,
    native,
    popcount,
    ptr,
    reinterpret,
    u8,
    u16,
    u32,
    u64,
    void,
)  # fmt: skip
from .records import (
    ALLOCATED,
    BAD_MASK,
    COMPONENT,
    DEFINED,
    FULL,
    GENERIC,
    GLOBAL,
    GLOBAL_BASE,
    INACTIVE_LANE,
    LANES,
    LOCAL,
    LOCAL_WINDOW,
    MISALIGNED,
    OUT_OF_BOUNDS,
    READ_ONLY,
    SHARED,
    SHARED_WINDOW,
    TOUCHED_LOAD,
    TOUCHED_STORE,
    UNDEFINED,
    WINDOW_BYTES,
    WRITES_CONSTANT,
    Cta,
    Launch,
    Site,
    Warp,
)  # fmt: skip

WHOLE = ALLOCATED | DEFINED
TOUCHED = TOUCHED_LOAD | TOUCHED_STORE


@native
def record_fault(w: ptr(Warp), kind: u32, site: u32, mask: u32) -> void:
    """Note the first fault of a warp; generated code leaves the kernel when it sees it."""
    if w.fault == 0:
        w.fault = kind
        w.fault_site = site
        w.fault_mask = mask


@native
def raise_fault(w: ptr(Warp), kind: u32, site: u32, mask: u32) -> void:
    """Fault if any lane is active."""
    if mask != 0:
        record_fault(w, kind, site, mask)


@native
def use_poison(w: ptr(Warp), site: u32, mask: u32, poison: u32) -> void:
    """Fault if an active lane uses a value that nobody defined."""
    if mask & poison != 0:
        record_fault(w, UNDEFINED, site, mask & poison)


@native
def tick(w: ptr(Warp)) -> u64:
    """Return a clock that only ever advances."""
    return atomic_add(ptr(u64)(u64(w.launch) + CLOCK), 1)


CLOCK = Launch.fields["clock"][1]


@native
def _allocated(shade: u64, extent: u64) -> u32:
    """Say whether all bytes of an access belong to an allocation."""
    if extent == 4:
        return 1 if ptr(u32)(shade)[0] & 0x01010101 == 0x01010101 else 0
    whole = u64(ALL_ALLOCATED)
    if extent >= 8:
        state = whole
        for k in range(extent // 8):
            state &= ptr(u64)(shade)[k]
        return 1 if state & whole == whole else 0
    for k in range(extent):
        if ptr(u8)(shade)[k] & ALLOCATED == 0:
            return 0
    return 1


ALL_ALLOCATED = 0x0101010101010101


@native
def _locate(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32) -> u32:
    """Find host and shadow address of each active lane's access; say whether all are in range."""
    launch = ptr(Launch)(w.launch)
    extent = u64(s.size * s.count)
    bad = u32(0)
    crooked = u32(0)
    rest = mask
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        address = w.address[lane]
        space = s.space
        if space == GENERIC:
            if address - SHARED_WINDOW < WINDOW_BYTES:
                space = SHARED
                address = address - SHARED_WINDOW
            elif address - LOCAL_WINDOW < WINDOW_BYTES:
                space = LOCAL
                address = address - LOCAL_WINDOW
            else:
                space = GLOBAL
        if address & (extent - 1) != 0:
            crooked |= u32(1) << lane
        limit = u64(0)
        host = u64(0)
        shade = u64(0)
        if space == GLOBAL:
            address = address - GLOBAL_BASE
            limit = launch.arena_size
            host = launch.arena
            shade = launch.shadow
        elif space == SHARED:
            limit = u64(launch.shared_size)
            host = w.shared
            shade = w.shared_shadow
        else:
            limit = u64(launch.local_size)
            host = w.local + u64(lane) * limit
            shade = w.local_shadow + u64(lane) * limit
        if address >= limit or address + extent > limit:
            bad |= u32(1) << lane
            continue
        w.host[lane] = host + address
        w.shade[lane] = shade + address
        # part of the access may still lie outside what is allocated
        if _allocated(shade + address, extent) == 0:
            bad |= u32(1) << lane
    if bad != 0:
        record_fault(w, OUT_OF_BOUNDS, site, bad)
        return 0
    if crooked != 0:
        record_fault(w, MISALIGNED, site, crooked)
        return 0
    return 1


@native
def _defined(shade: u64, size: u32) -> u32:
    """Say whether all bytes of one element are defined."""
    if size == 4:
        return 1 if ptr(u32)(shade)[0] & 0x02020202 == 0x02020202 else 0
    if size == 8:
        return 1 if ptr(u64)(shade)[0] & 0x0202020202020202 == 0x0202020202020202 else 0
    if size == 2:
        return 1 if ptr(u16)(shade)[0] & 0x0202 == 0x0202 else 0
    return 1 if ptr(u8)(shade)[0] & 2 != 0 else 0


@native
def _copy(source: u64, target: u64, size: u32) -> void:
    if size == 4:
        ptr(u32)(target)[0] = ptr(u32)(source)[0]
    elif size == 8:
        ptr(u64)(target)[0] = ptr(u64)(source)[0]
    elif size == 2:
        ptr(u16)(target)[0] = ptr(u16)(source)[0]
    else:
        ptr(u8)(target)[0] = ptr(u8)(source)[0]


@native
def _gather_words(w: ptr(Warp), s: ptr(Site)) -> u32:
    """All 32 lanes load a word of global or shared memory: 1 if every one was plainly right."""
    launch = ptr(Launch)(w.launch)
    origin = u64(GLOBAL_BASE)
    limit = launch.arena_size
    host = launch.arena
    shade = launch.shadow
    if s.space == SHARED:
        origin = 0
        limit = u64(launch.shared_size)
        host = w.shared
        shade = w.shared_shadow
    if limit < 4:
        return 0
    limit = limit - 4
    wrong = u64(0)
    for lane in range(u64(LANES)):
        offset = w.address[lane] - origin
        wrong |= (u64(1) if offset > limit else u64(0)) | (offset & 3)
    if wrong != 0:
        return 0
    state = u32(FULL)
    for lane in range(u64(LANES)):
        offset = w.address[lane] - origin
        state &= ptr(u32)(shade + offset)[0]
        ptr(u32)(w.data)[lane] = ptr(u32)(host + offset)[0]
    return 1 if state & 0x03030303 == 0x03030303 else 0


@native
def mem_load(w: ptr(Warp), site: u32, mask: u32) -> u32:
    """Load for the lanes in `mask`. Returns the lanes that read something undefined."""
    launch = ptr(Launch)(w.launch)
    s = ptr(Site)(launch.sites) + site
    if mask == FULL and w.flags == 0 and s.size == 4 and s.count == 1 and s.space <= SHARED:
        if _gather_words(w, s) != 0:
            return 0
    if mask == 0:
        return 0
    if _locate(w, s, site, mask) == 0:
        return 0
    if w.flags != 0:
        watch.access(w, s, site, mask)
    total = u32(0)
    for component in range(s.count):
        poison = u32(0)
        rest = mask
        target = u64(w.data) + u64(component * COMPONENT)
        step = u64(component * s.size)
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            _copy(w.host[lane] + step, target + u64(lane * s.size), s.size)
            if _defined(w.shade[lane] + step, s.size) == 0:
                poison |= u32(1) << lane
                w.origin_site[lane] = site
                w.origin_address[lane] = w.address[lane] + step
        w.poison[component] = poison
        total |= poison
    if total != 0:
        w.poisoned = 1
    return total


@native
def mem_store(w: ptr(Warp), site: u32, mask: u32) -> void:
    """Store for the lanes in `mask`; values that nobody defined may not leave the block."""
    launch = ptr(Launch)(w.launch)
    s = ptr(Site)(launch.sites) + site
    if mask == 0:
        return
    if _locate(w, s, site, mask) == 0:
        return
    if w.flags != 0:
        watch.access(w, s, site, mask)
    constant = u32(0)
    if s.space == GLOBAL:
        undefined_lanes = u32(0)
        for component in range(s.count):
            undefined_lanes |= w.poison[component] & mask
        if undefined_lanes != 0:
            record_fault(w, UNDEFINED, site, undefined_lanes)
            return
    for component in range(s.count):
        rest = mask
        source = u64(w.data) + u64(component * COMPONENT)
        step = u64(component * s.size)
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            bit = u32(1) << lane
            shade = ptr(u8)(w.shade[lane] + step)
            undefined = w.poison[component] & bit
            if shade[0] & READ_ONLY != 0:
                constant |= bit
                continue
            _copy(source + u64(lane * s.size), w.host[lane] + step, s.size)
            mark = u8(ALLOCATED) if undefined != 0 else u8(WHOLE)
            for k in range(s.size):
                shade[k] = mark | (shade[k] & TOUCHED)
    if constant != 0:
        record_fault(w, WRITES_CONSTANT, site, constant)


@native
def write_result(w: ptr(Warp), site: u32, mask: u32) -> void:
    """Store the result of a runtime call into the caller's parameter."""
    mem_store(w, site, mask)


# --- atomics


@native
def _signed_less(a: u64, b: u64, size: u32) -> u32:
    if size == 4:
        return 1 if i32(u32(a)) < i32(u32(b)) else 0
    return 1 if i64(a) < i64(b) else 0


@native
def _add_floats(kind: u32, a: u64, b: u64) -> u64:
    """Add as f32 (4), f64 (5), f16 (6), bf16 (7), or two halves at once (8, 9)."""
    if kind == 4:
        x = reinterpret(f32, u32(a)) + reinterpret(f32, u32(b))
        return u64(reinterpret(u32, x))
    if kind == 5:
        y = reinterpret(f64, a) + reinterpret(f64, b)
        return reinterpret(u64, y)
    if kind == 6:
        return u64(_half_sum(u16(a), u16(b)))
    if kind == 7:
        return u64(_brain_sum(u16(a), u16(b)))
    if kind == 8:
        return u64(_half_sum(u16(a), u16(b))) | (u64(_half_sum(u16(a >> 16), u16(b >> 16))) << 16)
    return u64(_brain_sum(u16(a), u16(b))) | (u64(_brain_sum(u16(a >> 16), u16(b >> 16))) << 16)


@native
def _half_sum(a: u16, b: u16) -> u16:
    total = f32(reinterpret(f16, a)) + f32(reinterpret(f16, b))
    return reinterpret(u16, f16(total))


@native
def _brain_sum(a: u16, b: u16) -> u16:
    total = reinterpret(f32, u32(a) << 16) + reinterpret(f32, u32(b) << 16)
    bits = reinterpret(u32, total)
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FFF
    return u16((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)


@native
def _float_value(kind: u32, a: u64) -> f64:
    if kind == 4:
        return f64(reinterpret(f32, u32(a)))
    if kind == 5:
        return reinterpret(f64, a)
    if kind == 6 or kind == 8:
        return f64(f32(reinterpret(f16, u16(a))))
    return f64(reinterpret(f32, u32(a) << 16))


@native
def _float_extreme(op: u32, kind: u32, a: u64, b: u64) -> u64:
    x = _float_value(kind, a)
    y = _float_value(kind, b)
    if y != y:
        return a
    if x != x:
        return b
    if op == 1:
        return b if y < x else a
    return b if y > x else a


@native
def _combine(op: u32, kind: u32, size: u32, old: u64, b: u64, c: u64) -> u64:
    """Return what an atomic writes: `old` is in memory, `b` and `c` are its operands."""
    if op == 6:
        return b
    if op == 7:
        return c if old == b else old
    if op == 3:
        return old & b
    if op == 4:
        return old | b
    if op == 5:
        return old ^ b
    if op == 8:
        return 0 if old >= b else old + 1
    if op == 9:
        return b if old == 0 or old > b else old - 1
    if kind >= 4 and kind <= 9:
        if op == 0:
            return _add_floats(kind, old, b)
        if kind >= 8:
            low = _float_extreme(op, kind, old & 0xFFFF, b & 0xFFFF) & 0xFFFF
            return low | (_float_extreme(op, kind, old >> 16, b >> 16) << 16)
        return _float_extreme(op, kind, old, b)
    if op == 0:
        return old + b
    unsigned = u32(1) if b < old else u32(0)
    less = _signed_less(b, old, size) if kind & 1 != 0 else unsigned
    if op == 1:
        return b if less != 0 else old
    return old if less != 0 else b


@native
def _read(place: u64, size: u32) -> u64:
    if size == 4:
        return u64(ptr(u32)(place)[0])
    if size == 8:
        return ptr(u64)(place)[0]
    return u64(ptr(u16)(place)[0])


@native
def _exchange(place: u64, size: u32, expected: u64, new: u64) -> u64:
    """Write `new` if memory still holds `expected`; return what it held."""
    if size == 4:
        return u64(compare_exchange(ptr(u32)(place), u32(expected), u32(new)))
    if size == 8:
        return compare_exchange(ptr(u64)(place), expected, new)
    return u64(compare_exchange(ptr(u16)(place), u16(expected), u16(new)))


@native
def mem_atomic(w: ptr(Warp), site: u32, mask: u32) -> u32:
    """One atomic a lane, lanes in order; old values go to component 2. Returns undefined lanes."""
    launch = ptr(Launch)(w.launch)
    s = ptr(Site)(launch.sites) + site
    if mask == 0:
        return 0
    if _locate(w, s, site, mask) == 0:
        return 0
    if w.flags != 0:
        watch.access(w, s, site, mask)
    poison = u32(0)
    rest = mask
    data = u64(w.data)
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        place = w.host[lane]
        step = u64(lane * s.size)
        if ptr(u8)(w.shade[lane])[0] & READ_ONLY != 0:
            record_fault(w, WRITES_CONSTANT, site, u32(1) << lane)
            return 0
        if _defined(w.shade[lane], s.size) == 0 and s.op != 6:
            w.origin_site[lane] = site
            w.origin_address[lane] = w.address[lane]
            record_fault(w, UNDEFINED, site, u32(1) << lane)
            return 0
        b = _read(data + step, s.size)
        c = _read(data + COMPONENT + step, s.size)
        old = _read(place, s.size)
        while True:
            seen = _exchange(place, s.size, old, _combine(s.op, s.kind, s.size, old, b, c))
            if seen == old:
                break
            old = seen
        for k in range(s.size):
            ptr(u8)(w.shade[lane])[k] = u8(WHOLE) | (ptr(u8)(w.shade[lane])[k] & TOUCHED)
        target = data + 2 * COMPONENT + step
        if s.size == 4:
            ptr(u32)(target)[0] = u32(old)
        elif s.size == 8:
            ptr(u64)(target)[0] = old
        else:
            ptr(u16)(target)[0] = u16(old)
    return poison


@native
def fence(w: ptr(Warp), mask: u32, level: u32) -> void:
    """Note a memory fence: only the race detector cares."""
    if w.flags != 0 and mask != 0:
        watch.fenced(w, mask, level)


# --- lanes talk to each other


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
            record_fault(w, BAD_MASK, site, wrong)
            return
        missing = members[lane] & ~mask & w.live
        if missing != 0:
            # members that are alive but elsewhere: the lanes here would read what nobody gives
            record_fault(w, INACTIVE_LANE, site, missing)
            return
        for other in range(u32(LANES)):
            if members[lane] & mask & (u32(1) << other) != 0 and members[other] != members[lane]:
                record_fault(w, BAD_MASK, site, bit | (u32(1) << other))
                return


MEMBERS = 448  # where a member mask operand lies in Warp.data, counted in 32-bit words


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
    """``shfl``: value, b and c in components 0-2, result in 3, in-range lanes in `predicate`."""
    value = ptr(u32)(w.data)
    members = value + MEMBERS
    inside = u32(0)
    spoiled = u32(0)
    missing = u32(0)
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
        if mask & members[lane] & (u32(1) << source) == 0:
            missing |= u32(1) << lane
        value[192 + lane] = value[source]
        if poison & (u32(1) << source) != 0:
            spoiled |= u32(1) << lane
            w.origin_site[lane] = w.origin_site[source]
            w.origin_address[lane] = w.origin_address[source]
    w.predicate = inside
    w.poison[0] = spoiled
    if missing != 0:
        record_fault(w, INACTIVE_LANE, site, missing)
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


# --- printf


@native
def _log(launch: ptr(Launch), value: u64) -> void:
    if launch.log_used < launch.log_size:
        ptr(u64)(launch.log)[launch.log_used] = value
    launch.log_used = launch.log_used + 1


@native
def print_lanes(w: ptr(Warp), site: u32, mask: u32) -> void:
    """Note a printf for Python to format: addresses of format and arguments, then their bytes."""
    launch = ptr(Launch)(w.launch)
    c = ptr(Cta)(w.cta)
    rest = mask
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        arguments = w.data[32 + lane]
        size = launch.local_size
        begin = arguments - LOCAL_WINDOW
        words = u64(0)
        if arguments != 0 and begin < u64(size):
            words = (u64(size) - begin) // 8
            words = words if words < 32 else u64(32)
        _log(launch, u64(c.linear))
        _log(launch, u64(w.index * LANES + lane))
        _log(launch, w.data[lane])
        _log(launch, words)
        base = w.local + u64(lane) * u64(size) + begin
        for k in range(words):
            _log(launch, ptr(u64)(base)[k])
