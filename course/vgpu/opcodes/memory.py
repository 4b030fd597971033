"""Loads, stores, atomics, fences."""

from .. import records
from ..emit import BITS, Val, literal
from ..lowering import Lowering, SiteInfo
from ..ptx import WIDTH, Address, Instruction, Operand, Reg, Sym, Vec
from ..records import LANES, Launch, Warp
from ..table import opcode
from ..undefined import by_byte, moved, united
from .floating import join

_SPACES = {
    "global": records.GLOBAL, "const": records.GLOBAL, "shared": records.SHARED,
    "local": records.LOCAL, "param": records.LOCAL,
}  # fmt: skip
_WHOLE = records.ALLOCATED | records.DEFINED
#: Accesses that other threads may meet: they do not race with each other.
_ORDERS = {"volatile", "relaxed", "mmio", "acquire", "release", "acq_rel"}

#: What may stand between the opcode and the type, in any order.
_ORDERED = "weak|volatile|relaxed|acquire|release|acq_rel|mmio|cta|cluster|gpu|sys"
_HINTS = (
    "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate|"
    "L2::evict_normal|L2::evict_first|L2::evict_last|L2::cache_hint|L2::64B|L2::128B|L2::256B"
)
_WHERE = "global|local|shared|shared::cta|param|param::func"
_TYPES = "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
_ACCESS = f"(.({_ORDERED}|{_HINTS}|{_WHERE}|v2|v4|v8%s))*.({_TYPES})"


def space_of(e: Lowering, i: Instruction, address: Address) -> int:
    """Return the state space an instruction addresses."""
    named = next((m.split("::")[0] for m in i.mods if m.split("::")[0] in _SPACES), None)
    if named == "param" and _kernel_param(e, address):
        return records.GLOBAL
    if named is None:
        return records.GENERIC
    return _SPACES[named]


def _kernel_param(e: Lowering, address: Address) -> bool:
    base = address.base
    return not isinstance(base, Sym) or base.name not in e.layout.local


def effective(e: Lowering, address: Address) -> Val:
    """Return ``base + offset`` as a 64-bit value."""
    if isinstance(address.base, Reg) and address.base.width == 32:
        base = e.widen_index(e.source(address.base, "u32"), "i64", signed=False)
    else:
        base = e.source(address.base, "u64")
    if not address.offset:
        return base
    return e.add(base, literal("i64", address.offset))._replace(poison=base.poison)


def _count(i: Instruction) -> int:
    """Return the number of components of a vector access."""
    return next((int(m[1]) for m in i.mods if m in ("v2", "v4", "v8")), 1)


def _items(e: Lowering, operand: Operand, count: int) -> tuple[Operand, ...]:
    """Return the registers of a (vector) operand."""
    items = operand.items if isinstance(operand, Vec) else (operand,)
    e.need(len(items) == count, f"a vector of {len(items)} here")
    return items


def _address(i: Instruction) -> Address:
    """Return the address operand of a load, a store or an atomic."""
    return next(o for o in i.operands if isinstance(o, Address))


def _scope(i: Instruction) -> int:
    """Return 0 for a plain access, 1 for an ordered one within the block, 2 within the device."""
    if i.opcode not in ("atom", "red") and _ORDERS.isdisjoint(i.mods):
        return 0
    return 1 if "cta" in i.mods else 2


@opcode("ld", _ACCESS % "|const|param::entry|nc|ca|cg|cs|lu|cv", operands=(2, 3))
@opcode("ldu", f"[.global][.v2|.v4].({_TYPES})", operands=2)
def load(e: Lowering, i: Instruction) -> None:
    """``ld{.order}{.space}{.vec}.type d, [a]``."""
    kind, count = i.mods[-1], _count(i)
    address = i.operands[1]
    targets = _items(e, i.operands[0], count)
    if "param" in i.mods and _kernel_param(e, address) and isinstance(address.base, Sym):
        return _load_param(e, i, kind, targets)
    space = space_of(e, i, address)
    where = effective(e, address)
    access = _fast_load if e.fast else _masked_load
    if kind == "b128":
        e.need(count == 1, "vectors of 128-bit numbers")
        halves = access(e, i, space, where, 8, 2)
        return e.write(targets[0], join(e, *halves))
    values = access(e, i, space, where, WIDTH[kind] // 8, count)
    for target, value in zip(targets, values, strict=True):
        e.poison = ()
        e.write(target, value, sign=kind[0] == "s", wider=True)
    return None


def _load_param(e: Lowering, i: Instruction, kind: str, targets: tuple[Operand, ...]) -> None:
    """Kernel parameters are the same for all lanes and always defined."""
    address = i.operands[1]
    param = e.param(address.base.name)
    if param is None:
        raise e.unsupported(f"the parameter {address.base.name}")
    table = e.launch_field("params", "ptr").text
    size = WIDTH[kind] // 8
    for index, target in enumerate(targets):
        place = e.at(param.offset + address.base.offset + address.offset + index * size, table)
        text = e.fresh(f"load i{WIDTH[kind]}, ptr {place}, align 1")
        e.write(target, Val("u", f"i{WIDTH[kind]}", text), sign=kind[0] == "s", wider=True)


def _prepare(
    e: Lowering, i: Instruction, where: Val, info: SiteInfo, index: int = 0
) -> tuple[int, str]:
    """Put the addresses where the runtime looks for them; return the site and the lane mask."""
    info.base = e.layout.base(_address(i))
    info.scope, info.releases = _scope(i), int("release" in i.mods or "acq_rel" in i.mods)
    site = e.extra_site((id(i), index), info) if index else e.make_site(info)
    mask = e.active()
    if not e.fast:
        e.forbid_poison(where, mask)
    place = e.field_address("address")
    e.emit(f"store <{LANES} x i64> {e.vector(where)}, ptr {place}, align 8")
    return site, mask


def _masked_load(
    e: Lowering, i: Instruction, space: int, where: Val, size: int, count: int
) -> list[Val]:
    site, mask = _prepare(e, i, where, SiteInfo(space, size, count))
    e.runtime("i32", "mem_load", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    values = []
    for component in range(count):
        places = [4 * (component * size + byte) for byte in range(size)]
        masks = [e.load_field("poison", extra=place) for place in places]
        own = tuple((mask, 255 << 8 * byte) for byte, mask in enumerate(masks))
        values.append(e.get(component, f"i{8 * size}")._replace(poison=own))
    return values


def _fast_load(
    e: Lowering, i: Instruction, space: int, where: Val, size: int, count: int
) -> list[Val]:
    plain = i.guard is None and space in (records.GLOBAL, records.SHARED)
    whole = size * count
    if plain and where.kind == "u":
        host, shade = _locate(e, i, space, where, whole, whole)
        _require(e, shade, whole, _WHOLE)
        return [
            Val("u", f"i{8 * size}", e.fresh(f"load i{8 * size}, ptr {e.at(size * c, host)}"))
            for c in range(count)
        ]
    if plain and where.kind == "a" and where.stride == whole:
        host, shade = _locate(e, i, space, where, whole, whole * LANES)
        _require(e, shade, whole * LANES, _WHOLE)
        return _deinterleave(e, host, size, count)
    site, mask = _prepare(e, i, where, SiteInfo(space, size, count))
    poison = e.runtime("i32", "mem_load", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    e.give_up_unless(e.fresh(f"icmp eq i32 {poison}, 0"))
    return [e.get(c, f"i{8 * size}") for c in range(count)]


def _locate(
    e: Lowering, i: Instruction, space: int, where: Val, align: int, extent: int
) -> tuple[str, str]:
    """Return host and shadow pointer of `extent` bytes from `where` on, or give up."""
    base = e.layout.base(_address(i)) if space == records.GLOBAL else 0
    if space == records.SHARED:
        offset = where.text
        pointers = [e.fixed_field(Warp, name, "ptr") for name in ("shared", "shared_shadow")]
    else:
        begin = _bound(e, base, 0) if base else records.GLOBAL_BASE
        offset = e.fresh(f"sub i64 {where.text}, {begin}")
        pointers = [_global_memory(e, name, base) for name in ("arena", "shadow")]
    shift = align.bit_length() - 1
    e.declared["fshr"] = "declare i64 @llvm.fshr.i64(i64, i64, i64)"
    # rotated, an offset that is not aligned has high bits set: one comparison sees all errors
    turned = e.fresh(f"call i64 @llvm.fshr.i64(i64 {offset}, i64 {offset}, i64 {shift})")
    e.give_up_unless(e.fresh(f"icmp ult i64 {turned}, {_room(e, space, base, shift, extent)}"))
    return tuple(e.fresh(f"getelementptr i8, ptr {p}, i64 {offset}") for p in pointers)


def _bound(e: Lowering, base: int, column: int) -> str:
    """Return begin (0) or size (1) of the array that an address comes from."""
    table, name = e.fixed_field(Launch, "bounds", "ptr"), f"bound{base}.{column}"
    return e.once(
        name, f"%{name}.at = getelementptr i8, ptr {table}, i64 {16 * (base - 1) + 8 * column}",
        f"%{name} = load i64, ptr %{name}.at",
    )  # fmt: skip


def _global_memory(e: Lowering, which: str, base: int) -> str:
    """Return the pointer to global memory, or its shadow, or to one array there."""
    start = e.fixed_field(Launch, which, "ptr")
    if not base:
        return start
    begin, name = _bound(e, base, 0), f"{which}{base}"
    return e.once(
        name, f"%{name}.offset = sub i64 {begin}, {records.GLOBAL_BASE}",
        f"%{name} = getelementptr i8, ptr {start}, i64 %{name}.offset",
    )  # fmt: skip


def _room(e: Lowering, space: int, base: int, shift: int, extent: int) -> str:
    """Return how many aligned places for `extent` bytes a state space, or an array in it, has."""
    name = f"room{space}.{base}.{shift}.{extent}"
    if space == records.SHARED:
        size = f"zext i32 {e.fixed_field(Launch, 'shared_size', 'i32')} to i64"
    elif base:
        size = f"add i64 {_bound(e, base, 1)}, 0"
    else:
        size = f"add i64 {e.fixed_field(Launch, 'arena_size', 'i64')}, 0"
    e.declared["usub.sat"] = "declare i64 @llvm.usub.sat.i64(i64, i64)"
    return e.once(
        name, f"%{name}.size = {size}", f"%{name}.end = add i64 %{name}.size, 1",
        f"%{name}.starts = call i64 @llvm.usub.sat.i64(i64 %{name}.end, i64 {extent})",
        f"%{name}.up = add i64 %{name}.starts, {(1 << shift) - 1}",
        f"%{name} = lshr i64 %{name}.up, {shift}",
    )  # fmt: skip


def _require(e: Lowering, shade: str, extent: int, set_: int, clear: int = 0) -> None:
    """Give up unless all `extent` shadow bytes have bits `set_` and not `clear`."""
    step = 8 if extent % 8 == 0 else extent
    count, kind = extent // step, f"i{8 * step}"
    ones = int.from_bytes(b"\1" * step, "little")
    shape = kind if count == 1 else f"<{count} x {kind}>"
    splat = "{}" if count == 1 else f"splat ({kind} {{}})"
    seen = e.fresh(f"load {shape}, ptr {shade}, align 1")
    if clear:
        seen = e.fresh(f"xor {shape} {seen}, {splat.format(ones * clear)}")
    if count > 1:
        name = f"@llvm.vector.reduce.and.v{count}{kind}"
        e.declared[name] = f"declare {kind} {name}({shape})"
        seen = e.fresh(f"call {kind} {name}({shape} {seen})")
    wanted = ones * (set_ | clear)
    kept = e.fresh(f"and {kind} {seen}, {wanted}")
    e.give_up_unless(e.fresh(f"icmp eq {kind} {kept}, {wanted}"))


def _deinterleave(e: Lowering, host: str, size: int, count: int) -> list[Val]:
    kind = f"i{8 * size}"
    shape = f"<{LANES * count} x {kind}>"
    everything = e.fresh(f"load {shape}, ptr {host}, align 1")
    if count == 1:
        return [Val("v", kind, everything)]
    values = []
    for component in range(count):
        picks = ", ".join(f"i32 {lane * count + component}" for lane in range(LANES))
        text = e.fresh(
            f"shufflevector {shape} {everything}, {shape} poison, <{LANES} x i32> <{picks}>"
        )
        values.append(Val("v", kind, text))
    return values


@opcode("st", _ACCESS % "|wb|cg|cs|wt", operands=(2, 3))
def store(e: Lowering, i: Instruction) -> None:
    """``st{.order}{.space}{.vec}.type [a], b``."""
    kind, count = i.mods[-1], _count(i)
    address = i.operands[0]
    space = space_of(e, i, address)
    size = WIDTH[kind] // 8
    where = effective(e, address)
    values = [e.source(o, f"b{8 * size}", wider=True) for o in _items(e, i.operands[1], count)]
    if kind == "b128":
        e.need(count == 1, "vectors of 128-bit numbers")
        whole, size, count = values[0], 8, 2
        high = e.map("lshr {T} {0}, {1}", whole, literal("i128", 64), out="i128")
        high = high._replace(poison=moved(whole.poison, -64))
        values = [e.narrow(v, "i64") for v in (whole, high)]
    plain = e.fast and i.guard is None and space in (records.GLOBAL, records.SHARED)
    if plain and where.kind == "a" and where.stride == size * count:
        return _fast_store(e, i, space, where, values, size, count)
    site, mask = _prepare(e, i, where, SiteInfo(space, size, count, store=1))
    if space == records.GLOBAL:
        _forbid_partial_bytes(e, values, mask)
    for component, value in enumerate(values):
        e.put(component, value)
    e.put_poison([value.poison for value in values], size)
    e.runtime("void", "mem_store", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    return None


def _forbid_partial_bytes(e: Lowering, values: list[Val], mask: str) -> None:
    """Masked version: fault if known and undefined bits share a byte: that is not padding."""
    for value in values:
        parts = by_byte(value.poison or (), BITS[value.type])
        some = united(tuple(p for p in part if p[1].bit_count() < 8) for part in parts)
        e.forbid_poison(value._replace(poison=some), mask)


def _fast_store(
    e: Lowering, i: Instruction, space: int, where: Val, values: list[Val], size: int, count: int
) -> None:
    extent = size * count * LANES
    host, shade = _locate(e, i, space, where, size * count, extent)
    _require(e, shade, extent, records.ALLOCATED, clear=records.READ_ONLY)
    shape, text = _interleave(e, [e.vector(v) for v in values], f"i{8 * size}")
    e.emit(f"store {shape} {text}, ptr {host}, align 1")
    e.emit(f"store <{extent} x i8> splat (i8 {_WHOLE}), ptr {shade}, align 1")


def _interleave(e: Lowering, texts: list[str], kind: str) -> tuple[str, str]:
    """Put vectors of components into memory order: all of lane 0, all of lane 1, ..."""
    count, width = len(texts), LANES
    while len(texts) > 1:
        half, picks = f"<{width} x {kind}>", ", ".join(f"i32 {n}" for n in range(2 * width))
        texts = [
            e.fresh(f"shufflevector {half} {a}, {half} {b}, <{2 * width} x i32> <{picks}>")
            for a, b in zip(texts[::2], texts[1::2], strict=True)
        ]
        width *= 2
    shape = f"<{width} x {kind}>"
    if count == 1:
        return shape, texts[0]
    order = ", ".join(f"i32 {c * LANES + lane}" for lane in range(LANES) for c in range(count))
    return shape, e.fresh(
        f"shufflevector {shape} {texts[0]}, {shape} poison, <{width} x i32> <{order}>"
    )


#: What an atomic does: numbers that the runtime knows.
ATOMIC_OPS = {
    n: k
    for k, n in enumerate(("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"))
}
#: How it reads its bits.
ATOMIC_KINDS = {
    n: k
    for k, n in enumerate(
        ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2", "u16")
    )
}


_EXTREME_TYPES = frozenset({"u32", "s32", "u64", "s64", "f16", "bf16", "f16x2", "bf16x2"})
#: The types that each operation takes.
_ATOMIC_TYPES = {
    **dict.fromkeys(("and", "or", "xor", "exch"), frozenset({"b32", "b64"})),
    **dict.fromkeys(("inc", "dec"), frozenset({"u32"})),
    **dict.fromkeys(("min", "max"), _EXTREME_TYPES),
    "add": {"u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"},
    "cas": {"b16", "b32", "b64"},
}
_ATOMIC = (
    "(.(relaxed|acquire|release|acq_rel|cta|cluster|gpu|sys|global|shared|shared::cta|noftz|"
    f"L2::cache_hint|v2|v4|v8|{'|'.join(ATOMIC_OPS)}|b16|b32|b64|{'|'.join(ATOMIC_KINDS)}))*"
)


@opcode("atom", _ATOMIC, operands=(3, 5))
@opcode("red", _ATOMIC, operands=(2, 3))
def atomic(e: Lowering, i: Instruction) -> None:
    """``atom{.sem}{.scope}{.space}.op.type d, [a], b{, c}``; ``red`` without a result.

    Vectors are atomic element by element: one operation after the other.
    """
    names = [m for m in i.mods if m in ATOMIC_OPS]
    kinds = [m for m in i.mods if m in ATOMIC_KINDS or m in ("b16", "b32", "b64")]
    e.need(len(names) == len(kinds) == 1, f"this form of {i.opcode}")
    name, kind, count = names[0], kinds[0], _count(i)
    e.need(kind in _ATOMIC_TYPES[name], f"{name} of .{kind} as an atomic operation")
    narrow = "16" in kind and kind != "b16"
    e.need(
        narrow == ("noftz" in i.mods), f"{name} of .{kind} {'without' if narrow else 'with'} .noftz"
    )
    vectors = ("f32", "f16", "bf16", "f16x2", "bf16x2")
    e.need(count == 1 or kind in vectors, f"vectors of .{kind} as an atomic operation")
    e.need(count > 1 or not narrow or name == "add", f"{name} of .{kind} as an atomic operation")
    kind = {"b16": "u16", "b32": "u32", "b64": "u64"}.get(kind, kind)
    has_result = i.opcode == "atom"
    operands = i.operands[has_result:]
    operands = operands[: 3 if name == "cas" else 2]  # a cache policy may follow
    space, where = space_of(e, i, operands[0]), effective(e, operands[0])
    sources = [_items(e, o, count) for o in operands[1:]]
    targets = _items(e, i.operands[0], count) if has_result and i.operands[0] else [None] * count
    bits = WIDTH[kind]
    for index, target in enumerate(targets):
        values = [e.source(s[index], f"b{bits}") for s in sources]
        place = e.add(where, literal("i64", index * bits // 8)) if index else where
        info = SiteInfo(space, bits // 8, 1, ATOMIC_OPS[name], ATOMIC_KINDS[kind], store=2)
        _one_atomic(e, i, place, values, target, info, index)


def _one_atomic(
    e: Lowering, i: Instruction, where: Val, values: list[Val], target: Operand, info: SiteInfo,
    index: int,
) -> None:  # fmt: skip
    """One operation of an atomic instruction, the `index`-th of a vector."""
    mask = e.active()
    for value in values:
        e.forbid_poison(value, mask)
    site, mask = _prepare(e, i, where, info, index)
    for component, value in enumerate(values):
        e.put(component, value)
    e.runtime("void", "mem_atomic", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    if target is not None:
        e.poison = ()
        e.write(target, e.get(2, f"i{8 * info.size}"))


@opcode("membar", ".(cta|gl|sys)", operands=0)
@opcode("fence", "[.sc|.acq_rel|.acquire|.release].(cta|cluster|gpu|sys)", operands=0)
def fence(e: Lowering, i: Instruction) -> None:
    """Order the memory accesses of a thread: memory here is sequentially consistent already."""
    level = 2 if any(m in ("gl", "gpu", "sys", "cluster") for m in i.mods) else 1
    if not e.fast:
        e.runtime("void", "fence", f"i32 {e.active()}", f"i32 {level}")


@opcode("prefetch", "[.global|.local].(L1|L2)", ".global.L2::(evict_last|evict_normal)", operands=1)
@opcode("prefetchu", ".L1", operands=1)
@opcode("discard", "[.global].L2", operands=2)
@opcode("applypriority", "[.global].L2::evict_normal", operands=2)
@opcode("pmevent", "[.mask]", operands=1)
@opcode("nanosleep", ".u32", operands=1)
@opcode("griddepcontrol", ".(launch_dependents|wait)", operands=0)
@opcode("brkpt", operands=0)
def hint(e: Lowering, i: Instruction) -> None:
    """Hints: no effect on what a program computes."""


@opcode(
    "createpolicy",
    ".fractional(.L2::(evict_last|evict_normal|evict_first|evict_unchanged))*.b64",
    operands=(2, 3),
)
def cache_policy(e: Lowering, i: Instruction) -> None:
    """``createpolicy``: there is no cache here, so any number will do."""
    e.write(i.operands[0], literal("i64", 0))
