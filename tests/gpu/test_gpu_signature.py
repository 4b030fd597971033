import random

import pytest

from course import gpu
from course.gpu import mangling, signature

# C++ spelling, the compiler's spelling, bytes
VALUES = [
    ("bool", "bool", 1),
    ("char", "char", 1),
    ("uint8_t", "unsigned char", 1),
    ("short", "short", 2),
    ("unsigned short", "unsigned short", 2),
    ("int", "int", 4),
    ("unsigned", "unsigned int", 4),
    ("int64_t", "long long", 8),
    ("unsigned long long", "unsigned long long", 8),
    ("float", "float", 4),
    ("const float", "float", 4),
    ("double", "double", 8),
    ("__half", "__half", 2),
    ("bf16", "__nv_bfloat16", 2),
    ("float4", "float4", 16),
    ("Pair<float, 3>", "Pair<float, 3>", 12),
    ("real", "double", 8),
]
POINTERS = [
    ("float*", "float*"),
    ("const float*", "const float*"),
    ("float const* const", "const float*"),
    ("float* __restrict__", "float*"),
    ("const bf16* __restrict__", "const __nv_bfloat16*"),
    ("volatile int*", "volatile int*"),
    ("void*", "void*"),
    ("half2*", "__half2*"),
    ("unsigned char*", "unsigned char*"),
    ("float**", "float**"),
    ("const Pair<float, 3>*", "const Pair<float, 3>*"),
    ("ns::Deep*", "ns::Deep*"),
]
PREAMBLE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using bf16 = __nv_bfloat16;
typedef double real;
template <class T, int N> struct Pair { T items[N]; };
namespace ns { struct Deep { int x; }; }
"""
ALL = VALUES + [(spelt, known, 8) for spelt, known in POINTERS]


@pytest.mark.parametrize("form", ["plain", "extern C", "template"])
@pytest.mark.parametrize("seed", range(4))
def test_types_names_and_sizes(form, seed):
    draw = random.Random(f"{form} {seed}")
    chosen = draw.choices(ALL, k=draw.randint(1, 12))
    names = [
        f"{draw.choice('abxyz')}{i}_{draw.choice(['', 'in', 'N'])}" for i in range(len(chosen))
    ]
    declared = ", ".join(f"{c[0]} {name}" for c, name in zip(chosen, names, strict=True))
    head = {"plain": "", "extern C": 'extern "C" ', "template": "template <class Z> "}[form]
    module = gpu.compile(
        f"{PREAMBLE}{head}__global__ void __launch_bounds__(128) kernel(\n    {declared}) {{}}"
    )
    kernel = module["kernel<int>" if form == "template" else "kernel"]
    assert [p.name for p in kernel.parameters] == names
    assert [p.type.text for p in kernel.parameters] == [c[1] for c in chosen]
    assert [p.slot.size for p in kernel.parameters] == [c[2] for c in chosen]


def test_macros_typedefs_and_dependent_types_are_the_compilers_business():
    module = gpu.compile("""
        #define KERNEL(name, T) extern "C" __global__ void name(T* out, const T* in, size_t n)
        KERNEL(copy_half, unsigned short) { out[n] = in[n]; }
        struct Traits { using scalar = float; };
        template <class T> __global__ void fill(typename T::scalar* x, typename T::scalar a) {
            x[0] = a;
        }
    """)
    types = [p.type.text for p in module["copy_half"].parameters]
    assert types == ["unsigned short*", "const unsigned short*", "unsigned long"]
    assert [p.type.text for p in module["fill<Traits>"].parameters] == ["float*", "float"]
    assert [p.name for p in module["fill<Traits>"].parameters] == ["x", "a"]


def test_where_the_compiler_cannot_be_asked_the_sizes_remain():
    module = gpu.compile('namespace a { extern "C" __global__ void hidden(float* x, int n) {} }')
    parameters = module["hidden"].parameters
    assert [p.type for p in parameters] == [None, None]
    assert [p.slot.size for p in parameters] == [8, 4]
    assert repr(module["hidden"]) == "<Kernel hidden(8 bytes x, 4 bytes n)>"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__global__ void f(int a, float *b, float c[4])", ["a", "b", "c"]),
        (
            "__global__ void f(int /* count, of all */ a,\n  const float* __restrict__ b)",
            ["a", "b"],
        ),
        ("__global__ void __launch_bounds__(256, 2) f(int a, Pair<float, 3> b)", ["a", "b"]),
        ("__device__ int f(int z); __global__ void f(int a)", ["a"]),
        ("// __global__ void f(int wrong)\n__global__ void f(int right)", ["right"]),
        ("__global__ void g() { f(1, 2); }  __global__ void f(int a, int b)", ["a", "b"]),
        ("__global__ void f(int, float* b)", ["", "b"]),
        ("__global__ void f(unsigned int)", [""]),
        ("__global__ void f()", []),
        ("__global__ void f(const __grid_constant__ CUtensorMap map, int n = 3)", ["map", "n"]),
        ("__global__ void g(int a)", None),
        ("#define K(n) __global__ void n(int a)\nK(f)", None),
        ("__global__ void f(int a) {} __global__ void f(float b) {}", None),
    ],
)
def test_names_are_read_from_the_source(text, names):
    count = 1 if names is None else len(names)
    assert signature.parameter_names(text + " {}", "f", count) == names


def test_overloads_are_told_apart_by_their_count():
    text = "__global__ void f(int a) {} __global__ void f(float b, int c) {}"
    assert signature.parameter_names(text, "f", 1) == ["a"]
    assert signature.parameter_names(text, "f", 2) == ["b", "c"]


def test_entries_of_ptx():
    found = signature.entries("""
        .visible .entry f(
            .param .u64 .ptr .align 1 f_param_0,
            .param .u64 .ptr .global .align 16 f_param_1,
            .param .align 64 .b8 f_param_2[128],
            .param .f32 f_param_3,
            .param .u8 f_param_4
        )
        .maxntid 16, 16, 1
        .minnctapersm 2
        {
            ret;
        }
        .weak .entry g()
        .reqntid 128, 1, 1
        { ret; }
        .func (.param .b32 r) helper(.param .b64 p) { ret; }
    """)
    assert list(found) == ["f", "g"]
    slots = [(s.kind, s.size, s.align) for s in found["f"].slots]
    assert slots == [("u", 8, 8), ("u", 8, 8), ("b", 128, 64), ("f", 4, 4), ("u", 1, 1)]
    assert (found["f"].most_threads, found["f"].exact_threads) == (256, None)
    assert (found["g"].slots, found["g"].exact_threads) == ((), 128)


@pytest.mark.parametrize(
    ("name", "text", "parameters"),
    [
        ("_Z1fv", "f", []),
        ("_Z4saxyifPKfPf", "saxy", ["int", "float", "const float*", "float*"]),
        ("_ZN1a3fooEiPNS_1SES1_", "a::foo", ["int", "a::S*", "a::S*"]),
        ("_Z1kP4PairIfiES1_PS0_", "k", ["Pair<float, int>*"] * 3),
        ("_Z1kPA4_fRiPVKc", "k", ["float[4]*", "int&", "const volatile char*"]),
        ("_Z1kPFvifE", "k", ["void (int, float)*"]),
        ("_Z1kN3cub9WarpStoreILi3ELb1EEE", "k", ["cub::WarpStore<3, true>"]),
        ("_ZN12_GLOBAL__N_11hEPf", "(anonymous)::h", ["float*"]),
    ],
)
def test_names_taken_apart(name, text, parameters):
    function = mangling.demangle(name)
    assert function.name == text
    assert [p.text for p in function.parameters] == parameters


def test_a_template_keeps_its_arguments():
    function = mangling.demangle("_Z5scaleIfLi4ELin2EEvPT_")
    assert (function.name, function.arguments) == ("scale", "<float, 4, -2>")


@pytest.mark.parametrize("name", ["saxpy", "_Z", "_Z3fo", "_Z1fPDv4_f", "_Z1fS9_", "_Z1f"])
def test_names_it_does_not_read(name):
    if name == "_Z1f":
        assert mangling.demangle(name).parameters == ()
    else:
        with pytest.raises(mangling.Unreadable):
            mangling.demangle(name)
    assert mangling.readable("saxpy") == "saxpy"


def test_const_is_of_what_is_pointed_to():
    (read, written) = mangling.demangle("_Z1fPKfPf").parameters
    assert read.pointee.const and not written.pointee.const and not read.const
