"""Races: two accesses to one place, one of them a write, that nothing orders. Native code.

Within a block, each warp has a vector clock over the warps of its block, which barriers and
fence-and-atomic pairs join; blocks have clocks over the blocks of the grid, joined by
fence-and-atomic pairs alone. Lanes of one warp are ordered by ``__syncwarp``. An access that an
earlier conflicting one does not happen before is a race. What is remembered of earlier accesses is
the last write and, of reads, the last of each warp (shared memory) or the last two (global memory):
a race that is reported is one, and some with accesses long past go unseen.
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
_NOBODY = 0xFFFFFFFF
_SEVERAL = 0x100  # beside the first lane others of its warp have read
_LANE = 0x1FF  # a lane and this flag
_ACQUIRE, _RELEASE = 2, 4


@native
def _block(w: ptr(Warp)) -> ptr(RaceBlock):
    return ptr(RaceBlock)(ptr(Cta)(w.cta).races)


@native
def _all(w: ptr(Warp)) -> ptr(Races):
    return ptr(Races)(ptr(Launch)(w.launch).races)


# --- clocks


@native
def _clock(b: ptr(RaceBlock), of: u32, about: u32) -> ptr(u32):
    """Return where warp `of` keeps what it knows of warp `about`."""
    return ptr(u32)(b.clocks) + (of * _WARPS + about)


@native
def _join(into: ptr(u32), other: ptr(u32), count: u32) -> void:
    for k in range(count):
        if other[k] > into[k]:
            into[k] = other[k]


@native
def block_started(c: ptr(Cta)) -> void:
    """Forget what the block before this one did in shared memory; all clocks start anew."""
    launch = ptr(Launch)(c.launch)
    b = ptr(RaceBlock)(c.races)
    for k in range(u32(_WARPS * _WARPS)):
        ptr(u32)(b.clocks)[k] = 0
        ptr(u32)(b.fences)[k] = 0
    for k in range(u32(16 * _WARPS)):
        ptr(u32)(b.barriers)[k] = 0
    for k in range(u32(_WARPS)):
        _clock(b, k, k)[0] = 1
        b.epochs[k] = 1
        b.fenced[k] = 0
    total = b.cells_bytes // 8
    for word in range(total):
        ptr(u64)(b.cells)[word] = 0
    all_ = ptr(Races)(launch.races)
    own = ptr(u32)(all_.clocks) + u64(c.linear) * u64(all_.blocks)
    own[c.linear] = 1


@native
def barrier_arrival(w: ptr(Warp), number: u32) -> void:
    """Give the barrier all this warp knows."""
    b = _block(w)
    own = _clock(b, w.index, 0)
    _join(ptr(u32)(b.barriers) + number * _WARPS, own, _WARPS)
    own[w.index] = own[w.index] + 1
    b.epochs[w.index] = b.epochs[w.index] + 1


@native
def barrier_departure(w: ptr(Warp), number: u32) -> void:
    """Learn what all knew who arrived."""
    b = _block(w)
    _join(_clock(b, w.index, 0), ptr(u32)(b.barriers) + number * _WARPS, _WARPS)


@native
def barrier_opened(c: ptr(Cta), number: u32) -> void:
    """Empty the barrier for its next use."""
    b = ptr(RaceBlock)(c.races)
    for k in range(u32(_WARPS)):
        ptr(u32)(b.barriers)[number * _WARPS + k] = 0


@native
def warp_synchronised(w: ptr(Warp), members: u32) -> void:
    """Order the lanes of a warp."""
    b = _block(w)
    b.epochs[w.index] = b.epochs[w.index] + 1


@native
def fenced(w: ptr(Warp)) -> void:
    """Remember what has happened so far: an atomic after this publishes it."""
    b = _block(w)
    own = _clock(b, w.index, 0)
    for k in range(u32(_WARPS)):
        ptr(u32)(b.fences)[w.index * _WARPS + k] = own[k]
    b.fenced[w.index] = 1


@native
def _place(w: ptr(Warp), address: u64, create: u32) -> ptr(SyncPlace):
    """Return what is known of an address that atomics use, or null."""
    all_ = _all(w)
    for k in range(all_.places):
        p = ptr(SyncPlace)(all_.place + u64(k) * u64(all_.place_bytes))
        if p.address == address:
            return p
    if create == 0 or all_.places >= all_.most_places:
        return 0
    p = ptr(SyncPlace)(all_.place + u64(all_.places) * u64(all_.place_bytes))
    all_.places = all_.places + 1
    p.address = address
    p.block = _NOBODY
    for k in range(u32(_WARPS) + all_.blocks):
        (ptr(u32)(u64(p) + SyncPlace.size))[k] = 0
    return p


@native
def _release(w: ptr(Warp), address: u64, strong: u32) -> void:
    """Publish, by an atomic or ordered write, what the last fence covered (or all, if strong)."""
    b = _block(w)
    if strong == 0 and b.fenced[w.index] == 0:
        return
    p = _place(w, address, 1)
    if u64(p) == 0:
        return
    c = ptr(Cta)(w.cta)
    all_ = _all(w)
    own = _clock(b, w.index, 0)
    warps = ptr(u32)(u64(p) + SyncPlace.size)
    if p.block != c.linear:
        p.block = c.linear
        for k in range(u32(_WARPS)):
            warps[k] = 0
    _join(warps, own if strong != 0 else ptr(u32)(b.fences) + w.index * _WARPS, _WARPS)
    mine = ptr(u32)(all_.clocks) + u64(c.linear) * u64(all_.blocks)
    _join(warps + _WARPS, mine, all_.blocks)
    own[w.index] = own[w.index] + 1
    mine[c.linear] = mine[c.linear] + 1


@native
def _acquire(w: ptr(Warp), address: u64) -> void:
    """Learn, by an atomic or ordered read, what was published at this address."""
    p = _place(w, address, 0)
    if u64(p) == 0:
        return
    b = _block(w)
    c = ptr(Cta)(w.cta)
    all_ = _all(w)
    warps = ptr(u32)(u64(p) + SyncPlace.size)
    if p.block == c.linear:
        _join(_clock(b, w.index, 0), warps, _WARPS)
    _join(ptr(u32)(all_.clocks) + u64(c.linear) * u64(all_.blocks), warps + _WARPS, all_.blocks)


# --- accesses


@native
def _report(
    w: ptr(Warp),
    kind: u32,
    lane: u32,
    site: u32,
    other_site: u32,
    other_warp: u32,
    other_lane: u32,
    other_block: u32,
    address: u64,
) -> void:
    """Note a race, once for each pair of instructions."""
    all_ = _all(w)
    all_.found = all_.found + 1
    for k in range(all_.reports):
        known = ptr(Race)(all_.report) + k
        if known.site == site and known.other_site == other_site and known.kind == kind:
            known.count = known.count + 1
            return
    if all_.reports >= all_.most_reports:
        return
    r = ptr(Race)(all_.report) + all_.reports
    all_.reports = all_.reports + 1
    r.kind = kind
    r.site = site
    r.other_site = other_site
    r.block = ptr(Cta)(w.cta).linear
    r.warp = w.index
    r.lane = lane
    r.other_block = other_block
    r.other_warp = other_warp
    r.other_lane = other_lane & (_SEVERAL - 1)
    r.address = address
    r.count = 1


@native
def access(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32, space: u32) -> void:
    """Compare an access of the lanes in `mask` with those before, then remember it."""
    all_ = _all(w)
    b = _block(w)
    b.step = b.step + 1
    ordered = u32(1) if s.order != 0 or s.store == 2 else u32(0)
    extent = u64(s.size * s.count)
    unit = u64(all_.unit)
    rest = mask
    if ordered != 0 and s.store != 1:
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            _acquire(w, w.host[lane])
    rest = mask
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        byte = u64(0)
        while byte < extent:
            if space == SHARED:
                offset = w.host[lane] - w.shared + byte
                cell = ptr(SharedCell)(b.cells + offset // unit * u64(all_.cell_bytes))
                _shared(w, s, site, lane, cell, ordered, SHARED_WINDOW + offset)
            else:
                offset = w.host[lane] - ptr(Launch)(w.launch).arena + byte
                g = ptr(GlobalCell)(all_.cells) + offset // unit
                _global(w, s, site, lane, g, ordered, GLOBAL_BASE + offset)
            byte += unit
    rest = mask
    if ordered != 0 and s.store != 0:
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            _release(w, w.host[lane], s.order & _RELEASE)


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
def _shared(
    w: ptr(Warp),
    s: ptr(Site),
    site: u32,
    lane: u32,
    cell: ptr(SharedCell),
    ordered: u32,
    address: u64,
) -> void:
    b = _block(w)
    block = ptr(Cta)(w.cta).linear
    reads = ptr(u32)(u64(cell) + SharedCell.size)
    if s.store == 0:
        # a write since then would have forgotten the read: nothing is new
        again = reads + 4 * w.index
        if again[0] == _clock(b, w.index, w.index)[0] and again[2] == b.epochs[w.index]:
            if again[3] & _LANE == lane or again[3] & _SEVERAL != 0:
                return
    if cell.write_clock != 0 and (ordered == 0 or cell.ordered == 0):
        other = cell.warp
        kind = u32(s.store)
        if other != w.index:
            if cell.write_clock > _clock(b, w.index, other)[0]:
                _report(w, kind, lane, site, cell.site, other, cell.lane, block, address)
        elif cell.lane != lane and cell.epoch == b.epochs[w.index]:
            if cell.step != b.step:
                _report(w, kind, lane, site, cell.site, other, cell.lane, block, address)
            elif _same_value(w, s, lane, cell.lane) == 0:
                _report(w, 3, lane, site, cell.site, other, cell.lane, block, address)
    if s.store != 0:
        for k in range(ptr(Launch)(w.launch).warps):
            clock = reads[4 * k]
            if clock == 0 or (ordered != 0 and reads[4 * k + 3] & 0x80000000 != 0):
                continue
            reader = reads[4 * k + 3] & _LANE
            if k != w.index:
                if clock > _clock(b, w.index, k)[0]:
                    _report(w, 4, lane, site, reads[4 * k + 1], k, reader, block, address)
            elif reader != lane and reads[4 * k + 2] == b.epochs[k] and ordered == 0:
                if reads[4 * k + 1] != site:
                    _report(w, 4, lane, site, reads[4 * k + 1], k, reader, block, address)
        cell.warp = w.index
        cell.lane = lane
        cell.write_clock = _clock(b, w.index, w.index)[0]
        cell.epoch = b.epochs[w.index]
        cell.site = site
        cell.step = b.step
        cell.ordered = ordered
        for k in range(ptr(Launch)(w.launch).warps):
            reads[4 * k] = 0
    else:
        mine = reads + 4 * w.index
        if mine[0] != 0 and mine[2] == b.epochs[w.index] and mine[3] & _LANE != lane:
            lane = (mine[3] & _LANE) | _SEVERAL
        mine[0] = _clock(b, w.index, w.index)[0]
        mine[1] = site
        mine[2] = b.epochs[w.index]
        mine[3] = lane | (u32(0x80000000) if ordered != 0 else u32(0))


@native
def _before(w: ptr(Warp), block: u32, warp: u32, clock: u32, block_clock: u32) -> u32:
    """Say whether an access by a warp of `block` happens before what `w` does now."""
    c = ptr(Cta)(w.cta)
    if block == c.linear:
        if warp == w.index:
            return 1
        return 1 if clock <= _clock(_block(w), w.index, warp)[0] else 0
    all_ = _all(w)
    known = (ptr(u32)(all_.clocks) + u64(c.linear) * u64(all_.blocks))[block]
    return 1 if block_clock <= known else 0


@native
def _global(
    w: ptr(Warp), s: ptr(Site), site: u32, lane: u32, g: ptr(GlobalCell), ordered: u32, address: u64
) -> void:
    b = _block(w)
    c = ptr(Cta)(w.cta)
    all_ = _all(w)
    clock = _clock(b, w.index, w.index)[0]
    if s.store == 0:
        # a write since then would have forgotten the read: nothing is new
        again = ptr(u32)(u64(g) + READS)
        if again[0] == clock and again[2] == c.linear and again[3] == w.index:
            if again[5] == b.epochs[w.index] and (again[4] == lane or again[4] & _SEVERAL != 0):
                return
    block_clock = (ptr(u32)(all_.clocks) + u64(c.linear) * u64(all_.blocks))[c.linear]
    if g.write_clock != 0 and (ordered == 0 or g.write_ordered == 0):
        same = g.write_block == c.linear and g.write_warp == w.index
        if same:
            if g.write_lane != lane and g.write_epoch == b.epochs[w.index]:
                if g.write_step != b.step:
                    _report(
                        w,
                        s.store,
                        lane,
                        site,
                        g.write_site,
                        g.write_warp,
                        g.write_lane,
                        g.write_block,
                        address,
                    )
                elif _same_value(w, s, lane, g.write_lane) == 0:
                    _report(
                        w,
                        3,
                        lane,
                        site,
                        g.write_site,
                        g.write_warp,
                        g.write_lane,
                        g.write_block,
                        address,
                    )
        elif _before(w, g.write_block, g.write_warp, g.write_clock, g.write_block_clock) == 0:
            _report(
                w,
                s.store,
                lane,
                site,
                g.write_site,
                g.write_warp,
                g.write_lane,
                g.write_block,
                address,
            )
    if s.store != 0:
        for k in range(u32(2)):
            r = ptr(u32)(u64(g) + READS) + 8 * k
            if r[0] == 0 or (ordered != 0 and r[6] != 0):
                continue
            if r[2] == c.linear and r[3] == w.index:
                if r[4] != lane and r[5] == b.epochs[w.index] and r[7] != site:
                    _report(w, 4, lane, site, r[7], r[3], r[4], r[2], address)
            elif _before(w, r[2], r[3], r[0], r[1]) == 0:
                _report(w, 4, lane, site, r[7], r[3], r[4], r[2], address)
            r[0] = 0
        g.write_clock = clock
        g.write_block_clock = block_clock
        g.write_block = c.linear
        g.write_warp = w.index
        g.write_lane = lane
        g.write_epoch = b.epochs[w.index]
        g.write_ordered = ordered
        g.write_site = site
        g.write_step = b.step
    else:
        first = ptr(u32)(u64(g) + READS)
        if first[0] != 0 and first[2] == c.linear and first[3] == w.index:
            if first[5] == b.epochs[w.index] and first[4] != lane:
                lane = first[4] | _SEVERAL
        if first[0] != 0 and (first[2] != c.linear or first[3] != w.index):
            # keep the last read of another warp too
            for k in range(u32(8)):
                first[8 + k] = first[k]
        first[0] = clock
        first[1] = block_clock
        first[2] = c.linear
        first[3] = w.index
        first[4] = lane
        first[5] = b.epochs[w.index]
        first[6] = ordered
        first[7] = site


READS = GlobalCell.fields["reads"][1]
