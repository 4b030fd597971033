"""Where a kernel's registers, variables and sites lie."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from . import provenance
from .cfg import Graph, symbols
from .ptx import Address, Instruction, Module, Reg, Variable
from .records import LANES, Warp


@dataclass
class SiteInfo:
    """What a `Site` record says, for Python."""

    space: int = 0
    size: int = 0
    count: int = 1
    op: int = 0
    kind: int = 0
    store: int = 0
    scope: int = 0
    releases: int = 0
    base: int = 0
    instruction: Instruction | None = None


@dataclass
class Layout:
    """Where a kernel's registers and variables lie; the same for both versions.

    Attributes
    ----------
    slots, scalars, poisons : dict
        Byte offsets in a warp's record: a register's 32 values, its base where it is uniform or
        affine, and the masks of lanes in which it, or each byte of it, is undefined.
    shared, local : dict
        Byte offsets of variables in their state space.
    symbols : dict
        Index of each global variable in the table of addresses.
    sites : list of SiteInfo
        The instructions that call the runtime.
    bases : list of int
        Offsets of the parameters that addresses are known to come from.
    """

    module: Module
    graph: Graph
    slots: dict[Reg, int] = field(default_factory=dict)
    scalars: dict[Reg, int] = field(default_factory=dict)
    poisons: dict[Reg, int] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    symbols: dict[str, int] = field(default_factory=dict)
    sites: list[SiteInfo] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)
    record_bytes: int = 0
    static_shared: int = 0
    local_size: int = 0
    _site_of: dict[object, int] = field(default_factory=dict)
    _provenance: dict[Reg, provenance.Bases] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._place_shared()
        self.local_size = _place(self.local, self.graph.local.values(), 16)
        named = [n for n, v in self.module.variables.items() if v.space in ("global", "const")]
        self.symbols = {name: index for index, name in enumerate(named)}
        self._place_registers()
        self._provenance = provenance.find(self.graph)

    def _place_shared(self) -> None:
        module = {n: v for n, v in self.module.variables.items() if v.space == "shared"}
        dynamic = {n for n, v in module.items() if v.external or not v.size}
        used = symbols(self.graph)
        known = module | self.graph.shared
        static = [v for n, v in known.items() if n not in dynamic and n in used]
        # dynamic shared memory begins behind all static variables
        align = max([16, *(module[n].align for n in dynamic)])
        self.static_shared = _place(self.shared, static, align)
        self.shared |= dict.fromkeys(dynamic, self.static_shared)

    def _place_registers(self) -> None:
        offset = -(-Warp.size // 64) * 64
        lasting = {r for b in self.graph.blocks for r in b.live_in | b.live_out}
        for register in sorted(lasting, key=lambda r: (-r.width, r.name)):
            self.slots[register] = offset
            offset += 4 if register.width == 1 else LANES * register.width // 8
        offset = -(-offset // 16) * 16
        for register in self.slots:
            self.scalars[register] = offset
            self.poisons[register] = offset + 16
            offset += 16 + max(16, register.width // 8 * 4)
        self.record_bytes = -(-offset // 64) * 64

    def base(self, address: Address) -> int:
        """Return 1 + the index in `bases` of the parameter that an address comes from, or 0."""
        offset = provenance.only(self._provenance.get(address.base))
        if offset is None:
            return 0
        if offset not in self.bases:
            self.bases.append(offset)
        return 1 + self.bases.index(offset)

    def site(self, key: object, info: SiteInfo) -> int:
        """Return the number of the site `key`; the first call adds it."""
        number = self._site_of.setdefault(key, len(self.sites))
        if number == len(self.sites):
            self.sites.append(info)
        elif info.size:
            self.sites[number] = info
        return number


def _place(offsets: dict[str, int], variables: Iterable[Variable], align: int) -> int:
    """Place variables one behind the other; return the end, rounded up to `align` bytes."""
    end = 0
    for variable in variables:
        end = -(-end // variable.align) * variable.align
        offsets[variable.name] = end
        end += variable.size
    return -(-end // align) * align
