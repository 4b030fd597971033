"""What went wrong in a launch, decoded for a person: which line, which thread, which element."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

import numpy as np

from . import records
from .arena import Allocation, Arena
from .cfg import cycle
from .lowering import Layout, SiteInfo
from .ptx import Instruction, Loc
from .records import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES


@dataclass(frozen=True)
class Place:
    """A source line, with the lines from which it was inlined."""

    file: str
    line: int
    callers: tuple["Place", ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Target:
    """What an address points at.

    `what` is a phrase ("a[1000]", "shared memory s"), `size` the elements there are and `beyond` by
    how many bytes the access misses (0: it does not).
    """

    what: str
    detail: str = ""
    beyond: int = 0


class Fault(RuntimeError):
    """A launch went wrong.

    Attributes
    ----------
    kind : str
        ``out-of-bounds``, ``misaligned``, ``undefined``, ``read-only``, ``divergent-barrier``,
        ``barrier-count``, ``deadlock``, ``bad-mask``, ``inactive-lane``, ``race``,
        ``endless-loop``, ``trap`` or ``assertion``.
    kernel : str
        The kernel's name.
    place : Place or None
        The source line.
    instruction : str
        The PTX instruction.
    block : tuple of int
        Block index (x, y, z).
    warp : int
        Warp in the block.
    lanes : tuple of int
        Lanes of the warp that did it.
    threads : tuple of tuple of int
        The same as thread indices (x, y, z).
    target : Target or None
        What the first lane's address points at.
    printed : tuple of str
        What the launch printed before.
    other : Place or None
        The second line of a race, or where an undefined value was read.
    """

    def __init__(self, kind: str, summary: str, **details: object) -> None:
        self.kind = kind
        self.summary = summary
        self.kernel: str = ""
        self.place: Place | None = None
        self.instruction = ""
        self.block: tuple[int, ...] = ()
        self.warp = 0
        self.lanes: tuple[int, ...] = ()
        self.threads: tuple[tuple[int, ...], ...] = ()
        self.target: Target | None = None
        self.other: Place | None = None
        self.hint = ""
        self.waiting: tuple[str, ...] = ()
        self.other_block: tuple[int, ...] = ()
        self.other_thread: tuple[int, ...] = ()
        self.others: tuple[Fault, ...] = ()
        self.printed: tuple[str, ...] = ()
        self.count = 1
        self.__dict__.update(details)
        super().__init__(self.report())

    def report(self, sources: dict[str, list[str]] | None = None) -> str:
        """Return the report, with the text of the lines if `sources` has their files."""
        lines = [f"{self.kind}: {self.summary}"]
        for label, place in (("line", self.place), ("and line", self.other)):
            if place is not None:
                lines.append(f"  {label} {place.line}{_quoted(place, sources)}")
                lines += [
                    f"    called from line {c.line}{_quoted(c, sources)}" for c in place.callers
                ]
        if self.place is None and self.instruction:
            lines.append(f"  at {self.instruction}")
        if self.threads:
            lines.append("  " + self._who())
        if self.other_thread:
            thread, block = (", ".join(map(str, x)) for x in (self.other_thread, self.other_block))
            lines.append(f"  against thread ({thread}) of block ({block})")
        lines += [f"  {item}" for item in self.waiting]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def _who(self) -> str:
        first = ", ".join(map(str, self.threads[0]))
        count = len(self.lanes)
        others = f" and {count - 1} more of its warp" if count > 1 else ""
        return (
            f"thread ({first}) of block ({', '.join(map(str, self.block))}), warp {self.warp}, "
            f"lane {self.lanes[0]}{others}"
        )


def _quoted(place: Place, sources: dict[str, list[str]] | None) -> str:
    text = (sources or {}).get(place.file, [])
    if 0 < place.line <= len(text):
        return f": {text[place.line - 1].strip()}"
    return f" of {place.file}"


KINDS = {
    records.OUT_OF_BOUNDS: "out-of-bounds",
    records.MISALIGNED: "misaligned",
    records.UNDEFINED: "undefined",
    records.WRITES_CONSTANT: "read-only",
    records.DIVERGENT_BARRIER: "divergent-barrier",
    records.BAD_MASK: "bad-mask",
    records.INACTIVE_LANE: "inactive-lane",
    records.TRAP: "trap",
    records.ASSERTION: "assertion",
    records.BARRIER_COUNT: "barrier-count",
    records.ENDLESS: "endless-loop",
    records.DEADLOCK: "deadlock",
}


def place_of(loc: Loc | None, files: dict[int, str]) -> Place | None:
    """Return a PTX location as a Place."""
    if loc is None:
        return None
    callers = []
    at = loc.inlined_at
    while at is not None:
        callers.append(Place(files.get(at.file, "?"), at.line))
        at = at.inlined_at
    # an inlined line of a header says little: the file of the innermost call is named as well
    return Place(files.get(loc.file, "?"), loc.line, tuple(callers))


@dataclass
class Decoder:
    """Turns the records of a faulting warp into a Fault.

    `params` is the device address of the kernel's parameters.
    """

    kernel: str
    layout: Layout
    files: dict[int, str]
    arena: Arena
    block: tuple[int, int, int] = (1, 1, 1)
    shared_size: int = 0
    params: int = 0
    sources: dict[str, list[str]] = field(default_factory=dict)

    def decode(self, cta: np.void, warp: np.void, warps: list[np.void]) -> Fault:
        """Return the fault that `cta` recorded; `warp` is the one that raised it."""
        kind = int(cta["fault"])
        name = KINDS[kind]
        site = self.site(int(warp["fault_site"]))
        mask = int(warp["fault_mask"])
        if kind in (records.ENDLESS, records.DEADLOCK):
            mask = int(warp["mask"]) or int(warp["live"])
        lanes = tuple(lane for lane in range(32) if mask >> lane & 1)
        details: dict[str, object] = {
            "kernel": self.kernel,
            "block": tuple(int(x) for x in cta["index"]),
            "warp": int(warp["index"]),
            "lanes": lanes,
            "threads": tuple(
                tuple(int(warp["tid"][32 * axis + n]) for axis in range(3)) for n in lanes
            ),
        }
        if kind == records.ENDLESS:
            site = None
            details["place"] = self.block_place(warp)
            details["waiting"] = (*self.loop_reads(warp), *self.waits(warps, cta))
        elif kind == records.DEADLOCK:
            site = None
            details["waiting"] = tuple(self.waits(warps, cta))
            details["threads"] = ()
        if site is not None and site.instruction is not None:
            details["place"] = place_of(site.instruction.loc, self.files)
            details["instruction"] = site.instruction.text
        summary = getattr(self, "_say_" + name.replace("-", "_"))(site, warp, lanes, details)
        return Fault(name, summary, **details)

    def site(self, number: int) -> SiteInfo | None:
        """Return what a site number of the runtime stands for."""
        return self.layout.sites[number] if number < len(self.layout.sites) else None

    # --- what an address means

    def target(self, site: SiteInfo, address: int, thread: tuple[int, ...] = ()) -> Target:
        """Name what `address` (of the site's state space) points at."""
        space, size = site.space, site.size * site.count
        if space == records.GENERIC:
            if 0 <= address - SHARED_WINDOW < WINDOW_BYTES:
                space, address = records.SHARED, address - SHARED_WINDOW
            elif 0 <= address - LOCAL_WINDOW < WINDOW_BYTES:
                space, address = records.LOCAL, address - LOCAL_WINDOW
            else:
                space = records.GLOBAL
        if space == records.GLOBAL:
            return self.global_target(address, size, site.base)
        table, where, total = (
            (self.layout.shared, "shared", self.shared_size)
            if space == records.SHARED
            else (self.layout.local, "local", self.layout.local_size)
        )
        signed = address - (1 << 64) if address >> 63 else address
        if signed < 0 or signed + size > total:
            # a pointer that does not even start inside
            beyond = -signed if signed < 0 else signed + size - total
            return Target(
                f"byte {signed:,} of {where} memory",
                f"the block has {total:,} bytes of it"
                if where == "shared"
                else f"a thread has {total:,} bytes of it",
                beyond,
            )
        starts = sorted((offset, name) for name, offset in table.items() if offset <= signed)
        if not starts:
            return Target(f"byte {signed:,} of {where} memory")
        offset, name = starts[-1]
        inner = signed - offset
        clean = _readable(name)
        element = (
            f"[{inner // site.size}]"
            if site.size and inner % site.size == 0
            else f" + {inner} bytes"
        )
        return Target(f"{where} {clean}{element}")

    def global_target(self, address: int, size: int, base: int = 0) -> Target:
        """Name what `size` bytes at an address of global memory belong to.

        That is the array of the parameter from which the address comes (see `Site.base`), or the
        one that lies there, or of those that the kernel was given the nearest.
        """
        there = self.arena.holder(address)
        given = self._given([self.layout.bases[base - 1]]) if base else []
        all_given = self._given(range(0, self._params_size(), 8))
        near = given or ([there] if there else all_given)
        found = self.arena.find(address, near)
        if found is None or (address < records.GLOBAL_BASE and not given):
            if address < 1 << 16:
                return Target(
                    "the null pointer"
                    if address == 0
                    else f"address {address:#x}, next to the null pointer"
                )
            return Target(f"address {address:#x}", "no array lies there")
        allocation, offset = found
        wrapped = self.arena.find_wrapped(address, near)
        if wrapped is not None:
            allocation, index = wrapped
            return Target(
                f"{allocation.name or 'an array'}[{index + (1 << 32)}]",
                f"as an unsigned 32-bit number, {index} is {index + (1 << 32)}",
                1 << 34,
            )
        name, detail = allocation.name or "an array", _extent(allocation)
        if there is not allocation and there in all_given:
            other = f"{there.name}{_element(there, address - there.address)}"
            detail += f", and {other} lies there"
        return Target(
            f"{name}{_element(allocation, offset)}", detail, _beyond(allocation, offset, size)
        )

    def _params_size(self) -> int:
        return self.layout.graph.function.param_bytes if self.params else 0

    def _given(self, offsets: Iterable[int]) -> list[Allocation]:
        """Return the arrays at which parameters at these offsets point."""
        pointers = (int(self.arena.read(self.params + n, 8).view(np.uint64)[0]) for n in offsets)
        found = (self.arena.holder(pointer) for pointer in pointers)
        return [allocation for allocation in found if allocation is not None]

    # --- one sentence for each kind of fault

    def _say_out_of_bounds(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        target = self.target(site, int(warp["address"][lanes[0]]))
        details["target"] = target
        verb = "writes" if site.store else "reads"
        extent = f"; {target.detail}" if target.detail else ""
        missed = f" ({target.beyond:,} bytes outside)" if target.beyond else ""
        if "[-" in target.what:
            details["hint"] = (
                "a negative index does not count from the end here, as it does in Python"
            )
        elif target.beyond:
            details["hint"] = (
                "does every thread check its index against the size before it touches the array?"
            )
        return f"{self.kernel} {verb} {target.what}{extent}{missed}"

    def _say_misaligned(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        address = int(warp["address"][lanes[0]])
        size = site.size * site.count
        details["target"] = self.target(site, address)
        details["hint"] = (
            "a vector type such as float4 needs an address that is a multiple of its size"
        )
        past = f"{address % size} bytes past a multiple of {size}"
        return f"{self.kernel} accesses {size} bytes at an address that is {past}"

    def _say_undefined(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        lane = lanes[0]
        origin = self.site(int(warp["origin_site"][lane]))
        read = (
            self.target(origin, int(warp["origin_address"][lane]))
            if origin and origin.size
            else None
        )
        details["target"] = read
        item = site.instruction if site else None
        source = origin.instruction if origin else None
        if source is not None and origin is not site:
            details["other"] = place_of(source.loc, self.files)
        if source is not None and source.opcode == "shfl":
            absent = int(warp["origin_address"][lane])
            details["hint"] = "a shuffle can only read from lanes that execute it too"
            return (
                f"{self.kernel} {_use(item)} what a shuffle read from lane {absent}, which did not "
                "take part"
            )
        details["hint"] = (
            "is it written by every thread that should, and is there a barrier before it is read?"
        )
        if read:
            what = f"the value of {read.what}, which nobody has written"
        else:
            what = "a value that nobody has written"
        return f"{self.kernel} {_use(item)} {what}"

    def _say_read_only(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        details["target"] = self.target(site, int(warp["address"][lanes[0]]))
        return f"{self.kernel} writes {details['target'].what}, which is constant"

    def _say_divergent_barrier(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        live = int(warp["live"])
        threads = int(np.prod(self.block)) - 32 * int(warp["index"])
        others = [lane for lane in range(min(threads, 32)) if lane not in lanes]
        missing, where = [lane for lane in others if live >> lane & 1], "are elsewhere"
        if not missing:
            missing, where = others, "have ended without it"
        details["hint"] = (
            "__syncthreads() must be reached by all threads of the block: move it out of the if"
        )
        return (
            f"{len(lanes)} lanes of a warp of {self.kernel} are at a barrier while "
            f"{len(missing)} others (lane {missing[0]} first) {where}"
        )

    def _say_barrier_count(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        details["hint"] = (
            "a named barrier has a number from 0 to 15 and one thread count, a multiple of 32"
        )
        return f"threads of {self.kernel} do not agree about a barrier's number or thread count"

    def _say_bad_mask(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        details["hint"] = (
            "the mask names the lanes that take part: each caller is in it, and all pass the same"
        )
        return f"the mask of a warp operation of {self.kernel} does not name the lanes that call it"

    def _say_inactive_lane(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        details["hint"] = (
            "are some lanes in another branch? take it out of the if, or name only these lanes"
        )
        return f"a warp operation of {self.kernel} needs lane {lanes[0]}, which does not take part"

    def _say_trap(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        return f"{self.kernel} stopped itself (trap)"

    def _say_assertion(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        texts = []
        for component in (0, 1):
            address = int(warp["data"][32 * component + lanes[0]])
            texts.append(self.string(address))
        line = int(warp["data"][64 + lanes[0]])
        file = PureWindowsPath(texts[1]).name  # which takes both kinds of slashes
        return f"assertion failed in {self.kernel}: {texts[0]} ({file}, line {line})"

    def _say_endless_loop(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        details["hint"] = "does the loop's condition ever change for this thread?"
        return f"{self.kernel} runs in a loop that does not end"

    def _say_deadlock(
        self, site: SiteInfo, warp: np.void, lanes: tuple[int, ...], details: dict
    ) -> str:
        details["hint"] = "every thread that has not ended must reach the same barrier"
        return f"all warps of a block of {self.kernel} wait, and nobody can go on"

    # --- helpers

    def string(self, address: int) -> str:
        """Return the zero-terminated string at a device address."""
        start = address - records.GLOBAL_BASE
        raw = self.arena.bytes[start : start + 500].tobytes()
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace")

    def block_place(self, warp: np.void) -> Place | None:
        """Return the line at which a warp was interrupted."""
        items = self.layout.graph.blocks[self._at(warp)[0]].instructions
        return place_of(next((i.loc for i in items if i.loc), None), self.files)

    def _at(self, warp: np.void) -> tuple[int, int]:
        """Return the block of instructions that a warp was interrupted at, and a lane there."""
        lanes = int(warp["mask"]) or int(warp["live"])
        lane = (lanes & -lanes).bit_length() - 1
        return int(warp["pc"][lane]), lane

    def loop_reads(self, warp: np.void) -> list[str]:
        """Say what the loop reads that a warp does not leave: that is what it may wait for."""
        graph = self.layout.graph
        at, lane = self._at(warp)
        items = [i for n in cycle(graph, at) for i in graph.blocks[n].instructions]
        reading = {id(i) for i in items if i.opcode in ("ld", "atom") and "param" not in i.mods}
        sites = [s for s in self.layout.sites if s.size and id(s.instruction) in reading]
        if len(sites) == 1:  # then the last address that the warp touched is its
            target = self.target(sites[0], int(warp["address"][lane]))
            place = place_of(sites[0].instruction.loc, self.files)
            where = f" in line {place.line}" if place else ""
            return [f"it reads {target.what}{where} again and again, and nobody changes it"]
        return []

    def waits(self, warps: list[np.void], cta: np.void) -> list[str]:
        """Say for each warp what it waits for."""
        said = []
        for warp in warps:
            number = int(warp["index"])
            if int(warp["state"]) == records.DONE:
                continue
            if int(warp["waiting"]):
                site = self.site(int(warp["barrier_site"]))
                place = (
                    place_of(site.instruction.loc, self.files)
                    if site and site.instruction
                    else None
                )
                where = f", line {place.line}" if place else ""
                barrier = int(warp["barrier"])
                wanted = int(cta["expected"][barrier]) or 32 * int(cta["alive"])
                said.append(
                    f"warp {number} waits at barrier {barrier}{where}: "
                    f"{int(cta['arrived'][barrier])} of {wanted} threads are there"
                )
        return said


def _use(item: Instruction | None) -> str:
    if item is None:
        return "uses"
    if item.opcode in ("bra", "brx", "ret", "exit"):
        return "decides by"
    if item.opcode == "st":
        return "stores"
    if item.opcode in ("atom", "red"):
        return "updates"
    return "uses as an address"


def _readable(name: str) -> str:
    """Return a variable's name as the source has it, from its mangled one."""
    if name.startswith("_Z"):
        pieces, rest = [], name
        while rest:
            digits = ""
            while rest and rest[0].isdigit():
                digits, rest = digits + rest[0], rest[1:]
            if digits and int(digits) <= len(rest):
                pieces.append(rest[: int(digits)])
                rest = rest[int(digits) :]
            else:
                rest = rest[1:]
        return pieces[-1] if pieces else name
    return name


def _element(allocation: Allocation, offset: int) -> str:
    size = allocation.dtype.itemsize
    index, rest = divmod(offset, size)
    inside = 0 <= offset < allocation.size
    if rest:
        return f" + {offset} bytes"
    if inside and len(allocation.shape) > 1:
        return "[" + ", ".join(map(str, np.unravel_index(index, allocation.shape))) + "]"
    return f"[{index}]"


def _extent(allocation: Allocation) -> str:
    shape, dtype = " x ".join(map(str, allocation.shape)), allocation.dtype
    what = f"{dtype.itemsize} bytes ({', '.join(dtype.names)})" if dtype.names else str(dtype)
    return f"{allocation.name or 'it'} has {shape} elements of {what}"


def _beyond(allocation: Allocation, offset: int, size: int) -> int:
    if offset < 0:
        return -offset
    return max(0, offset + size - allocation.size)
