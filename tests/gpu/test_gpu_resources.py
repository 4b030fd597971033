import re
import struct

import pytest

from course import gpu

SOURCE = """
__constant__ float table[100];
__device__ __forceinline__ float twice(float x) {
    return 2 * x;
}
extern "C" __global__ void light(const float* x, float* y, int n) {
    __shared__ float tile[200];
    tile[threadIdx.x] = x[threadIdx.x] * table[n];
    __syncthreads();
    y[threadIdx.x] = fmaf(tile[n], 1.5f, 3.0f) + twice(x[n]);
}
__global__ void stacked(const float* x, float* y, int n) {
    float local[100];
    for (int i = 0; i < n; i++) local[i] = x[i];
    y[0] = local[int(x[n])];
}
__global__ void heavy(const float* x, float* y, int n) BOUNDS_BODY
"""
BODY = """{
    float a[64];
    #pragma unroll
    for (int i = 0; i < 64; i++) a[i] = x[i * n + threadIdx.x];
    #pragma unroll
    for (int i = 0; i < 64; i++) y[i * n + threadIdx.x] = a[i] * a[(i * 7) % 64];
}"""
SPILLING = SOURCE.replace(
    "__global__ void heavy", "__global__ void __launch_bounds__(1024, 2) heavy"
)


def sections(cubin: bytes) -> dict[str, bytes]:
    """Read an ELF file's sections: an independent look at what the assembler made."""
    (at,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    rows = [struct.unpack_from("<IIQQQQ", cubin, at + i * size) for i in range(count)]
    start = rows[names][4]
    found = {}
    for name, kind, _, _, offset, length in rows:
        title = cubin[start + name : cubin.index(b"\0", start + name)].decode()
        found[title] = bytes(length) if kind == 8 else cubin[offset : offset + length]
    return found


def numbers_in_elf(cubin: bytes, attribute: int) -> dict[str, int]:
    """Return a number for each function from .nv.info: 0x2f registers, 0x11 stack frame."""
    parts = sections(cubin)
    info, symbols, strings = parts[".nv.info"], parts[".symtab"], parts[".strtab"]
    found, at = {}, 0
    while at < len(info):
        form, kind, size = struct.unpack_from("<BBH", info, at)
        if form == 4:
            if kind == attribute:
                symbol, number = struct.unpack_from("<II", info, at + 4)
                (name,) = struct.unpack_from("<I", symbols, symbol * 24)
                found[strings[name : strings.index(b"\0", name)].decode()] = number
            at += 4 + size
        else:
            at += 4
    return found


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_they_are_what_the_machine_code_says(arch):
    module = gpu.compile(SPILLING.replace("BOUNDS_BODY", BODY), arch=arch)
    report, cubin = module.resources(), module.cubin()
    registers, frames = numbers_in_elf(cubin, 0x2F), numbers_in_elf(cubin, 0x11)
    parts = sections(cubin)
    assert set(report) == {"light", "stacked", "heavy"}
    for name in report:
        entry = module[name].entry
        assert report[name].registers == registers[entry] > 0
        assert report[name].stack == frames[entry]
        shared = len(parts.get(f".nv.shared.{entry}", b""))
        if shared and arch == "sm_90a":
            shared -= 1024  # of each block, kept by the system since Hopper
        assert report[name].shared == shared
        own = len(parts.get(f".nv.constant2.{entry}", b""))
        assert report[name].constant == len(parts[".nv.constant3"]) + own
    assert report["light"].shared == 800 and report["light"].barriers == 1
    assert report["light"].constant >= 400 and report["stacked"].stack >= 400


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_spills_of_a_kernel_that_must_spill(arch):
    calm = gpu.compile(SOURCE.replace("BOUNDS_BODY", BODY), arch=arch).resources()
    assert calm["heavy"].spill_stores == calm["heavy"].spill_loads == 0
    assert calm["heavy"].registers > 64
    assert "no spills" in str(calm["heavy"])
    tight = gpu.compile(SPILLING.replace("BOUNDS_BODY", BODY), arch=arch)
    usage = tight.resources()["heavy"]
    assert usage.registers <= 32  # two blocks of 1024 threads share 65,536 registers
    assert usage.spill_stores > 0 and usage.spill_loads > 0 and usage.stack > 0
    assert f"SPILLS ({usage.spill_stores} bytes stored" in str(usage)
    heavy = tight.sass().split("heavy:")[1]
    stored = sum(int(bits or 32) // 8 for bits in re.findall(r"\bSTL(?:\.(\d+))?\b", heavy))
    loaded = sum(
        int(bits or 32) // 8 for bits in re.findall(r"\bLDL(?:\.LU)?(?:\.(\d+))?\b", heavy)
    )
    assert (stored, loaded) == (usage.spill_stores, usage.spill_loads)


def test_spills_by_option():
    module = gpu.compile(SOURCE.replace("BOUNDS_BODY", BODY), options=["--maxrregcount=24"])
    usage = module.resources()["heavy"]
    assert usage.registers <= 24 and usage.spill_stores > 0


def test_remarks_of_the_assembler():
    source = """
        __global__ void f(float* x, int n) {
            asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
            x[n] = 1;
        }
    """
    report = gpu.compile(source).resources()
    assert any("(C7508)" in text and "setmaxnreg" in text for text in report.warnings)
    assert "warning: (C7508)" in str(report)
    quiet = gpu.compile(SOURCE.replace("BOUNDS_BODY", BODY)).resources()
    assert quiet.warnings == ()


def test_one_line_a_kernel():
    text = str(gpu.compile("__global__ void f(int* x) { x[0] = 1; }").resources())
    assert re.fullmatch(r"f: \d+ registers, 0 bytes shared, no spills", text)


# --- machine code ---------------------------------------------------------------------------------


def test_sass_shows_instructions_under_their_lines():
    text = gpu.compile(SOURCE.replace("BOUNDS_BODY", BODY)).sass()
    light = text.split("light:")[1].split("\n\n")[0]
    assert "FFMA" in light and "BAR.SYNC" in light and "STS" in light and "EXIT" in light
    at = light.index("// cell.cu:10  y[threadIdx.x] = fmaf(tile[n], 1.5f, 3.0f) + twice(x[n]);")
    assert light.index("BAR.SYNC") < light.index("FFMA", at)
    assert "cell.cu:8  tile[threadIdx.x]" in light
    assert not light.rstrip().endswith("NOP;")
    assert ".section" not in text and "/*0000*/" not in text


def test_sass_keeps_the_order_of_the_source_and_the_names():
    source = "namespace a { __global__ void g(int* x) { x[0] = 1; } }" + SOURCE
    text = gpu.compile(source.replace("BOUNDS_BODY", BODY)).sass()
    module = gpu.compile(source.replace("BOUNDS_BODY", BODY))
    assert re.findall(r"^(\S+):$", text, re.M) == list(module)


def test_sass_of_hopper():
    module = gpu.compile("""
        __global__ void __launch_bounds__(128) f(float* x, unsigned long long a) {
            float d[4] = {};
            asm volatile("wgmma.fence.sync.aligned;");
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
                "{%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;"
                : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a));
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
            x[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
        }
    """)
    assert "HGMMA.64x8x16.F32.BF16" in module.sass()


def test_calls_and_inlining_are_visible():
    text = gpu.compile("""\
__device__ __noinline__ float far(float x) { return x * x; }
__device__ float near(float x) {
    return far(x) + 1;
}
__global__ void f(float* x) {
    x[0] = near(x[1]);
}
""").sass()
    assert "CALL.REL" in text and "far" in text
    inlined = "// cell.cu:3 (inlined at cell.cu:6)  return far(x) + 1;"
    assert inlined in text
    lines = [line.strip() for line in text.splitlines()]
    below = [lines[i + 1] for i, line in enumerate(lines) if line == inlined]
    assert all(re.match(r"[0-9a-f]{4} ", line) for line in below)  # not another place


def test_without_the_disassembler(monkeypatch, tmp_path):
    from course.gpu import disassemble

    disassemble._nvdisasm.cache_clear()
    monkeypatch.setattr(disassemble, "_WHEEL", "no-such-wheel")
    monkeypatch.setattr(disassemble.shutil, "which", lambda *_, **__: None)
    try:
        with pytest.raises(gpu.NoCompiler, match="pip install"):
            gpu.compile("__global__ void f() {}").sass()
    finally:
        disassemble._nvdisasm.cache_clear()
