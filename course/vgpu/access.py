"""Memory accesses of a warp, checked byte by byte, and printf. Native code."""

from . import watch
from .native import atomic_add, ctz, native, ptr, u8, u16, u32, u64, void
from .records import (
    ALLOCATED,
    COMPONENT,
    DEFINED,
    FULL,
    GENERIC,
    GLOBAL,
    GLOBAL_BASE,
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
)

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
def _bounds(launch: ptr(Launch), base: u32) -> ptr(u64):
    """Return begin and size of the array that an address comes from."""
    return ptr(u64)(launch.bounds) + 2 * (base - 1)


@native
def locate(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32) -> u32:
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
            begin = u64(GLOBAL_BASE)
            limit = launch.arena_size
            if s.base != 0:
                begin = _bounds(launch, s.base)[0]
                limit = _bounds(launch, s.base)[1]
            address = address - begin
            host = launch.arena + (begin - GLOBAL_BASE)
            shade = launch.shadow + (begin - GLOBAL_BASE)
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
def defined(shade: u64, size: u32) -> u32:
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
    if s.base != 0:
        origin = _bounds(launch, s.base)[0]
        limit = _bounds(launch, s.base)[1]
        host = host + (origin - GLOBAL_BASE)
        shade = shade + (origin - GLOBAL_BASE)
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
    """Load for the lanes in `mask`. Returns the lanes that read something undefined.

    Which bytes those are goes to Warp.poison, byte by byte.
    """
    launch = ptr(Launch)(w.launch)
    s = ptr(Site)(launch.sites) + site
    for byte in range(s.size * s.count):
        w.poison[byte] = 0
    if mask == FULL and w.flags == 0 and s.size == 4 and s.count == 1 and s.space <= SHARED:
        if _gather_words(w, s) != 0:
            return 0
    if mask == 0:
        return 0
    if locate(w, s, site, mask) == 0:
        return 0
    if w.flags != 0:
        watch.access(w, s, site, mask)
    total = u32(0)
    for component in range(s.count):
        rest = mask
        target = u64(w.data) + u64(component * COMPONENT)
        step = u64(component * s.size)
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            _copy(w.host[lane] + step, target + u64(lane * s.size), s.size)
            if defined(w.shade[lane] + step, s.size) == 0:
                total |= u32(1) << lane
                w.origin_site[lane] = site
                w.origin_address[lane] = w.address[lane] + step
                for k in range(s.size):
                    if ptr(u8)(w.shade[lane] + step)[k] & DEFINED == 0:
                        byte = component * s.size + k
                        w.poison[byte] = w.poison[byte] | (u32(1) << lane)
    if total != 0:
        w.poisoned = 1
    return total


@native
def _undefined_in_global(w: ptr(Warp), s: ptr(Site), mask: u32) -> u32:
    """Return the lanes that store undefined values to global memory.

    Undefined bytes behind others of a number, or whole numbers beside others, may be padding; so
    may vectors of bytes, as which compilers copy it.
    """
    if s.size == 1 and s.count > 1:
        return 0
    lanes = u32(0)
    nothing = mask
    for component in range(s.count):
        first = w.poison[component * s.size]
        whole = first
        for k in range(s.size):
            whole &= w.poison[component * s.size + k]
        lanes |= first & ~whole & mask
        nothing &= whole
    lanes |= nothing
    if s.space == GLOBAL or lanes == 0:
        return lanes
    found = u32(0)
    if s.space == GENERIC:
        while lanes != 0:
            lane = ctz(lanes)
            lanes = lanes & (lanes - 1)
            if w.address[lane] >= GLOBAL_BASE:
                found |= u32(1) << lane
    return found


@native
def mem_store(w: ptr(Warp), site: u32, mask: u32) -> void:
    """Store for the lanes in `mask`; values that nobody defined may not leave the block."""
    launch = ptr(Launch)(w.launch)
    s = ptr(Site)(launch.sites) + site
    if mask == 0:
        return
    if locate(w, s, site, mask) == 0:
        return
    if w.flags != 0:
        watch.access(w, s, site, mask)
    constant = u32(0)
    undefined = _undefined_in_global(w, s, mask)
    if undefined != 0:
        record_fault(w, UNDEFINED, site, undefined)
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
            if shade[0] & READ_ONLY != 0:
                constant |= bit
                continue
            _copy(source + u64(lane * s.size), w.host[lane] + step, s.size)
            for k in range(s.size):
                unknown = w.poison[component * s.size + k] & bit
                shade[k] = (u8(ALLOCATED) if unknown != 0 else u8(WHOLE)) | (shade[k] & TOUCHED)
    if constant != 0:
        record_fault(w, WRITES_CONSTANT, site, constant)


@native
def write_result(w: ptr(Warp), site: u32, mask: u32) -> void:
    """Store the result of a runtime call into the caller's parameter."""
    mem_store(w, site, mask)


@native
def fence(w: ptr(Warp), mask: u32, level: u32) -> void:
    """Note a memory fence: only the race detector cares."""
    if w.flags != 0 and mask != 0:
        watch.fenced(w, mask, level)


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
