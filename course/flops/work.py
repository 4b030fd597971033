"""Work, the unit of account, and small questions about operators and their tensors."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload


@dataclass(frozen=True)
class Work:
    """What operators did: FLOPs of products, other arithmetic, bytes moved, number of calls."""

    flops: int = 0
    pointwise: int = 0
    bytes: int = 0
    calls: int = 0

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.flops + other.flops,
            self.pointwise + other.pointwise,
            self.bytes + other.bytes,
            self.calls + other.calls,
        )


def base_name(func: OpOverload) -> str:
    """Return ``"addmm"`` for each of ``aten::addmm``, ``aten::addmm_`` and ``aten::addmm.out``."""
    namespace, name = func._schema.name.split("::")
    if namespace != "aten":
        return f"{namespace}::{name}"
    return name if name.endswith("__") else name.removesuffix("_")


def tensors(tree: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples, lists and dicts."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from tensors(item)
    elif isinstance(tree, dict):
        yield from tensors(list(tree.values()))


def names(text: str) -> frozenset[str]:
    """Return the set of the words in `text`."""
    return frozenset(text.split())


def is_float(tensor: Tensor) -> bool:
    """Tell whether arithmetic on `tensor` is floating-point arithmetic."""
    return tensor.is_floating_point() or tensor.is_complex()


def is_nested(tensor: Tensor) -> bool:
    """Tell whether `tensor` is a batch of tensors of several shapes, without a shape of its own."""
    return tensor.is_nested and tensor.layout == torch.strided
