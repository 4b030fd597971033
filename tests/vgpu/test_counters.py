"""Counts of kernels whose traffic is known by arithmetic."""

import numpy as np
import pytest

pytest.importorskip("cuda.bindings.nvrtc")

from course import gpu


def count(source, grid, block, *arguments, shared=0, **options):
    with gpu.trace(**options) as trace:
        gpu.compile(source)["k"][grid, block, shared](*arguments)
    return trace


COPY = "__global__ void k(const T* a, T* b) { int i = threadIdx.x; b[i] = a[INDEX]; }"


@pytest.mark.parametrize(
    ("kind", "index", "sectors"),
    [
        ("float", "i", 4), ("float", "i + 1", 5), ("float", "i + 8", 4), ("float", "31 - i", 4),
        ("float", "2 * i", 8), ("float", "4 * i", 16), ("float", "8 * i", 32),
        ("float", "99 * i", 32),
        ("short", "i", 2), ("double", "i", 8), ("float", "0", 1), ("char", "i", 1),
        ("float", "3 * i", 12), ("long long", "64 * i", 32), ("float", "i / 16 * 512 + i % 16", 4),
    ],
)  # fmt: skip
def test_sectors_of_a_warp(kind, index, sectors):
    dtype = {"float": "f4", "short": "i2", "double": "f8", "char": "i1", "long long": "i8"}[kind]
    source = COPY.replace("T", kind).replace("INDEX", index)
    trace = count(source, 1, 32, np.zeros(4096, dtype), np.zeros(32, dtype))
    assert trace.total.global_loads == 1
    assert trace.total.load_sectors == sectors


def test_a_vector_load_moves_sixteen_sectors_in_one_request():
    source = """__global__ void k(const float4* a, float* b) {
        float4 v = a[threadIdx.x];
        b[threadIdx.x] = v.x + v.w;
    }"""
    total = count(source, 1, 32, np.zeros(128, np.float32), np.zeros(32, np.float32)).total
    assert (total.global_loads, total.load_sectors, total.bytes_loaded) == (1, 16, 512)


SHARED = """__global__ void k(float* a) {
    extern __shared__ float s[];
    for (int i = threadIdx.x; i < 4096; i += 32) s[i] = i;
    __syncwarp();
    a[threadIdx.x] = s[INDEX];
}"""


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [(f"{s} * threadIdx.x", np.gcd(s, 32)) for s in (1, 2, 3, 4, 5, 6, 8, 16, 32, 33)]
    + [("0", 1), ("threadIdx.x / 2", 1), ("threadIdx.x ^ 5", 1), ("threadIdx.x % 16 * 17", 1)]
    + [
        ("threadIdx.x % 16 * 16 + threadIdx.x / 16", 8),
        ("threadIdx.x % 16 * 17 + threadIdx.x / 16", 2),
    ],
)
def test_wavefronts_of_shared_memory(index, wavefronts):
    trace = count(SHARED.replace("INDEX", index), 1, 32, np.zeros(32, np.float32), shared=4 * 4096)
    line = trace.by_line()[("cell.cu", 5)]
    assert line.shared_loads == 1
    assert line.wavefronts == wavefronts
    assert line.conflicts == wavefronts - 1


@pytest.mark.parametrize(("kind", "passes"), [("float2", 2), ("float4", 4)])
@pytest.mark.parametrize("lanes", [32, 8])
def test_wide_shared_accesses_take_halves_and_quarters(kind, passes, lanes):
    source = f"""__global__ void k({kind}* a) {{
        __shared__ {kind} s[32];
        int i = threadIdx.x;
        if (i < {lanes}) s[i] = a[i];
        __syncwarp();
        if (i < {lanes}) a[i] = s[{lanes} - 1 - i];
    }}"""
    a = np.arange(128, dtype=np.float32)
    total = count(source, 1, 32, a).total
    # eight lanes lie in one half, and in one quarter
    expected = passes if lanes == 32 else 1
    assert (total.shared_stores, total.shared_loads) == (1, 1)
    assert total.wavefronts == 2 * expected
    assert total.conflicts == 0


def test_flops_of_a_matrix_product_are_two_n_cubed():
    n = 24
    source = """__global__ void k(const float* a, const float* b, float* c, int n) {
        int x = threadIdx.x, y = threadIdx.y;
        float sum = 0;
        for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
        c[y * n + x] = sum;
    }"""
    a, b = np.random.default_rng(0).standard_normal((2, n, n), dtype=np.float32)
    c = np.full((n, n), np.nan, np.float32)
    trace = count(source, 1, (n, n), a, b, c, n)
    np.testing.assert_allclose(c, a.astype(float) @ b, rtol=1e-4, atol=1e-5)
    assert trace.total.flops == 2 * n**3
    assert trace.total.bytes_loaded == 2 * 4 * n**3
    counts = trace.launches[0]
    assert (counts.unique_loaded, counts.unique_stored) == (2 * 4 * n * n, 4 * n * n)


def test_divergence_shows_in_lanes_per_instruction():
    source = """__global__ void k(float* a) {
        int i = threadIdx.x;
        float v = a[i];
        if (i CONDITION) {
            for (int t = 0; t < 50; t++) v = v * 1.5f + 1;
        } else {
            for (int t = 0; t < 50; t++) v = v * 0.5f - 1;
        }
        a[i] = v;
    }"""
    lanes = {}
    for condition in ("% 2", "/ 32 % 2"):
        trace = count(source.replace("CONDITION", condition), 1, 64, np.ones(64, np.float32))
        lanes[condition] = trace.total.lanes_per_instruction
    assert lanes["% 2"] < 18 < 31 < lanes["/ 32 % 2"]


def test_equal_runs_give_equal_counts():
    source = """__global__ void k(int* a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int x = i, steps = 0;
        while (x > 1) { x = x % 2 ? 3 * x + 1 : x / 2; steps++; }
        if (i < n) atomicAdd(&a[steps % 16], 1);
    }"""

    def run(schedule):
        a = np.zeros(16, np.int32)
        trace = count(source, 3, 96, a, 250, schedule=schedule, seed=5)
        return trace.total.to_dict(), a.tolist()

    first = run("round-robin")
    assert first[0]["atomics"] == 250
    # the order of warps changes nothing; interrupting them (random) may part lanes, but repeats
    assert run("round-robin") == run("reverse") == run("greedy") == first
    assert run("random") == run("random")
    assert run("random")[1] == first[1]


def test_the_table_quotes_the_source():
    source = "__global__ void k(float* a) {\n    a[threadIdx.x] += 1;\n}"
    text = str(count(source, 2, 32, np.zeros(64, np.float32)).table())
    assert "a[threadIdx.x] += 1;" in text and "all lines" in text


def test_a_pattern_shows_which_lane_touched_what():
    source = """__global__ void k(const float* a, float* b) {
        __shared__ float s[32];
        if (threadIdx.x < 20) s[threadIdx.x] = a[3 * threadIdx.x + 1];
        __syncwarp();
        if (threadIdx.x < 20) b[threadIdx.x] = s[19 - threadIdx.x];
    }"""
    trace = count(source, 1, 32, np.ones(64, np.float32), np.zeros(32, np.float32))
    patterns = {(p.space, p.kind): p for p in trace.launches[0].patterns}
    load = patterns["global", "load"]
    assert (load.array, load.line, load.size) == ("a", 3, 4)
    assert load.offsets[:3] == (4, 16, 28) and load.offsets[20:] == (None,) * 12
    assert patterns["shared", "load"].offsets[:2] == (76, 72)
    assert patterns["global", "store"].array == "b"


def test_an_atomic_reads_and_writes_what_it_updates():
    source = "__global__ void k(int* a) { atomicAdd(&a[threadIdx.x % 24], 1); }"
    counts = count(source, 2, 64, np.zeros(32, np.int32)).launches[0]
    assert (counts.unique_loaded, counts.unique_stored) == (4 * 24, 4 * 24)
