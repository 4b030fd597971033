"""What the writer of a kernel reads when the compiler refuses it."""

import pytest

from course import gpu
from course.gpu import diagnostics
from course.gpu.compiler import Source

KERNEL = "__global__ void f(float* x, int n) { x[0] = n; }\n"


def message(source: str, **options: object) -> str:
    with pytest.raises(gpu.CompileError) as error:
        gpu.compile(source, **options).cubin()
    return str(error.value)


def test_a_missing_semicolon():
    text = message("__global__ void f(float* x) {\n    int i = 0\n    x[i] = 1;\n}\n")
    assert text == (
        'cell.cu, line 3: expected a ";"\n'
        "    3 |     x[i] = 1;\n"
        "      |     ^\n"
        '  Line 2 has no ";" at its end.'
    )


def test_a_semicolon_missing_behind_a_comment():
    text = message("__global__ void f(int* x) {\n  int i = 0  // start; here\n\n  x[i] = 1;\n}")
    assert 'Line 2 has no ";" at its end.' in text


def test_only_the_first_errors():
    lines = "".join(f"  x[0] = unknown{i};\n" for i in range(9))
    text = message("__global__ void f(int* x) {\n" + lines + "}")
    assert text.count("is undefined") == 3 and "unknown0" in text and "unknown3" not in text
    assert text.endswith("(6 more errors, often a consequence of the first.)")


def test_one_error_a_line_and_the_one_that_explains_the_others():
    text = message("__global__ void f(flaot* x) { x[0] = 1; }")
    assert text.startswith('cell.cu, line 1: identifier "flaot" is undefined')
    assert "Did you mean `float`?" in text
    assert text.count("cell.cu, line 1") == 1


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("} _global_ void other() {", "Did you mean `__global__`, with two underscores"),
        ("__syncthread();", "Did you mean `__syncthreads`?"),
        ("x[threadidx.x] = 1;", "Did you mean `threadIdx`?"),
        ("atomicadd(x, 1.0f);", "Did you mean `atomicAdd`?"),
        ("float total_sum = 0; x[0] = totl_sum;", "Did you mean `total_sum`?"),
        ("half h = 1;", "It needs #include <cuda_fp16.h>."),
        ("__nv_bfloat16 h = 1;", "It needs #include <cuda_bf16.h>."),
        ("x[0] = FLT_MAX;", "It needs #include <cfloat>."),
        ("std::vector<int> v;", "Kernels cannot allocate"),
        ("x[0] = std::max(x[1], x[2]);", "In a kernel write max(...) without std::."),
        ("x[0] = std::sqrt(x[1]);", "#include <cmath>"),
        ('std::cout << "hello";', "launch with kernel[grid, block](...)"),
        ("wmma::fill(x);", "is its #include missing?"),
    ],
)
def test_hints(body, hint):
    assert hint in message(f"__global__ void f(float* x) {{\n  {body}\n}}")


@pytest.mark.parametrize(
    ("include", "hint"),
    [
        ("<vector>", "the C++ standard library is host code"),
        ("<torch/extension.h>", "pass the tensor to kernel[grid, block](...)"),
        ('"missing.cuh"', "Looked beside the source"),
    ],
)
def test_headers_that_are_not_there(include, hint):
    text = message(f"#include {include}\n{KERNEL}")
    assert text.startswith("cell.cu, line 1: cannot open source file") and hint in text


def test_host_code_is_said_once():
    text = message(
        KERNEL + "int main() {\n  float* x;\n  cudaMalloc(&x, 4);\n  f<<<1, 2>>>(x, 1);\n"
        "  cudaDeviceSynchronize();\n  return 0;\n}\n"
    )
    assert text.startswith("cell.cu, line 2: `main` is a host function")
    assert text.count("launch with kernel[grid, block](...)") == 1
    assert "cudaMalloc" not in text


def test_a_launch_inside_a_kernel():
    text = message("__global__ void f(int* x) { f<<<1, 1>>>(x); }")
    assert "launch with kernel[grid, block](...)" in text


def test_a_function_without_device():
    text = message("float half_of(float x) { return x / 2; }\n" + KERNEL)
    assert "`half_of` is a host function: nothing in front of it says __device__" in text


def test_a_variable_without_device():
    assert "this is a host variable" in message("float table[3];\n" + KERNEL)


def test_printf_needs_no_include():
    gpu.compile('__global__ void f(int n) { printf("%d\\n", n); }')


def test_a_double_literal_is_no_error():
    assert gpu.compile("__global__ void f(float* x) { x[0] = x[1] * 2.5; }").warnings == ()


def test_the_caller_of_a_template_is_named():
    text = message(
        "template <class T> __device__ T g(T x) {\n  return x.size;\n}\n"
        "__global__ void f(float* x) { x[0] = g(x[1]); }"
    )
    assert "line 2: expression must have class type" in text
    assert 'instantiation of "T g(T) [with T=float]" at line 4' in text


def test_headers_stay_out_of_it():
    text = message("#include <cuda_fp16.h>\n__global__ void f(half* x) {\n  x[0] = x;\n}")
    assert text.startswith('cell.cu, line 3: no operator "=" matches these operands')
    assert "operand types are: half = half *" in text
    assert "cuda_fp16.h" not in text


def test_an_error_in_a_header_shows_the_header_by_its_short_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.cuh").write_text("__device__ int two() { return too; }\n", "utf-8")
    text = message('#include "mine.cuh"\n' + KERNEL)
    assert text.startswith('mine.cuh, line 1: identifier "too" is undefined')
    assert str(tmp_path) not in text


def test_an_unclosed_brace_points_at_where_it_opened():
    text = message("__global__ void f(float* x) {\n  if (x[0] > 1) { x[1] = 2;\n}\n")
    assert text.startswith('cell.cu, line 1: expected a "}" to match this "{"')


def test_an_error_of_the_assembler_is_traced_to_the_source():
    text = message(
        '__global__ void f(float* x) {\n  x[1] = 2;\n  asm("bogus.f32 %0;" : "=f"(x[0]));\n}'
    )
    assert text.startswith("cell.cu, line 3: the assembler refuses `bogus.f32 ")
    assert "Not a name of any known instruction: 'bogus'" in text
    assert '    3 |   asm("bogus' in text


def test_too_much_shared_memory():
    source = """
        __global__ void f(float* x, int n) {
            __shared__ float s[%d];
            s[threadIdx.x] = x[0];
            __syncthreads();
            x[1] = s[n];
        }
    """
    text = message(source % 70_000)
    assert "f declares 280,000 bytes of shared memory, and a block can have 232,448" in text
    text = message(source % 20_000, arch="sm_80")
    assert "a block can have 49,152" in text and "extern __shared__" in text


def test_an_unknown_option():
    assert "unrecognized option --bogus" in message(KERNEL, options=["--bogus"])


def test_letters_beyond_ascii():
    text = message("// größe\n__global__ void f(int* größe) { größe[0] = unknown; }")
    assert 'line 2: identifier "unknown" is undefined' in text or "unrecognized token" in text
    assert "größe" in text


def test_the_whole_log_stays_available():
    with pytest.raises(gpu.CompileError) as error:
        gpu.compile("__global__ void f(int* x) { x[0] = unknown; }")
    assert "1 error detected in the compilation" in error.value.log


def test_in_a_notebook_only_the_message_shows():
    error = gpu.CompileError("first\nsecond")
    assert error._render_traceback_() == ["CompileError: first", "second"]
    assert str(gpu.NoKernel("it's not\nthere")) == "it's not\nthere"


def test_a_log_of_another_kind_is_shown_as_it_is(tmp_path):
    source = Source("", "cell.cu", tmp_path)
    assert diagnostics.explain("something else failed", source) == "cell.cu: something else failed"
