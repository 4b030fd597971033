"""Kernels whose threads branch, call, meet at barriers and talk to each other in a warp."""

from collections.abc import Callable, Iterator

import numpy as np
from cases import Case, at, module, random_bits

LANES = np.arange(32)

# --- shuffles


def shuffle_source(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Return the lane that is read, and whether it is in range, as the ISA's pseudocode has it."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    most = lane & segment | clamp & ~segment
    least = lane & segment
    if mode == "up":
        source, good = lane - b, lane - b >= most
    elif mode == "down":
        source, good = lane + b, lane + b <= most
    elif mode == "bfly":
        source, good = lane ^ b, lane ^ b <= most
    else:
        source = least | b & ~segment
        good = source <= most
    return (source if good else lane), good


def shuffle(mode: str, width: int, how: str) -> Case:
    """All lanes shuffle; b is the same for all (`how` "u"), a constant ("i") or differs ("v")."""
    warps = 6
    data = random_bits("u4", 32 * warps)
    rng = np.random.default_rng(width)
    b = rng.integers(0, 32, 32 * warps).astype("u4")
    if how == "u":
        b = np.repeat(b[:warps], 32)
    if how == "i":
        b = b * 0 + 3
    clamp = 0 if mode == "up" else 31
    c = (32 - width) << 8 | clamp
    operand = "3" if how == "i" else "%b"
    index = "%cta" if how == "u" else "%gid"
    body = f"""{at("%in", 0, 4)} ld.global.b32 %x, [%in]; {at("%in", 1, 4, index)}
    ld.global.b32 %b, [%in];
    shfl.sync.{mode}.b32 %y|%p, %x, {operand}, {c}, -1;
    shfl.sync.{mode}.b32 %z, %x, {operand}, {c}, 0xffffffff;
    selp.u32 %q, 1, 0, %p; {at("%in", 2, 4)} st.global.b32 [%in], %y;
    {at("%in", 3, 4)} st.global.b32 [%in], %z; {at("%in", 4, 4)} st.global.b32 [%in], %q;"""
    registers = ".reg .b64 %in; .reg .b32 %x, %y, %z, %b, %q; .reg .pred %p;"
    rows = [shuffle_source(mode, t % 32, int(b[t]), c) for t in range(32 * warps)]
    picked = np.array([data[t - t % 32 + s] for t, (s, _) in enumerate(rows)], "u4")
    good = np.array([g for _, g in rows], "u4")
    given = b[::32].copy() if how == "u" else b
    return Case(
        f"shfl.{mode} width {width} by {how}", module(body, 5, registers),
        [data, given, data * 0, data * 0, data * 0], {2: picked, 3: picked, 4: good}, (warps, 1, 1),
    )  # fmt: skip


def shuffle_of_some() -> Case:
    """Half of a warp shuffles among itself, the other half does the opposite."""
    body = f"""{at("%in", 0, 4)} ld.global.b32 %x, [%in]; setp.lt.u32 %p, %thread, 16;
    mov.u32 %y, 0;
    @%p bra LOW;
    shfl.sync.down.b32 %y, %x, 1, 31, 0xffff0000; bra.uni END;
    LOW: shfl.sync.idx.b32 %y, %x, 5, 31, 0x0000ffff;
    END: st.global.b32 [%in], %y;"""
    data = random_bits("u4", 32)
    wanted = np.concatenate([np.repeat(data[5], 16), data[17:], data[31:]]).astype("u4")
    registers = ".reg .b64 %in; .reg .b32 %x, %y; .reg .pred %p;"
    return Case("shfl in halves of a warp", module(body, 1, registers), [data], {0: wanted})


def shuffles() -> Iterator[Case]:
    for mode in ("idx", "up", "down", "bfly"):
        for width in (1, 2, 4, 8, 16, 32):
            for how in "uvi":
                yield shuffle(mode, width, how)
    yield shuffle_of_some()


# --- votes


def votes() -> Iterator[Case]:
    """All forms in one kernel: all, no and some predicates set, whole and partial masks."""
    truth = np.stack([LANES >= 0, LANES < 0, LANES % 3 == 0, LANES == 7, LANES != 7])
    for mask in (0xFFFFFFFF, 0x0000FFFF, 0x00000080, 0xF0F0F0F0):
        member = (mask >> LANES & 1).astype(bool)
        body = f"""{at("%in", 0, 4)} ld.global.b32 %x, [%in]; setp.ne.u32 %v, %x, 0;
        mov.u32 %m, {mask}; shr.u32 %x, %m, %thread; and.b32 %x, %x, 1; setp.eq.u32 %p, %x, 0;
        @%p bra END;
        vote.sync.ballot.b32 %r0, %v, {mask}; vote.sync.any.pred %p, %v, {mask};
        selp.u32 %r1, 1, 0, %p; vote.sync.all.pred %p, !%v, {mask}; selp.u32 %r2, 1, 0, %p;
        vote.sync.uni.pred %p, %v, {mask}; selp.u32 %r3, 1, 0, %p;
        {at("%in", 1, 16)} st.global.v4.b32 [%in], {{%r0, %r1, %r2, %r3}};
        END:"""
        wanted = np.zeros((5, 32, 4), "u4")
        for row, bits in zip(wanted, truth, strict=True):
            row[member, 0] = sum(1 << int(i) for i in LANES[bits & member])
            row[member, 1] = (bits & member).any()
            row[member, 2] = not (bits & member).any()
            row[member, 3] = len(set(bits[member])) == 1
        registers = ".reg .b64 %in; .reg .b32 %x, %m, %r<4>; .reg .pred %p, %v;"
        yield Case(
            f"votes of {mask:#x}", module(body, 2, registers),
            [truth.astype("u4").ravel(), wanted.reshape(-1) * 0], {1: wanted.reshape(-1)},
            (5, 1, 1),
        )  # fmt: skip


def matches() -> Iterator[Case]:
    for width in (32, 64):
        rng = np.random.default_rng(width)
        rows = [rng.integers(0, 4, 32), LANES, LANES * 0 + 5, LANES // 8 << (width // 2)]
        data = np.array(rows).astype(f"u{width // 8}")
        body = f"""{at("%in", 0, width // 8)} ld.global.b{width} %x, [%in];
        match.any.sync.b{width} %r0, %x, -1; match.all.sync.b{width} %r1|%p, %x, -1;
        selp.u32 %r2, 1, 0, %p; mov.u32 %r3, 0; setp.lt.u32 %p, %thread, 20;
        @!%p bra END; match.any.sync.b{width} %r3, %x, 0xfffff;
        END: {at("%in", 1, 16)} st.global.v4.b32 [%in], {{%r0, %r1, %r2, %r3}};"""
        wanted = np.zeros((4, 32, 4), "u4")
        for row, values in zip(wanted, data, strict=True):
            equal = values[:, None] == values[None, :]
            row[:, 0] = (equal << LANES).sum(1)
            alike = bool(equal.all())
            row[:, 1:3] = (0xFFFFFFFF, 1) if alike else (0, 0)
            row[:20, 3] = (equal[:20, :20] << LANES[:20]).sum(1)
        registers = f".reg .b64 %in; .reg .b{width} %x; .reg .b32 %r<4>; .reg .pred %p;"
        yield Case(
            f"match of {width} bits", module(body, 2, registers),
            [data.ravel(), wanted.reshape(-1) * 0], {1: wanted.reshape(-1)}, (4, 1, 1),
        )  # fmt: skip


def reductions() -> Iterator[Case]:
    operations: dict[str, Callable] = {
        "add.u32": lambda v: v.sum(dtype="u4"), "add.s32": lambda v: v.sum(dtype="u4"),
        "min.u32": np.min, "max.u32": np.max, "min.s32": lambda v: v.view("i4").min(),
        "max.s32": lambda v: v.view("i4").max(), "and.b32": np.bitwise_and.reduce,
        "or.b32": np.bitwise_or.reduce, "xor.b32": np.bitwise_xor.reduce,
    }  # fmt: skip
    data = random_bits("u4", 64)
    for name, reduce in operations.items():
        body = f"""{at("%in", 0, 4)} ld.global.b32 %x, [%in]; redux.sync.{name} %y, %x, -1;
        setp.lt.u32 %p, %thread, 9; @!%p bra END; redux.sync.{name} %y, %x, 0x1ff;
        END: {at("%in", 1, 4)} st.global.b32 [%in], %y;"""
        wanted = np.repeat([np.int64(reduce(data[:32])), np.int64(reduce(data[32:]))], 32)
        wanted[:9], wanted[32:41] = reduce(data[:9]), reduce(data[32:41])
        registers = ".reg .b64 %in; .reg .b32 %x, %y; .reg .pred %p;"
        yield Case(
            f"redux.{name}", module(body, 2, registers), [data, data * 0],
            {1: wanted.astype("u4")}, (2, 1, 1), needs=80,
        )  # fmt: skip


def lane_registers() -> Iterator[Case]:
    names = ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge")
    code = " ".join(
        f"mov.u32 %x, %{n}; st.global.b32 [%in+{4 * k}], %x;" for k, n in enumerate(names)
    )
    body = f"""{at("%in", 0, 32)} {code} setp.lt.u32 %p, %thread, 12; @!%p bra HIGH;
    activemask.b32 %x; elect.sync %y|%p, 0xfff; selp.u32 %z, 1, 0, %p; shl.b32 %y, %y, 8;
    or.b32 %y, %y, %z; st.global.v2.b32 [%in+24], {{%x, %y}}; bra.uni END;
    HIGH: activemask.b32 %x; elect.sync _|%p, 0xfffff000; selp.u32 %y, 1, 0, %p;
    st.global.v2.b32 [%in+24], {{%x, %y}};
    END:"""
    one = 1 << LANES.astype("u8")
    columns = [LANES, one, one - 1, 2 * one - 1, 0xFFFFFFFF - (2 * one - 1), 0xFFFFFFFF - (one - 1)]
    columns += [np.where(LANES < 12, 0xFFF, 0xFFFFF000), (LANES == 0) | (LANES == 12)]
    wanted = np.stack(columns, 1).astype("u4").ravel()
    registers = ".reg .b64 %in; .reg .b32 %x, %y, %z; .reg .pred %p;"
    yield Case(
        "lane registers, activemask, elect", module(body, 1, registers), [wanted * 0], {0: wanted},
        needs=90,
    )  # fmt: skip


# --- barriers


def barriers() -> Iterator[Case]:
    threads = 128
    data = (np.arange(threads) % 5 == 0).astype("u4")
    body = f"""{at("%in", 0, 4)} ld.global.b32 %x, [%in]; setp.ne.u32 %p, %x, 0;
    bar.red.popc.u32 %r0, 0, %p; bar.red.and.pred %q, 3, %p; selp.u32 %r1, 1, 0, %q;
    bar.red.or.pred %q, 3, {threads}, !%p; selp.u32 %r2, 1, 0, %q;
    barrier.cta.red.popc.aligned.u32 %r3, 15, {threads}, !%p;
    {at("%in", 1, 16)} st.global.v4.b32 [%in], {{%r0, %r1, %r2, %r3}};"""
    registers = ".reg .b64 %in; .reg .b32 %x, %r<4>; .reg .pred %p, %q;"
    wanted = np.tile(np.array([26, 0, 1, threads - 26], "u4"), threads)
    yield Case(
        "barriers that reduce", module(body, 2, registers), [data, wanted * 0], {1: wanted},
        block=(threads, 1, 1),
    )  # fmt: skip
    yield producer_and_consumer()
    yield pairs_of_warps()


def producer_and_consumer() -> Case:
    """Warp 0 produces, warp 1 consumes, five times over; neither waits longer than it must."""
    body = f"""shr.u32 %w, %thread, 5; and.b32 %lane, %thread, 31; setp.eq.u32 %p, %w, 0;
    mov.u32 %n, 0;
    mov.u64 %box, box; mul.wide.u32 %a, %lane, 4; add.u64 %box, %box, %a;
    @!%p bra CONSUME;
    PRODUCE: mad.lo.u32 %x, %n, 100, %lane; st.shared.b32 [%box], %x;
    bar.arrive 1, 64; bar.sync 2, 64; add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 5; @%q bra PRODUCE;
    bra.uni END;
    CONSUME: bar.sync 1, 64; ld.shared.b32 %x, [%box]; mad.lo.u32 %i, %n, 32, %lane;
    {at("%a", 0, 4, "%i")} st.global.b32 [%a], %x;
    bar.arrive 2, 64; add.u32 %n, %n, 1; setp.lt.u32 %q, %n, 5; @%q bra CONSUME;
    END:"""
    registers = """.reg .b64 %box, %a; .reg .b32 %w, %lane, %n, %x, %i; .reg .pred %p, %q;
    .shared .align 4 .b8 box[128];"""
    wanted = (100 * np.arange(5)[:, None] + LANES).astype("u4").ravel()
    return Case(
        "bar.arrive and bar.sync", module(body, 1, registers), [wanted * 0], {0: wanted},
        block=(64, 1, 1),
    )  # fmt: skip


def pairs_of_warps() -> Case:
    """Three pairs of warps, each with its own barrier (its number in a register), swap halves."""
    body = f"""shr.u32 %pair, %thread, 6; add.u32 %number, %pair, 4; shl.b32 %o, %thread, 2;
    mov.u32 %base, box; add.u32 %o, %o, %base; {at("%in", 0, 4)} ld.global.b32 %x, [%in];
    st.shared.b32 [%o], %x; barrier.sync %number, 64; xor.b32 %o, %thread, 32; shl.b32 %o, %o, 2;
    add.u32 %o, %o, %base; ld.shared.b32 %x, [%o]; st.global.b32 [%in], %x;"""
    registers = """.reg .b64 %in; .reg .b32 %pair, %number, %o, %base, %x;
    .shared .align 4 .b8 box[768];"""
    data = random_bits("u4", 192)
    wanted = data[np.arange(192) ^ 32]
    return Case(
        "barriers of pairs of warps", module(body, 1, registers), [data], {0: wanted},
        block=(192, 1, 1),
    )  # fmt: skip


# --- branches and calls


def branches() -> Iterator[Case]:
    for how in ("varying", "uniform"):
        index = "%gid" if how == "varying" else "%cta"
        body = f"""rem.u32 %i, {index}, 4; {at("%out", 0, 4)} mov.u32 %x, 0;
        TABLE: .branchtargets A, B, C, D;
        brx.idx %i, TABLE;
        A: mov.u32 %x, 10; bra.uni END;
        B: mov.u32 %x, 20;
        C: add.u32 %x, %x, 30; bra.uni END;
        D: mov.u32 %x, 40;
        END: add.u32 %x, %x, %thread; st.global.b32 [%out], %x;"""
        threads = np.arange(128)
        which = threads if how == "varying" else threads // 32
        wanted = (np.array([10, 50, 30, 40])[which % 4] + threads % 32).astype("u4")
        registers = ".reg .b64 %out; .reg .b32 %i, %x;"
        yield Case(
            f"brx.idx, {how}", module(body, 1, registers), [wanted * 0], {0: wanted}, (4, 1, 1)
        )
    yield nested_loops()
    yield carry_across_branch()
    yield scopes()
    yield early_exits()


def nested_loops() -> Case:
    """Loops whose trip counts differ by lane; integers and predicates live across them."""
    body = f"""{at("%out", 0, 4)} mov.u32 %x, 1; mov.u32 %i, 0; and.b32 %n, %gid, 7;
    setp.gt.u32 %odd, %n, 3;
    OUTER: setp.ge.u32 %p, %i, %n; @%p bra END; mov.u32 %j, 0;
    INNER: setp.gt.u32 %p, %j, %i; @%p bra NEXT; mad.lo.u32 %x, %x, 3, %j;
    @%odd xor.b32 %x, %x, %gid; add.u32 %j, %j, 1; bra INNER;
    NEXT: add.u32 %i, %i, 1; bra OUTER;
    END: st.global.b32 [%out], %x;"""

    def run(gid: int) -> int:
        x, n = 1, gid & 7
        for i in range(n):
            for j in range(i + 1):
                x = (3 * x + j) & 0xFFFFFFFF
                x ^= gid if n > 3 else 0
        return x

    wanted = np.array([run(t) for t in range(96)], "u4")
    registers = ".reg .b64 %out; .reg .b32 %x, %i, %j, %n; .reg .pred %p, %odd;"
    return Case("nested loops", module(body, 1, registers), [wanted * 0], {0: wanted}, (3, 1, 1))


def carry_across_branch() -> Case:
    body = f"""{at("%in", 0, 4)} ld.global.b32 %x, [%in]; add.cc.u32 %y, %x, %x;
    setp.lt.u32 %p, %thread, 10; mov.u32 %z, 5; @%p bra END; mov.u32 %z, 7;
    END: addc.u32 %z, %z, 0; st.global.b32 [%in], %z;"""
    data = random_bits("u4", 32)
    wanted = (np.where(LANES < 10, 5, 7) + (data >> np.uint32(31))).astype("u4")
    registers = ".reg .b64 %in; .reg .b32 %x, %y, %z; .reg .pred %p;"
    return Case("a carry across a branch", module(body, 1, registers), [data], {0: wanted})


def scopes() -> Case:
    """Scopes that use one name for different registers and labels, as inline assembly does."""
    step = """{ .reg .pred %p; .reg .b32 %t; mov.u32 %t, NUMBER; setp.lt.u32 %p, %gid, %t;
    @%p bra SKIP; add.u32 %x, %x, %t; SKIP: }"""
    code = " ".join(step.replace("NUMBER", n) for n in ("5", "17", "23"))
    body = f"""{at("%out", 0, 4)} mov.u32 %x, 0; {code} st.global.b32 [%out], %x;"""
    wanted = sum(np.where(n > LANES, 0, n) for n in (5, 17, 23)).astype("u4")
    registers = ".reg .b64 %out; .reg .b32 %x;"
    return Case("scopes", module(body, 1, registers), [wanted * 0], {0: wanted})


def early_exits() -> Case:
    """Lanes leave one after the other while the rest go on."""
    body = f"""{at("%out", 0, 4)} mov.u32 %i, 0;
    LOOP: st.global.b32 [%out], %i; setp.eq.u32 %p, %i, %thread; @%p exit; add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, 20; @%p bra LOOP; @!%p ret;"""
    wanted = np.minimum(LANES, 19).astype("u4")
    registers = ".reg .b64 %out; .reg .b32 %i; .reg .pred %p;"
    return Case("early exits", module(body, 1, registers), [wanted * 0], {0: wanted})


FUNCTIONS = """
.func (.param .b32 result) square(.param .b32 x)
{ .reg .b32 %a; ld.param.u32 %a, [x]; mul.lo.u32 %a, %a, %a; st.param.b32 [result], %a; ret; }
.func (.param .b32 result) choose(.param .b32 x, .param .b64 y)
{ .reg .b32 %a, %b; .reg .b64 %c; .reg .pred %p;
ld.param.u32 %a, [x]; ld.param.u64 %c, [y]; cvt.u32.u64 %b, %c; setp.lt.u32 %p, %a, 8;
@%p bra SMALL;
{ .param .b32 in; .param .b32 out; st.param.b32 [in], %b; call.uni (out), square, (in);
ld.param.b32 %b, [out]; }
st.param.b32 [result], %b; ret;
SMALL: add.u32 %a, %a, %b; st.param.b32 [result], %a; ret; }
.func (.param .align 8 .b8 result[16]) pair(.param .align 8 .b8 xs[8])
{ .reg .b32 %a, %b; ld.param.v2.b32 {%a, %b}, [xs]; st.param.b32 [result], %b;
st.param.b32 [result+4], %a; add.u32 %a, %a, %b; st.param.b32 [result+12], %a; ret; }
.func fill(.param .b64 where, .param .b32 what)
{ .reg .b64 %a; .reg .b32 %x; ld.param.u64 %a, [where]; ld.param.u32 %x, [what];
st.b32 [%a], %x; ret; }
"""


def calls() -> Iterator[Case]:
    body = f"""{at("%out", 0, 16)} add.u32 %x, %gid, 3; cvt.u64.u32 %wide, %x;
    {{ .param .b32 a; .param .b64 b; .param .b32 r; st.param.b32 [a], %gid; st.param.b64 [b], %wide;
    call.uni (r), choose, (a, b); ld.param.b32 %r0, [r]; }}
    {{ .param .align 8 .b8 a[8]; .param .align 8 .b8 r[16]; st.param.b32 [a], %gid;
    st.param.b32 [a+4], %x; call (r), pair, (a); ld.param.b32 %r1, [r]; ld.param.b32 %r2, [r+12]; }}
    mov.u32 %r3, 0; st.global.v4.b32 [%out], {{%r0, %r1, %r2, %r3}}; add.u64 %place, %out, 12;
    setp.gt.u32 %p, %thread, 20;
    {{ .param .b64 a; .param .b32 b; st.param.b64 [a], %place; st.param.b32 [b], %x;
    @%p call fill, (a, b); }}"""
    threads = np.arange(64)
    first = np.where(threads < 8, 2 * threads + 3, (threads + 3) ** 2)
    last = np.where(threads % 32 > 20, threads + 3, 0)
    wanted = np.stack([first, threads + 3, 2 * threads + 3, last], 1).astype("u4").ravel()
    registers = ".reg .b64 %out, %wide, %place; .reg .b32 %x, %r<4>; .reg .pred %p;"
    yield Case("calls", module(body, 1, registers, FUNCTIONS), [wanted * 0], {0: wanted}, (2, 1, 1))
    yield local_array()


def local_array() -> Case:
    """An array a thread, filled forwards and read by an index that differs between lanes."""
    body = f"""mov.u64 %box, box; cvta.local.u64 %box, %box; mov.u32 %i, 0;
    FILL: mul.wide.u32 %a, %i, 4; add.u64 %a, %a, %box; mad.lo.u32 %x, %i, 7, %gid;
    st.b32 [%a], %x; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 10; @%p bra FILL;
    rem.u32 %i, %gid, 10; mul.wide.u32 %a, %i, 4; mov.u64 %box, box; add.u64 %a, %a, %box;
    ld.local.b32 %x, [%a]; ld.local.b32 %y, [box+36]; add.u32 %x, %x, %y;
    {at("%a", 0, 4)} st.global.b32 [%a], %x;"""
    threads = np.arange(64)
    wanted = (7 * (threads % 10) + threads + 63 + threads).astype("u4")
    registers = """.reg .b64 %box, %a; .reg .b32 %i, %x, %y; .reg .pred %p;
    .local .align 4 .b8 box[40];"""
    return Case(
        "an array a thread", module(body, 1, registers), [wanted * 0], {0: wanted}, (2, 1, 1)
    )


# --- grids


def grids() -> Iterator[Case]:
    """Every thread of a 3-D grid writes who it is."""
    grid, block = (3, 2, 4), (5, 3, 2)
    names = ["tid", "ntid", "ctaid", "nctaid"]
    loads = " ".join(f"mov.u32 %{n}{axis}, %{n}.{axis};" for n in names for axis in "xyz")
    body = f"""{loads}
    mad.lo.u32 %b, %ctaidz, %nctaidy, %ctaidy; mad.lo.u32 %b, %b, %nctaidx, %ctaidx;
    mad.lo.u32 %t, %tidz, %ntidy, %tidy; mad.lo.u32 %t, %t, %ntidx, %tidx;
    mul.lo.u32 %n, %ntidx, %ntidy; mul.lo.u32 %n, %n, %ntidz; mad.lo.u32 %i, %b, %n, %t;
    mad.lo.u32 %x, %ctaidz, 10, %ctaidy; mad.lo.u32 %x, %x, 10, %ctaidx;
    mad.lo.u32 %x, %x, 10, %tidz; mad.lo.u32 %x, %x, 10, %tidy; mad.lo.u32 %x, %x, 10, %tidx;
    {at("%out", 0, 4, "%i")} st.global.b32 [%out], %x;"""
    registers = "".join(f".reg .b32 %{n}x, %{n}y, %{n}z;" for n in names)
    registers += ".reg .b32 %b, %t, %n, %i, %x; .reg .b64 %out;"
    axes = [*grid[::-1], *block[::-1]]
    numbers = np.indices(axes).reshape(6, -1)
    wanted = np.zeros(numbers.shape[1], "u4")
    for row in numbers:
        wanted = (10 * wanted + row).astype("u4")
    yield Case("a 3-D grid", module(body, 1, registers), [wanted * 0], {0: wanted}, grid, block)
    yield Case(
        "the same in blocks of rows of 32", module(body, 1, registers),
        [np.zeros(6 * 32 * 4, "u4")], {0: _rows()}, (2, 1, 3), (32, 2, 2),
    )  # fmt: skip


def _rows() -> np.ndarray:
    wanted = np.zeros(3 * 2 * 128, "u4")
    for row in np.indices((3, 1, 2, 2, 2, 32)).reshape(6, -1):
        wanted = (10 * wanted + row).astype("u4")
    return wanted


def all_cases() -> list[Case]:
    """Return every case of this module."""
    parts = (shuffles, votes, matches, reductions, lane_registers, barriers, branches, calls, grids)
    return [case for part in parts for case in part()]
