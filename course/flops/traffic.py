"""How many bytes one operator reads and writes: each input once, each output once, a view nothing.

This is what an operator that finds its inputs in memory and leaves its outputs there cannot avoid.
What it keeps in registers or a cache, or reads again because a cache was too small, is not in it.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from course.flops.work import base_name, names, tensors

#: In place, these write their first argument without reading it.
_OVERWRITES = names(
    "copy fill zero random uniform normal bernoulli exponential geometric log_normal cauchy "
    "_foreach_zero _foreach_copy"
)
#: These return memory that nobody has written yet.
_ALLOCATIONS = names("empty empty_like empty_strided empty_permuted new_empty new_empty_strided")
#: These ask about shapes and places, not about elements.
_QUESTIONS = names(
    "is_same_size is_pinned _has_same_storage_numel _nested_tensor_size _fused_sdp_choice "
    "_assert_tensor_metadata record_stream"
)
#: These read of their first argument no more elements than they return.
_GATHERS = names("embedding index _unsafe_index index_select gather take")
#: In place, these touch of their first argument no more elements than the others have.
_SCATTERS = names(
    "index_put _index_put_impl index_copy index_add index_reduce scatter scatter_add scatter_reduce"
)


def bytes_moved(func: OpOverload, args: tuple, kwargs: dict[str, Any], out: Any) -> int:
    """Return the bytes that one call reads and writes, as a dispatch mode sees the call.

    A tensor that is passed twice is read once. An expanded dimension has one element; a sparse
    tensor counts as its parts.
    """
    name = base_name(func)
    if name in _ALLOCATIONS | _QUESTIONS or torch.Tag.inplace_view in func.tags:
        return 0
    reads, writes = {}, {}
    for position, (argument, value) in enumerate(_bound(func, args, kwargs)):
        written = argument.alias_info is not None and argument.alias_info.is_write
        most = _most(name, position, written, args, out)
        for tensor in _parts(value):
            size = min(_size(tensor), most * tensor.element_size())
            if not (written and (argument.is_out or name in _OVERWRITES)):
                reads[_place(tensor)] = size
            if written:
                writes[_place(tensor)] = size
    seen = {_storage(tensor) for tensor in _parts([args, kwargs])}
    results = list(_parts(out))
    writes |= {_place(t): _size(t) for t in results if _storage(t) not in seen}
    if results and not writes:
        return 0  # a view
    return sum(reads.values()) + sum(writes.values())


def _bound(
    func: OpOverload, args: tuple, kwargs: dict[str, Any]
) -> Iterator[tuple[torch.Argument, Any]]:
    """Yield each argument that was passed with what the operator's schema says about it."""
    for position, argument in enumerate(func._schema.arguments):
        if position < len(args):
            yield argument, args[position]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def _most(name: str, position: int, written: bool, args: tuple, out: Any) -> float:
    """Return how many elements of the argument at `position` the operator can touch at most."""
    if position > 0:
        return float("inf")
    if name in _GATHERS:
        return next(tensors(out)).numel()
    if name.startswith("_embedding_bag"):
        return args[1].numel() * args[0].shape[-1]
    if name in _SCATTERS and written:
        return max(tensor.numel() for tensor in tensors(args[1:]))
    return float("inf")


def _parts(tree: Any) -> Iterator[Tensor]:
    """Yield the tensors in `tree`; in place of a sparse one, those that it is made of."""
    for tensor in tensors(tree):
        if tensor.layout == torch.sparse_coo:
            yield from (tensor._indices(), tensor._values())
        elif tensor.layout == torch.sparse_csr:
            yield from (tensor.crow_indices(), tensor.col_indices(), tensor.values())
        else:
            yield tensor


def _has_strides(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested


def _storage(tensor: Tensor) -> int:
    """Return a number that tensors over the same memory share."""
    return tensor.untyped_storage()._cdata if _has_strides(tensor) else id(tensor)


def _place(tensor: Tensor) -> tuple:
    """Return a key that is the same for tensors over the same elements: for x and its transpose."""
    if not _has_strides(tensor):
        return (id(tensor),)
    sizes = zip(tensor.shape, tensor.stride(), strict=True)
    steps = sorted((step, size) for size, step in sizes if size > 1 and step)
    return _storage(tensor), tensor.storage_offset(), *steps


def _size(tensor: Tensor) -> int:
    """Return the bytes that the elements of `tensor` occupy: overlapping ones count once."""
    elements, span = 1, 1
    if not _has_strides(tensor) or tensor.numel() == 0:
        return tensor.numel() * tensor.element_size()
    for size, step in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= size if step else 1
        span += (size - 1) * step
    return min(elements, span) * tensor.element_size()
