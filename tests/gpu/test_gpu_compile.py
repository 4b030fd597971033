import re
import subprocess
import sys

import pytest

from course import ROOT, gpu
from course.gpu import compiler, headers

SAXPY = """\
extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def test_ptx_is_for_hopper_and_names_its_lines():
    module = gpu.compile(SAXPY)
    assert module.arch == "sm_90a"
    assert ".target sm_90a" in module.ptx()
    assert ".visible .entry saxpy(" in module.ptx()
    assert re.search(r"\.loc\s+1 3 \d+", module.ptx())
    assert '"cell.cu"' in module.ptx()
    assert module.source == SAXPY


def test_ptx_does_not_depend_on_the_folder(tmp_path, monkeypatch):
    source = SAXPY + "// " + tmp_path.name
    here = gpu.compile(source).ptx()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    assert gpu.compile(source).ptx() == here


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100a"])
def test_other_architectures(arch):
    module = gpu.compile(SAXPY, arch=arch)
    assert f".target {arch}" in module.ptx()
    assert module.cubin().startswith(b"\x7fELF")


def test_kernels_are_found_by_their_cpp_names():
    module = gpu.compile("""
        extern "C" __global__ void c_name(int n) {}
        __global__ void plain(float* x) { x[0] = 1; }
        namespace ml { __global__ void gelu(float* x) { x[0] = 2; } }
        namespace { __global__ void hidden(float* x) { x[0] = 3; } }
        static __global__ void local(float* x) { x[0] = 4; }
    """)
    assert set(module) == {"c_name", "plain", "ml::gelu", "hidden", "local"}
    assert module["c_name"].entry == "c_name"
    assert module["plain"].entry == "_Z5plainPf"
    assert module["gelu"].entry == module["ml::gelu"].entry == "_ZN2ml4geluEPf"
    assert module["hidden"].entry.startswith("_ZN")
    assert module["_Z5plainPf"].name == "plain"
    assert "plain" in module and "absent" not in module


def test_an_overload_must_be_named():
    module = gpu.compile("""
        __global__ void fill(int* x) { x[0] = 1; }
        __global__ void fill(float* x, int n) { x[n] = 1; }
    """)
    with pytest.raises(gpu.NoKernel) as error:
        module["fill"]
    assert 'module["fill(int*)"]' in str(error.value)
    assert 'module["fill(float*, int)"]' in str(error.value)
    assert module["fill(float*, int)"].entry == "_Z4fillPfi"
    assert set(module.resources().kernels) == {"fill(int*)", "fill(float*, int)"}


def test_an_overload_of_a_c_name():
    module = gpu.compile('extern "C" __global__ void f(int n) {}  __global__ void f(float n) {}')
    assert set(module) == {"f", "f(float)"}
    assert module["f"].entry == "f" and module["f(float)"].entry == "_Z1ff"


def test_an_exact_name_wins_over_one_in_a_namespace():
    module = gpu.compile(
        "__global__ void f(int n) {}  namespace a { __global__ void f(float n) {} }"
    )
    assert module["f"].entry == "_Z1fi"
    assert module["a::f"].entry == "_ZN1a1fEf"


def test_templates_are_instantiated_when_asked_for():
    module = gpu.compile("""
        template <typename T, int N> __global__ void scale(T* x, T a, int n) { x[n] = a * N; }
        __global__ void other(int* x) { x[0] = 1; }
    """)
    assert list(module) == ["other"]
    kernel = module["scale<float, 4>"]
    assert kernel.entry == "_Z5scaleIfLi4EEvPT_S0_i"
    assert kernel.entry in module.ptx()
    assert set(module.resources()) == {"other", "scale<float, 4>"}
    again = module["scale<double, 3>"]
    assert kernel.entry in module.ptx() and again.entry in module.ptx()
    assert [p.type.text for p in again.parameters] == ["double*", "double", "int"]
    assert set(module.resources()) == {"other", "scale<float, 4>", "scale<double, 3>"}
    assert module["scale<float,4>"].entry == kernel.entry


def test_explicit_instantiations_need_no_asking():
    module = gpu.compile("""
        template <int N> __global__ void power(float* x) { x[0] *= N; }
        template __global__ void power<3>(float*);
    """)
    assert list(module) == ["power<3>"]
    assert module["power"].entry == module["power<3>"].entry
    assert [p.type.text for p in module["power"].parameters] == ["float*"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("saxpi", "it has: saxpy. Did you mean saxpy?"),
        ("scale", 'say for which arguments: module["scale<float>"]'),
        ("scale<wrong>", 'identifier "wrong" is undefined'),
        ("scale<float, 3>", "no kernel scale<float, 3>"),
        ("missing<float>", 'identifier "missing" is undefined'),
    ],
)
def test_a_name_that_is_not_there(name, message):
    module = gpu.compile(SAXPY + "template <class T> __global__ void scale(T* x) { x[0] *= 2; }")
    with pytest.raises(gpu.NoKernel) as error:
        module[name]
    assert message in str(error.value)
    assert isinstance(error.value, KeyError)


def test_a_module_without_kernels():
    module = gpu.compile("__device__ int three() { return 3; }")
    assert list(module) == [] and "no kernel" in repr(module)
    with pytest.raises(gpu.NoKernel, match="A kernel is a function `__global__ void f"):
        module["f"]


def test_a_broken_template_body_is_a_compile_error():
    module = gpu.compile("template <int N> __global__ void f(int* x) {\n  x[0] = unknown(N);\n}")
    with pytest.raises(gpu.CompileError, match=r"line 2: identifier \"unknown\" is undefined"):
        module["f<3>"]


def test_options_reach_the_compiler():
    source = "__global__ void f(float* x) { x[0] = __expf(x[1]) / SIZE + sqrtf(x[2]); }"
    with pytest.raises(gpu.CompileError, match="SIZE"):
        gpu.compile(source)
    exact = gpu.compile(source, options=["-DSIZE=3"]).ptx()
    fast = gpu.compile(source, options=["-DSIZE=3", "-use_fast_math"]).ptx()
    assert "sqrt.rn.f32" in exact and "sqrt.approx.ftz.f32" in fast


def test_a_file_is_shown_relative_to_the_course(tmp_path):
    file = tmp_path / "größe mit leer" / "kernel.cu"
    file.parent.mkdir()
    (file.parent / "part.cuh").write_text("#define STEP 2\n", "utf-8")
    file.write_text('\ufeff#include "part.cuh"\nstatic_assert(STEP == 2);\n' + SAXPY, "utf-8")
    module = gpu.compile(file)
    assert module.name == "kernel.cu"
    assert '"kernel.cu"' in module.ptx() and str(tmp_path) not in module.ptx()
    file.write_text('#include "part.cuh"\n__global__ void f(int* x) { x[0] = STOP; }', "utf-8")
    with pytest.raises(gpu.CompileError, match=r"^kernel\.cu, line 2: "):
        gpu.compile(file)


def test_a_file_of_the_course_has_its_path(monkeypatch, tmp_path):
    monkeypatch.setattr("course.gpu.module.ROOT", tmp_path)
    file = tmp_path / "kernels" / "matmul" / "naive.cu"
    file.parent.mkdir(parents=True)
    file.write_text(SAXPY, "utf-8")
    assert gpu.compile(file).name == "kernels/matmul/naive.cu"


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(gpu.CompileError, match=r"absent\.cu cannot be read"):
        gpu.compile(tmp_path / "absent.cu")
    (tmp_path / "latin.cu").write_bytes(b"// gr\xf6\xdfe\n")
    with pytest.raises(gpu.CompileError, match="UTF-8"):
        gpu.compile(tmp_path / "latin.cu")


def test_a_file_name_as_a_str_is_explained():
    with pytest.raises(gpu.CompileError, match=r"pathlib\.Path\('kernels/a\.cu'\)"):
        gpu.compile("kernels/a.cu")


@pytest.mark.parametrize("arch", ["sm_10", "compute_90", "hopper", "90a"])
def test_an_unknown_architecture_lists_the_known(arch):
    with pytest.raises(gpu.CompileError, match="sm_ and one of 75, 80"):
        gpu.compile(SAXPY, arch=arch)


def test_warnings_of_the_front_end_are_kept():
    module = gpu.compile("__global__ void f(int* x) {\n  int unused;\n  x[0] = 1;\n}")
    assert module.warnings == (
        'cell.cu, line 2: variable "unused" was declared but never referenced',
    )
    assert gpu.compile("static __global__ void g(int* x) { x[0] = 1; }").warnings == ()


def test_nvrtc_on_macos_gets_a_paragraph(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("COURSE_COMPILER", "nvrtc")
    compiler._nvrtc.cache_clear()
    try:
        with pytest.raises(gpu.NoCompiler) as error:
            gpu.compile(SAXPY)
        assert "macOS" in str(error.value) and "Linux container" in str(error.value)
        assert gpu.compiler_problem() == str(error.value)
    finally:
        compiler._nvrtc.cache_clear()


def test_importing_needs_no_cuda_package():
    script = "import sys; sys.modules['cuda'] = None; from course import gpu; print(gpu.Module)"
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr


def test_a_missing_compiler_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.delitem(sys.modules, "cuda.bindings.nvrtc", raising=False)
    compiler._nvrtc.cache_clear()
    try:
        assert "pip install cuda-bindings nvidia-cuda-nvrtc" in gpu.compiler_problem()
    finally:
        compiler._nvrtc.cache_clear()


def test_missing_headers_are_a_problem_too(monkeypatch):
    assert gpu.compiler_problem() is None
    monkeypatch.setattr(headers, "system_folders", lambda: ())
    assert "headers are missing" in gpu.compiler_problem()


def test_version():
    assert re.fullmatch(r"1[2-9]\.\d+", gpu.nvrtc_version())
