"""Builds PTX kernels that apply instruction forms to arrays, and compares them with twins.

Each form runs with operands that vary over the lanes, that all lanes share, that grow by a fixed
step from lane to lane and that are constants; unguarded, guarded by a predicate that varies and by
one that lanes share; in whole warps, in warps of which some lanes have left, and in warps of 24
threads.
"""

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import exact
import numpy as np
from forms import RESULTS, SOURCES, WIDTH, Form

THREADS = 24 * 32
#: Threads in a block: whole warps, and warps of 24 threads.
BLOCKS = (32, 24)
#: Warps whose 32 lanes all take part; the later ones have lanes missing.
WHOLE = 16
STRIDES = {"a": 3, "b": -5, "c": 1, "g": 7}
UNTOUCHED = 0xA5
#: What a destination holds before a guarded instruction.
OLD = 0x5A5A5A5A5A5A5A5A
HEADER = ".version 8.8\n.target sm_{level}\n.address_size 64\n"

# --- values


def edges(width: int) -> list[int]:
    """Return integers at which arithmetic tends to break."""
    top = 1 << (width - 1)
    small = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256]
    large = [top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 2 * top - 128, (2 * top - 1) // 3]
    return [v % (2 * top) for v in small] + large


def float_edges(f: exact.Format) -> list[int]:
    """Return the bits of floating-point numbers at which rounding, flushing and overflow show."""
    one = f.bias << f.fraction
    ulp, least = 1, 1 << f.fraction
    positive = [
        0, ulp, least - ulp, least, least + ulp, one >> 1 & ~(least - 1), one - ulp, one, one + ulp,
        one | least >> 1, one + (1 << f.fraction), f.top - ulp, f.top - least, f.top, f.nan,
        f.top | 1, f.top | least >> 11 | 1, f.sign - 1,
    ]  # fmt: skip
    numbers = [0.25, 0.5, 1.5, 2.5, 3.5, 7.0, 1 / 3, 126.5, 127.5, 128.0, 255.5, 2047.5, 65504.0]
    numbers += [65520.0, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**23, 2.0**31, 2.0**63, 2.0**64, 448.0]
    positive += [exact.encode(exact.decode(_double(x), exact.F64), f) for x in numbers]
    return positive + [p | f.sign for p in positive]


def _double(x: float) -> int:
    return int.from_bytes(struct.pack("<d", x), "little")


def _single(x: float) -> int:
    return int.from_bytes(struct.pack("<f", x), "little")


def _random_bits(rng: np.random.Generator, width: int, count: int) -> list[int]:
    return [int(v) & ((1 << width) - 1) for v in rng.integers(0, 1 << 63, count, dtype=np.uint64)
            ^ (rng.integers(0, 1 << 63, count, dtype=np.uint64) << np.uint64(1))]  # fmt: skip


def _floats(f: exact.Format, rng: np.random.Generator, count: int) -> list[int]:
    """Return bits of numbers whose exponents lie close together, so that sums cancel and round."""
    raw = _random_bits(rng, f.bits, count)
    middle = f.bias << f.fraction
    near = [r & (f.sign | ((1 << f.fraction) - 1)) for r in raw]
    steps = rng.integers(-3, 4, count)
    return [n | middle + (int(s) << f.fraction) for n, s in zip(near, steps, strict=True)]


def at_the_least_normal(kind: str) -> list[tuple[int, ...]]:
    """Return operands of results just below the smallest normal number: does ``.ftz`` flush them?

    Some are below it however they are rounded, others only until they are rounded.
    """
    if kind not in ("f16", "bf16", "f32", "f64"):
        return []
    f = exact.FORMATS[kind]
    one, least = f.bias << f.fraction, 1 << f.fraction
    large = (2 * f.bias - 1) << f.fraction  # the reciprocal of the least
    products = [(one - m, least + n) for m in (1, 2, 3) for n in (0, 1)]
    quotients = [(least, one + n) for n in (1, 2, 3)]
    rows = [(*p, 0, 0) for p in [*products, *quotients]]
    rows += [(large + n, large + n, large + n, 0) for n in (1, 2, 3)]
    if kind == "f64":  # as numbers on their way to f32 and f16
        near = [(2.0**e) * (1 - 2.0**-n) for e in (-126, -14) for n in (11, 12, 13, 24, 25, 26)]
        rows += [(_double(x),) * 4 for x in near]
    if kind == "f32":
        near = [2.0**-14 * (1 - 2.0**-n) for n in (11, 12, 13)]
        rows += [(_single(x),) * 4 for x in near]
    return rows


def _repeated(values: list[int], count: int) -> list[int]:
    """Return `count` values: so many that every edge meets most others in some thread."""
    return (values * (count // len(values) + 1))[:count]


def pool(kind: str, rng: np.random.Generator, count: int) -> list[int]:
    """Return `count` raw values of a type, or of a named set: half of them edges."""
    if kind in GENERATORS:
        return [int(v) for v in GENERATORS[kind](rng, count)]
    if kind in exact.FORMATS and kind[0] != "e":
        f = exact.FORMATS[kind]
        chosen = _repeated(float_edges(f), count // 2)
        chosen += _floats(f, rng, count // 4)
        return chosen + _random_bits(rng, f.bits, count - len(chosen))
    width = max(WIDTH[kind], 16)
    if kind == "pred":
        return [int(v) for v in rng.integers(0, 2, count)]
    # the bits above an 8-bit type are noise that nobody may look at
    chosen = _repeated(edges(WIDTH[kind]), count // 2)
    if WIDTH[kind] == 8:
        chosen = [
            c | int(n) << 8 for c, n in zip(chosen, rng.integers(0, 256, len(chosen)), strict=True)
        ]
    return chosen + _random_bits(rng, width, count - len(chosen))


def _singles(low: float, high: float) -> Callable:
    return lambda rng, count: [_single(float(x)) for x in rng.uniform(low, high, count)]


def _scaled(low: float, high: float) -> Callable:
    """Return f32 numbers of either sign with exponents spread evenly."""

    def make(rng, count):
        exponents = rng.integers(math.floor(low), math.ceil(high), count)
        size = np.ldexp(rng.uniform(1, 2, count), exponents) * rng.choice([-1, 1], count)
        return [_single(float(x)) for x in size]

    return make


def _integers(low: int, high: int, width: int) -> Callable:
    return lambda rng, count: [int(v) % (1 << width) for v in rng.integers(low, high, count)]


GENERATORS: dict[str, Callable] = {
    "position": lambda rng, count: [
        int(v) for v in np.where(rng.random(count) < 0.9, rng.integers(0, 72, count),
                                 rng.integers(0, 1 << 32, count))
    ],
    "bit": _integers(0, 32, 32),
    "signed_count": _integers(-35, 36, 32),
    "near16": _integers(-70000, 70000, 32),
    "near8": _integers(-300, 300, 32),
    "angle": _singles(-2 * math.pi, 2 * math.pi),
    "exponent": _singles(-160, 130),
    "divisor": _scaled(-100, 100),
    "moderate": _scaled(-60, 60),
    "small": lambda rng, count: [
        *float_edges(exact.F32), *_scaled(-18, 18)(rng, count - len(float_edges(exact.F32))),
    ],
}  # fmt: skip


# --- what a form runs on


@dataclass
class Variant:
    """One instance of a form in a kernel: how its operands come, its guard, where results go."""

    form: Form
    operands: str  # a letter each: v(arying), u(niform), a(ffine), i(mmediate)
    guard: str = ""  # "", "v" or "u"
    slots: tuple[int, ...] = ()
    immediates: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.form.name} [{self.operands}]{' guard ' + self.guard if self.guard else ''}"


def variants(form: Form, every: bool = True) -> Iterator[Variant]:
    """Yield the instances of `form` that a kernel holds: all, or a choice that depends on it."""
    count = len(form.sources)
    yield Variant(form, "v" * count)
    if form.plain:
        return
    whole = ["u" * count, "a" * count]
    mixed = [
        rest * place + one + rest * (count - place - 1)
        for place in range(count * (count > 1))
        for rest, one in ("vu", "va", "uv")
    ]
    literal = [
        rest * place + "i" + rest * (count - place - 1)
        for place in range(count * (count > 1))
        for rest in "vua"
        if _takes_literal(form, place)
    ]
    # ptxas converts the old value of a guarded set or testp too (CUDA 13.0): hardware cannot tell
    unguarded = form.text.count(";") > 1 or form.name.startswith(("set.", "testp"))
    guards = [] if unguarded else [(o, g) for o in "vu" for g in "vu"]
    if not every:
        seed = zlib.crc32(form.name.encode())
        mixed, literal, guards = (
            x[seed % len(x) :][:1] if x else [] for x in (mixed, literal, guards)
        )
    operands = [*whole, *mixed, *literal]
    for text in dict.fromkeys(_without_affine_predicates(form, o) for o in operands):
        yield Variant(form, text)
    for one, guard in guards:
        yield Variant(form, one * count, guard)


def _without_affine_predicates(form: Form, operands: str) -> str:
    pairs = zip(form.sources, operands, strict=True)
    return "".join("v" if k == "pred" and o == "a" else o for k, o in pairs)


def _takes_literal(form: Form, place: int) -> bool:
    kind, named = form.sources[place], dict(form.values).get(SOURCES[place], "")
    if "{{" in form.text or kind == "pred" or WIDTH[kind] < 16:
        return False
    # packed numbers have no literals; those of untyped selections would be floating-point ones
    untyped = form.name.startswith(("selp.f", "slct.f", "slct.ftz.f")) and kind[0] == "b"
    barred = untyped or "x2" in form.name or form.name.startswith("cvt")
    return named not in exact.FORMATS and not barred


class Data:
    """The operand arrays of the forms of one kernel (which agree in their types)."""

    def __init__(self, form: Form) -> None:
        rng = np.random.default_rng(zlib.crc32(repr((form.sources, form.values)).encode()))
        named = dict(form.values)
        self.varying: dict[str, np.ndarray] = {}
        self.uniform: dict[str, np.ndarray] = {}
        for letter, kind in zip(SOURCES, form.sources, strict=False):
            raw = pool(named.get(letter, kind), rng, THREADS)
            if kind in ("b32", "f16x2", "bf16x2") and named.get(letter) in ("f16", "bf16"):
                raw = [x << 16 | y for x, y in zip(raw, rng.permutation(raw), strict=True)]
                raw = [int(x) for x in raw]
            dtype = np.dtype(f"u{max(WIDTH[kind], 16) // 8}") if kind != "pred" else np.dtype("u4")
            plain = np.array(raw, dtype)
            # pairs of edge values meet by chance: shuffle each operand on its own
            self.varying[letter] = rng.permutation(plain)
            self.uniform[letter] = rng.permutation(plain)[: THREADS // 24]
            if kind == form.sources[0] and named.get(letter) == named.get("a"):
                self.varying[letter][::16] = self.varying["a"][::16]  # comparisons want equals
        for letter, values in self.varying.items():
            rows = at_the_least_normal(named.get(letter) or form.sources[SOURCES.index(letter)])
            for place, row in enumerate(rows):
                raw = row[SOURCES.index(letter)]
                twice = values.itemsize == 4 and named.get(letter) in ("f16", "bf16")
                values[5 + 16 * place] = raw << 16 | raw if twice else raw

    def operand(self, variant: Variant, place: int, block: int) -> np.ndarray:
        """Return the raw operand of every thread."""
        letter, how = SOURCES[place], variant.operands[place]
        threads = np.arange(THREADS)
        if how == "v":
            return self.varying[letter]
        if how == "i":
            return np.full(THREADS, variant.immediates[letter], self.varying[letter].dtype)
        base = self.uniform[letter][threads // block]
        if how == "u":
            return base
        step = (STRIDES[letter] * (threads % block)).astype(base.dtype)
        return base + step


# --- kernels


def register_width(kind: str) -> int:
    """Return the width of the register that holds a source or result of type `kind`."""
    name, _, wider = kind.partition(":")
    if wider:
        return int(wider)
    return 1 if name == "pred" else max(WIDTH[name], 16)


def _register_type(width: int) -> str:
    return "pred" if width == 1 else f"b{width}"


class Builder:
    """Writes one kernel that applies some forms of equal operand types."""

    def __init__(self, forms: list[Form], every: bool = True) -> None:
        self.forms, self.every, self.lines = forms, every, []
        self.kinds = forms[0].sources
        self.declared: dict[str, int] = {}
        self.variants: list[Variant] = []
        self.slots: list[int] = []  # bytes of each result

    def register(self, name: str, width: int) -> str:
        self.declared[name] = width
        return f"%{name}"

    def emit(self, line: str) -> None:
        self.lines.append(f"\t{line}")

    def ptx(self, data: Data) -> str:
        """Return the module's text."""
        self.prologue()
        self.operands()
        for form in self.forms:
            for variant in variants(form, self.every):
                self.variant(variant, data)
        self.lines.append("DONE:")
        self.emit("ret;")
        level = max(90, *(f.needs for f in self.forms))
        names = [*self.kinds_pointers(), "psel", "pout"]
        params = ",\n".join(f"\t.param .u64 {n}" for n in names)
        registers = [f"\t.reg .{_register_type(w)} %{n};" for n, w in self.declared.items()]
        body = "\n".join([*registers, *self.lines])
        return f"{HEADER.format(level=level)}.visible .entry k(\n{params}\n)\n{{\n{body}\n}}\n"

    def kinds_pointers(self) -> list[str]:
        return [f"p{letter}{how}" for letter in SOURCES[: len(self.kinds)] for how in "vu"]

    def prologue(self) -> None:
        for name in ("thread", "cta", "size", "gid", "sel"):
            self.register(name, 32)
        for line in (
            "mov.u32 %thread, %tid.x;", "mov.u32 %cta, %ctaid.x;", "mov.u32 %size, %ntid.x;",
            "mad.lo.u32 %gid, %cta, %size, %thread;",
        ):  # fmt: skip
            self.emit(line)
        out = self.register("out", 64)
        self.emit(f"ld.param.b64 {out}, [pout];")
        for size in (2, 4, 8):
            at, step = self.register(f"out{size}", 64), self.register(f"step{size}", 64)
            self.emit(f"mul.wide.u32 {step}, %gid, {size};")
            self.emit(f"add.u64 {at}, {out}, {step};")
        pointer, live = self.register("selp", 64), self.register("live", 1)
        self.emit(f"ld.param.b64 {pointer}, [psel];")
        self.emit(f"add.u64 {pointer}, {pointer}, %step4;")
        self.emit(f"ld.global.b32 %sel, [{pointer}];")
        bit = self.register("bit", 32)
        for name, mask in (("live", 1), ("guardv", 2)):
            self.register(name, 1)
            self.emit(f"and.b32 {bit}, %sel, {mask};")
            self.emit(f"setp.ne.u32 %{name}, {bit}, 0;")
        self.register("guardu", 1)
        self.emit(f"and.b32 {bit}, %cta, 1;")
        self.emit(f"setp.ne.u32 %guardu, {bit}, 0;")
        self.emit(f"@!{live} bra DONE;")

    def operands(self) -> None:
        for letter, kind in zip(SOURCES, self.kinds, strict=False):
            width = register_width(kind) if kind != "pred" else 32
            size = width // 8
            for how, index in (("v", "%gid"), ("u", "%cta")):
                pointer = self.register(f"p{letter}{how}", 64)
                value = self.register(f"{letter}{how}", width)
                step = self.register("step", 64)
                self.emit(f"ld.param.b64 {pointer}, [p{letter}{how}];")
                self.emit(f"mul.wide.u32 {step}, {index}, {size};")
                self.emit(f"add.u64 {pointer}, {pointer}, {step};")
                self.emit(f"ld.global.b{width} {value}, [{pointer}];")
            if kind == "pred":
                for how in "vu":
                    self.register(f"{letter}{how}p", 1)
                    self.emit(f"setp.ne.b32 %{letter}{how}p, %{letter}{how}, 0;")
                continue
            self.affine(letter, width)

    def affine(self, letter: str, width: int) -> None:
        step = self.register(f"{letter}step", width)
        value = self.register(f"{letter}a", width)
        if width != 32:
            self.emit(f"cvt.u{width}.u32 {step}, %thread;")
        self.emit(
            f"mul.lo.s{width} {step}, {step if width != 32 else '%thread'}, {STRIDES[letter]};"
        )
        self.emit(f"add.s{width} {value}, %{letter}u, {step};")

    def variant(self, variant: Variant, data: Data) -> None:
        form, names = variant.form, {}
        for place, (letter, kind) in enumerate(zip(SOURCES, form.sources, strict=False)):
            how = variant.operands[place]
            if how == "i":
                own = zlib.crc32(
                    f"{variant.name} {letter}".encode()
                )  # whatever else the kernel holds
                raw = int(data.uniform[letter][own % len(data.uniform[letter])])
                if form.name.startswith("bf"):
                    raw &= 255  # ptxas takes no larger position or length
                variant.immediates[letter] = raw
                names[letter] = _literal(kind, raw)
            else:
                names[letter] = f"%{letter}{how}{'p' if kind == 'pred' else ''}"
        slots = []
        for letter, kind in zip(RESULTS, form.results, strict=False):
            width = register_width(kind)
            names[letter] = self.register(f"{letter}{len(self.slots)}", width)
            slots.append(len(self.slots))
            self.slots.append(4 if width == 1 else width // 8)
            if variant.guard:
                self.preset(names[letter], width)
        guard = f"@%guard{variant.guard} " if variant.guard else ""
        self.emit(guard + form.text.format(**names))
        variant.slots = tuple(slots)
        for slot, letter, kind in zip(slots, RESULTS, form.results, strict=False):
            self.store(slot, names[letter], register_width(kind))
        self.variants.append(variant)

    def preset(self, name: str, width: int) -> None:
        if width == 1:
            self.emit(f"setp.ne.u32 {name}, %thread, %thread;")
        else:
            self.emit(f"mov.b{width} {name}, {OLD % (1 << width)};")

    def store(self, slot: int, name: str, width: int) -> None:
        offset = slot * THREADS * 8
        if width == 1:
            bit = self.register("bit", 32)
            self.emit(f"selp.b32 {bit}, 1, 0, {name};")
            name, width = bit, 32
        self.emit(f"st.global.b{width} [%out{width // 8}+{offset}], {name};")


def _literal(kind: str, raw: int) -> str:
    if kind == "f32":
        return f"0f{raw:08X}"
    if kind == "f64":
        return f"0d{raw:016X}"
    width = WIDTH[kind]
    if kind[0] == "s" and raw >> (width - 1):
        return str(raw - (1 << width))
    return str(raw)


def selection(block: int) -> np.ndarray:
    """Return for each thread: bit 0, whether it takes part; bit 1, its guard."""
    rng = np.random.default_rng(5)
    live = rng.random(THREADS) < rng.choice([0.1, 0.5, 0.9], THREADS // 32).repeat(32)
    live[: WHOLE * 32] = True
    live[WHOLE * 32 + 32 : WHOLE * 32 + 64] = np.arange(32) == 17  # a single lane
    guard = rng.random(THREADS) < 0.5
    return ((live | (block != 32)) + 2 * guard).astype(np.uint32)


# --- comparing


def read(kind: str, raw: int) -> int:
    """Return raw register bits as the number that a twin takes."""
    width = WIDTH[kind]
    raw &= (1 << width) - 1
    return (
        raw - (1 << width) if kind[0] == "s" and kind[1:].isdigit() and raw >> (width - 1) else raw
    )


class Twins:
    """Calls a form's twin once for each set of operands."""

    def __init__(self, form: Form) -> None:
        self.form, self.known = form, {}

    def __call__(self, raw: tuple[int, ...]) -> tuple | None:
        if raw not in self.known:
            self.known[raw] = self.compute(raw)
        return self.known[raw]

    def compute(self, raw: tuple[int, ...]) -> tuple | None:
        """Return the results (bits, or numbers if they are bounded), None where undefined."""
        form = self.form
        values = [read(k, r) for k, r in zip(form.sources, raw, strict=True)]
        if form.defined and not form.defined(*values):
            return None
        if form.bound is not None:
            return self.bounded(values)
        result = form.twin(*values)
        results = result if isinstance(result, tuple) else (result,)
        return tuple(
            int(r) % (1 << register_width(k)) for r, k in zip(results, form.results, strict=True)
        )

    def bounded(self, values: list[int]) -> tuple:
        kind = self.form.results[0]
        if kind.endswith("x2"):
            parts = [(v & 0xFFFF, v >> 16) for v in values]
            return (tuple(self.number(kind[:-2], [p[n] for p in parts]) for n in (0, 1)),)
        return (self.number(kind, values),)

    def number(self, kind: str, values: list[int]) -> float:
        f = exact.FORMATS[kind]
        return self.form.twin(*(exact.to_float(exact.decode(v, f)) for v in values))


def agrees(form: Form, kind: str, got: int, want: object) -> bool:
    """Say whether a result is the twin's: any NaN equals any other, bounds hold."""
    name = kind.partition(":")[0]
    if form.bound is not None:
        if name.endswith("x2"):
            halves = (got & 0xFFFF, got >> 16)
            return all(_close(form, name[:-2], g, w) for g, w in zip(halves, want, strict=True))
        return _close(form, name, got, want)
    if got == want:
        return True
    if name in ("f16x2", "bf16x2"):
        single, width = exact.FORMATS[name[:-2]], 16
    elif name in ("e4m3x2", "e5m2x2"):
        single, width = exact.FORMATS[name[:-2]], 8
    elif name in exact.FORMATS or name == "tf32":
        single, width = exact.FORMATS.get(name, exact.F32), exact.FORMATS.get(name, exact.F32).bits
    else:
        return False
    mask = (1 << width) - 1
    shifts = range(0, WIDTH[name], width)
    return all(_same(single, got >> s & mask, want >> s & mask) for s in shifts)


def _same(f: exact.Format, got: int, want: int) -> bool:
    both_nan = exact.decode(got, f) == exact.decode(want, f) == exact.NAN
    return got == want or both_nan


def _close(form: Form, kind: str, got: int, want: float) -> bool:
    f = exact.FORMATS[kind]
    value = exact.decode(got, f)
    if math.isnan(want):
        return value == exact.NAN
    target = exact.encode(exact.decode(_double(want), exact.F64), f)
    if got == target:
        return True
    if value.kind != "finite" or exact.decode(target, f).kind != "finite":
        largest = f.top - 1
        near_top = abs((got & (f.sign - 1)) - largest) <= 2 and (target & (f.sign - 1)) >= largest
        return form.bound.ulps > 0 and near_top and not (got ^ target) & f.sign
    size, bound = exact.to_float(value), form.bound
    ulps = abs(_ordinal(got, f) - _ordinal(target, f))
    # what is bounded relative to the true value still rounds to the format
    error = abs(size - want)
    least = 2.0 ** (1 - f.bias - f.fraction)
    relative = bound.relative * abs(want)
    return ulps <= bound.ulps or error <= max(relative, bound.absolute) + least * bool(relative)


def _ordinal(code: int, f: exact.Format) -> int:
    return -(code & (f.sign - 1)) if code & f.sign else code


def checked_threads(variant: Variant, block: int) -> np.ndarray:
    """All threads where operands vary on their own; some of every part of the grid elsewhere."""
    if set(variant.operands) == {"v"} and not variant.guard and block == 32:
        return np.arange(THREADS)
    return np.arange(zlib.crc32(variant.name.encode()) % 11, THREADS, 11)


def buffers(builder: Builder, data: Data, block: int) -> list[np.ndarray]:
    """Return what the parameters of a launch point to, the place for results last."""
    arrays = []
    for letter in SOURCES[: len(builder.kinds)]:
        arrays += [data.varying[letter], data.uniform[letter]]
    results = np.full((len(builder.slots), THREADS * 8), UNTOUCHED, np.uint8)
    return [*arrays, selection(block), results]


def result(variant: Variant, place: int, builder: Builder, out: np.ndarray) -> np.ndarray:
    """Return the raw result number `place` of a variant in every thread."""
    slot = variant.slots[place]
    size = builder.slots[slot]
    return out[slot, : THREADS * size].view(f"u{size}")


def compare(builder: Builder, data: Data, out: np.ndarray, block: int) -> list[str]:
    """Return what differs, at most three reports a variant."""
    chosen = selection(block)
    live, guard = chosen & 1 > 0, chosen & 2 > 0
    reports = []
    twins = {form.name: Twins(form) for form in builder.forms}
    for variant in builder.variants:
        threads = checked_threads(variant, block)
        runs = np.ones(THREADS, bool)
        if variant.guard:
            runs = guard if variant.guard == "v" else np.arange(THREADS) // block % 2 == 1
        columns = [
            result(variant, p, builder, out)[threads].tolist() for p in range(len(variant.slots))
        ]
        places = range(len(variant.form.sources))
        raws = [data.operand(variant, p, block)[threads].tolist() for p in places]
        results = _wanted(variant, twins[variant.form.name], raws, live[threads], runs[threads])
        problems = [
            f"{variant.name}, block of {block}, thread {thread} "
            f"({', '.join(f'{r:#x}' for r in raw)}): {problem}"
            for thread, raw, got, (what, want) in zip(
                threads.tolist(), zip(*raws, strict=True), zip(*columns, strict=True), results,
                strict=True,
            )
            if (problem := _problem(variant.form, what, got, want))
        ]  # fmt: skip
        reports += problems[:3]
    return reports


def _wanted(
    variant: Variant, twin: Twins, raws: list, live: np.ndarray, runs: np.ndarray
) -> Iterator[tuple[str, tuple | None]]:
    """Yield for each thread what decides its result, and the result."""
    sizes = [register_width(k) for k in variant.form.results]
    kept = int.from_bytes(bytes([UNTOUCHED] * 8), "little")
    untouched = tuple(kept % (1 << (32 if s == 1 else s)) for s in sizes)
    old = tuple(0 if s == 1 else OLD % (1 << s) for s in sizes)
    for raw, lives, acts in zip(zip(*raws, strict=True), live.tolist(), runs.tolist(), strict=True):
        if not lives:
            yield "a lane that had left", untouched
        elif not acts:
            yield "a lane whose guard is false", old
        else:
            yield "", twin(raw)


def _problem(form: Form, what: str, got: tuple, want: tuple | None) -> str:
    if want is None or got == want:
        return ""
    if not what and all(
        agrees(form, k, g, w) for k, g, w in zip(form.results, got, want, strict=True)
    ):
        return ""
    shown = [hex(w) if isinstance(w, int) else str(w) for w in want]
    return f"{what + ': ' if what else ''}got {[hex(g) for g in got]}, expected {shown}"


def batches(forms: list[Form], every: bool = True, most: int = 120) -> Iterator[list[Form]]:
    """Group forms of equal operand types into kernels of bounded size."""
    groups: dict[tuple, list[Form]] = {}
    for form in forms:
        groups.setdefault((form.sources, form.values), []).append(form)
    for group in groups.values():
        batch, size = [], 0
        for form in group:
            count = sum(1 for _ in variants(form, every))
            if batch and size + count > most:
                yield batch
                batch, size = [], 0
            batch.append(form)
            size += count
        yield batch
