import struct
import sys

import numpy as np
import pytest
import torch
from recording_device import Recorder

from course import gpu
from course.gpu.devices import Array, Pointer, Scalar

SOURCE = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
struct Pair { int a; float b; };
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {}
__global__ void numbers(bool b, char c, short s, unsigned u, long long q, size_t z, double d) {}
__global__ void halves(__half h, __nv_bfloat16 b) {}
__global__ void byvalue(Pair p, float4 v) {}
__global__ void ints(const int* i, unsigned short* s, long long* q, bool* b, char* c) {}
__global__ void floats(float* f, double* d, __half* h, __nv_bfloat16* b, __nv_fp8_e4m3* e) {}
__global__ void vectors(float4* v, __half2* h, float2* c, uint3* t) {}
__global__ void anything(void* p, const Pair* q, float** r) {}
__global__ void nothing() {}
namespace a { extern "C" __global__ void hidden(float* x, int n, float a) {} }
"""


@pytest.fixture(scope="module")
def module():
    return gpu.compile(SOURCE)


@pytest.fixture
def send(module, recorder):
    """Launch a kernel and return the plain data that reached the device."""

    def launch(name, *values):
        module[name][1, 32](*values)
        return recorder.buffers

    return launch


def refusal(send, name, *values):
    with pytest.raises(gpu.ArgumentError) as error:
        send(name, *values)
    assert isinstance(error.value, TypeError)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_reaches_the_device(send):
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    n, a, first, second = send("saxpy", 5, 2.5, x, y)
    assert n == Scalar(struct.pack("<i", 5)) and a == Scalar(struct.pack("<f", 2.5))
    assert first.data is x and not first.writable and first.name == "x"
    assert second.data is y and second.writable and second.name == "y"
    assert isinstance(first, Array)


def test_results_come_back_in_place(module):
    def work(n, a, x, y):
        (a,) = struct.unpack("<f", a.data)
        y.data[:] = a * x.data + y.data

    x, y = np.arange(7, dtype=np.float32), np.ones(7, np.float32)
    tensor = torch.ones(7)
    with gpu.use(Recorder(work)):
        module["saxpy"][1, 7](7, 3.0, x, y)
        module["saxpy"][1, 7](7, 3.0, torch.from_numpy(x), tensor)
    np.testing.assert_array_equal(y, 3 * x + 1)
    np.testing.assert_array_equal(tensor.numpy(), 3 * x + 1)


def test_numbers_as_the_kernel_reads_them(send):
    values = (True, -3, -300, 4_000_000_000, -(2**40), 2**63, 0.1)
    assert b"".join(b.data for b in send("numbers", *values)) == struct.pack("<?bhIqQd", *values)
    scalars = (
        np.bool_(False),
        np.int8(-3),
        np.int16(-300),
        np.uint32(7),
        np.int64(-5),
        np.uint64(2**63),
        np.float32(0.5),
    )
    expected = struct.pack("<?bhIqQd", *(s.item() for s in scalars))
    assert b"".join(b.data for b in send("numbers", *scalars)) == expected


def test_an_int_is_a_fine_float(send):
    assert send("saxpy", 0, 3, None, None)[1].data == struct.pack("<f", 3.0)
    assert send("saxpy", 0, np.int64(3), None, None)[1].data == struct.pack("<f", 3.0)
    assert send("saxpy", True, float("inf"), None, None)[1].data == struct.pack("<f", np.inf)


def test_halves_are_rounded_as_torch_rounds_them(send):
    draw = np.random.default_rng(3)
    values = [*draw.normal(size=50), *(draw.normal(size=20) * 1e4), 0.0, -0.0, np.inf, 65504, 1e-7]
    values += [1 + 1 / 256, 1 + 3 / 256, 1 + 1 / 2048, 1 + 3 / 2048]  # half-way cases: to even
    for value in map(float, values):
        half, bf16 = send("halves", value, value)
        expected = torch.tensor(value, dtype=torch.float64)
        assert half.data == expected.half().view(torch.int16).numpy().tobytes()
        assert bf16.data == expected.float().bfloat16().view(torch.int16).numpy().tobytes()
    half, bf16 = send("halves", float("nan"), float("nan"))
    assert np.isnan(np.frombuffer(half.data, np.float16))[0]
    assert torch.frombuffer(bytearray(bf16.data), dtype=torch.bfloat16).isnan()


def test_structs_by_value(send):
    pair = np.array((7, 0.5), dtype=[("a", "i4"), ("b", "f4")])[()]
    first, second = send("byvalue", pair, struct.pack("<4f", 1, 2, 3, 4))
    assert first.data == struct.pack("<if", 7, 0.5) and len(second.data) == 16
    assert "a struct of 8 bytes" in refusal(send, "byvalue", 3, bytes(16))
    assert "takes 8 bytes, and 5 bytes" in refusal(send, "byvalue", b"12345", bytes(16))


def test_arrays_of_every_kind(send):
    send(
        "ints",
        np.zeros(3, np.int32),
        np.zeros(3, np.uint16),
        np.zeros(3, np.int64),
        np.zeros(3, bool),
        np.zeros(3, np.int8),
    )
    send(
        "floats",
        np.zeros(3, np.float32),
        np.zeros(3),
        np.zeros(3, np.float16),
        np.zeros(3, np.uint16),
        np.zeros(3, np.uint8),
    )
    send(
        "vectors",
        np.zeros((3, 4), np.float32),
        np.zeros(4, np.float16),
        np.zeros(3, np.complex64),
        np.zeros(6, np.uint32),
    )
    send("anything", np.zeros(3), np.zeros(3, [("a", "i4"), ("b", "f4")]), np.zeros(2, np.int64))
    assert send("nothing") == []


def test_bf16_tensors_travel_as_their_bits(send):
    tensor = torch.tensor([1.0, -2.5, 3.0], dtype=torch.bfloat16)
    eighths = torch.tensor([1.0, 2.0], dtype=torch.float8_e4m3fn)
    half = torch.zeros(3, dtype=torch.float16)
    buffers = send("floats", torch.zeros(3), torch.zeros(3).double(), half, tensor, eighths)
    assert buffers[3].data.dtype == np.int16
    np.testing.assert_array_equal(buffers[3].data, tensor.view(torch.int16).numpy())
    buffers[3].data[0] = buffers[3].data[1]  # the same memory: results come back
    assert tensor[0] == -2.5


def test_bits_stand_for_halves_in_tensors_too(send):
    bits = torch.zeros(3, dtype=torch.int16)
    send("floats", torch.zeros(3), torch.zeros(3).double(), bits, bits, bits.to(torch.uint8))


def test_tensors_that_require_grad_are_read_as_they_are(send):
    tensor = torch.ones(4, requires_grad=True)
    buffer = send("saxpy", 4, 1.0, tensor, np.zeros(4, np.float32))[2]
    assert buffer.data.ctypes.data == tensor.data_ptr()


def test_none_is_the_null_pointer(send):
    assert send("saxpy", 0, 1.0, None, None)[2:] == [Pointer(0), Pointer(0)]


def test_empty_and_zero_dimensional_arrays(send):
    send("saxpy", 0, 1.0, np.zeros(0, np.float32), np.zeros((), np.float32))


# --- refusals -------------------------------------------------------------------------------------

F32 = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((4, 1.0, F32), "takes 4 arguments (int n, float a, const float* x, float* y), and 3 came"),
        ((4, 1.0, F32), "Missing from the end: float* y."),
        ((4, 1.0, F32, F32, 5), "takes 4 arguments (int n, float a, const float* x, float* y)"),
        ((4.0, 1.0, F32, F32), "argument 1, `int n`, is an integer, and the float 4.0 came."),
        ((4.5, 1.0, F32, F32), "is an integer, and the float 4.5 came. Use //"),
        ((np.float32(4), 1.0, F32, F32), "is an integer, and the float32 4.0 came"),
        ((2**31, 1.0, F32, F32), "holds -2,147,483,648 to 2,147,483,647, and 2,147,483,648 came"),
        (("4", 1.0, F32, F32), "is one number, and a str came"),
        ((F32, 1.0, F32, F32), "is one number, and a float32 NumPy array of shape (4,) came"),
        ((4, 1e39, F32, F32), "argument 2, `float a`, is a float, whose largest value"),
        ((4, 1j, F32, F32), "is one number, and a complex came"),
        ((4, None, F32, F32), "is one number, and None came"),
        ((4, 1.0, 3, F32), "argument 3, `const float* x`, is an array, and the int 3 came."),
        (
            (4, 1.0, [1.0], F32),
            "is an array, and a list came. Make one: np.array([...], dtype=np.f",
        ),
        ((4, 1.0, np.zeros(4), F32), "needs float32 elements, and a float64 NumPy array came"),
        ((4, 1.0, np.zeros(4), F32), ".astype(np.float32)"),
        ((4, 1.0, F32.astype(int), F32), "needs float32 elements, and an int64 NumPy array came"),
        ((4, 1.0, torch.zeros(4).double(), F32), "a float64 torch tensor came"),
        ((4, 1.0, torch.zeros(4).double(), F32), ".to(torch.float32)"),
        ((4, 1.0, F32, F32.reshape(2, 2).T), "needs a contiguous array, and one of shape (2, 2)"),
        ((4, 1.0, F32[::2], F32), "np.ascontiguousarray"),
        ((4, 1.0, torch.zeros(4, 4).T, F32), "needs a contiguous tensor"),
        ((4, 1.0, torch.zeros(1).expand(4), F32), "needs a contiguous tensor"),
        ((4, 1.0, F32.astype(">f4"), F32), "this machine's byte order"),
        ((4, 1.0, np.array([None]), F32), "needs plain numbers"),
        ((4, 1.0, torch.zeros(4).to_sparse(), F32), "needs a dense tensor"),
        ((4, 1.0, torch.zeros(4, device="meta"), F32), "lies on meta, and the kernel runs on Rec"),
    ],
)
def test_saxpy_refuses(send, values, message):
    assert message in refusal(send, "saxpy", *values)


def test_a_read_only_array_can_only_be_read(send):
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    send("saxpy", 4, 1.0, frozen, F32)
    text = refusal(send, "saxpy", 4, 1.0, F32, frozen)
    assert "argument 4, `float* y`, may be written by the kernel, and a read-only" in text
    assert "declare it const" in text and "y.copy()" in text


@pytest.mark.parametrize(
    ("place", "array", "message"),
    [
        (0, np.zeros(3, np.float32), "needs int32 elements, and a float32 NumPy array came"),
        (0, torch.zeros(3), "needs int32 elements, and a float32 torch tensor came"),
        (1, np.zeros(3, np.float16), "needs uint16 elements"),
        (2, np.zeros(3, np.int32), "needs int64 elements"),
        (3, np.zeros(3, np.int32), "needs bool elements"),
        (4, np.zeros(3, bool), "needs int8 elements"),
    ],
)
def test_ints_refuse(send, place, array, message):
    right = [
        np.zeros(3, np.int32),
        np.zeros(3, np.uint16),
        np.zeros(3, np.int64),
        np.zeros(3, bool),
        np.zeros(3, np.int8),
    ]
    right[place] = array
    assert message in refusal(send, "ints", *right)


@pytest.mark.parametrize(
    ("place", "array", "message"),
    [
        (1, np.zeros(3, np.float32), "needs float64 elements"),
        (2, np.zeros(3, np.float32), "needs float16 elements (or its bits as int16)"),
        (3, np.zeros(3, np.float16), "needs int16 elements (the bits), and a float16"),
        (3, torch.zeros(3, dtype=torch.float16), "needs bfloat16 elements (or its bits as int16)"),
        (4, torch.zeros(3, dtype=torch.bfloat16), "needs float8_e4m3fn elements"),
    ],
)
def test_floats_refuse(send, place, array, message):
    right = [
        np.zeros(3, np.float32),
        np.zeros(3),
        np.zeros(3, np.float16),
        np.zeros(3, np.uint16),
        np.zeros(3, np.uint8),
    ]
    right[place] = array
    assert message in refusal(send, "floats", *right)


def test_vectors_come_whole(send):
    text = refusal(send, "vectors", np.zeros(7, np.float32), None, None, None)
    assert "holds 4 numbers an element, and 7 numbers came" in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((2, 0, 0, 0, 0, 0, 0), "`bool b`, holds 0 to 1, and 2 came"),
        ((0, 128, 0, 0, 0, 0, 0), "holds -128 to 127"),
        ((0, 0, 0, -1, 0, 0, 0), "`unsigned int u`, holds 0 to 4,294,967,295, and -1 came"),
        ((0, 0, 0, 0, 2**63, 0, 0), "`long long q`, holds"),
        ((0, 0, 0, 0, 0, 1.0, 0), "is an integer"),
    ],
)
def test_numbers_refuse(send, values, message):
    assert message in refusal(send, "numbers", *values)


def test_a_half_has_an_end(send):
    assert "largest value is 65504" in refusal(send, "halves", 70000.0, 1.0)


def test_without_types_the_sizes_are_checked(send):
    x = np.zeros(3, np.float64)  # nothing says that these should be float32
    buffers = send("hidden", x, 7, 2.0)
    assert buffers[0].data is x and buffers[0].writable
    assert buffers[1:] == [Scalar(struct.pack("<i", 7)), Scalar(struct.pack("<f", 2.0))]
    assert "holds -2,147,483,648 to 4,294,967,295" in refusal(send, "hidden", x, 2**32, 2.0)
    assert "is an integer" in refusal(send, "hidden", x, 1.5, 2.0)
    assert "is one number" in refusal(send, "hidden", x, x, 2.0)


def test_numbers_work_without_torch(module, recorder, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch")
    module["saxpy"][1, 1](4, 1.0, F32, F32)
    with pytest.raises(gpu.ArgumentError, match="is an array, and a Tensor came"):
        module["saxpy"][1, 1](4, 1.0, torch.zeros(4), F32)


def test_a_kernel_is_no_number(send, module):
    assert "Did you forget" in refusal(send, "saxpy", module["saxpy"], 1.0, F32, F32)


@pytest.mark.parametrize("mask", [True, False, [0, 1, 0, 0]])
def test_masked_arrays(send, mask):
    text = refusal(send, "saxpy", 4, 1.0, np.ma.array(np.ones(4, np.float32), mask=mask), None)
    assert "a masked one came" in text and ".filled(0)" in text


@pytest.mark.parametrize("kind", [np.ndarray, np.recarray])
def test_arrays_of_records(send, kind):
    records = np.zeros(4, [("x", np.float32), ("n", np.int32)]).view(kind)
    text = refusal(send, "saxpy", 4, 1.0, records, None)
    assert "records with the fields x, n came" in text and "['x'].copy()" in text
    assert send("anything", None, records, None)[1].data.dtype.names == ("x", "n")
