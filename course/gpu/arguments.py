"""Python values to the plain data of a launch, each checked against the kernel's parameter.

A C++ compiler refuses a float array where the kernel wants ints. Across the border from Python
nothing would notice, and the results would be nonsense; so the same check is made here.
"""

import functools
import math
import re
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from course.gpu.devices import Array, Device, Pointer, Scalar
from course.gpu.errors import ArgumentError
from course.gpu.signature import Parameter

#: The dtypes that fit a C++ element, the plainest first. Bits may stand for what NumPy lacks.
_DTYPES = {
    "bool": ("bool", "uint8"),
    "char": ("int8", "uint8"),
    "signed char": ("int8", "uint8"),
    "unsigned char": ("uint8", "int8"),
    "short": ("int16", "uint16"),
    "unsigned short": ("uint16", "int16"),
    "int": ("int32", "uint32"),
    "unsigned int": ("uint32", "int32"),
    "long long": ("int64", "uint64"),
    "unsigned long long": ("uint64", "int64"),
    "float": ("float32",),
    "double": ("float64",),
    "__half": ("float16", "int16", "uint16"),
    "__nv_bfloat16": ("bfloat16", "int16", "uint16"),
    "__nv_fp8_e4m3": ("float8_e4m3fn", "uint8", "int8"),
    "__nv_fp8_e5m2": ("float8_e5m2", "uint8", "int8"),
}
_LONG = "int" if sys.platform == "win32" else "long long"
_DTYPES["long"] = _DTYPES[_LONG]
_DTYPES["unsigned long"] = _DTYPES[f"unsigned {_LONG}"]

_FLOATS = (float, np.floating)
_NUMBERS = (int, *_FLOATS, np.integer, np.bool_)
_STRUCTS = (bytes, np.void)

_VECTOR = re.compile(r"(u?)(char|short|int|longlong|long|float|double)([1-4])")


@dataclass(frozen=True)
class _Element:
    """What an array must hold for a pointer: `count` numbers of one of `dtypes`, aligned."""

    dtypes: tuple[str, ...]
    count: int
    align: int


def _element(cpp: str) -> _Element | None:
    """Return the element that a C++ type stands for, or None if anything may lie there."""
    cpp = re.sub(r"^(const |volatile )+", "", cpp)
    if cpp in _DTYPES:
        return _Element(_DTYPES[cpp], 1, 1)
    if match := _VECTOR.fullmatch(cpp):
        sign, base, count = match[1], match[2].replace("longlong", "long long"), int(match[3])
        base = f"unsigned {base}" if sign else base
    elif cpp in ("__half2", "__nv_bfloat162"):
        base, count = cpp[:-1], 2
    else:
        return None
    dtypes = _DTYPES[base]
    if base in ("float", "double") and count == 2:
        dtypes = (*dtypes, "complex64" if base == "float" else "complex128")
    size = 2 if dtypes[0] == "bfloat16" else np.dtype(dtypes[0]).itemsize
    return _Element(dtypes, count, size * (count if count != 3 else 1))


class Place:
    """One parameter of a kernel as the goal of an argument, and the subject of its messages.

    Parameters
    ----------
    kernel : str
        The kernel's name.
    number : int
        Counted from 1.
    parameter : Parameter
        What it declares.
    """

    def __init__(self, kernel: str, number: int, parameter: Parameter) -> None:
        self.kernel = kernel
        self.number = number
        self.parameter = parameter
        self.slot = parameter.slot
        self.name = parameter.name or f"argument {number}"
        self.cpp = parameter.type.text if parameter.type else ""
        pointee = parameter.type.pointee if parameter.type else None
        self.element = _element(pointee.text) if pointee else None
        self.is_pointer = pointee is not None
        # without a C++ type eight bytes may be either
        self.may_be_pointer = pointee is not None or (
            not parameter.type and self.slot.kind != "f" and self.slot.size == 8
        )
        self.writable = pointee is None or not pointee.const

    def refuse(self, text: str) -> NoReturn:
        """Raise an ArgumentError about it."""
        raise ArgumentError(f"{self.kernel}: argument {self.number}, `{self.parameter}`, {text}")


def pack(
    places: Sequence[Place],
    values: Sequence[Any],
    device: Device,
) -> list[Scalar | Array | Pointer]:
    """Return the plain data of a launch.

    Parameters
    ----------
    places : sequence of Place
        The kernel's parameters.
    values : sequence
        What the caller gave, one for each: numbers, NumPy arrays, torch tensors, or None for a
        null pointer.
    device : Device
        Where it will run.

    Raises
    ------
    ArgumentError
        A value does not fit its parameter.
    """
    packed = [_pack_one(place, value, device) for place, value in zip(places, values, strict=True)]
    host = next((p for p, b in zip(places, packed, strict=True) if isinstance(b, Array)), None)
    gpu = next((p for p, b in zip(places, packed, strict=True) if _on_gpu(b)), None)
    if host and gpu:
        raise ArgumentError(
            f"{host.kernel}: `{gpu.name}` lies on the GPU and `{host.name}` in host memory. One "
            "launch takes its arrays from one place: move the others with .cuda(), or all with "
            ".cpu()."
        )
    return packed


def _on_gpu(buffer: Scalar | Array | Pointer) -> bool:
    return isinstance(buffer, Pointer) and buffer.address != 0


def check_count(kernel: str, parameters: Sequence[Parameter], got: int) -> None:
    """Refuse another number of arguments than the kernel has parameters.

    Raises
    ------
    ArgumentError
        The message names the parameters.
    """
    wanted = len(parameters)
    if got == wanted:
        return
    text = (
        f"{kernel} takes {wanted} argument{'s' * (wanted != 1)} "
        f"({', '.join(map(str, parameters))}), and {got} came."
    )
    if got < wanted:
        text += f" Missing from the end: {', '.join(map(str, parameters[got:]))}."
    raise ArgumentError(text)


def _pack_one(place: Place, value: Any, device: Device) -> Scalar | Array | Pointer:
    tensor = _is_tensor(value)
    if tensor or isinstance(value, np.ndarray):
        if not place.may_be_pointer:
            place.refuse(
                f"is one number, and {_kind(value)} of shape {tuple(value.shape)} came. Take a "
                "number out of it with .item()."
            )
        return _pack_tensor(place, value, device) if tensor else _pack_array(place, value)
    if place.may_be_pointer and value is None:
        return Pointer(0)
    if place.is_pointer:
        place.refuse(f"is an array, and {_kind(value)} came. {_how_to_make(place.element)}")
    return Scalar(_pack_number(place, value))


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")  # a tensor can only come from an imported torch
    return torch is not None and isinstance(value, torch.Tensor)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray) or _is_tensor(value):
        name = _dtype_name(value.dtype)
        article = "an" if name.startswith("i") else "a"
        return f"{article} {name} {'torch tensor' if _is_tensor(value) else 'NumPy array'}"
    if value is None:
        return "None"
    if isinstance(value, _NUMBERS):
        return f"the {type(value).__name__} {value}"
    return f"a {type(value).__name__}"


@functools.cache
def _dtype_name(dtype: Any) -> str:
    """Return NumPy's name of a dtype, which torch uses too."""
    return dtype.name if isinstance(dtype, np.dtype) else str(dtype).removeprefix("torch.")


def _how_to_make(element: _Element | None) -> str:
    dtype = next((d for d in element.dtypes if hasattr(np, d)), None) if element else None
    return f"Make one: np.array([...], dtype=np.{dtype or 'float32'})."


# --- arrays ---------------------------------------------------------------------------------------


def _pack_array(place: Place, array: np.ndarray) -> Array:
    if isinstance(array, np.ma.MaskedArray):
        place.refuse(
            "needs a plain array, and a masked one came: a kernel cannot see the mask. Give the "
            "masked elements a value (.filled(0)), or pass what lies beneath (.data)."
        )
    if array.dtype.hasobject or not array.dtype.isnative:
        place.refuse(f"needs plain numbers of this machine's byte order, and {array.dtype!r} came.")
    if not array.flags.c_contiguous:
        place.refuse(
            f"needs a contiguous array, and one of shape {array.shape} with strides "
            f"{array.strides} bytes came (a slice or a transpose). Copy it first: "
            "np.ascontiguousarray(...)."
        )
    _check_elements(place, array, _dtype_name(array.dtype), array.size, "astype(np.{})")
    if place.writable and not array.flags.writeable:
        place.refuse(
            "may be written by the kernel, and a read-only NumPy array came. If the kernel only "
            f"reads it, declare it const; else pass a copy: {place.name}.copy()."
        )
    return Array(array, place.writable, place.name)


def _pack_tensor(place: Place, tensor: Any, device: Device) -> Array | Pointer:
    torch = sys.modules["torch"]
    if tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
        place.refuse("needs a dense tensor without a pending conjugation (.to_dense(), .clone()).")
    if not tensor.is_contiguous():
        place.refuse(
            f"needs a contiguous tensor, and one of shape {tuple(tensor.shape)} with strides "
            f"{tensor.stride()} elements came (a slice or a transpose). Copy it first: "
            ".contiguous()."
        )
    name = _dtype_name(tensor.dtype)
    element = _check_elements(place, tensor, name, tensor.numel(), "to(torch.{})")
    if tensor.device.type == "cpu":
        plain = tensor.detach()
        if not hasattr(np, name):  # bfloat16 and float8: NumPy carries their bits
            plain = plain.view(torch.int16 if tensor.itemsize == 2 else torch.uint8)
        return Array(plain.numpy(), place.writable, place.name)
    if str(tensor.device) != device.memory:
        place.refuse(
            f"lies on {tensor.device}, and the kernel runs on {device} with "
            + (f"the memory of {device.memory}. " if device.memory else "host memory. ")
            + f"Move it: .to({device.memory or 'cpu'!r})."
        )
    address = tensor.data_ptr()
    if element and address % element.align:
        place.refuse(
            f"is read in pieces of {element.align} bytes, and the tensor starts at an address "
            f"that is no multiple of {element.align} (a slice?). Copy it first: .clone()."
        )
    return Pointer(address)


def _check_elements(
    place: Place,
    array: Any,
    dtype: str,
    size: int,
    conversion: str,
) -> _Element | None:
    """Refuse elements that the kernel would read as something else."""
    element = place.element
    if element is None:
        return None
    if isinstance(array, np.ndarray) and array.dtype.names:
        fields = ", ".join(array.dtype.names)
        place.refuse(
            f"needs {element.dtypes[0]} elements, and an array of records with the fields {fields} "
            f"came. Pass one field of them, copied: [{array.dtype.names[0]!r}].copy()."
        )
    if dtype not in element.dtypes:
        bits = " (or its bits as int16)" if "int16" in element.dtypes[1:] else ""
        want = element.dtypes[0]
        if isinstance(array, np.ndarray) and not hasattr(np, want):
            want, bits = "int16" if "int16" in element.dtypes else "uint8", " (the bits)"
        place.refuse(
            f"needs {want} elements{bits}, and {_kind(array)} came. Make it with that dtype, or "
            f"convert it: .{conversion.format(want)}."
        )
    if not dtype.startswith("complex") and size % element.count:
        place.refuse(
            f"holds {element.count} numbers an element, and {size} numbers came: not a multiple."
        )
    return element


# --- numbers --------------------------------------------------------------------------------------


def _pack_number(place: Place, value: Any) -> bytes:
    slot, cpp = place.slot, place.cpp
    if isinstance(value, _STRUCTS):
        data = value if isinstance(value, bytes) else value.tobytes()
        if slot.kind != "b" or len(data) != slot.size:
            place.refuse(f"takes {slot.size} bytes, and {len(data)} bytes of a struct came.")
        return data
    if not isinstance(value, _NUMBERS):
        hint = " Did you forget [grid, block]?" if callable(value) else ""
        place.refuse(f"is one number, and {_kind(value)} came.{hint}")
    if cpp in ("__half", "__nv_bfloat16"):
        return _pack_16_bit(place, float(value), cpp)
    if slot.kind == "b":
        place.refuse(
            f"is a struct of {slot.size} bytes, and {_kind(value)} came. Pass its bytes as a NumPy "
            "structured scalar: np.array([(...)], dtype=[...])[0]."
        )
    if slot.kind == "f":
        return _pack_float(place, float(value), "f" if slot.size == 4 else "d")
    return _pack_integer(place, value, cpp)


def _pack_integer(place: Place, value: Any, cpp: str) -> bytes:
    if isinstance(value, _FLOATS):
        whole = f" int({value}) loses nothing." if float(value).is_integer() else ""
        place.refuse(f"is an integer, and {_kind(value)} came.{whole} Use // to divide integers.")
    slot, value = place.slot, int(value)
    bits = 8 * slot.size
    signed = cpp != "bool" and not cpp.startswith("unsigned")
    unsigned = cpp == "bool" or cpp.startswith("unsigned") or not cpp
    low = -(1 << (bits - 1)) if signed else 0
    high = 1 if cpp == "bool" else (1 << (bits if unsigned else bits - 1)) - 1
    if not low <= value <= high:
        place.refuse(f"holds {low:,} to {high:,}, and {value:,} came.")
    return (value & ((1 << bits) - 1)).to_bytes(slot.size, "little")


def _pack_float(place: Place, value: float, code: str) -> bytes:
    try:
        return struct.pack("<" + code, value)
    except OverflowError:
        place.refuse(f"is a float, whose largest value is 3.4e38, and {value} came.")


def _pack_16_bit(place: Place, value: float, cpp: str) -> bytes:
    with np.errstate(over="ignore"):
        half = np.float16(value)
    if cpp == "__half":
        if math.isfinite(value) and not np.isfinite(half):
            place.refuse(f"is a half, whose largest value is 65504, and {value} came.")
        return half.tobytes()
    (bits,) = struct.unpack("<I", _pack_float(place, value, "f"))
    if not math.isnan(value):
        bits += 0x7FFF + (bits >> 16 & 1)  # round to nearest, ties to even
    return (bits >> 16 & 0xFFFF).to_bytes(2, "little")
