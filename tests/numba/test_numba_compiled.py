"""The cache of compiled kernels: it saves compiling, and it never hands out old code."""

import numpy as np
import pytest

from course import gpu

cuda = pytest.importorskip("numba.cuda")
if cuda.implementation != "NVIDIA":
    pytest.skip("numba-cuda is not installed", allow_module_level=True)

from numba.cuda import dispatcher  # noqa: E402

FACTOR = 2
TABLE = np.array([1.0, 10.0], np.float32)

SOURCE = """
from numba import cuda
from numba.types import float32
@cuda.jit(device=True)
def helper(x):
    return x + {added}
def make(offset):
    @cuda.jit
    def kernel(a):
        tile = cuda.shared.array(32, float32)
        i = cuda.threadIdx.x
        tile[i] = a[i]
        cuda.syncthreads()
        a[i] = FACTOR * helper(tile[i]) + offset + TABLE[1]
    return kernel
"""


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """Start with an empty cache; return the list of functions that have been compiled."""
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    compiled = []
    compile_cuda = dispatcher.compile_cuda

    def noting(function, *arguments, **options):
        compiled.append(function.__name__)
        return compile_cuda(function, *arguments, **options)

    monkeypatch.setattr(dispatcher, "compile_cuda", noting)
    return compiled


def fresh(added=1, offset=5, factor=2, table=TABLE, file="cell.py", above=0):
    """Define the kernel anew, as in a new process, and return what it makes of ones."""
    space = {"FACTOR": factor, "TABLE": table}
    text = "\n" * above + SOURCE.format(added=added)
    exec(compile(text, file, "exec"), space)
    kernel = space["make"](offset)
    a = np.ones(32, np.float32)
    kernel[1, 32](a)
    assert (a == a[0]).all()
    return a[0], kernel


def test_a_second_process_compiles_nothing(compilations):
    assert fresh()[0] == 19 and compilations == ["kernel", "helper"]
    assert fresh()[0] == 19 and compilations == ["kernel", "helper"]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"factor": 3}, 21),
        ({"factor": np.float32(3)}, 21),
        ({"offset": 6}, 20),
        ({"added": 2}, 21),
        ({"table": np.array([1.0, 20.0], np.float32)}, 29),
    ],
)
def test_what_a_kernel_depends_on_is_noticed(compilations, change, wanted):
    assert fresh()[0] == 19
    assert fresh(**change)[0] == wanted
    assert len(compilations) == 4
    assert fresh()[0] == 19 and fresh(**change)[0] == wanted
    assert len(compilations) == 4


def test_types_and_options_are_noticed(compilations):
    def kernel(a):
        a[cuda.threadIdx.x] /= 3

    for jit in (cuda.jit, cuda.jit(fastmath=True), cuda.jit(max_registers=32)):
        for dtype in (np.float32, np.float64):
            a = np.ones(4, dtype)
            jit(kernel)[1, 4](a)
            assert np.allclose(a, 1 / 3)
    assert len(compilations) == 6


def test_lines_are_those_of_the_present_file(compilations, tmp_path):
    """A cell of a notebook lies in another file in each session."""
    text = SOURCE.format(added=1).replace("a[i] = FACTOR", "a[i + 4] = FACTOR")
    reports = []
    for name in ("first.py", "second.py"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        space = {"FACTOR": 2, "TABLE": TABLE}
        exec(compile(text, str(file), "exec"), space)
        with pytest.raises(gpu.KernelFault) as caught:
            space["make"](1)[1, 32](np.ones(32, np.float32))
        assert caught.value.fault.place.file == str(file)
        reports.append(str(caught.value))
    assert len(compilations) == 2
    assert reports[0] == reports[1] and "a[i + 4] = FACTOR" in reports[0]


def test_moved_lines_are_compiled_anew(compilations):
    fresh()
    fresh(above=3)
    assert len(compilations) == 4


def test_what_cannot_be_known_is_not_kept(compilations):
    def plain_function(x):
        return x

    from numba.extending import overload

    @overload(plain_function, target="cuda")
    def _(x):
        return lambda x: x + 1

    table = cuda.to_device(TABLE)
    source = cuda.CUSource('extern "C" __device__ int one(float* o) { *o = 1; return 0; }')
    one = cuda.declare_device("one", "float32()", link=source)

    def calls_function(a):
        a[0] = plain_function(a[1])

    def reads_device_array(a):
        a[0] = table[1]

    def calls_linked(a):
        a[0] = one()

    for function, wanted in ((calls_function, 2), (reads_device_array, 10), (calls_linked, 1)):
        for _ in range(2):
            a = np.ones(2, np.float32)
            cuda.jit(function)[1, 1](a)
            assert a[0] == wanted
        assert compilations.count(function.__name__) == 2


def test_a_kernel_from_disk_can_be_inspected(compilations, capsys):
    fresh()
    _, kernel = fresh()
    assert compilations == ["kernel", "helper"]
    (asm,) = kernel.inspect_asm().values()
    assert ".entry" in asm and all(kernel.get_regs_per_thread().values())
    (llvm,) = kernel.inspect_llvm().values()
    assert "define" in llvm
    kernel.inspect_types()
    assert "tile" in capsys.readouterr().out


def test_explicit_signatures_are_kept_too(compilations):
    for _ in range(2):

        def kernel(a):
            a[0] = 7

        jitted = cuda.jit("void(float32[:])")(kernel)
        a = np.zeros(1, np.float32)
        jitted[1, 1](a)
        assert a[0] == 7
    assert compilations == ["kernel"]


def test_a_damaged_entry_is_compiled_anew(compilations, tmp_path):
    fresh()
    for file in (tmp_path / "compiled").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[:-5])
    assert fresh()[0] == 19
    assert len(compilations) == 4


def test_cooperative_kernels_stay_cooperative(compilations):
    for _ in range(2):

        @cuda.jit
        def turn(a):
            i = cuda.grid(1)
            value = a[(i + 1) % a.size]
            cuda.cg.this_grid().sync()
            a[i] = value

        a = np.arange(96)
        turn[3, 32](a)
        assert np.array_equal(a, np.roll(np.arange(96), -1))
    assert "turn" in compilations


def test_recursion_does_not_trap_the_key(compilations):
    @cuda.jit("int32(int32)", device=True)
    def twice(n):
        return 2 * n

    @cuda.jit
    def kernel(a):
        a[0] = twice(twice(a[0]))

    a = np.ones(1, np.int32)
    kernel[1, 1](a)
    assert a[0] == 4
