"""Atomic operations: one lane after the other, in the order of lanes. Native code."""

from . import access, watch
from .access import TOUCHED, WHOLE
from .native import (
    compare_exchange,
    ctz,
    f16,
    f32,
    f64,
    i32,
    i64,
    native,
    ptr,
    reinterpret,
    u8,
    u16,
    u32,
    u64,
    void,
)
from .records import (
    COMPONENT,
    GLOBAL_BASE,
    READ_ONLY,
    UNDEFINED,
    WRITES_CONSTANT,
    Launch,
    Site,
    Warp,
)


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
def _flush(bits: u64) -> u64:
    """Return an f32 with zero of its sign in place of a subnormal number."""
    return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits


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
def mem_atomic(w: ptr(Warp), site: u32, mask: u32) -> void:
    """One atomic a lane, lanes in order; old values go to component 2."""
    launch = ptr(Launch)(w.launch)
    s = ptr(Site)(launch.sites) + site
    if mask == 0:
        return
    if access.locate(w, s, site, mask) == 0:
        return
    if w.flags != 0:
        watch.access(w, s, site, mask)
    rest = mask
    data = u64(w.data)
    while rest != 0:
        lane = ctz(rest)
        rest = rest & (rest - 1)
        place = w.host[lane]
        step = u64(lane * s.size)
        if ptr(u8)(w.shade[lane])[0] & READ_ONLY != 0:
            access.record_fault(w, WRITES_CONSTANT, site, u32(1) << lane)
            return
        if access.defined(w.shade[lane], s.size) == 0 and s.op != 6:
            w.origin_site[lane] = site
            w.origin_address[lane] = w.address[lane]
            access.record_fault(w, UNDEFINED, site, u32(1) << lane)
            return
        b = _read(data + step, s.size)
        c = _read(data + COMPONENT + step, s.size)
        old = _read(place, s.size)
        # hardware's sums of f32 in global memory, not those in shared memory, flush
        flushes = s.op == 0 and s.kind == 4 and w.address[lane] >= GLOBAL_BASE
        while True:
            new = _combine(s.op, s.kind, s.size, old, b, c)
            if flushes:
                new = _flush(_combine(s.op, s.kind, s.size, _flush(old), _flush(b), c))
            seen = _exchange(place, s.size, old, new)
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
