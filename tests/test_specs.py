"""The data-sheet numbers: what the course derives from them, and that the file is in order.

The expected numbers are computed here by hand, from numbers written here, and never with the code
under test.
"""

import doctest
import math
import re
import tomllib

import pytest

from course import specs

TEXT = specs.PATH.read_text(encoding="utf-8")
DATA = tomllib.loads(TEXT)
CHIPS = [(kind, name) for kind in ("gpu", "tpu", "cpu") for name in DATA[kind]]
NAMES = [name for _, name in CHIPS]


def written_facts(kind, name):
    """Facts of a chip as the file has them, bases followed: {key: (value, source id)}."""
    entry = DATA[kind][name]
    base = entry.get("base")
    merged = {}
    if base is not None:
        home = next(k for k in ("family", "gpu", "tpu", "cpu") if base in DATA.get(k, {}))
        merged = written_facts(home, base)
    for document, facts in entry["facts"].items():
        merged |= {key: (value, document) for key, value in facts.items()}
    return merged


# ------------------------------------------------------------------ the numbers that lectures use


@pytest.mark.parametrize(
    ("name", "tensor", "cuda_cores", "tolerance"),
    [
        ("A100 40GB", 312 / 1.555, 19.5 / 1.555, 1e-9),
        ("A100 80GB", 312 / 2.039, 19.5 / 2.039, 1e-9),
        ("H100 SXM", 989.4 / 3.35, 66.9 / 3.35, 1e-9),
        ("H200 SXM", 989.4 / 4.8, 66.9 / 4.8, 1e-9),
    ],
)
def test_ridge_points(name, tensor, cuda_cores, tolerance):
    """Peak over bandwidth, in FLOP/byte: tera over tera."""
    gpu = specs.gpu(name)
    assert gpu.ridge("bf16") == pytest.approx(tensor, rel=tolerance)
    assert gpu.ridge("fp32") == pytest.approx(cuda_cores, rel=tolerance)


def test_ridge_points_as_the_lectures_print_them():
    printed = {"A100 40GB": 200.6, "A100 80GB": 153.0, "H100 SXM": 295.3, "H200 SXM": 206.1}
    assert {n: round(specs.gpu(n).ridge("bf16"), 1) for n in printed} == printed
    printed = {"A100 40GB": 12.5, "A100 80GB": 9.56, "H100 SXM": 20.0, "H200 SXM": 13.9}
    assert {n: specs.gpu(n).ridge("fp32") for n in printed} == pytest.approx(printed, rel=5e-3)
    # the classic mistake: the sparse peak in a dense question
    assert round(specs.gpu("H100 SXM").ridge("bf16", sparse=True), 1) == 590.7


def test_h100_peaks_derived():
    h100 = specs.gpu("H100 SXM")
    tensor, fp32 = h100.derived_peak("bf16"), h100.derived_peak("fp32")
    assert tensor.value == 132 * 4 * 1024 * 1_830_000_000
    assert fp32.value == 132 * 128 * 2 * 1_980_000_000
    assert [factor.value for factor in tensor.factors] == [132, 4, 1024, 1.83e9]
    assert h100.peak("bf16") / h100.peak("fp32") == pytest.approx(14.8, abs=0.05)
    # at equal clock the ratio is exactly 16: 4 x 1024 against 128 x 2 FLOP a clock and SM
    at_equal_clock = (tensor.value / 1.83e9) / (fp32.value / 1.98e9)
    assert at_equal_clock == 16.0
    printed = str(tensor)
    for part in ("132 SMs", "4 tensor cores/SM", "1,024 FLOP/clock", "1.83 GHz", "989.43 TFLOP/s"):
        assert part in printed


def test_a100_peaks_derived():
    a100 = specs.gpu("A100 40GB")
    assert a100.derived_peak("bf16").value == 108 * 4 * 512 * 1_410_000_000
    assert a100.derived_peak("fp32").value == 108 * 64 * 2 * 1_410_000_000
    assert a100.peak("bf16") / a100.peak("fp32") == 16.0
    assert a100.peak("tf32") / a100.peak("fp32") == 8.0


@pytest.mark.parametrize(
    ("name", "tiles", "waves", "percent"),
    [
        ("A100 40GB", 7 * 14, 1, 90.7),
        ("A100 40GB", 8 * 15, 2, 55.6),
        ("H100 SXM", 98, 1, 74.2),
        ("H100 SXM", 120, 1, 90.9),
        ("H100 SXM", 128, 1, 97.0),
        ("H100 SXM", 153, 2, 58.0),
        ("H200 SXM", 132, 1, 100.0),
        ("H200 SXM", 133, 2, 50.4),
    ],
)
def test_waves(name, tiles, waves, percent):
    result = specs.gpu(name).waves(tiles)
    assert result.count == waves
    assert 100 * result.utilisation == pytest.approx(percent, abs=0.05)


def test_waves_count_like_a_machine_that_fills_up():
    """Against a simulation that deals blocks out one by one."""
    gpu = specs.gpu("T4")
    for per_sm in (1, 3):
        for tiles in (1, 39, 40, 41, 79, 80, 81, 119, 120, 121, 997):
            left, rounds = tiles, 0
            while left > 0:
                left -= 40 * per_sm
                rounds += 1
            result = gpu.waves(tiles, per_sm)
            assert result.count == rounds
            assert result.utilisation == tiles / (rounds * 40 * per_sm)


@pytest.mark.parametrize(
    ("name", "clock", "terabytes", "times_memory"),
    [
        ("A100 40GB", 1.41e9, 19.5, 12.5),
        ("A100 80GB", 1.41e9, 19.5, 9.6),
        ("H100 SXM", 1.83e9, 30.9, 9.2),
        ("H200 SXM", 1.83e9, 30.9, 6.4),
    ],
)
def test_shared_memory_against_memory(name, clock, terabytes, times_memory):
    gpu = specs.gpu(name)
    sms = {"A": 108, "H": 132}[name[0]]
    assert gpu.shared_bandwidth() == sms * 32 * 4 * clock
    assert gpu.shared_bandwidth() / 1e12 == pytest.approx(terabytes, abs=0.05)
    ratio = gpu.shared_bandwidth() / gpu.memory_bandwidth
    assert ratio == pytest.approx(times_memory, abs=0.05)
    assert gpu.shared_bandwidth(1.98e9) == pytest.approx(sms * 128 * 1.98e9)


def occupancy(gpu, threads, registers, shared):
    """Blocks and warps that an SM holds: NVIDIA's rules, from the limits in the file."""
    warps = math.ceil(threads / gpu.warp_size)
    per_warp = math.ceil(registers * gpu.warp_size / gpu.register_unit) * gpu.register_unit
    warps_by_registers = gpu.partitions_per_sm * (
        gpu.registers_per_sm // gpu.partitions_per_sm // per_warp
    )
    used = shared + gpu.shared_reserved_per_block_bytes
    used = math.ceil(used / gpu.shared_unit_bytes) * gpu.shared_unit_bytes
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        warps_by_registers // warps,
        gpu.shared_per_sm_bytes // used if used else gpu.blocks_per_sm,
    )
    return blocks, blocks * warps / gpu.warps_per_sm


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared_kib", "blocks", "share"),
    [
        ("A100 40GB", 256, 64, 48, 3, 0.375),
        ("H100 SXM", 256, 64, 48, 4, 0.5),
        ("A100 40GB", 256, 33, 0, 6, 0.75),
        ("H100 SXM", 1024, 40, 0, 1, 0.5),
        ("H100 SXM", 32, 16, 0, 32, 0.5),
        ("H100 SXM", 384, 168, 192, 1, 0.1875),
        ("RTX 4090", 32, 16, 0, 24, 0.5),
        ("T4", 32, 16, 0, 16, 0.5),
    ],
)
def test_limits_give_the_known_occupancies(name, threads, registers, shared_kib, blocks, share):
    gpu = specs.gpu(name)
    assert occupancy(gpu, threads, registers, 1024 * shared_kib) == (blocks, share)


def test_exponentials_against_matmul():
    """H100: an attention score costs 4 d matmul FLOP and one exponential."""
    h100 = specs.gpu("H100 SXM")
    exponentials = 132 * h100.special_functions_per_clock * 1.83e9
    assert exponentials == pytest.approx(3.86e12, rel=2e-3)
    for d, ratio in ((128, 0.5), (64, 1.0)):
        assert (1 / exponentials) / (4 * d / 989.4e12) == pytest.approx(ratio, abs=0.005)


def test_cpu_peak():
    cpu = specs.chip("EPYC 9654")
    assert cpu.peak("fp32") == 96 * 2 * 8 * 2 * 2.4e9
    assert cpu.peak("fp64") == cpu.peak("fp32") / 2
    assert cpu.memory_bandwidth == pytest.approx(12 * 8 * 4800e6)
    assert cpu.ridge("fp32") == pytest.approx(16.0)
    with pytest.raises(ValueError, match="cannot be derived"):
        cpu.peak("bf16")
    with pytest.raises(ValueError, match="no sparse peaks"):
        cpu.peak("fp32", sparse=True)


# ----------------------------------------------------------------- the file agrees with the classes


@pytest.mark.parametrize(("kind", "name"), CHIPS)
def test_dataclass_says_what_the_file_says(kind, name):
    chip = specs.chip(name)
    written = written_facts(kind, name)
    assert len(written) >= 8
    for key, (value, document) in written.items():
        assert getattr(chip, key) == value, key
        source = specs.source(name, key)
        assert source.document == DATA["sources"][document]["document"]
        assert source.url == DATA["sources"][document]["url"]
    fields = {f.name for f in chip.__dataclass_fields__.values() if f.metadata}
    for key in fields - written.keys():
        assert getattr(chip, key) is None, key


@pytest.mark.parametrize("name", DATA["sources"])
def test_every_source_has_a_document_an_address_and_a_date(name):
    source = DATA["sources"][name]
    assert len(source["document"]) > 10
    assert re.match(r"https?://[^/]+\.[^/]+/", source["url"])
    assert 2020 <= source["date"].year <= 2100


@pytest.mark.parametrize("name", NAMES)
def test_sparse_stays_apart_from_dense(name):
    chip = specs.chip(name)
    for dtype in specs.DTYPES:
        sparse = getattr(chip, f"peak_{dtype}_sparse", None)
        if sparse is not None:
            assert sparse == chip.peak(dtype, sparse=True)
            assert chip.peak(dtype) == pytest.approx(sparse / 2, rel=1e-3)
        elif isinstance(chip, specs.Gpu):
            with pytest.raises(ValueError, match=f"No sparse {dtype} peak"):
                chip.peak(dtype, sparse=True)


@pytest.mark.parametrize("name", NAMES)
def test_derived_peaks_agree_with_quoted_ones_or_say_why(name):
    chip, agreed = specs.chip(name), 0
    for dtype in specs.DTYPES:
        try:
            derived = chip.derived_peak(dtype)
        except ValueError:
            continue
        gap = abs(derived.value / chip.peak(dtype) - 1)
        assert gap < 6e-3 or any("quoted" in doubt for doubt in derived.doubts), (dtype, gap)
        agreed += gap < 6e-3
    assert agreed >= 1 or name == "B200"


def test_a_doubtful_factor_shows_in_the_derivation():
    derived = specs.gpu("B200").derived_peak("fp32")
    assert "2.11 GHz" in str(derived)
    needed = 80e12 / (148 * 128 * 2)
    assert needed == pytest.approx(2.11e9, rel=1e-3)
    assert specs.source("B200", "clock_boost_hz").unconfirmed
    assert not specs.gpu("H100 SXM").derived_peak("bf16").doubts


def test_memory_bandwidth_of_the_h200_from_its_bus():
    """6,016 bits at 3,201 MHz, two transfers a clock, as the device reports them."""
    from_bus = 6016 / 8 * 3201e6 * 2
    assert specs.gpu("H200").memory_bandwidth == pytest.approx(from_bus, rel=5e-3)


# -------------------------------------------------------------------------------------- look-ups


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("H200", "H200 SXM"),
        ("h100 sxm", "H100 SXM"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("Tesla T4", "T4"),
        ("NVIDIA B200", "B200"),
        ("tpu-v5e", "TPU v5e"),
        ("AMD EPYC 9654", "EPYC 9654"),
    ],
)
def test_names_people_and_drivers_use(said, meant):
    assert specs.chip(said).name == meant


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("A100", ["A100 40GB", "A100 80GB"]),
        ("H100", ["H100 SXM", "H100 PCIe"]),
        ("H300 SXM", ["H100 SXM", "H200 SXM"]),
        ("qwxz", ["A100 40GB", "T4", "EPYC 9654"]),
    ],
)
def test_unclear_names_are_answered_with_names(said, named):
    with pytest.raises(ValueError) as error:
        specs.chip(said)
    assert all(name in str(error.value) for name in [said, *named])


def test_gpu_refuses_what_is_none():
    with pytest.raises(ValueError, match=r"not a GPU.*specs\.chip\('TPU v4'\)"):
        specs.gpu("TPU v4")
    assert specs.names(specs.Tpu) == ("TPU v4", "TPU v5e", "TPU v5p")


def test_unknown_peaks():
    with pytest.raises(ValueError, match="bf16"):
        specs.gpu("H100 SXM").peak("bfloat16")
    with pytest.raises(ValueError, match=r"No dense fp8 peak.*int8"):
        specs.gpu("A100 40GB").peak("fp8")
    with pytest.raises(ValueError, match="No dense bf16 peak"):
        specs.gpu("T4").ridge("bf16")
    with pytest.raises(ValueError, match="clock_tensor_hz"):
        specs.gpu("B200").derived_peak("bf16")
    with pytest.raises(ValueError, match=r"tf32.*cannot be derived"):
        specs.gpu("H100 SXM").derived_peak("tf32")


@pytest.mark.parametrize("bad", [0, -3, 2.5, "12"])
def test_waves_refuses_nonsense(bad):
    with pytest.raises(ValueError, match="positive whole number"):
        specs.gpu("T4").waves(bad)
    with pytest.raises(ValueError, match="at most 16 blocks"):
        specs.gpu("T4").waves(40, blocks_per_sm=17)


def test_chips_are_frozen_and_read_once():
    gpu = specs.gpu("T4")
    with pytest.raises(AttributeError):
        gpu.sms = 41
    assert specs.gpu("T4") is gpu


def test_source_of_a_fact():
    source = specs.source("H100 SXM", "peak_bf16")
    assert "white paper" in source.document
    assert str(source.date) in str(source)
    assert "1.98 GHz" in specs.source("H100 SXM", "clock_tensor_hz").note
    with pytest.raises(ValueError, match="Did you mean l2_bytes"):
        specs.source("T4", "l2")


# --------------------------------------------------------------------------------------- the table


def test_table_shows_values_sources_and_doubts():
    table = specs.table(["peak_bf16", "l2_bytes", "vmem_bytes"], ["H100 SXM", "T4", "TPU v4"])
    assert table._repr_markdown_() == str(table)
    lines = table.splitlines()
    assert lines[0].startswith("| chip | bf16 peak, dense | L2 cache | VMEM |")
    assert re.fullmatch(r"\| H100 SXM \| 989\.4 TFLOP/s \[\d\] \| 50 MiB \[\d\] \| – \|", lines[2])
    assert "| T4 | – | 4 MiB" in table
    assert DATA["sources"]["h100-paper"]["url"] in table
    marks = {int(n) for group in re.findall(r" \[([\d, ]+)\]", table) for n in group.split(",")}
    listed = {int(n) for n in re.findall(r"^(\d+)\. ", table, re.MULTILINE)}
    assert marks == listed
    doubtful = specs.table(["clock_hz"], ["TPU v5p"])
    assert "1.75 GHz?" in doubtful
    assert "Unconfirmed" in doubtful
    with pytest.raises(ValueError, match="Did you mean peak_bf16"):
        specs.table(["bf16"])


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (989.4e12, "FLOP/s", "989.4 TFLOP/s"),
        (1978.9e12, "FLOP/s", "1,978.9 TFLOP/s"),
        (18000e12, "FLOP/s", "18,000 TFLOP/s"),
        (3.35e12, "bytes/s", "3.35 TB/s"),
        (320e9, "bytes/s", "320 GB/s"),
        (1.83e9, "Hz", "1.83 GHz"),
        (228 * 1024, "bytes", "228 KiB"),
        (141 * 2**30, "bytes", "141 GiB"),
        (1023, "bytes", "1,023 bytes"),
        (0, "bytes", "0 bytes"),
        (700, "W", "700 W"),
        (12_582_912, "FLOP", "12.583 MFLOP"),
        (123456e12, "FLOP", "123.46 PFLOP"),
        (123456e12, "FLOP/s", "123,460 TFLOP/s"),
        (0, "FLOP", "0 FLOP"),
        (0.25, "FLOP/B", "0.25 FLOP/B"),
        (65536, "", "65,536"),
        ("HBM3", "", "HBM3"),
    ],
)
def test_quantity(value, unit, text):
    assert specs.quantity(value, unit) == text


# ----------------------------------------------------------------- a broken file is refused

H100 = '[gpu."H100 SXM".facts.h100-paper]\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (H100, H100 + "smss = 3\n", "H100 SXM: there is no fact 'smss'. Did you mean sms"),
        (H100, '[gpu."H100 SXM".facts.h100-papers]\n', "no source is called 'h100-papers'"),
        (H100, '[gpu."H100 SXM"]\nl2_bytes = 5\n' + H100, "Cannot declare|stands under no source"),
        ("\nsms = 132\nclock", '\nsms = "132"\nclock', "sms = '132' should be a int"),
        ("\nsms = 132\nclock", "\nsms = -1\nclock", "sms = -1 should be"),
        ("\nsms = 132\nclock", "\nsms = 145\nclock", "more SMs .145. than on its die"),
        ("\npeak_bf16 = 989.4e12", "\npeak_bf16 = 1978.9e12", "not twice the dense peak"),
        ("\npeak_bf16 = 989.4e12\n", "\n", "not twice the dense peak of None"),
        ('base = "sm_90"\naliases = ["H100"]', 'base = "sm_91"', "base 'sm_91' does not stand"),
        ('announced = "2022-03-22"', 'announced = "March"', "should be like 2022-03-22"),
        ("\nmemory_bandwidth = 3.35e12", "", "memory_bandwidth is missing"),
        (
            "date = 2026-11-30\n\n[sources.cccl]",
            "\n[sources.cccl]",
            "occupancy-header: date is missing",
        ),
        ('url = "https://developer', 'url = "developer', "a URL and a plain date"),
        ("[sources.cccl]", "[sources.cccl]\nauthor = 'x'", "unknown entries author"),
        (
            "# ---",
            "[sources.unused]\ndocument = 'a'\nurl = 'http://b.c/'\ndate = 2026-01-01\n# ---",
            "no fact uses the sources unused",
        ),
        ('\n[gpu."T4"]', '\n[gpu."T4"', "is not TOML"),
        (
            '[tpu."TPU v5p".unconfirmed]\nclock_hz',
            '[tpu."TPU v5p".unconfirmed]\nclock',
            "speaks of clock, which is not among its facts",
        ),
        (
            '[gpu."T4".facts.t4-sheet]\n',
            '[gpu."T4".facts.t4-sheet]\nsms = 40\n',
            "sms is given twice",
        ),
    ],
)
def test_a_broken_file_is_refused(old, new, message):
    assert old in TEXT
    with pytest.raises(ValueError, match=message):
        specs.Catalogue.read(TEXT.replace(old, new, 1))


def test_the_file_itself_is_accepted():
    assert tuple(specs.Catalogue.read(TEXT).chips) == specs.names()


def test_the_examples_in_the_documentation():
    assert doctest.testmod(specs).attempted >= 4
    assert doctest.testmod(specs).failed == 0


def test_table_calls_a_fact_as_the_chips_in_it_do():
    """A CPU's boost clock is that of one core, a GPU's that of all."""
    assert specs.table(["clock_boost_hz"], ["T4"]).startswith("| chip | boost clock |\n")
    assert specs.table(["clock_boost_hz"], ["EPYC 9654"]).startswith(
        "| chip | boost clock of one core |\n"
    )
