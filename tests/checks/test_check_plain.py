"""What may be an answer, and its way over the wire."""

import warnings
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest
import torch

from course.checks import Wrong
from course.checks import plain as p

ROUND_TRIPS = [
    None,
    True,
    0,
    -(2**900),
    1.5,
    float("inf"),
    float("nan"),
    -0.0,
    "",
    "übung 中 \ud800 \x00",
    [],
    (),
    {},
    (1,),
    [1, (2.0, [True, None]), {"a": {1: "b", False: [()]}}],
    np.arange(6, dtype=np.int16).reshape(2, 3).T,
    np.array(3.0),
    np.zeros((0, 4), dtype=">f4"),
    np.array([1 + 2j, np.nan]),
    np.array([True, False]),
    torch.arange(6).reshape(2, 3).T,
    torch.tensor(2.5),
    torch.zeros(0, 3),
    torch.tensor([1.5, float("nan")], dtype=torch.bfloat16),
    torch.tensor([1.5]).to(torch.float8_e4m3fn),
    torch.tensor([True]),
    torch.tensor([1 + 2j]).conj(),
]


@pytest.mark.parametrize("value", ROUND_TRIPS, ids=lambda value: p.show(value, 40))
def test_what_crosses_the_wire_arrives_as_it_left(value):
    back = p.decode(p.encode(value))
    assert type(back) is type(value)
    assert p.same(back, p.plain(value))


def test_arrays_arrive_writable_and_apart_from_the_original():
    original = {"a": np.ones(3), "t": torch.ones(3)}
    back = p.decode(p.encode(original))
    back["a"][0], back["t"][0] = 5, 5
    assert original["a"][0] == 1
    assert original["t"][0] == 1


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (Counter("aab"), {"a": 2, "b": 1}),
        (defaultdict(int, x=1), {"x": 1}),
        (OrderedDict(x=(np.uint8(7),)), {"x": (7,)}),
        ({np.int32(3): 1}, {3: 1}),
        (torch.Size([2, 3]), (2, 3)),
    ],
)
def test_near_relatives_become_plain(value, becomes):
    got = p.plain(value)
    assert p.same(got, becomes)


def test_parameters_become_tensors():
    got = p.plain(torch.nn.Parameter(torch.ones(2)))
    assert type(got) is torch.Tensor
    assert not got.requires_grad


class AlwaysEqual(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Array(np.ndarray):
    pass


class Table(dict):
    pass


class Odd(torch.Tensor):
    pass


def nested():
    with warnings.catch_warnings(action="ignore"):  # a prototype, says PyTorch
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (AlwaysEqual(3), "AlwaysEqual"),
        ([{"a": AlwaysEqual(3)}], r"answer\[0\]\['a'\]"),
        (np.ones(2).view(Array), r"is a Array: return an ordinary array"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), r"is a masked array.* \.filled\(number\)"),
        ([np.ma.masked], r"answer\[0\] is a masked array"),
        (nested(), "is a nested tensor"),
        (Table(), "Table"),
        (torch.ones(2).as_subclass(Odd), "Odd"),
        (np.array([1, "a"], dtype=object), "object"),
        (np.array(["a"]), "dtype"),
        (torch.ones(2, device="meta"), "without values"),
        (torch.eye(2).to_sparse(), "without values"),
        (len, "parentheses"),
        (object(), "plain data"),
        ({1, 2}, "set"),
        (b"x", "bytes"),
        (1j, "complex"),
        ({(1, 2): 3}, "keys must be"),
        ({torch.ops.aten.mm: 3}, "overloadpacket"),
        (2**5000, "too large"),
    ],
)
def test_anything_else_is_refused_in_words(value, says):
    with pytest.raises(Wrong, match=says):
        p.plain(value)
    with pytest.raises(Wrong):
        p.encode(value)


def test_depth_parts_and_bytes_are_limited(monkeypatch):
    endless = []
    endless.append(endless)
    with pytest.raises(Wrong, match="nested more than 20"):
        p.plain(endless)
    with pytest.raises(Wrong, match="too large"):
        p.plain([0] * (p.MAX_PARTS + 1))
    monkeypatch.setattr(p, "MAX_BYTES", 1000)
    assert len(p.plain(np.ones(100))) == 100
    with pytest.raises(Wrong, match="too large"):
        p.plain(np.ones(126))
    with pytest.raises(Wrong, match="too large"):
        p.plain({"k": ["x" * 300]})
    with pytest.raises(ValueError, match="too many"):
        p.decode(bytes(2001))


GOOD = p.encode([1, np.arange(4), {"a": torch.ones(2)}])


@pytest.mark.parametrize(
    "data",
    [b"", b"abc", GOOD[:-1], GOOD + b"x", GOOD[:20], b"\xff" * 8, b"\0" * 7 + b"\x02[]"]
    + [
        len(text).to_bytes(8, "big") + text
        for text in [
            b"[1]",
            b"[{}, []]",
            b'[["set", []], []]',
            b'[["array", "O", [1], 0], []]',
            b'[["array", "<f8", [1], 0], []]',
            b'[["array", "<f8", [1], 0], [-8]]',
            b'[["tensor", "save", [1], 0], [0]]',
            b'[["dict", [[["list", []], 1]]], []]',
            b"[" * 100_000,
        ]
    ],
)
def test_bytes_that_nobody_encoded_are_refused(data):
    with pytest.raises(ValueError, match="not an encoded plain value"):
        p.decode(data)


def test_same_compares_type_value_and_bits():
    assert not p.same(1, 1.0)
    assert not p.same(1, True)
    assert not p.same([1], (1,))
    assert not p.same({"a": 1}, {"a": 1, "b": 2})
    assert not p.same(np.ones(3), np.ones((3, 1)))
    assert not p.same(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert not p.same(np.ones(2), torch.ones(2))


def test_messages_show_arrays_by_shape_and_shorten():
    assert p.show([np.ones((2, 3)), torch.ones(1)]) == "[<array 2x3 float64>, <tensor 1 float32>]"
    assert p.show((1,)) == "(1,)"
    assert len(p.show("x" * 999)) == 200
