"""What an observer of a launch notes: requests, sectors, wavefronts. Native code."""

from . import races
from .native import ctz, native, popcount, ptr, u8, u32, u64, void
from .records import (
    COUNTING,
    GENERIC,
    GLOBAL,
    GLOBAL_BASE,
    LOCAL_WINDOW,
    RACES,
    SHARED,
    SHARED_WINDOW,
    TOUCHED_LOAD,
    TOUCHED_STORE,
    WINDOW_BYTES,
    Cta,
    Launch,
    Probe,
    Site,
    Warp,
)  # fmt: skip

_SECTOR = 32  # bytes: the unit in which global memory moves
_BANKS = 32


@native
def access(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32) -> void:
    """Note a memory access of the lanes in `mask` (addresses are resolved in Warp.host).

    A thread's local memory is its own: there is nothing to count or to compare.
    """
    if s.space == GLOBAL or s.space == SHARED:
        _note(w, s, site, mask, s.space)
    elif s.space == GENERIC:
        shared = u32(0)
        own = u32(0)
        rest = mask
        while rest != 0:
            lane = ctz(rest)
            rest = rest & (rest - 1)
            if w.address[lane] - SHARED_WINDOW < WINDOW_BYTES:
                shared |= u32(1) << lane
            elif w.address[lane] - LOCAL_WINDOW < WINDOW_BYTES:
                own |= u32(1) << lane
        _note(w, s, site, shared, SHARED)
        _note(w, s, site, mask & ~shared & ~own, GLOBAL)


@native
def _note(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32, space: u32) -> void:
    if mask == 0:
        return
    if w.flags & COUNTING != 0:
        _count(w, s, site, mask, space)
    if w.flags & RACES != 0:
        races.access(w, s, site, mask, space)


@native
def _count(w: ptr(Warp), s: ptr(Site), site: u32, mask: u32, space: u32) -> void:
    c = ptr(Cta)(w.cta)
    p = ptr(Probe)(c.probe) + site
    lanes = u64(popcount(mask))
    extent = s.size * s.count
    if p.requests == 0:
        p.sample_mask = mask
        p.sample_space = space
        for lane in range(u32(32)):
            p.sample[lane] = w.address[lane] if space == GLOBAL else w.host[lane] - w.shared
    p.requests = p.requests + 1
    p.lanes = p.lanes + lanes
    p.bytes = p.bytes + lanes * u64(extent)
    if space == GLOBAL:
        p.sectors = p.sectors + u64(_sectors(w, mask, extent))
        _touch(w, s, mask, extent)
    elif space == SHARED:
        _count_wavefronts(w, p, mask, extent)


@native
def _sectors(w: ptr(Warp), mask: u32, extent: u32) -> u32:
    """Count the different 32-byte sectors that the lanes touch."""
    found = u32(0)
    seen = ptr(u64)(u64(w) + SCRATCH)
    highest = u64(0)
    rest = mask
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        # by device address: the host's alignment is another
        start = w.address[lane] - GLOBAL_BASE
        sector = start // _SECTOR
        last = (start + u64(extent) - 1) // _SECTOR
        while sector <= last:
            known = u32(0)
            # most warps go upwards: then the highest so far decides
            if found != 0 and sector <= highest:
                k = found
                while k > 0:
                    k -= 1
                    if seen[k] == sector:
                        known = 1
                        break
            if known == 0:
                seen[found] = sector
                found += 1
                highest = sector if sector > highest else highest
            sector += 1
    return found


@native
def _count_wavefronts(w: ptr(Warp), p: ptr(Probe), mask: u32, extent: u32) -> void:
    """Count passes through the 32 banks: lanes of wide accesses go in halves or quarters.

    Without conflicts each half or quarter that has a lane takes one pass.
    """
    group = u32(32)
    if extent == 8:
        group = 16
    elif extent == 16:
        group = 8
    first = u32(0)
    while first < 32:
        part = mask
        if group < 32:
            part = (mask >> first) & ((u32(1) << group) - 1)
            part = part << first
        if part != 0:
            p.wavefronts = p.wavefronts + u64(_passes(w, part, extent))
            p.ideal = p.ideal + 1
        first += group


@native
def _passes(w: ptr(Warp), mask: u32, extent: u32) -> u32:
    """Return the largest number of different words that fall into one bank."""
    seen = ptr(u64)(u64(w) + SCRATCH)
    found = u32(0)
    most = u32(1)
    banks = u32(0)  # those that a word was seen in
    before = u64(0) - 1
    rest = mask
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        start = w.host[lane] - w.shared
        word = start // 4
        last = (start + u64(extent) - 1) // 4
        while word <= last:
            bank = u32(1) << u32(word & (_BANKS - 1))
            known = u32(1) if word == before else u32(0)
            if known == 0 and banks & bank != 0:
                same_bank = u32(1)
                for k in range(found):
                    if seen[k] == word:
                        known = 1
                        break
                    if (seen[k] ^ word) & (_BANKS - 1) == 0:
                        same_bank += 1
                if known == 0 and same_bank > most:
                    most = same_bank
            if known == 0:
                seen[found] = word
                found += 1
                banks |= bank
            before = word
            word += 1
    return most


@native
def _touch(w: ptr(Warp), s: ptr(Site), mask: u32, extent: u32) -> void:
    """Mark bytes of global memory as read or written, to count different bytes afterwards."""
    mark = u8(TOUCHED_LOAD)
    if s.store == 1:
        mark = u8(TOUCHED_STORE)
    elif s.store == 2:
        mark = u8(TOUCHED_LOAD | TOUCHED_STORE)
    rest = mask
    words = u32(mark) * 0x01010101
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        if extent & 3 == 0:
            for k in range(extent // 4):
                word = ptr(u32)(w.shade[lane]) + k
                word[0] = word[0] | words
        else:
            shade = ptr(u8)(w.shade[lane])
            for k in range(extent):
                shade[k] = shade[k] | mark


SCRATCH = Warp.fields["scratch"][1]


@native
def fenced(w: ptr(Warp), mask: u32, level: u32) -> void:
    """Note a memory fence: 1 within the block, 2 within the device."""
    if w.flags & RACES != 0:
        races.fenced(w, level)


@native
def warp_synchronised(w: ptr(Warp), members: u32) -> void:
    """Note that lanes of a warp have met at a ``__syncwarp``."""
    if w.flags & RACES != 0:
        races.warp_synchronised(w, members)


@native
def barrier_arrival(w: ptr(Warp), number: u32) -> void:
    """Note that a warp has arrived at a barrier."""
    if w.flags & RACES != 0:
        races.barrier_arrival(w, number)


@native
def barrier_departure(w: ptr(Warp), number: u32) -> void:
    """Note that a warp leaves a barrier that has opened."""
    if w.flags & RACES != 0:
        races.barrier_departure(w, number)


@native
def barrier_opened(c: ptr(Cta), number: u32) -> void:
    """Note that all who waited at a barrier have left it."""
    launch = ptr(Launch)(c.launch)
    if launch.flags & RACES != 0:
        races.barrier_opened(c, number)


@native
def block_started(c: ptr(Cta)) -> void:
    """Note that a block starts."""
    launch = ptr(Launch)(c.launch)
    if launch.flags & RACES != 0:
        races.block_started(c)
