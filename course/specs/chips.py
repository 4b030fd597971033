"""The chips as frozen dataclasses: the facts, with meaning and unit, and what follows from them."""

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from course.specs.words import closest, quantity

Dtype = Literal["fp64", "fp64_tensor", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"]

#: The number formats that peaks are quoted for. fp64 and fp32 are the ordinary cores' peaks, all
#: others those of the matrix units, which accumulate fp16, bf16 and fp8 products in fp32.
DTYPES: tuple[str, ...] = typing.get_args(Dtype)


@dataclass(frozen=True)
class Factor:
    """One factor of a derivation: `value` in `unit`, or a count of the things named by `unit`."""

    value: float
    unit: str

    def __str__(self) -> str:
        return quantity(self.value, self.unit.removesuffix("s") if self.value == 1 else self.unit)


@dataclass(frozen=True)
class Derivation:
    """A peak as the product of what it is made of; `print` shows the whole calculation.

    Attributes
    ----------
    factors : tuple of Factor
        What is multiplied.
    unit : str
        Of the product: FLOP/s, or op/s for integers.
    doubts : tuple of str
        Why a factor is not certain, for each that is not.
    """

    factors: tuple[Factor, ...]
    unit: str = "FLOP/s"
    doubts: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The product of the factors, in `unit`."""
        return float(math.prod(factor.value for factor in self.factors))

    def __str__(self) -> str:
        product = " × ".join(map(str, self.factors)) + " = " + quantity(self.value, self.unit)
        return product + "".join(f" (unconfirmed: {doubt})" for doubt in self.doubts)


@dataclass(frozen=True)
class Waves:
    """How `tiles` equal blocks fill a GPU that holds `slots` of them at a time.

    Attributes
    ----------
    tiles, slots : int
        Blocks to run, and blocks that run at once.
    count : int
        Rounds that this takes.
    utilisation : float
        Share of all slots in all rounds that have a block to run, 0 to 1.
    """

    tiles: int
    slots: int

    @property
    def count(self) -> int:
        """Rounds until every tile has run."""
        return math.ceil(self.tiles / self.slots)

    @property
    def utilisation(self) -> float:
        """Tiles over the slots of all rounds, 0 to 1."""
        return self.tiles / (self.count * self.slots)


def fact(meaning: str, unit: str = "", *, required: bool = False) -> Any:
    """Return a dataclass field for a fact of ``specs.toml``: its meaning, its unit."""
    default = dataclasses.MISSING if required else None
    return field(default=default, metadata={"meaning": meaning, "unit": unit})


@dataclass(frozen=True, kw_only=True, repr=False)
class Chip:
    """What is known of every chip: its peaks and its memory. None means: no document gives it."""

    name: str
    #: facts that no document states outright, with the reason why they are here
    unconfirmed: Mapping[str, str] = field(default_factory=dict, compare=False)
    peak_fp64: float | None = fact("fp64 peak", "FLOP/s")
    peak_fp64_tensor: float | None = fact("fp64 tensor peak", "FLOP/s")
    peak_fp32: float | None = fact("fp32 peak", "FLOP/s")
    peak_tf32: float | None = fact("tf32 peak, dense", "FLOP/s")
    peak_fp16: float | None = fact("fp16 peak, dense", "FLOP/s")
    peak_bf16: float | None = fact("bf16 peak, dense", "FLOP/s")
    peak_fp8: float | None = fact("fp8 peak, dense", "FLOP/s")
    peak_int8: float | None = fact("int8 peak, dense", "op/s")
    peak_fp4: float | None = fact("fp4 peak, dense", "FLOP/s")
    peak_tf32_sparse: float | None = fact("tf32 peak, 2:4 sparse", "FLOP/s")
    peak_fp16_sparse: float | None = fact("fp16 peak, 2:4 sparse", "FLOP/s")
    peak_bf16_sparse: float | None = fact("bf16 peak, 2:4 sparse", "FLOP/s")
    peak_fp8_sparse: float | None = fact("fp8 peak, 2:4 sparse", "FLOP/s")
    peak_int8_sparse: float | None = fact("int8 peak, 2:4 sparse", "op/s")
    peak_fp4_sparse: float | None = fact("fp4 peak, 2:4 sparse", "FLOP/s")
    memory_bytes: int | None = fact("memory", "bytes")
    memory_type: str = fact("memory type", required=True)
    memory_bandwidth: float = fact("memory bandwidth", "bytes/s", required=True)
    tdp_watts: int | None = fact("power limit", "W")
    process: str | None = fact("process")
    transistors: int | None = fact("transistors")
    announced: str = fact("announced", required=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def peak(self, dtype: Dtype, *, sparse: bool = False) -> float:
        """Return the quoted peak for `dtype` in FLOP/s (int8: operations/s).

        Parameters
        ----------
        dtype : str
            One of `DTYPES`.
        sparse : bool
            The peak with 2:4 structured sparsity, which no dense matrix reaches.

        Raises
        ------
        ValueError
            If the type is unknown, or this chip has no such peak.
        """
        _check_dtype(dtype)
        value = getattr(self, f"peak_{dtype}{'_sparse' if sparse else ''}", None)
        if value is None:
            suffix = "_sparse" if sparse else ""
            known = [t for t in DTYPES if getattr(self, f"peak_{t}{suffix}", None) is not None]
            kind = "sparse" if sparse else "dense"
            raise ValueError(
                f"No {kind} {dtype} peak is known for the {self.name}: either it does not compute "
                f"in {dtype} that way or no document gives it. Its {kind} peaks: "
                f"{', '.join(known) or 'none'}."
            )
        return value

    def ridge(self, dtype: Dtype, *, sparse: bool = False) -> float:
        """Return the ridge point in FLOP per byte of memory traffic: peak over memory bandwidth.

        A kernel of lower arithmetic intensity is limited by the memory, one of higher by the
        arithmetic. Raises ValueError as `peak` does.
        """
        return self.peak(dtype, sparse=sparse) / self.memory_bandwidth

    def derived_peak(self, dtype: Dtype) -> Derivation:
        """Return the peak for `dtype` as a product: units × FLOP per unit and clock × clock.

        Raises
        ------
        ValueError
            If the type is unknown, or a factor is in no document.
        """
        _check_dtype(dtype)
        names = self._factors(dtype)
        if not names:
            raise ValueError(
                f"The {dtype} peak of the {self.name} cannot be derived here: no document that we "
                f"read gives the FLOP per clock of its units for {dtype}. Use peak({dtype!r}), the "
                f"quoted value."
            )
        missing = [name for name in names if isinstance(name, str) and getattr(self, name) is None]
        if missing:
            raise ValueError(
                f"The {dtype} peak of the {self.name} cannot be derived: no document gives its "
                f"{' and '.join(missing)}. Use peak({dtype!r}), the quoted value."
            )
        units = {f.name: f.metadata["unit"] for f in facts_of(self.__class__)}
        factors = tuple(
            Factor(getattr(self, name), _LABELS.get(name, units[name]))
            if isinstance(name, str)
            else name
            for name in names
        )
        doubts = tuple(self.unconfirmed[name] for name in names if name in self.unconfirmed)
        return Derivation(factors, units[f"peak_{dtype}"], doubts)

    def _factors(self, dtype: Dtype) -> tuple[str | Factor, ...]:
        """Return the factors of a peak: names of facts, or plain numbers."""
        raise NotImplementedError


#: How the factors of a derivation are called, where that is shorter than the fact's meaning.
_LABELS = {
    "sms": "SMs",
    "fp32_cores_per_sm": "CUDA cores/SM",
    "tensor_cores_per_sm": "tensor cores/SM",
    "cores": "cores",
    "mxus_per_core": "MXUs/core",
    "fma_units": "FMA units/core",
}
_FMA = Factor(2, "FLOP/FMA")


@dataclass(frozen=True, kw_only=True, repr=False)
class Gpu(Chip):
    """An NVIDIA GPU: what it is made of and what one of its SMs can hold."""

    die: str | None = fact("die")
    die_sms: int | None = fact("SMs on the full die")
    sms: int = fact("SMs", required=True)
    compute_capability: str = fact("compute capability", required=True)
    clock_base_hz: float | None = fact("base clock", "Hz")
    clock_boost_hz: float = fact("boost clock", "Hz", required=True)
    clock_tensor_hz: float | None = fact("clock of the tensor peaks", "Hz")
    fp32_cores_per_sm: int = fact("CUDA cores per SM", required=True)
    tensor_cores_per_sm: int = fact("tensor cores per SM", required=True)
    tensor_flop_per_clock_fp16: int | None = fact("fp16 per tensor core", "FLOP/clock")
    tensor_flop_per_clock_bf16: int | None = fact("bf16 per tensor core", "FLOP/clock")
    tensor_flop_per_clock_int8: int | None = fact("int8 per tensor core", "op/clock")
    special_functions_per_clock: int | None = fact("special functions per SM", "op/clock")
    l2_bytes: int = fact("L2 cache", "bytes", required=True)
    l1_and_shared_bytes: int = fact("L1 and shared memory per SM", "bytes", required=True)
    shared_per_sm_bytes: int = fact("shared memory per SM", "bytes", required=True)
    shared_per_block_bytes: int = fact("shared memory per block", "bytes", required=True)
    shared_reserved_per_block_bytes: int = fact("reserved for each block", "bytes", required=True)
    shared_unit_bytes: int = fact("shared memory is given out in", "bytes", required=True)
    shared_bytes_per_clock: int = fact("shared memory per SM", "bytes/clock", required=True)
    registers_per_sm: int = fact("32-bit registers per SM", required=True)
    registers_per_thread: int = fact("registers per thread, at most", required=True)
    register_unit: int = fact("registers of a warp are given out in", required=True)
    partitions_per_sm: int = fact("partitions of an SM", required=True)
    warp_size: int = fact("threads per warp", required=True)
    warps_per_sm: int = fact("warps per SM", required=True)
    threads_per_sm: int = fact("threads per SM", required=True)
    threads_per_block: int = fact("threads per block", required=True)
    blocks_per_sm: int = fact("blocks per SM", required=True)

    def shared_bandwidth(self, clock_hz: float | None = None) -> float:
        """Return the bandwidth of all shared memories together in bytes/s.

        Every SM moves `shared_bytes_per_clock`: 32 banks of 4 bytes. The clock is by default that
        of the tensor peaks, or the boost clock where the two are not told apart.
        """
        clock = clock_hz or self.clock_tensor_hz or self.clock_boost_hz
        return self.sms * self.shared_bytes_per_clock * clock

    def waves(self, tiles: int, blocks_per_sm: int = 1) -> Waves:
        """Return the rounds in which `tiles` equal blocks run, and how full they are.

        Parameters
        ----------
        tiles : int
            Number of blocks, at least 1.
        blocks_per_sm : int
            Blocks of this kernel that one SM holds at a time.

        Raises
        ------
        ValueError
            If a number is not a positive integer or an SM cannot hold that many blocks.
        """
        for what, value in (("tiles", tiles), ("blocks_per_sm", blocks_per_sm)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"waves() expects a positive whole number of {what}, not {value}.")
        if blocks_per_sm > self.blocks_per_sm:
            raise ValueError(
                f"An SM of the {self.name} holds at most {self.blocks_per_sm} blocks, "
                f"not {blocks_per_sm}."
            )
        return Waves(tiles, self.sms * blocks_per_sm)

    def _factors(self, dtype: Dtype) -> tuple[str | Factor, ...]:
        if dtype == "fp32":
            return "sms", "fp32_cores_per_sm", _FMA, "clock_boost_hz"
        per_clock = f"tensor_flop_per_clock_{dtype}"
        if getattr(self, per_clock, None) is None:
            return ()
        return "sms", "tensor_cores_per_sm", per_clock, "clock_tensor_hz"


@dataclass(frozen=True, kw_only=True, repr=False)
class Tpu(Chip):
    """A Google TPU: a few large systolic arrays beside a vector unit."""

    cores: int = fact("TensorCores", required=True)
    mxus_per_core: int = fact("MXUs per core", required=True)
    mxu_size: int = fact("rows and columns of an MXU", required=True)
    clock_hz: float | None = fact("clock", "Hz")
    vmem_bytes: int | None = fact("VMEM", "bytes")

    def _factors(self, dtype: Dtype) -> tuple[str | Factor, ...]:
        if dtype != "bf16":
            return ()
        array = Factor(self.mxu_size**2, "FMA/MXU/clock")
        return "cores", "mxus_per_core", array, _FMA, "clock_hz"


@dataclass(frozen=True, kw_only=True, repr=False)
class Cpu(Chip):
    """A server CPU, for contrast. Its makers quote no peak: it is derived, at the base clock."""

    cores: int = fact("cores", required=True)
    threads_per_core: int = fact("threads per core", required=True)
    clock_base_hz: float = fact("base clock", "Hz", required=True)
    clock_boost_hz: float = fact("boost clock of one core", "Hz", required=True)
    simd_bits: int = fact("SIMD width", "bits", required=True)
    fma_units: int = fact("FMA units per core", required=True)
    l3_bytes: int | None = fact("L3 cache", "bytes")

    def peak(self, dtype: Dtype, *, sparse: bool = False) -> float:
        """Return the peak for fp32 or fp64 in FLOP/s, derived at the base clock."""
        if sparse:
            raise ValueError(f"The {self.name} is a CPU: it has no sparse peaks.")
        return self.derived_peak(dtype).value

    def _factors(self, dtype: Dtype) -> tuple[str | Factor, ...]:
        bits = {"fp32": 32, "fp64": 64}.get(dtype)
        if bits is None:
            return ()
        return (
            "cores",
            "fma_units",
            Factor(self.simd_bits // bits, f"{dtype} lanes"),
            _FMA,
            "clock_base_hz",
        )


#: The kinds of chips by the name of their tables in specs.toml.
KINDS: dict[str, type[Chip]] = {"gpu": Gpu, "tpu": Tpu, "cpu": Cpu}


def facts_of(kind: type[Chip]) -> list[dataclasses.Field]:
    """Return the dataclass fields of `kind` that are facts of specs.toml."""
    return [f for f in dataclasses.fields(kind) if f.metadata]


def _check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"There is no number format {dtype!r}. {closest(str(dtype), DTYPES)}")
