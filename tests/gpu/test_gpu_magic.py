import os
import subprocess
import sys

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from course import ROOT, gpu

CELL = """
__global__ void add(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}
namespace ml { __global__ void relu(float* y) { y[0] = fmaxf(y[0], 0); } }
template <class T> __global__ void scale(T* x) { x[0] *= 2; }
"""


@pytest.fixture
def shell():
    made = InteractiveShell()
    gpu.load_ipython_extension(made)
    yield made
    made.history_manager.end_session()


def test_a_cell_binds_its_kernels(shell, capsys, recorder):
    assert shell.run_cell("%%cuda vectors" + CELL).success
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in printed] == ["add", "ml"]
    assert "registers, 0 bytes shared, no spills" in printed[0]
    names = shell.user_ns
    assert names["add"].name == "add" and names["relu"].name == "ml::relu"
    assert names["vectors"]["scale<float>"].entry == "_Z5scaleIfEvPT_"
    assert names["add"].module.source == "// %%cuda vectors" + CELL
    shell.run_cell("import numpy as np; x = np.ones(3, np.float32); add[1, 32](x, x, 3)")
    assert len(recorder.calls) == 1


def test_without_a_name_nothing_else_is_bound(shell):
    before = set(shell.user_ns)
    assert shell.run_cell("%%cuda\n__global__ void only(int* x) { x[0] = 1; }").success
    assert set(shell.user_ns) - before == {"only"}
    assert shell.user_ns["only"].module.name == "cell.cu"


def test_lines_are_numbered_as_the_notebook_numbers_them(shell, capsys):
    result = shell.run_cell("%%cuda vectors\n__global__ void f(int* x) {\n    x[0] = unknown;\n}")
    assert isinstance(result.error_in_exec, gpu.CompileError)
    printed = capsys.readouterr().out
    assert "vectors.cu, line 3:" in printed and "    3 |     x[0] = unknown;" in printed
    assert "Traceback" not in printed and "module.py" not in printed


def test_launch_errors_show_their_message_alone(shell, capsys, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cuda")
    shell.run_cell("%%cuda\n__global__ void f(int n) {}")
    shell.run_cell("f[1, 32](1)")
    printed = capsys.readouterr().out
    assert "NoDevice: Kernels cannot be launched on this machine" in printed
    assert "Traceback" not in printed


def test_warnings_and_spills_are_printed(shell, capsys):
    shell.run_cell("%%cuda\n__global__ void f(float* x) {\n  int unused;\n  x[0] = 1;\n}")
    assert 'warning: cell.cu, line 3: variable "unused"' in capsys.readouterr().out


@pytest.mark.parametrize("line", ["two names", "-O3", "a.b"])
def test_another_line_than_a_name(shell, line):
    result = shell.run_cell(f"%%cuda {line}\n__global__ void f(int n) {{}}")
    assert "expected nothing or one name" in str(result.error_in_exec)


def test_a_cell_of_templates_says_how_to_reach_them(shell, capsys):
    shell.run_cell("%%cuda\ntemplate <int N> __global__ void f(int* x) { x[0] = N; }")
    assert "give the cell a name" in capsys.readouterr().out
    shell.run_cell("%%cuda ladder\ntemplate <int N> __global__ void f(int* x) { x[0] = N; }")
    assert 'ladder["kernel<float>"]' in capsys.readouterr().out


def test_python_keywords_are_not_bound(shell):
    assert shell.run_cell("%%cuda m\n__global__ void lambda(int* x) { x[0] = 1; }").success
    assert shell.user_ns["m"]["lambda"].name == "lambda"


def test_importing_is_enough_in_ipython(tmp_path):
    script = "from course import gpu\nprint('cuda' in get_ipython().magics_manager.magics['cell'])"
    command = [sys.executable, "-m", "IPython", "--quick", "--no-banner", "-c", script]
    run = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
    )
    assert run.stdout.strip().endswith("True"), run.stderr


def test_the_recorder_sees_arrays(shell, recorder):
    shell.run_cell("%%cuda\n__global__ void f(float* x) { x[0] = 1; }")
    shell.user_ns["f"][1, 1](np.zeros(3, np.float32))
    assert recorder.buffers[0].name == "x"
