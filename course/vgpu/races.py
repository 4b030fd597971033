"""Races: two accesses to one place, one of them a write, that nothing orders. Native code.

Every warp has a clock. Each block keeps what its warps know of each other's clocks, what each lane
knows of the other lanes of its warp, and what the block knows of all warps of the grid. Barriers
and ``__syncwarp`` pass knowledge on, and so does an atomic or a volatile access that reads what
such an access wrote after a fence: within the block whatever the fence, between blocks only after
``__threadfence()`` and by an access of device scope. An access that an earlier conflicting one does
not happen before is a race.

What is remembered of earlier accesses is the last write and, of reads, the last of each warp
(shared memory) or the last two (global memory); a lane that fences speaks for its whole warp, and
what one warp learns from other blocks all of its block know. So a race that is reported is one, and
some go unseen. Two writes of one value are no race.
"""

from .native import ctz, native, ptr, u8, u32, u64, void
from .records import (
    COMPONENT,
    GLOBAL_BASE,
    SHARED,
    SHARED_WINDOW,
    Cta,
    GlobalCell,
    Launch,
    Race,
    RaceBlock,
    Races,
    SharedCell,
    Site,
    SyncPlace,
    Warp,
)  # fmt: skip

_WARPS = 32
_SEVERAL = 0x100  # beside the first lane others of its warp have read
_LANE = 0x1FF  # a lane and this flag
_SECOND = 16  # where the lane that was second stands then
_BLOCK, _DEVICE = 1, 2  # scopes of fences and of ordered accesses
_PROBES = 16  # places to look at before two addresses share one


@native
def _block(w: ptr(Warp)) -> ptr(RaceBlock):
    return ptr(RaceBlock)(ptr(Cta)(w.cta).races)


@native
def _all(w: ptr(Warp)) -> ptr(Races):
    return ptr(Races)(ptr(Launch)(w.launch).races)


# --- clocks


@native
def _clocks(b: ptr(RaceBlock), of: u32) -> ptr(u32):
    """Return what warp `of` knows of the clocks of its block's warps; its own is among them."""
    return ptr(u32)(b.clocks) + of * _WARPS


@native
def _fences(b: ptr(RaceBlock), of: u32, scope: u32) -> ptr(u32):
    """Return the clocks that warp `of` may publish: what it knew at its last fence of a scope."""
    return ptr(u32)(b.fences) + ((scope - 1) * _WARPS + of) * _WARPS


@native
def _barrier(b: ptr(RaceBlock), number: u32, part: u32) -> ptr(u32):
    """Return what was known (part 0) or fenced (by scope) by those who arrived at a barrier."""
    return ptr(u32)(b.barriers) + (number * 3 + part) * _WARPS


@native
def _seen(w: ptr(Warp), lane: u32) -> ptr(u32):
    """Return where a lane keeps up to which clock it knows what other lanes of its warp did."""
    return ptr(u32)(_block(w).seen) + (w.index * _WARPS + lane)


@native
def _pairs(w: ptr(Warp), lane: u32) -> ptr(u32):
    """Return where a lane keeps up to which clock it knows what each lane of its warp did."""
    return ptr(u32)(_block(w).pairs) + (w.index * _WARPS + lane) * _WARPS


@native
def _knows(w: ptr(Warp), lane: u32, other: u32) -> u32:
    """Return up to which clock a lane knows what another one of its warp did."""
    seen = _seen(w, lane)[0]
    pair = _pairs(w, lane)[other]
    return pair if pair > seen else seen


@native
def _join(into: ptr(u32), other: ptr(u32), count: u32) -> void:
    for k in range(count):
        if other[k] > into[k]:
            into[k] = other[k]


@native
def _clear(words: u64, count: u64) -> void:
    for k in range(count):
        ptr(u64)(words)[k] = 0


@native
def block_started(c: ptr(Cta)) -> void:
    """Forget what the block before this one did and knew; all clocks start anew."""
    b = ptr(RaceBlock)(c.races)
    _clear(b.cells, b.bytes // 8)
    b.places = 0
    for k in range(u32(_WARPS)):
        _clocks(b, k)[k] = 1


@native
def _all_lanes_met(w: ptr(Warp), members: u32) -> void:
    """Let `members` know all that lanes of their warp have done; the clock advances."""
    own = _clocks(_block(w), w.index) + w.index
    for lane in range(u32(_WARPS)):
        if members & (u32(1) << lane) != 0:
            _seen(w, lane)[0] = own[0]
    own[0] = own[0] + 1


@native
def _some_lanes_met(w: ptr(Warp), members: u32) -> void:
    """Let `members` know what each of them has done and knew; the clock advances."""
    own = _clocks(_block(w), w.index) + w.index
    for other in range(u32(_WARPS)):
        top = u32(0)
        if members & (u32(1) << other) != 0:
            top = own[0]
        else:
            for lane in range(u32(_WARPS)):
                if members & (u32(1) << lane) != 0 and _knows(w, lane, other) > top:
                    top = _knows(w, lane, other)
        for lane in range(u32(_WARPS)):
            if members & (u32(1) << lane) != 0 and top > _pairs(w, lane)[other]:
                _pairs(w, lane)[other] = top
    own[0] = own[0] + 1


@native
def warp_synchronised(w: ptr(Warp), members: u32) -> void:
    """Order what `members` of a warp do."""
    if w.live & (members ^ 0xFFFFFFFF) == 0:
        _all_lanes_met(w, members)
    else:
        _some_lanes_met(w, members)


@native
def barrier_arrival(w: ptr(Warp), number: u32) -> void:
    """Give the barrier all this warp knows."""
    b = _block(w)
    _join(_barrier(b, number, 0), _clocks(b, w.index), _WARPS)
    for scope in range(u32(_BLOCK), u32(_DEVICE + 1)):
        _join(_barrier(b, number, scope), _fences(b, w.index, scope), _WARPS)
    _all_lanes_met(w, 0xFFFFFFFF)


@native
def barrier_departure(w: ptr(Warp), number: u32) -> void:
    """Learn what all knew who arrived."""
    b = _block(w)
    _join(_clocks(b, w.index), _barrier(b, number, 0), _WARPS)
    for scope in range(u32(_BLOCK), u32(_DEVICE + 1)):
        _join(_fences(b, w.index, scope), _barrier(b, number, scope), _WARPS)


@native
def barrier_opened(c: ptr(Cta), number: u32) -> void:
    """Empty the barrier for its next use."""
    for k in range(u32(3 * _WARPS)):
        _barrier(ptr(RaceBlock)(c.races), number, 0)[k] = 0


# --- fences, and atomics that publish what they cover


@native
def fenced(w: ptr(Warp), scope: u32) -> void:
    """Remember what has happened so far: an atomic after this publishes it."""
    b = _block(w)
    own = _clocks(b, w.index)
    for level in range(u32(_BLOCK), scope + 1):
        _join(_fences(b, w.index, level), own, _WARPS)
    own[w.index] = own[w.index] + 1


@native
def _any(row: ptr(u32)) -> u32:
    for k in range(u32(_WARPS)):
        if row[k] != 0:
            return 1
    return 0


@native
def _place(table: u64, size: u32, most: u32, address: u64, create: u32) -> ptr(SyncPlace):
    """Return what is known of an address that atomics use, or null.

    When a table overflows, addresses share a place: races may be missed, but none invented.
    """
    start = u32((address * 0x9E3779B97F4A7C15) >> 40)
    for k in range(u32(_PROBES)):
        p = ptr(SyncPlace)(table + u64((start + k) & (most - 1)) * u64(size))
        if p.address == address:
            return p
        if p.address == 0:
            if create == 0:
                return 0
            p.address = address
            return p
    return ptr(SyncPlace)(table + u64(start & (most - 1)) * u64(size))


@native
def _clocks_at(p: ptr(SyncPlace)) -> ptr(u32):
    return ptr(u32)(u64(p) + SyncPlace.size)


@native
def _own_place(b: ptr(RaceBlock), address: u64, create: u32) -> ptr(SyncPlace):
    """Return what the block's warps have published at an address to each other."""
    b.places = b.places | create
    if b.places == 0:
        return 0
    return _place(b.place, b.place_bytes, b.most_places, address, create)


@native
def _common_place(all_: ptr(Races), address: u64, create: u32) -> ptr(SyncPlace):
    """Return what blocks have published at an address to each other."""
    all_.places = all_.places | create
    if all_.places == 0:
        return 0
    return _place(all_.place, all_.place_bytes, all_.most_places, address, create)


@native
def _first_warp(w: ptr(Warp)) -> u32:
    """Return the number, in the whole grid, of the first warp of this block."""
    return ptr(Cta)(w.cta).linear * ptr(Launch)(w.launch).warps


@native
def _release(w: ptr(Warp), address: u64) -> void:
    """Publish, by an atomic or ordered write, what the last fences covered."""
    b = _block(w)
    if _any(_fences(b, w.index, _BLOCK)) != 0:
        p = _own_place(b, address, 1)
        _join(_clocks_at(p), _fences(b, w.index, _BLOCK), _WARPS)
    # an access of block scope publishes too: for another block it is a race of its own
    if address < GLOBAL_BASE or _any(_fences(b, w.index, _DEVICE)) == 0:
        return
    all_ = _all(w)
    row = _clocks_at(_common_place(all_, address, 1))
    _join(row, ptr(u32)(b.known), all_.agents)
    warps = ptr(Launch)(w.launch).warps
    _join(row + _first_warp(w), _fences(b, w.index, _DEVICE), warps)


@native
def _learn(w: ptr(Warp), lane: u32, row: ptr(u32)) -> void:
    """Join published clocks of the block's warps into what a lane and its warp know."""
    seen = _seen(w, lane)
    if row[w.index] > seen[0]:
        seen[0] = row[w.index]
    own = _clocks(_block(w), w.index)
    for k in range(ptr(Launch)(w.launch).warps):
        if k != w.index and row[k] > own[k]:
            own[k] = row[k]


@native
def _acquire(w: ptr(Warp), lane: u32, address: u64) -> void:
    """Learn, by an atomic or ordered read, what was published at this address."""
    b = _block(w)
    p = _own_place(b, address, 0)
    if u64(p) != 0:
        _learn(w, lane, _clocks_at(p))
    if address < GLOBAL_BASE:
        return
    all_ = _all(w)
    p = _common_place(all_, address, 0)
    if u64(p) != 0:
        _learn(w, lane, _clocks_at(p) + _first_warp(w))
        _join(ptr(u32)(b.known), _clocks_at(p), all_.agents)


# --- accesses


@native
def _unordered_reader(w: ptr(Warp), lane: u32, readers: u32, clock: u32) -> u32:
    """Return which lane of the warp read at `clock`, unknown to `lane`, plus one; else 0."""
    first = readers & (_SEVERAL - 1)
    if first != lane and clock > _knows(w, lane, first):
        return first + 1
    second = readers >> _SECOND
    if readers & _SEVERAL != 0 and second != lane and clock > _knows(w, lane, second):
        return second + 1
    return 0


@native
def _report(
    w: ptr(Warp), kind: u32, lane: u32, site: u32, other_site: u32, other: u32, other_lane: u32,
    address: u64,
) -> void:  # fmt: skip
    """Note a race with warp `other` (of the grid), once for each pair of instructions."""
    all_ = _all(w)
    all_.found = all_.found + 1
    for k in range(all_.reports):
        known = ptr(Race)(all_.report) + k
        if known.site == site and known.other_site == other_site and known.kind == kind:
            known.count = known.count + 1
            return
    if all_.reports >= all_.most_reports:
        return
    warps = ptr(Launch)(w.launch).warps
    r = ptr(Race)(all_.report) + all_.reports
    all_.reports = all_.reports + 1
    r.kind = kind
    r.site = site
    r.other_site = other_site
    r.block = ptr(Cta)(w.cta).linear
    r.warp = w.index
    r.lane = lane
    r.other_block = other // warps
    r.other_warp = other % warps
    r.other_lane = other_lane
    r.address = address
    r.count = 1


@native
def access(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32, space: u32) -> void:
    """Compare an access of the lanes in `mask` with those before, then remember it."""
    all_ = _all(w)
    b = _block(w)
    b.step = b.step + 1
    scope = s.scope
    extent = u64(s.size * s.count)
    unit = u64(all_.unit)
    base = w.shared if space == SHARED else ptr(Launch)(w.launch).arena
    window = u64(SHARED_WINDOW) if space == SHARED else u64(GLOBAL_BASE)
    if scope != 0 and s.store != 1:
        rest = mask
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            _acquire(w, lane, w.host[lane] - base + window)
    if scope != 0 and s.store != 0 and s.releases != 0:
        fenced(w, scope)
    rest = mask
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        byte = u64(0)
        while byte < extent:
            offset = w.host[lane] - base + byte
            if space == SHARED:
                cell = ptr(SharedCell)(b.cells + offset // unit * u64(all_.cell_bytes))
                _shared(w, s, site, lane, cell, byte, offset + window)
            else:
                g = ptr(GlobalCell)(all_.cells) + offset // unit
                _global(w, s, site, lane, g, byte, offset + window)
            byte += unit
    if scope != 0 and s.store != 0:
        rest = mask
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            _release(w, w.host[lane] - base + window)


@native
def _same_value(w: ptr(Warp), s: ptr(Site), lane: u32, other: u32) -> u32:
    """Say whether two lanes store the same."""
    for component in range(s.count):
        base = ptr(u8)(u64(w.data) + u64(component * COMPONENT))
        for k in range(s.size):
            if base[lane * s.size + k] != base[other * s.size + k]:
                return 0
    return 1


@native
def _changes(w: ptr(Warp), s: ptr(Site), lane: u32, byte: u64) -> u32:
    """Say whether a lane stores, from `byte` of its access on, other than what is there."""
    last = byte + u64(_all(w).unit)
    while byte < last:
        component = byte // u64(s.size)
        within = u64(lane * s.size) + byte % u64(s.size)
        new = ptr(u8)(u64(w.data) + component * COMPONENT + within)[0]
        if new != ptr(u8)(w.host[lane] + byte)[0]:
            return 1
        byte += 1
    return 0


@native
def _check_write(
    w: ptr(Warp), s: ptr(Site), site: u32, lane: u32, byte: u64, other: u32, other_lane: u32,
    other_site: u32, at_once: u32, address: u64,
) -> void:  # fmt: skip
    """Report an access that comes unordered after a write, unless both write the same."""
    kind = u32(s.store)
    if kind == 1:
        if at_once != 0:
            kind = 3
            if _same_value(w, s, lane, other_lane) != 0:
                return
        elif _changes(w, s, lane, byte) == 0:
            return
    _report(w, kind, lane, site, other_site, other, other_lane, address)


@native
def _shared(
    w: ptr(Warp), s: ptr(Site), site: u32, lane: u32, cell: ptr(SharedCell), byte: u64, address: u64
) -> void:  # fmt: skip
    b = _block(w)
    first = _first_warp(w)
    own = _clocks(b, w.index)
    reads = ptr(u32)(u64(cell) + SharedCell.size)
    if s.store == 0:
        # a write since then would have forgotten the read: nothing is new
        again = reads + 4 * w.index
        if again[0] == own[w.index]:
            if again[2] & _LANE == lane or again[2] & _SEVERAL != 0:
                return
    if cell.clock != 0 and (s.scope == 0 or cell.scope == 0):
        other = cell.warp
        if other == w.index:
            if cell.lane != lane and cell.clock > _knows(w, lane, cell.lane):
                at_once = u32(1) if cell.step == b.step else u32(0)
                _check_write(
                    w, s, site, lane, byte, first + other, cell.lane, cell.site, at_once, address
                )
        elif cell.clock > own[other]:
            _check_write(w, s, site, lane, byte, first + other, cell.lane, cell.site, 0, address)
    if s.store != 0:
        for k in range(ptr(Launch)(w.launch).warps):
            read = reads + 4 * k
            if read[0] == 0:
                continue
            if s.scope == 0 or read[3] == 0:
                other = u32(0)
                if k == w.index:
                    other = _unordered_reader(w, lane, read[2], read[0])
                elif read[0] > own[k]:
                    other = (read[2] & (_SEVERAL - 1)) + 1
                if other != 0:
                    _report(w, 4, lane, site, read[1], first + k, other - 1, address)
            read[0] = 0
        cell.warp = w.index
        cell.lane = lane
        cell.clock = own[w.index]
        cell.site = site
        cell.step = b.step
        cell.scope = s.scope
    else:
        mine = reads + 4 * w.index
        reader = lane
        if mine[0] == own[w.index] and mine[2] & _LANE != lane:
            reader = (mine[2] & _LANE) | _SEVERAL | (lane << _SECOND)
        mine[0] = own[w.index]
        mine[1] = site
        mine[2] = reader
        mine[3] = s.scope


@native
def _before(w: ptr(Warp), lane: u32, agent: u32, other: u32, clock: u32) -> u32:
    """Say whether what lane `other` of warp `agent` of the grid did at `clock` is before this."""
    b = _block(w)
    first = _first_warp(w)
    if agent - first >= ptr(Launch)(w.launch).warps:
        return 1 if clock <= ptr(u32)(b.known)[agent] else 0
    if agent - first == w.index:
        return 1 if clock <= _knows(w, lane, other) else 0
    return 1 if clock <= _clocks(b, w.index)[agent - first] else 0


@native
def _atomic_pair(w: ptr(Warp), scope: u32, agent: u32, other: u32) -> u32:
    """Say whether two accesses are both ordered ones, of a scope that holds both threads."""
    if scope == 0 or other == 0:
        return 0
    if scope == _DEVICE and other == _DEVICE:
        return 1
    return 1 if agent - _first_warp(w) < ptr(Launch)(w.launch).warps else 0


@native
def _global(
    w: ptr(Warp), s: ptr(Site), site: u32, lane: u32, g: ptr(GlobalCell), byte: u64, address: u64
) -> void:  # fmt: skip
    b = _block(w)
    me = _first_warp(w) + w.index
    clock = _clocks(b, w.index)[w.index]
    first = ptr(u32)(u64(g) + READS)
    if s.store == 0:
        # a write since then would have forgotten the read: nothing is new
        if first[0] == clock and first[1] == me:
            if first[2] == lane or first[2] & _SEVERAL != 0:
                return
    if g.clock != 0 and _atomic_pair(w, s.scope, g.agent, g.scope) == 0:
        if (g.agent != me or g.lane != lane) and _before(w, lane, g.agent, g.lane, g.clock) == 0:
            at_once = u32(1) if g.agent == me and g.step == b.step else u32(0)
            _check_write(w, s, site, lane, byte, g.agent, g.lane, g.site, at_once, address)
    if s.store != 0:
        for k in range(u32(2)):
            r = first + 5 * k
            if r[0] == 0:
                continue
            if _atomic_pair(w, s.scope, r[1], r[4]) == 0:
                other = u32(0)
                if r[1] == me:
                    other = _unordered_reader(w, lane, r[2], r[0])
                elif _before(w, lane, r[1], 0, r[0]) == 0:
                    other = (r[2] & (_SEVERAL - 1)) + 1
                if other != 0:
                    _report(w, 4, lane, site, r[3], r[1], other - 1, address)
            r[0] = 0
        g.clock = clock
        g.agent = me
        g.lane = lane
        g.site = site
        g.step = b.step
        g.scope = s.scope
    else:
        reader = lane
        if first[0] == clock and first[1] == me and first[2] != lane:
            reader = first[2] | _SEVERAL | (lane << _SECOND)
        elif first[0] != 0 and first[1] != me:
            # keep the last read of another warp too
            for k in range(u32(5)):
                first[5 + k] = first[k]
        first[0] = clock
        first[1] = me
        first[2] = reader
        first[3] = site
        first[4] = s.scope


READS = GlobalCell.fields["reads"][1]
