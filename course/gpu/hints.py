"""What usually lies behind an error of the compiler, for the errors that beginners meet."""

import difflib
import re

_HOST = re.compile(
    r"<<<|>>>|\bmain\s*\(|\bcuda(?:Malloc|Memcpy|Memset|Free|DeviceSynchronize|GetLastError|Event|"
    r"Stream|Error_t|Host|Launch)\w*|std::(?:cout|cerr|endl)"
)
#: What to say about host code in a source.
HOST_CODE = (
    "This is host code. Here a source holds kernels and the functions they call; Python does the "
    "rest: make arrays with NumPy or torch, then launch with kernel[grid, block](...)."
)

#: Names that need a header, by header.
_NEEDS = {
    "cuda_fp16.h": "half half2 __half __half2 __float2half __half2float __hadd __hmul __hfma",
    "cuda_bf16.h": "__nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 __float2bfloat16 "
    "__bfloat162float __floats2bfloat162_rn",
    "cuda_fp8.h": "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x4_e4m3",
    "mma.h": "nvcuda wmma",
    "cooperative_groups.h": "cooperative_groups cg",
    "cuda.h": "CUtensorMap",
    "climits": "INT_MAX INT_MIN UINT_MAX",
    "cfloat": "FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX",
    "math_constants.h": "CUDART_INF_F CUDART_NAN_F CUDART_PI_F CUDART_INF",
    "cuda/barrier": "cuda::barrier",
}

#: Headers that come with NVRTC.
_NVIDIA = ("mma.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "curand_kernel.h", "cuda_pipeline.h")

#: What people mean when they mistype.
_NAMES = re.findall(
    r"\w+",
    """
threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __syncthreads_count
__syncthreads_or __syncthreads_and __threadfence __threadfence_block __threadfence_system
__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync
__match_any_sync __match_all_sync __activemask __reduce_add_sync __reduce_max_sync
__reduce_min_sync atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS
atomicAnd atomicOr atomicXor __ldg __popc __clz __ffs __brev __float_as_int __int_as_float
__float_as_uint __uint_as_float __expf __logf __sinf __cosf __fdividef rsqrtf sqrtf expf exp2f logf
log2f powf sinf cosf tanhf fmaxf fminf fmaf fabsf floorf ceilf roundf __cvta_generic_to_shared
clock64 printf assert float2 float3 float4 int2 int4 uint2 uint4 make_float2 make_float4 make_int2
make_int4 uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t size_t float double
unsigned __shared__ __global__ __device__ __constant__ __restrict__ __launch_bounds__
__forceinline__ INFINITY NAN
""",
)


def is_host_code(line: str) -> bool:
    """Return whether a source line does what Python does here: memory, launches, ``main``."""
    return bool(_HOST.search(line))


def hint(error: str, text: str, number: int, unknown: set[str]) -> str | None:
    """Return what probably lies behind an error, or None.

    Parameters
    ----------
    error : str
        The compiler's words.
    text : str
        The source.
    number : int
        The line of it where the error is.
    unknown : set of str
        Names that the compiler does not know: no suggestions.
    """
    if match := re.match(r'cannot open source file "(.+)"', error):
        return _for_header(match[1])
    if error == 'expected a ";"':
        return _for_semicolon(text.splitlines(), number)
    if match := re.match(r'identifier "(.+)" is undefined', error):
        return _for_name(match[1], text, unknown)
    if match := re.match(r'namespace "std" has no member "(.+)"', error):
        return _for_std(match[1])
    if error.startswith("this declaration has no storage class"):
        return _for_qualifier(text.splitlines()[number - 1])
    if error == "invalid % escape in inline assembly string":
        return "Write %% in front of a register's name, as in %%laneid: NVRTC takes that too."
    if error.startswith('name followed by "::"'):
        return "The namespace is unknown here: is its #include missing?"
    return None


def _for_header(name: str) -> str:
    if name in ("vector", "string", "iostream", "map", "memory", "algorithm", "functional"):
        return (
            f"Kernels cannot use <{name}>: the C++ standard library is host code. Plain arrays, "
            "printf, min and max work; parts of the library exist as <cuda/std/...>."
        )
    if name.startswith(("torch/", "ATen/", "c10/", "pybind11")):
        return "Kernels need no binding here: pass the tensor to kernel[grid, block](...)."
    if name.startswith(("cuda/", "cub/", "thrust/", "cute/", "cutlass/")) or name in _NVIDIA:
        return (
            "It is NVIDIA's, and not here: clang, which stands in for NVRTC on macOS, has the "
            "course's own cuda_fp16.h, cuda_bf16.h, cooperative_groups.h and cuda.h, and no "
            "others. A Linux container has NVRTC and its headers; PTX in asm works here too."
        )
    return "Looked beside the source, in kernels/, in the course's headers and in CUDA's."


def _for_semicolon(lines: list[str], number: int) -> str | None:
    for before in range(number - 1, 0, -1):
        code = lines[before - 1].split("//")[0].rstrip()
        if code:
            ends_well = code.endswith((";", "{", "}", ",", ":")) or code.lstrip().startswith("#")
            return None if ends_well else f'Line {before} has no ";" at its end.'
    return None


def _for_qualifier(line: str) -> str | None:
    known = ("__global__", "__device__", "__shared__", "__constant__", "__forceinline__")
    word = next(iter(re.findall(r"\w+", line)), "")
    close = difflib.get_close_matches(word, known, 1, 0.7)
    return f"Did you mean `{close[0]}`, with two underscores on both sides?" if close else None


def _for_name(name: str, text: str, unknown: set[str]) -> str | None:
    for header, names in _NEEDS.items():
        if name in names.split():
            return f"It needs #include <{header}>."
    words = set(re.findall(r"[A-Za-z_]\w{2,}", text)) - unknown
    close = difflib.get_close_matches(name, _NAMES, 1, 0.75)
    close = close or difflib.get_close_matches(name, sorted(words), 1, 0.8)
    return f"Did you mean `{close[0]}`?" if close else None


def _for_std(name: str) -> str:
    if name in ("min", "max", "swap"):
        return f"In a kernel write {name}(...) without std::."
    if name in ("abs", "sqrt", "exp", "log", "pow"):
        return f"In a kernel write {name}(...) without std::, or #include <cmath>."
    if name in ("cout", "cerr", "endl", "string"):
        return "Kernels print with printf."
    if name in ("vector", "map", "unordered_map", "shared_ptr", "unique_ptr", "function"):
        return (
            "Kernels cannot allocate: use an array of fixed size, shared memory, or an array that "
            "Python passes in."
        )
    return f"It may exist as cuda::std::{name} in <cuda/std/...>."
