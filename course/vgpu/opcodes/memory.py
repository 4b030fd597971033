"""Loads, stores, atomics, fences."""

from dataclasses import replace

from .. import records
from ..emit import Val
from ..lowering import Lowering, SiteInfo, opcode
from ..ptx import WIDTH, Address, Imm, Instruction, Reg, Sym, Vec
from ..records import LANES

_SPACES = {
    "global": records.GLOBAL, "const": records.GLOBAL, "shared": records.SHARED,
    "local": records.LOCAL, "param": records.LOCAL,
}  # fmt: skip
#: Memory order of an access as bits: 1 relaxed or stronger, 2 acquires, 4 releases.
_ORDERS = {"volatile": 1, "relaxed": 1, "mmio": 1, "acquire": 3, "release": 5, "acq_rel": 7}


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
    base = (
        e.source(address.base, "u64")
        if not isinstance(address.base, Imm)
        else Val("u", "i64", str(address.base.value))
    )
    if isinstance(address.base, Reg) and address.base.width == 32:
        base = e.widen_index(e.source(address.base, "u32"), "i64", signed=False)
    return e.add(base, Val("u", "i64", str(address.offset))) if address.offset else base


def _shape(i: Instruction) -> tuple[str, int]:
    """Return the element type and the number of components."""
    count = next((int(m[1]) for m in i.mods if m in ("v2", "v4", "v8")), 1)
    return i.mods[-1], count


def _order(i: Instruction) -> int:
    return next((_ORDERS[m] for m in i.mods if m in _ORDERS), 0)


@opcode("ld", "ldu")
def load(e: Lowering, i: Instruction) -> None:
    """``ld{.order}{.space}{.vec}.type d, [a]``."""
    kind, count = _shape(i)
    e.need(WIDTH[kind] <= 64, "128-bit scalar accesses")
    address = i.operands[1]
    if "param" in i.mods and _kernel_param(e, address) and isinstance(address.base, Sym):
        return _load_param(e, i, kind, count)
    space = space_of(e, i, address)
    size = WIDTH[kind] // 8
    where = effective(e, address)
    targets = i.operands[0].items if isinstance(i.operands[0], Vec) else (i.operands[0],)
    if e.fast:
        values = _fast_load(e, i, space, where, size, count)
    else:
        values = _masked_load(e, i, space, where, size, count)
    for target, value in zip(targets, values, strict=True):
        e.poison = None
        e.write(target, value, sign=kind[0] == "s")
    return None


def _load_param(e: Lowering, i: Instruction, kind: str, count: int) -> None:
    """Kernel parameters are the same for all lanes and always defined."""
    address = i.operands[1]
    param = e.param(address.base.name)
    if param is None:
        raise e.unsupported(f"the parameter {address.base.name}")
    table = e.launch_field("params", "ptr").text
    targets = i.operands[0].items if isinstance(i.operands[0], Vec) else (i.operands[0],)
    size = WIDTH[kind] // 8
    for index, target in enumerate(targets):
        place = e.at(param.offset + address.base.offset + address.offset + index * size, table)
        text = e.fresh(f"load i{WIDTH[kind]}, ptr {place}, align 1")
        e.write(target, Val("u", f"i{WIDTH[kind]}", text), sign=kind[0] == "s")


def _prepare(e: Lowering, i: Instruction, where: Val, info: SiteInfo) -> tuple[int, str]:
    """Put the addresses where the runtime looks for them; return the site and the lane mask."""
    info.order = _order(i)
    site = e.make_site(info)
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
    poison = e.runtime("i32", "mem_load", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    values = []
    for component in range(count):
        own = poison if count == 1 else e.load_field("poison", extra=4 * component)
        values.append(replace(e.get(component, f"i{8 * size}"), poison=own))
    return values


def _fast_load(
    e: Lowering, i: Instruction, space: int, where: Val, size: int, count: int
) -> list[Val]:
    plain = i.guard is None and space in (records.GLOBAL, records.SHARED)
    whole = size * count
    if plain and where.kind == "u":
        host, shade = _locate(e, space, where, whole, whole)
        _require_defined(e, shade, whole)
        return [
            Val("u", f"i{8 * size}", e.fresh(f"load i{8 * size}, ptr {e.at(size * c, host)}"))
            for c in range(count)
        ]
    if plain and where.kind == "a" and where.stride == whole:
        host, shade = _locate(e, space, where, whole, whole * LANES)
        _require_defined(e, shade, whole * LANES)
        return _deinterleave(e, host, size, count)
    site, mask = _prepare(e, i, where, SiteInfo(space, size, count))
    poison = e.runtime("i32", "mem_load", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    e.give_up_unless(e.fresh(f"icmp eq i32 {poison}, 0"))
    return [e.get(c, f"i{8 * size}") for c in range(count)]


def _locate(e: Lowering, space: int, where: Val, align: int, extent: int) -> tuple[str, str]:
    """Return host and shadow pointer of `extent` bytes from `where` on, or give up."""
    if space == records.SHARED:
        offset, limit = where.text, e.launch_field("shared_size").text
        limit = e.fresh(f"zext i32 {limit} to i64")
        host, shade = e.load_field("shared", "ptr"), e.load_field("shared_shadow", "ptr")
    else:
        offset = e.fresh(f"sub i64 {where.text}, {records.GLOBAL_BASE}")
        limit = e.launch_field("arena_size", "i64").text
        host, shade = e.launch_field("arena", "ptr").text, e.launch_field("shadow", "ptr").text
    room = e.fresh(f"sub i64 {limit}, {extent}")
    inside = e.fresh(f"icmp sle i64 {offset}, {room}")
    positive = e.fresh(f"icmp sge i64 {offset}, 0")
    good = e.fresh(f"and i1 {inside}, {positive}")
    if align > 1:
        rest = e.fresh(f"and i64 {offset}, {align - 1}")
        good = e.fresh(f"and i1 {good}, {e.fresh(f'icmp eq i64 {rest}, 0')}")
    e.give_up_unless(good)
    return tuple(e.fresh(f"getelementptr i8, ptr {p}, i64 {offset}") for p in (host, shade))


def _require(e: Lowering, shade: str, extent: int, bits: int, wanted: int) -> None:
    """Give up unless ``shadow & bits == wanted`` for all `extent` bytes."""
    step = 8 if extent % 8 == 0 else extent
    kind = f"i{8 * step}"
    ones = int.from_bytes(b"\1" * step, "little")
    if extent == step:
        seen = e.fresh(f"load {kind}, ptr {shade}, align 1")
        kept = e.fresh(f"and {kind} {seen}, {ones * bits}")
        e.give_up_unless(e.fresh(f"icmp eq {kind} {kept}, {ones * wanted}"))
        return
    count = extent // step
    shape = f"<{count} x {kind}>"
    seen = e.fresh(f"load {shape}, ptr {shade}, align 1")
    kept = e.fresh(f"and {shape} {seen}, splat ({kind} {ones * bits})")
    wrong = e.fresh(f"xor {shape} {kept}, splat ({kind} {ones * wanted})")
    name = f"@llvm.vector.reduce.or.v{count}{kind}"
    e.declared[name] = f"declare {kind} {name}({shape})"
    total = e.fresh(f"call {kind} {name}({shape} {wrong})")
    e.give_up_unless(e.fresh(f"icmp eq {kind} {total}, 0"))


def _require_defined(e: Lowering, shade: str, extent: int) -> None:
    both = records.ALLOCATED | records.DEFINED
    _require(e, shade, extent, both, both)


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


@opcode("st")
def store(e: Lowering, i: Instruction) -> None:
    """``st{.order}{.space}{.vec}.type [a], b``."""
    kind, count = _shape(i)
    e.need(WIDTH[kind] <= 64, "128-bit scalar accesses")
    address = i.operands[0]
    space = space_of(e, i, address)
    size = WIDTH[kind] // 8
    where = effective(e, address)
    items = i.operands[1].items if isinstance(i.operands[1], Vec) else (i.operands[1],)
    values = [e.source(o, f"b{8 * size}") for o in items]
    plain = e.fast and i.guard is None and space in (records.GLOBAL, records.SHARED)
    if plain and where.kind == "a" and where.stride == size * count:
        return _fast_store(e, space, where, values, size, count)
    site, mask = _prepare(e, i, where, SiteInfo(space, size, count, store=1))
    for component, value in enumerate(values):
        e.put(component, value)
        if not e.fast:
            e.store_field("poison", value.poison or "0", extra=4 * component)
        else:
            e.store_field("poison", "0", extra=4 * component)
    e.runtime("void", "mem_store", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    return None


def _fast_store(
    e: Lowering, space: int, where: Val, values: list[Val], size: int, count: int
) -> None:
    extent = size * count * LANES
    host, shade = _locate(e, space, where, size * count, extent)
    _require(e, shade, extent, records.ALLOCATED | records.READ_ONLY, records.ALLOCATED)
    kind = f"i{8 * size}"
    texts = [e.vector(v) for v in values]
    shape = f"<{LANES} x {kind}>"
    while len(texts) > 1:
        width = LANES * count // len(texts)
        half = f"<{width} x {kind}>"
        picks = ", ".join(f"i32 {n}" for n in range(2 * width))
        middle = len(texts) // 2
        texts = (
            [
                e.fresh(f"shufflevector {half} {a}, {half} {b}, <{2 * width} x i32> <{picks}>")
                for a, b in zip(texts[:middle], texts[middle:], strict=True)
            ]
            if len(texts) == 2
            else [
                e.fresh(
                    f"shufflevector {half} {texts[n]}, {half} {texts[n + 1]}, <{2 * width} x i32> <{picks}>"
                )
                for n in range(0, len(texts), 2)
            ]
        )
    if count > 1:
        shape = f"<{LANES * count} x {kind}>"
        order = ", ".join(
            f"i32 {component * LANES + lane}" for lane in range(LANES) for component in range(count)
        )
        texts = [
            e.fresh(
                f"shufflevector {shape} {texts[0]}, {shape} poison, <{LANES * count} x i32> <{order}>"
            )
        ]
    e.emit(f"store {shape} {texts[0]}, ptr {host}, align 1")
    both = records.ALLOCATED | records.DEFINED
    e.emit(f"store <{extent} x i8> splat (i8 {both}), ptr {shade}, align 1")


#: What an atomic does: numbers that the runtime knows.
ATOMIC_OPS = {
    n: k
    for k, n in enumerate(("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"))
}
#: How it reads its bits.
ATOMIC_KINDS = {
    n: k
    for k, n in enumerate(
        ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2", "b16")
    )
}


@opcode("atom", "red")
def atomic(e: Lowering, i: Instruction) -> None:
    """``atom{.sem}{.scope}{.space}.op.type d, [a], b{, c}``; ``red`` without a result."""
    kind, count = _shape(i)
    returns = i.opcode == "atom"
    operands = i.operands[1:] if returns else i.operands
    name = next((m for m in i.mods if m in ATOMIC_OPS), None)
    e.need(name is not None and count == 1, "this atomic operation")
    kind = {"b32": "u32", "b64": "u64"}.get(kind, kind)
    e.need(kind in ATOMIC_KINDS, "this atomic type")
    size = WIDTH[kind] // 8
    space = space_of(e, i, operands[0])
    where = effective(e, operands[0])
    values = [e.source(o, f"b{8 * size}") for o in operands[1:]]
    info = SiteInfo(space, size, 1, ATOMIC_OPS[name], ATOMIC_KINDS[kind], store=2)
    mask = e.active()
    for value in values:
        e.forbid_poison(value, mask)
    site, mask = _prepare(e, i, where, info)
    for component, value in enumerate(values):
        e.put(component, value)
    poison = e.runtime("i32", "mem_atomic", f"i32 {site}", f"i32 {mask}")
    e.check_fault()
    if returns and i.operands[0] is not None:
        e.poison = None
        result = e.get(2, f"i{8 * size}")
        e.write(i.operands[0], result if e.fast else replace(result, poison=poison))


@opcode("membar", "fence")
def fence(e: Lowering, i: Instruction) -> None:
    """Order the memory accesses of a thread: memory here is sequentially consistent already."""
    level = 2 if any(m in ("gl", "gpu", "sys", "cluster") for m in i.mods) else 1
    if not e.fast:
        e.runtime("void", "fence", f"i32 {e.active()}", f"i32 {level}")


@opcode(
    "prefetch",
    "prefetchu",
    "discard",
    "applypriority",
    "pmevent",
    "nanosleep",
    "griddepcontrol",
    "brkpt",
)
def hint(e: Lowering, i: Instruction) -> None:
    """Hints: no effect on what a program computes."""
