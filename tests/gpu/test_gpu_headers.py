import pytest

from course import gpu
from course.gpu import headers

SHIMS = sorted(p.name for p in headers.SHIMS.iterdir() if p.is_file())
NEED_LIBCUXX = {"limits", "type_traits"}


@pytest.mark.parametrize("name", SHIMS)
def test_each_host_header_can_be_included_twice(name):
    gpu.compile(
        f"#include <{name}>\n#include <{name}>\n__global__ void f(float* x) {{ x[0] = INFINITY; }}"
    )


@pytest.mark.parametrize("name", [n for n in SHIMS if n not in NEED_LIBCUXX])
def test_they_do_without_cudas_headers(name, monkeypatch):
    monkeypatch.setattr(headers, "system_folders", lambda: ())
    gpu.compile(f"#include <{name}>\n__global__ void f(uint32_t* x) {{ x[0] = UINT32_MAX; }}")


def test_nothing_needs_including():
    module = gpu.compile("""
        constexpr float LOWEST = -INFINITY;
        __constant__ float table[2] = {INFINITY, NAN};
        __global__ void f(float* x, uint8_t* bytes, int64_t n, uintptr_t at) {
            assert(n > 0);
            x[0] = LOWEST + table[1] + sqrtf(x[1]) + M_PI;
            bytes[n] = at % 7;
            printf("%d\\n", bytes[0]);
        }
    """)
    types = [p.type.text for p in module["f"].parameters]
    assert types == ["float*", "unsigned char*", "long long", "unsigned long long"]


def test_what_the_headers_promise():
    gpu.compile("""
        #include <cmath>
        #include <cstdint>
        #include <cstddef>
        #include <cfloat>
        #include <climits>
        #include <cstdio>
        #include <limits>
        #include <type_traits>
        #include <cuda.h>
        #include <cuda_fp16.h>
        #include <cuda_bf16.h>
        #include <cuda/ptx>
        static_assert(sizeof(std::uint64_t) == 8 && sizeof(std::int8_t) == 1);
        static_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);
        struct Pair { char first; double second; };
        static_assert(offsetof(Pair, second) == 8);
        static_assert(INT_MAX == 2147483647 && CHAR_BIT == 8 && UINT64_MAX == ~0ull);
        static_assert(FLT_MAX > 3.4e38f && DBL_MAX > 1.7e308 && FLT_EPSILON > 0);
        static_assert(std::is_same_v<int32_t, int>);
        static_assert(std::numeric_limits<float>::max() == FLT_MAX);
        __global__ void f(float* x, const __grid_constant__ CUtensorMap map) {
            std::size_t n = 0;
            std::nullptr_t null = nullptr;
            x[n] = std::sqrt(x[1]) + std::abs(x[2]) + std::fmax(x[3], x[4]) + std::isnan(x[5]);
            x[1] = float(M_PI) + NAN + (null == nullptr) + map.opaque[3];
        }
    """)


def test_math_of_std_stays_in_single_precision():
    ptx = gpu.compile("""
        #include <cmath>
        __global__ void f(float* x) { x[0] = std::sqrt(x[1]) + std::exp(x[2]) + std::floor(x[3]); }
    """).ptx()
    assert "f64" not in ptx


def test_tensor_maps_are_parameters_of_128_bytes():
    module = gpu.compile("""
        #include <cuda.h>
        __global__ void f(const __grid_constant__ CUtensorMap map, int* x) { x[0] = map.opaque[0]; }
    """)
    map_, _ = module["f"].parameters
    assert (map_.slot.size, map_.slot.align, map_.slot.kind) == (128, 64, "b")
    assert map_.name == "map" and map_.type.text == "CUtensorMap_st"


def test_the_courses_kernels_are_on_the_path(tmp_path, monkeypatch):
    monkeypatch.setattr(headers, "KERNELS", tmp_path)
    (tmp_path / "tile").mkdir()
    (tmp_path / "tile" / "tile.cuh").write_text("#define ROWS 64\n", "utf-8")
    gpu.compile('#include "tile/tile.cuh"\n__global__ void f(int* x) { x[0] = ROWS; }')


def test_a_header_beside_the_notebook_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.cuh").write_text("#define ROWS 64\n", "utf-8")
    gpu.compile('#include "mine.cuh"\n__global__ void f(int* x) { x[0] = ROWS; }')
