"""Kernels in PTX written by hand, each with its launch and what it must leave in memory.

They cover what is not one instruction on its operands: memory, atomics, lanes that talk to each
other, barriers, branches, calls. They need only NumPy: the same list can run on a real GPU.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import exact
import numpy as np
from fuzz import HEADER, edges, float_edges


@dataclass
class Case:
    """A launch of kernel ``k``, whose parameters are pointers to `buffers`.

    Attributes
    ----------
    name, ptx : str
        What it is about; the module's text.
    buffers : list of numpy.ndarray
        What is in memory before.
    expected : dict
        Index of a buffer -> what must be in it afterwards, bit for bit. Others may hold anything.
    grid, block : tuple of int
        The launch.
    needs : int
        Compute capability from which hardware runs it.
    tail : bytes
        Parameters behind the pointers.
    """

    name: str
    ptx: str
    buffers: list[np.ndarray]
    expected: dict[int, np.ndarray]
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    needs: int = 70
    tail: bytes = b""


def differences(case: Case, after: Mapping[int, np.ndarray]) -> list[str]:
    """Return what differs in the buffers that `case` expects something of, by their index."""
    reports = []
    for index, wanted in case.expected.items():
        got = after[index].view(np.uint8).ravel()[: wanted.nbytes].view(wanted.dtype)
        wrong = np.flatnonzero(got != wanted.ravel())
        if wrong.size:
            first = wrong[0]
            reports.append(
                f"{case.name}: buffer {index}, element {first} of {wrong.size} wrong ones: "
                f"{got[first]:#x}, expected {wanted.ravel()[first]:#x}"
            )
    return reports


def module(
    body: str, pointers: int, registers: str = "", declared: str = "", level: int = 90
) -> str:
    """Return a module with kernel ``k``; pointers are ``%p0``, ..., a thread's number ``%gid``."""
    params = ", ".join(f".param .u64 p{n}" for n in range(pointers))
    loads = "\n".join(f"ld.param.u64 %p{n}, [p{n}];" for n in range(pointers))
    return f"""{HEADER.format(level=level)}{declared}
.visible .entry k({params}) {{
.reg .b64 %p<{pointers}>; .reg .b32 %thread, %gid, %size, %cta;
{registers}
{loads}
mov.u32 %thread, %tid.x; mov.u32 %cta, %ctaid.x; mov.u32 %size, %ntid.x;
mad.lo.u32 %gid, %cta, %size, %thread;
{body}
ret;
}}
"""


def at(register: str, pointer: int, size: int, index: str = "%gid") -> str:
    """Return PTX that puts the address of an element into `register`."""
    return f"mul.wide.u32 {register}, {index}, {size}; add.u64 {register}, {register}, %p{pointer};"


def random_bits(kind: str, count: int, seed: int = 3) -> np.ndarray:
    """Return `count` random numbers of a NumPy integer type."""
    width = np.dtype(kind).itemsize * 8
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << 63, count, dtype=np.uint64).astype(f"u{width // 8}").view(kind)


# --- loads and stores

SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
SCALARS = [f"{k}{b}" for b in SIZES for k in "bus"] + ["f32", "f64"]


def through(space: str, kind: str, count: int) -> Case:
    """Copy an array by way of a state space, each thread its own vector; two warps and a half."""
    size = SIZES[kind[1:]]
    width, whole, threads = max(16, 8 * size), size * count, 80
    vector = f".v{count}" if count > 1 else ""
    names = [f"%x{n}" for n in range(count)]
    packed = "{" + ", ".join(names) + "}" if count > 1 else names[0]
    declared, address = "", ""
    base, own = space.partition(" ")[::2]
    if own == "shared":
        declared = f".shared .align 16 .b8 box[{threads * whole}];"
        address = f"mov.u64 %a, box; mul.wide.u32 %b, %thread, {whole}; add.u64 %a, %a, %b;"
    elif own == "local":
        declared = f".local .align 16 .b8 box[{whole}];"
        address = "mov.u64 %a, box;"
    elif own == "global":
        address = at("%a", 2, whole)
    if base == "generic" and own != "global":
        address += f" cvta.{own}.u64 %a, %a;"
    where = "" if base == "generic" else f".{own}"
    body = f"""{at("%in", 0, whole)} {at("%out", 1, whole)} {address}
    ld.global{vector}.{kind} {packed}, [%in];
    st{where}{vector}.{kind} [%a], {packed};
    ld{where}{vector}.{kind} {packed}, [%a];
    st.global{vector}.{kind} [%out], {packed};"""
    registers = f".reg .b64 %in, %out, %a, %b; .reg .b{width} %x<{count}>; {declared}"
    data = random_bits(f"u{size}", threads * count)
    return Case(
        f"{space} {kind} x {count}", module(body, 3, registers), [data, data * 0, data * 0],
        {1: data}, block=(threads, 1, 1), needs=100 if whole == 32 else 70,
    )  # fmt: skip


def extended(kind: str, register: int) -> Case:
    """Load into a register wider than the type, and store a narrow part of a wide register."""
    size = SIZES[kind[1:]]
    body = f"""{at("%in", 0, size)} {at("%out", 1, register // 8)} {at("%back", 2, size)}
    ld.global.{kind} %x, [%in];
    st.global.b{register} [%out], %x;
    st.global.{kind} [%back], %x;"""
    data = random_bits(f"{'i' if kind[0] == 's' else 'u'}{size}", 64)
    wide = data.astype(f"{'i' if kind[0] == 's' else 'u'}{register // 8}")
    registers = f".reg .b64 %in, %out, %back; .reg .b{register} %x;"
    return Case(
        f"ld.{kind} into {register} bits", module(body, 3, registers),
        [data, np.zeros_like(wide), np.zeros_like(data)], {1: wide, 2: data}, block=(64, 1, 1),
    )  # fmt: skip


def pattern(name: str, index: Callable[[np.ndarray], np.ndarray], code: str, kind: str) -> Case:
    """Gather by an index that the kernel computes from the thread's number."""
    size = SIZES[kind[1:]]
    threads = np.arange(64)
    body = f"""{code} {at("%in", 0, size, "%i")} {at("%out", 1, size)}
    ld.global.{kind} %x, [%in]; st.global.{kind} [%out], %x;
    {at("%in", 2, size, "%i")} st.global.{kind} [%in], %x;"""
    registers = f".reg .b64 %in, %out; .reg .b32 %i, %j; .reg .b{max(16, 8 * size)} %x;"
    data = random_bits(f"u{size}", 256)
    picked = data[index(threads)]
    scattered = np.zeros_like(data)
    scattered[index(threads)] = picked
    return Case(
        f"{name} of {kind}", module(body, 3, registers), [data, picked * 0, data * 0],
        {1: picked, 2: scattered}, block=(64, 1, 1),
    )  # fmt: skip


def loads_and_stores() -> Iterator[Case]:
    spaces = (
        "own global",
        "own shared",
        "own local",
        "generic global",
        "generic shared",
        "generic local",
    )
    for space in spaces:
        for kind in SCALARS:
            yield through(space, kind, 1)
        for kind in ("b8", "u16", "b32", "f32", "b64", "f64"):
            for count in (2, 4):
                if SIZES[kind[1:]] * count <= 16:
                    yield through(space, kind, count)
    yield through("own global", "b32", 8)
    yield through("own global", "f64", 4)
    for kind in SCALARS:
        for register in (16, 32, 64):
            if kind[0] != "f" and register > int(kind[1:]):
                yield extended(kind, register)
    for kind in ("b8", "b16", "b32", "b64"):
        yield pattern("every other element", lambda t: 2 * t, "shl.b32 %i, %gid, 1;", kind)
        yield pattern("backwards", lambda t: 63 - t, "sub.u32 %i, 63, %gid;", kind)
        yield pattern("one for all", lambda t: 0 * t + 7, "mov.u32 %i, 7;", kind)
        yield pattern("one a block", lambda t: 0 * t, "mov.u32 %i, %cta;", kind)
        yield pattern("shifted", lambda t: t + 3, "add.u32 %i, %gid, 3;", kind)
        yield pattern(
            "permuted",
            lambda t: t * 37 % 128,
            "mul.lo.u32 %i, %gid, 37; and.b32 %i, %i, 127;",
            kind,
        )
        yield pattern("in pairs", lambda t: t ^ 1, "xor.b32 %i, %gid, 1;", kind)
    yield wide_scalars()
    yield sinks()
    yield offsets()
    yield shared_by_32_bits()
    yield matrix_row()


def wide_scalars() -> Case:
    """128-bit registers: load, move, take apart, across a branch, store."""
    body = f"""{at("%in", 0, 16)} {at("%out", 1, 16)}
    ld.global.b128 %q, [%in];
    and.b32 %i, %thread, 1; setp.eq.u32 %odd, %i, 1;
    @%odd bra SWAP;
    mov.b128 %r, %q; bra.uni END;
    SWAP: mov.b128 {{%lo, %hi}}, %q; mov.b128 %r, {{%hi, %lo}};
    END: st.global.b128 [%out], %r;"""
    registers = ".reg .b64 %in, %out, %lo, %hi; .reg .b128 %q, %r; .reg .b32 %i; .reg .pred %odd;"
    data = random_bits("u8", 64).reshape(32, 2)
    wanted = data.copy()
    wanted[1::2] = data[1::2, ::-1]
    return Case("128-bit scalars", module(body, 2, registers), [data, data * 0], {1: wanted})


def sinks() -> Case:
    body = f"""{at("%in", 0, 16)} {at("%out", 1, 8)}
    ld.global.v4.b32 {{%x, _, _, %y}}, [%in];
    st.global.v2.b32 [%out], {{%x, %y}};"""
    data = random_bits("u4", 128).reshape(32, 4)
    wanted = np.ascontiguousarray(data[:, [0, 3]])
    registers = ".reg .b64 %in, %out; .reg .b32 %x, %y;"
    return Case("vector with sinks", module(body, 2, registers), [data, wanted * 0], {1: wanted})


def offsets() -> Case:
    """Register plus and minus an offset, symbol plus an offset, an address without a register."""
    body = f"""{at("%a", 0, 4)} {at("%out", 1, 16)}
    ld.global.b32 %x0, [%a+128]; ld.global.b32 %x1, [%a+-4]; ld.global.b32 %x2, [table+8];
    add.s32 %t, %thread, 5; st.shared.b32 [box+4], 77; bar.warp.sync -1; ld.shared.b32 %x3, [box+4];
    st.global.v4.b32 [%out], {{%x0, %x1, %x2, %x3}};"""
    registers = ".reg .b64 %a, %out; .reg .b32 %x<4>, %t; .shared .align 4 .b8 box[16];"
    data = random_bits("u4", 65)
    lanes = np.arange(32)
    wanted = np.stack(
        [data[1 + lanes + 32], data[lanes], 0 * data[:32] + 33, 0 * data[:32] + 77], 1
    )
    text = module(body, 2, registers, ".global .align 4 .u32 table[4] = {11, 22, 33, 44};")
    text = text.replace("ld.param.u64 %p0, [p0];", "ld.param.u64 %p0, [p0]; add.u64 %p0, %p0, 4;")
    return Case("offsets", text, [data, wanted * 0], {1: wanted})


def shared_by_32_bits() -> Case:
    """Shared memory by 32-bit addresses; a guarded store whose index is negative in lane 0."""
    body = f"""mov.u32 %base, box; shl.b32 %o, %thread, 2; add.u32 %o, %base, %o;
    {at("%in", 0, 4)}
    ld.global.b32 %x, [%in]; st.shared.b32 [%o], %x; bar.sync 0;
    ld.shared.b32 %x, [%o]; add.u32 %x, %x, 1; st.shared.b32 [%o+256], %x;
    setp.gt.u32 %p, %thread, 0; sub.u32 %o, %o, 4;
    @%p st.shared.b32 [%o+512], %x;
    bar.sync 0; add.u32 %o, %o, 4; ld.shared.b32 %y, [%o+256];
    setp.lt.u32 %p, %thread, 63; mov.u32 %z, 0; @%p ld.shared.b32 %z, [%o+512];
    {at("%in", 1, 8)} st.global.v2.b32 [%in], {{%y, %z}};"""
    registers = """.reg .b64 %in; .reg .b32 %base, %o, %x, %y, %z; .reg .pred %p;
    .shared .align 4 .b8 box[768];"""
    data = random_bits("u4", 64)
    wanted = np.stack([data + 1, np.append(data[1:] + 1, 0)], 1).astype("u4")
    return Case(
        "shared memory by 32-bit addresses", module(body, 2, registers), [data, wanted * 0],
        {1: wanted}, block=(64, 1, 1),
    )  # fmt: skip


def matrix_row() -> Case:
    """Affine values with a huge step survive a branch on which lanes part."""
    body = f"""cvt.u64.u32 %wide, %thread; shl.b64 %far, %wide, 33; add.u64 %far, %far, 5;
    and.b32 %i, %thread, 3; setp.eq.u32 %p, %i, 1; mov.u64 %x, 1;
    @%p bra MORE; mov.u64 %x, 2; MORE: add.u64 %x, %x, %far;
    {at("%out", 0, 8)} st.global.b64 [%out], %x;"""
    registers = ".reg .b64 %wide, %far, %x, %out; .reg .b32 %i; .reg .pred %p;"
    lanes = np.arange(32, dtype="u8")
    wanted = (lanes << np.uint64(33)) + 5 + np.where(lanes % 4 == 1, 1, 2).astype("u8")
    return Case("steps of 2**33", module(body, 1, registers), [wanted * 0], {0: wanted})


# --- variables of a module


def variables() -> Iterator[Case]:
    declared = """
    .const .align 4 .f32 weights[4] = {0f3F800000, 0f40000000, 0fC0400000, 0f3E800000};
    .const .align 8 .b8 raw[8] = {1, 2, 3, 4, 0xff, -1, 7, 8};
    .global .align 8 .f64 pi = 0d400921FB54442D18;
    .global .align 2 .u16 words[6] = {10, 20, 30};
    .global .align 4 .s32 grid[2][3] = {{1, 2, 3}, {-4, 5, -6}};
    .global .align 8 .u64 places[3] = {words, words+4, generic(grid)+12};
    .visible .global .align 4 .u32 counter;
    """
    body = """mov.u64 %o, %p0;
    ld.const.f32 %r, [weights+8]; st.global.f32 [%o], %r;
    ld.const.b32 %r, [raw+4]; st.global.b32 [%o+4], %r;
    ld.global.f64 %d, [pi]; st.global.f64 [%o+8], %d;
    ld.global.u64 %a, [places+8]; ld.global.u16 %r, [%a]; st.global.b32 [%o+16], %r;
    ld.global.u16 %r, [%a+2]; st.global.b32 [%o+20], %r;
    ld.global.u64 %a, [places+16]; ld.s32 %r, [%a]; st.global.b32 [%o+24], %r;
    mov.u64 %a, grid; ld.global.s32 %r, [%a+20]; st.global.b32 [%o+28], %r;
    ld.global.u32 %r, [counter]; st.global.b32 [%o+32], %r;
    mov.u64 %a, weights; cvta.const.u64 %a, %a; ld.f32 %r, [%a+4]; st.global.f32 [%o+36], %r;
    mov.u64 %a, weights+12; ld.const.f32 %r, [%a]; st.global.f32 [%o+40], %r;"""
    registers = ".reg .b64 %o, %a, %d; .reg .b32 %r;"
    wanted = np.zeros(11, "u4")
    wanted[0] = np.float32(-3).view("u4")
    wanted[1] = 0x0807FFFF
    wanted[2:4] = np.array([np.pi]).view("u4")
    wanted[4:9] = 30, 0, 0xFFFFFFFC, 0xFFFFFFFA, 0
    wanted[9:] = np.array([2, 0.25], "f4").view("u4")
    yield Case(
        "variables with values", module(body, 1, registers, declared), [wanted * 0], {0: wanted},
        block=(1, 1, 1),
    )  # fmt: skip


def parameters() -> Iterator[Case]:
    """A structure by value: scalars, a vector, a byte, read at fixed and at computed places."""
    text = f"""{HEADER.format(level=90)}
    .visible .entry k(.param .u64 out, .param .align 8 .b8 s[32], .param .u8 small,
    .param .f64 last)
    {{ .reg .b64 %o, %x, %a; .reg .b32 %r<4>, %t;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
    ld.param.v2.u32 {{%r0, %r1}}, [s+8]; ld.param.s8 %r2, [s+3]; ld.param.u8 %r3, [small];
    st.global.v4.b32 [%o], {{%r0, %r1, %r2, %r3}};
    ld.param.f64 %x, [last]; st.global.f64 [%o+16], %x;
    mov.b64 %a, s; ld.param.u16 %r0, [%a+30]; st.global.b32 [%o+24], %r0;
    cvta.param.u64 %a, %a; ld.u16 %r0, [%a+28]; st.global.b32 [%o+28], %r0;
    ret; }}"""
    block = np.arange(200, 232, dtype=np.uint8)
    block[3] = 0x85
    wanted = np.zeros(8, "u4")
    wanted[:2] = block[8:16].view("u4")
    wanted[2:4] = 0xFFFFFF85, 0x9C
    wanted[4:6] = np.array([2.5]).view("u4")
    wanted[6:] = block[30:].view("u2")[0], block[28:30].view("u2")[0]
    raw = np.concatenate([block, np.array([0x9C], np.uint8), np.zeros(7, np.uint8),
                          np.array([2.5]).view(np.uint8)])  # fmt: skip
    yield Case(
        "a structure by value", text, [wanted * 0], {0: wanted}, block=(1, 1, 1),
        tail=raw.tobytes(),
    )  # fmt: skip


def address_spaces() -> Iterator[Case]:
    """Generic addresses know their state space, and ``cvta`` there and back changes nothing."""
    lines = []
    for place, (space, address) in enumerate(
        (("global", "%p0"), ("shared", "box"), ("local", "mine"), ("global", "thing"))
    ):
        cast = f"cvta.{space}.u64 %g, %a; cvta.to.{space}.u64 %b, %g;"
        lines.append(
            f"mov.u64 %a, {address}; {cast} setp.eq.u64 %q, %a, %b; selp.u32 %x, 8, 0, %q;"
        )
        for bit, asked in enumerate(("global", "shared", "local")):
            lines.append(f"isspacep.{asked} %q, %g; @%q or.b32 %x, %x, {1 << bit};")
        lines.append(f"st.global.b32 [%p0+{4 * place}], %x;")
    registers = """.reg .b64 %a, %b, %g; .reg .b32 %x; .reg .pred %q;
    .shared .align 4 .b8 box[64]; .local .align 4 .b8 mine[64];"""
    text = module(" ".join(lines), 1, registers, ".global .align 4 .b8 thing[64];")
    wanted = np.array([9, 10, 12, 9], "u4")
    yield Case("address spaces", text, [wanted * 0], {0: wanted}, block=(1, 1, 1))


# --- atomics


@dataclass(frozen=True)
class Atomic:
    """An atomic operation on numbers of one type."""

    op: str
    kind: str
    twin: Callable[..., int]  # of the old value and the operands, as the type reads them
    operands: int = 1
    more: str = ""  # modifiers between operation and type
    needs: int = 70


def _float_sum(name: str, ftz: bool = False) -> Callable[[int, int], int]:
    f = exact.FORMATS[name]

    def total(a: int, b: int) -> int:
        if ftz:
            a, b = exact.flushed(a, f), exact.flushed(b, f)
        code = exact.encode(exact.add(exact.decode(a, f), exact.decode(b, f)), f)
        return exact.flushed(code, f) if ftz else code

    return total


def _pairs(twin: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: twin(a >> 16, b >> 16) << 16 | twin(a & 0xFFFF, b & 0xFFFF)


def atomics(space: str) -> Iterator[Atomic]:
    for kind in ("u32", "s32", "u64", "s64"):
        if kind != "s64":
            yield Atomic("add", kind, lambda m, b: m + b)
        yield Atomic("min", kind, min)
        yield Atomic("max", kind, max)
    for kind in ("b32", "b64"):
        yield Atomic("and", kind, lambda m, b: m & b)
        yield Atomic("or", kind, lambda m, b: m | b)
        yield Atomic("xor", kind, lambda m, b: m ^ b)
        yield Atomic("exch", kind, lambda m, b: b)
    for kind in ("b16", "b32", "b64"):
        yield Atomic("cas", kind, lambda m, b, c: c if m == b else m, 2)
    yield Atomic("inc", "u32", lambda m, b: 0 if m >= b else m + 1)
    yield Atomic("dec", "u32", lambda m, b: b if m == 0 or m > b else m - 1)
    yield Atomic("add", "f32", _float_sum("f32", ftz=space == "global"))
    yield Atomic("add", "f64", _float_sum("f64"))
    for kind in ("f16", "bf16"):
        level = 90 if kind == "bf16" else 70
        yield Atomic("add", kind, _float_sum(kind), more=".noftz", needs=level)
        yield Atomic("add", f"{kind}x2", _pairs(_float_sum(kind)), more=".noftz", needs=level)


_FLOATS = {
    "f32": "f32",
    "f64": "f64",
    "f16": "f16",
    "bf16": "bf16",
    "f16x2": "f16",
    "bf16x2": "bf16",
}


def _values(kind: str, count: int, seed: int) -> np.ndarray:
    """Return raw operands of an atomic: edge values, then random ones."""
    width = 32 if kind.endswith("x2") else int(kind.lstrip("busf"))
    rng = np.random.default_rng(seed)
    chosen = edges(width)
    if kind in _FLOATS:
        f = exact.FORMATS[_FLOATS[kind]]
        codes = [c for c in float_edges(f) if exact.decode(c, f) != exact.NAN]
        chosen = (
            codes
            if width == f.bits
            else [a << 16 | b for a, b in zip(codes, codes[::-1], strict=True)]
        )
    picked = rng.choice(np.array(chosen, f"u{width // 8}"), count)
    noise = rng.integers(0, 1 << 63, count, dtype=np.uint64).astype(picked.dtype)
    if kind in _FLOATS:
        nan = np.array([_is_nan(kind, int(c)) for c in noise])
        noise = np.where(nan, 1, noise).astype(noise.dtype)
    return np.where(rng.random(count) < 0.6, picked, noise)


def _number(kind: str, raw: int, width: int) -> int:
    return raw - (1 << width) if kind[0] == "s" and raw >> (width - 1) else raw


def _is_nan(kind: str, code: int) -> bool:
    f = exact.FORMATS[_FLOATS[kind]]
    parts = (code,) if f.bits > 16 else (code & 0xFFFF, code >> 16)
    return any(exact.decode(p, f) == exact.NAN for p in parts)


def _without_nan(atomic: Atomic, memory: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return operands none of which gives NaN, whose bits nobody promises."""
    sums = [atomic.twin(int(m), int(x)) for m, x in zip(memory, b, strict=True)]
    bad = np.array([_is_nan(atomic.kind, s) for s in sums])
    return np.where(bad, 0, b).astype(b.dtype)


def own_place(atomic: Atomic, space: str, opcode: str) -> Case:
    """Each thread has a place of its own: old and new values; half of the threads are off."""
    size = _values(atomic.kind, 1, 0).itemsize
    width, threads = 8 * size, 96
    register = f".b{max(width, 16)}"
    memory, b, c = (_values(atomic.kind, threads, seed) for seed in (1, 2, 3))
    if atomic.op == "cas":
        b = np.where(np.arange(threads) % 2 == 0, memory, b)
    if atomic.kind in _FLOATS:
        b = _without_nan(atomic, memory, b)
    if atomic.op in ("inc", "dec"):
        memory = np.where(np.arange(threads) % 3 == 0, b, memory)
    name = f"{atomic.op}{atomic.more}.{atomic.kind}"
    operands = "%b" if atomic.operands == 1 else "%b, %c"
    target = "%old, " if opcode == "atom" else ""
    address = at("%a", 0, size)
    after = ""
    if space.endswith("shared"):
        address = f"""mul.wide.u32 %a, %thread, {size}; mov.u64 %m, box; add.u64 %a, %a, %m;
        {at("%m", 0, size)} ld.global.b{width} %x, [%m]; st.shared.b{width} [%a], %x;"""
        after = f"ld.shared.b{width} %x, [%a]; st.global.b{width} [%m], %x;"
    where = f".{space}" if " " not in space else ""
    if space == "generic shared":
        address += "cvta.shared.u64 %a, %a;"
        after = "cvta.to.shared.u64 %a, %a;" + after
    body = f"""{at("%in", 1, size)} ld.global.b{width} %b, [%in];
    {at("%in", 2, size)} ld.global.b{width} %c, [%in];
    {address} mov.b{max(width, 16)} %old, 7; rem.u32 %i, %gid, 5; setp.ne.u32 %p, %i, 0;
    @%p {opcode}{where}.{name} {target}[%a], {operands};
    {after} {at("%in", 3, size)} st.global.b{width} [%in], %old;"""
    registers = f""".reg .b64 %in, %a, %m; .reg {register} %b, %c, %x, %old; .reg .b32 %i;
    .reg .pred %p; .shared .align 8 .b8 box[{threads * size}];"""
    acts = np.arange(threads) % 5 != 0
    new = memory.copy()
    for t in np.flatnonzero(acts):
        values = [_number(atomic.kind, int(v[t]), width) for v in (memory, b, c)]
        new[t] = atomic.twin(*values[: atomic.operands + 1]) % (1 << width)
    old = np.where(acts, memory, 7).astype(memory.dtype)
    return Case(
        f"{opcode} {space} {name}", module(body, 4, registers), [memory, b, c, memory * 0],
        {0: new} | ({3: old} if opcode == "atom" else {}), block=(threads, 1, 1),
        needs=max(atomic.needs, 70),
    )  # fmt: skip


def contended(op: str, kind: str, space: str) -> Case:
    """All threads of four blocks meet at one place a block; only the final value is certain."""
    size, threads = int(kind[1:]) // 8, 4 * 96
    values = random_bits(f"{'i' if kind[0] == 's' else 'u'}{size}", threads)
    if op in ("inc", "dec"):
        values = values * 0 + 40
    body = f"""{at("%in", 1, size)} ld.global.b{8 * size} %b, [%in]; {at("%a", 0, size, "%cta")}"""
    if space == "shared":
        body += f"""setp.eq.u32 %p, %thread, 0; @%p ld.global.b{8 * size} %x, [%a];
        @%p st.shared.b{8 * size} [box], %x; bar.sync 0;
        red.shared.{op}.{kind} [box], %b; bar.sync 0;
        @%p ld.shared.b{8 * size} %x, [box]; @%p st.global.b{8 * size} [%a], %x;"""
    else:
        body += f"red.relaxed.gpu.global.{op}.{kind} [%a], %b;"
    registers = f""".reg .b64 %in, %a; .reg .b{8 * size} %b, %x; .reg .pred %p;
    .shared .align 8 .b8 box[8];"""
    functions = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                 "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
    start = random_bits(values.dtype.str[1:], 4, seed=9)
    grouped = values.reshape(4, 96)
    if op in functions:
        wanted = functions[op](functions[op].reduce(grouped, axis=1), start)
    else:
        start = np.array([3, 40, 0, 17], values.dtype)
        steps = 96 if op == "inc" else -96
        wanted = ((start.astype(int) + steps) % 41).astype(values.dtype)
    return Case(
        f"contended {space} {op}.{kind}", module(body, 2, registers), [start, values],
        {0: wanted.astype(values.dtype)}, (4, 1, 1), (96, 1, 1),
    )  # fmt: skip


def vector_atomic(kind: str, count: int, op: str, opcode: str) -> Case:
    """Vector atomics: each element on its own."""
    width = 32 if kind.endswith("x2") or kind == "f32" else 16
    size, threads = width // 8, 32
    f = exact.FORMATS[_FLOATS[kind]]
    memory, b = (_values(kind, threads * count, seed) for seed in (4, 5))
    one = _float_sum(_FLOATS[kind], ftz=kind == "f32")
    if op != "add":

        def one(m: int, x: int) -> int:
            less = exact.is_less(exact.decode(x, f), exact.decode(m, f))
            more = exact.is_less(exact.decode(m, f), exact.decode(x, f))
            return x if (less if op == "min" else more) else m

    twin = _pairs(one) if kind.endswith("x2") else one
    b = _without_nan(Atomic(op, kind, twin), memory, b)
    new = np.array([twin(int(m), int(x)) for m, x in zip(memory, b, strict=True)], memory.dtype)
    names = ", ".join(f"%b{n}" for n in range(count))
    olds = ", ".join(f"%o{n}" for n in range(count))
    loads = " ".join(f"ld.global.b{width} %b{n}, [%in+{n * size}];" for n in range(count))
    stores = " ".join(f"st.global.b{width} [%in+{n * size}], %o{n};" for n in range(count))
    noftz = "" if kind == "f32" else ".noftz"
    target = f"{{{olds}}}, " if opcode == "atom" else ""
    presets = " ".join(f"mov.b{width} %o{n}, 0;" for n in range(count))
    body = f"""{at("%in", 1, count * size)} {at("%a", 0, count * size)} {loads} {presets}
    {opcode}.global.{op}{noftz}.v{count}.{kind} {target}[%a], {{{names}}};
    {at("%in", 2, count * size)} {stores}"""
    registers = f".reg .b64 %in, %a; .reg .b{width} %b<{count}>, %o<{count}>;"
    return Case(
        f"{opcode}.{op}.v{count}.{kind}", module(body, 3, registers), [memory, b, memory * 0],
        {0: new} | ({2: memory} if opcode == "atom" else {}), needs=90,
    )  # fmt: skip


def atomic_cases() -> Iterator[Case]:
    for space in ("global", "shared", "generic global", "generic shared"):
        for atomic in atomics(space.split()[-1]):
            plain = space in ("global", "shared")
            if plain or atomic.kind in ("u32", "s64", "f32", "f16x2", "b16"):
                yield own_place(atomic, space, "atom")
            if plain and atomic.op not in ("cas", "exch"):
                yield own_place(atomic, space, "red")
    for space in ("global", "shared"):
        for op in ("add", "min", "max"):
            for kind in ("u32", "s32", "u64"):
                yield contended(op, kind, space)
        for op in ("and", "or", "xor"):
            yield contended(op, "b32", space)
        for op in ("inc", "dec"):
            yield contended(op, "u32", space)
    for opcode in ("atom", "red"):
        for count in (2, 4):
            yield vector_atomic("f32", count, "add", opcode)
            for kind in ("f16x2", "bf16x2"):
                for op in ("add", "min", "max"):
                    yield vector_atomic(kind, count, op, opcode)
        for kind in ("f16", "bf16"):
            for count in (2, 4, 8):
                yield vector_atomic(kind, count, "max", opcode)


def all_cases() -> list[Case]:
    """Return every case."""
    import cases_control

    parts = (loads_and_stores, variables, parameters, address_spaces, atomic_cases)
    return [case for part in parts for case in part()] + cases_control.all_cases()
