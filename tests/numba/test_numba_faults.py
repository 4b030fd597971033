"""What a student sees when a numba kernel goes wrong: the line, the thread, the array."""

import linecache

import numpy as np
import pytest

from course import gpu

cuda = pytest.importorskip("numba.cuda")
if cuda.implementation != "NVIDIA":
    pytest.skip("numba-cuda is not installed", allow_module_level=True)

from numba.types import float32  # noqa: E402


def ones(*shape):
    return np.ones(shape, np.float32)


def fault(kernel, grid, block, *arguments):
    """Launch, and return the fault and its message."""
    with pytest.raises(gpu.KernelFault) as caught:
        kernel[grid, block](*arguments)
    return caught.value.fault, str(caught.value)


@cuda.jit
def unguarded(a, out):
    i = cuda.grid(1)
    out[i] = a[i]


def test_out_of_bounds():
    found, text = fault(unguarded, 4, 32, ones(100), ones(100))
    assert found.kind == "out-of-bounds" and found.block == (3, 0, 0)
    assert text.splitlines() == [
        "out-of-bounds: unguarded reads a[100]; a has 100 elements of float32 (4 bytes outside)",
        f"  line {unguarded.py_func.__code__.co_firstlineno + 3}: out[i] = a[i]",
        "  thread (4, 0, 0) of block (3, 0, 0), warp 0, lane 4 and 27 more of its warp",
        "  hint: does every thread check its index against the size before it touches the array?",
    ]
    _, text = fault(unguarded, 1, 64, ones(64), ones(50))
    assert "unguarded writes out[50]; out has 50 elements" in text
    out = ones(64)
    unguarded[1, 64](np.full(64, 3, np.float32), out)  # the virtual GPU goes on
    assert (out == 3).all()


@cuda.jit
def transpose(a, out):
    x, y = cuda.grid(2)
    if x < a.shape[0] and y < a.shape[1]:
        out[x, y] = a[x, y]


def test_an_index_in_two_dimensions():
    a, out = cuda.to_device(ones(5, 3)), cuda.to_device(ones(3, 5))
    a = a.reshape(5, 3)
    found, text = fault(transpose, 1, (8, 4), a, out)
    assert "transpose writes out[" in text and "out has 3 x 5 elements of float32" in text
    assert found.threads[0] == (3, 0, 0)


@cuda.jit
def before(a):
    a[cuda.threadIdx.x - 40] = 1


def test_a_negative_index_counts_from_the_end_once():
    a = np.zeros(40, np.float32)
    before[1, 40](a)
    assert (a == 1).all()
    _, text = fault(before, 1, 32, np.zeros(20, np.float32))
    assert "before writes a[-20]" in text
    assert "hint: a negative index counts from the end, but this one" in text


@cuda.jit(device=True)
def fetch(table, index):
    return table[index]


@cuda.jit
def indirect(table, out):
    i = cuda.grid(1)
    out[i] = fetch(table, i + 1)


def test_a_line_of_a_device_function_and_of_its_call():
    found, text = fault(indirect, 1, 8, ones(8), ones(8))
    lines = text.splitlines()
    assert lines[0].startswith("out-of-bounds: indirect reads table[8]")
    assert lines[1].endswith(": return table[index]")
    assert lines[2].strip().startswith("called from line ")
    assert lines[2].endswith(": out[i] = fetch(table, i + 1)")
    assert found.place.line == fetch.py_func.__code__.co_firstlineno + 2


def test_a_cell_of_a_notebook():
    """IPython keeps a cell's text in linecache, under the name of a file that does not exist."""
    cell = "from numba import cuda\n@cuda.jit\ndef k(v):\n    v[cuda.grid(1) + 2] = 0\n"
    file = "/tmp/ipykernel_1/cell.py"
    linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
    space = {}
    exec(compile(cell, file, "exec"), space)
    _, text = fault(space["k"], 1, 4, ones(4))
    assert "k writes v[4]" in text and "line 4: v[cuda.grid(1) + 2] = 0" in text


@cuda.jit
def half_filled(a, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < 32:
        tile[t] = a[t]
    cuda.syncthreads()
    out[t] = tile[t] + 1


def test_memory_that_nobody_has_written():
    found, text = fault(half_filled, 1, 64, ones(64), ones(64))
    assert found.kind == "undefined"
    assert "the value of shared tile[32], which nobody has written" in text
    out = cuda.device_array(40, np.float32)
    _, text = fault(unguarded, 1, 40, out, ones(40))
    assert "the value of a[0], which nobody has written" in text
    assert np.isnan(out.copy_to_host()).all()


@cuda.jit
def two_tiles(a, out):
    left = cuda.shared.array(32, float32)
    right = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    left[t] = a[t]
    right[t] = a[t]
    cuda.syncthreads()
    out[t] = left[31 - t] + right[t + 1]


def test_shared_arrays_have_their_names():
    """The arrays lie one behind the other: past one is in the next, or past the end."""
    _, text = fault(two_tiles, 1, 32, ones(32), ones(32))
    assert "two_tiles reads" in text and "_cudapy" not in text


def test_a_view_is_called_by_what_it_is_a_view_of():
    whole = cuda.to_device(ones(100))
    _, text = fault(unguarded, 1, 64, whole[50:], ones(64))
    assert "unguarded reads base of a[100]; base of a has 100 elements" in text


@cuda.jit
def some_wait(out):
    t = cuda.threadIdx.x
    if t < 40:
        cuda.syncthreads()
    out[t] = t
    cuda.syncthreads()
    out[0] = out[1]


def test_a_barrier_that_some_pass_by():
    found, text = fault(some_wait, 1, 64, ones(64))
    assert found.kind == "divergent-barrier"
    assert "line" in text and "cuda.syncthreads()" in text and "__sync" not in text


@cuda.jit
def for_ever(out):
    while out[0] == 0:
        out[1] += 1


@pytest.mark.slow
def test_a_loop_without_end():
    found, text = fault(for_ever, 1, 1, np.zeros(2, np.float32))
    assert found.kind == "endless-loop" and "for_ever" in text


@cuda.jit
def large(out):
    tile = cuda.shared.array((1024, 1024), float32)
    tile[0, 0] = 1
    out[0] = tile[0, 0]


@cuda.jit(launch_bounds=64)
def bounded(out):
    out[cuda.grid(1)] = 1


def test_limits():
    with pytest.raises(gpu.LaunchError, match=r"unguarded: .*2048"):
        unguarded[1, 2048](ones(4096), ones(4096))
    with pytest.raises(gpu.LaunchError, match=r"large: 4,194,304 bytes of shared memory"):
        large[1, 1](ones(1))
    bounded[1, 64](ones(64))
    with pytest.raises(gpu.LaunchError, match=r"bounded: .* 128 threads, but launch_bounds"):
        bounded[1, 128](ones(128))


@cuda.jit(debug=True, opt=False)
def checked(a, out):
    i = cuda.grid(1)
    if a[i] < 0:
        raise ValueError("negative")
    out[i] = 1 / a[i]


def test_exceptions_with_debug():
    out = ones(4)
    checked[1, 4](np.full(4, 2, np.float32), out)
    assert (out == 0.5).all()
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 2\] ctaid=\[0, 0, 0\].*negative"):
        checked[1, 4](np.array([1, 1, -1, 1], np.float32), out)
    with pytest.raises(ZeroDivisionError):
        checked[1, 4](np.array([1, 1, 1, 0], np.float32), out)
    found, text = fault(checked, 1, 8, ones(4), ones(8))
    assert "checked reads a[4]" in text and "if a[i] < 0:" in text and found.place


def test_errors_of_numba_stay_its_own():
    from numba.core.errors import TypingError

    @cuda.jit
    def lists(out):
        out[0] = np.dot(out, [out[0]])

    with pytest.raises(TypingError):
        lists[1, 1](ones(1))
    with pytest.raises(ValueError, match="launch configuration was not specified"):
        unguarded(ones(1), ones(1))


def test_a_tensor_in_host_memory():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4)
    with pytest.raises(gpu.ArgumentError, match=r"a Tensor in host memory came.*numpy\(\)"):
        unguarded[1, 4](tensor, torch.zeros(4))
    out = torch.zeros(4)
    unguarded[1, 4](tensor.numpy(), out.numpy())
    assert out.tolist() == [1, 1, 1, 1]


@cuda.jit
def mark(records):
    records[cuda.grid(1)].x = 1


def test_an_array_of_records():
    records = np.zeros(8, np.dtype([("x", np.float32), ("y", np.int32)], align=True))
    found, text = fault(mark, 1, 32, records)
    assert found.kind == "out-of-bounds"
    assert (
        "mark writes records[8]; records has 8 elements of 8 bytes (x, y) (4 bytes outside)" in text
    )
