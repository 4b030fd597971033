"""How much arithmetic one operator does, elementwise operators included.

PyTorch tags its operators: one that is pointwise or a reduction does a single operation, or as many
as PER_ELEMENT says, for each element of the largest floating-point tensor that it touches.
"""

from functools import cache
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

from course.flops.formulas import FORMULAS, formula
from course.flops.work import Work, base_name, is_float, is_nested, names, tensors

#: Operations per element where one is not the answer, or where PyTorch has no tag. The steps:
PER_ELEMENT = {
    # subtract the mean, square, add, after a sum for the mean
    **dict.fromkeys(["var", "std", "var_mean", "std_mean"], 4),
    **dict.fromkeys(["norm", "linalg_vector_norm"], 2),  # square, add
    **dict.fromkeys(["addcmul", "addcdiv"], 2),
    "lerp": 3,  # subtract, multiply, add
    "logsumexp": 4,  # maximum, subtract, exp, add
    # maximum, subtract, exp, add, then divide (or subtract the logarithm)
    **dict.fromkeys(["_softmax", "_safe_softmax", "_log_softmax", "_masked_softmax"], 5),
    # y (g - sum(g y)): multiply, add, subtract, multiply
    **dict.fromkeys(["_softmax_backward_data", "_masked_softmax_backward"], 4),
    "_log_softmax_backward_data": 4,  # g - exp(y) sum(g): add, exp, multiply, subtract
    # mean 1, variance 3, subtract and scale 2, weight and bias 2
    **dict.fromkeys(["native_layer_norm", "native_group_norm"], 8),
    # the normalised x again 2; sums for weight and bias 3; g · weight and its two sums 4; combine 4
    **dict.fromkeys(["native_layer_norm_backward", "native_group_norm_backward"], 13),
    **dict.fromkeys(["native_batch_norm_backward", "cudnn_batch_norm_backward"], 13),
    "batch_norm_backward": 13,
    **dict.fromkeys(["mse_loss", "mse_loss_backward"], 3),  # subtract, square, add
    **dict.fromkeys(["binary_cross_entropy", "binary_cross_entropy_with_logits"], 7),
    "addr": 2,
    "_thnn_fused_lstm_cell": 5,  # as for the gates of a whole layer, see formulas
    # activations and the like without a tag
    **dict.fromkeys(["elu_backward", "glu", "glu_backward", "hardswish", "hardswish_backward"], 1),
    **dict.fromkeys(["hardtanh_backward", "hardsigmoid_backward", "hardshrink_backward"], 1),
    **dict.fromkeys(["leaky_relu_backward", "log_sigmoid_forward", "log_sigmoid_backward"], 1),
    **dict.fromkeys(["mish_backward", "softplus_backward", "softshrink_backward"], 1),
    **dict.fromkeys(["_prelu_kernel", "_prelu_kernel_backward", "native_dropout"], 1),
    **dict.fromkeys(["_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward"], 1),
    **dict.fromkeys(["_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward"], 1),
    **dict.fromkeys(["adaptive_max_pool2d", "adaptive_max_pool2d_backward"], 1),
    **dict.fromkeys(["adaptive_max_pool3d", "adaptive_max_pool3d_backward"], 1),
    **dict.fromkeys(["cumsum", "cumprod", "trace", "_amp_foreach_non_finite_check_and_unscale"], 1),
}

#: Operators that move, make, choose or order numbers without doing arithmetic on them.
WITHOUT_ARITHMETIC = names(
    """
    clone copy _to_copy _copy_from _pin_memory lift_fresh_copy where masked_fill masked_scatter
    masked_select fill zero empty empty_like empty_strided empty_permuted new_empty
    new_empty_strided full full_like new_full ones ones_like new_ones zeros zeros_like new_zeros
    scalar_tensor arange linspace eye tril triu tril_indices triu_indices _efficientzerotensor
    rand rand_like randn randn_like randint randint_like randperm random uniform normal bernoulli
    exponential geometric log_normal cauchy multinomial
    cat stack _stack unsafe_split unsafe_split_with_sizes split_with_sizes_copy repeat
    repeat_interleave roll flip rot90 gather index _unsafe_index index_select take embedding
    scatter index_copy index_fill select_backward slice_backward diagonal_backward
    select_scatter slice_scatter diagonal_scatter as_strided_scatter unfold_copy im2col
    constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
    replication_pad2d replication_pad3d pixel_shuffle pixel_unshuffle channel_shuffle
    upsample_nearest1d upsample_nearest2d upsample_nearest3d
    sort topk kthvalue nonzero searchsorted bucketize bincount isin _unique2 unique_consecutive
    resize set resize_as as_strided squeeze unsqueeze transpose t detach record_stream
    _local_scalar_dense is_same_size is_pinned equal _assert_async _assert_scalar
    _assert_tensor_metadata _fused_sdp_choice _pack_padded_sequence _cudnn_rnn_flatten_weight
    _cudnn_init_dropout_state _linalg_check_errors
    to_padded_tensor _nested_from_padded _nested_tensor_from_tensor_list
    """
)


def arithmetic(func: OpOverload, args: tuple, kwargs: dict[str, Any], out: Any) -> Work | None:
    """Return the FLOPs and the pointwise operations of one call, or None if nobody can tell.

    Parameters
    ----------
    func, args, kwargs
        The call, as a dispatch mode sees it.
    out
        What it returned.
    """
    if parts := _components(args, kwargs, out):
        each = [arithmetic(func, *part) for part in parts]
        return None if None in each else sum(each, Work())
    if not all(map(_has_plain_shape, tensors([args, kwargs]))):
        return None
    name = base_name(func)
    if name in FORMULAS:
        given = {a.name for a in func._schema.arguments if a.is_out}  # no argument of the formula
        return FORMULAS[name](out, *args, **{k: v for k, v in kwargs.items() if k not in given})
    name = name.removeprefix("_foreach_").removeprefix("prims::")
    if name in WITHOUT_ARITHMETIC:
        return Work()
    if name in PER_ELEMENT or _is_tagged(name):
        return Work(pointwise=PER_ELEMENT.get(name, 1) * _elements(args, kwargs, out))
    return None


def _components(args: tuple, kwargs: dict[str, Any], out: Any) -> list[tuple]:
    """Return the arguments and the result for each component of nested tensors; or nothing.

    A component is a batch of one, so that a formula finds the dimensions that it expects.
    """
    whole = args, kwargs, out
    nested = {id(t): t.unbind() for t in tensors(list(whole)) if is_nested(t)}
    count = max(map(len, nested.values()), default=0)

    def component(tree: Any, index: int) -> Any:
        if isinstance(tree, Tensor):
            return nested[id(tree)][index].unsqueeze(0) if id(tree) in nested else tree
        if isinstance(tree, list | tuple):
            return type(tree)(component(item, index) for item in tree)
        if isinstance(tree, dict):
            return {key: component(item, index) for key, item in tree.items()}
        return tree

    return [component(whole, index) for index in range(count)]


def _has_plain_shape(tensor: Tensor) -> bool:
    """Tell whether the shape says how much work there is: no, if sparse or quantized."""
    return tensor.layout == torch.strided and not tensor.is_quantized


@cache
def _is_tagged(name: str) -> bool:
    """Tell whether PyTorch calls any form of the operator pointwise or a reduction."""
    packets = [getattr(torch.ops.aten, form, None) for form in (name, f"{name}_")]
    overloads = [getattr(p, form) for p in packets if p is not None for form in p.overloads()]
    tags = {tag for overload in overloads for tag in overload.tags}
    return torch.Tag.pointwise in tags or torch.Tag.reduction in tags


def _elements(args: tuple, kwargs: dict[str, Any], out: Any) -> int:
    """Return the size of the largest floating-point tensor; a list of tensors counts as one.

    Zero where tensors come out and none is floating-point: comparing and choosing is no arithmetic.
    """
    results = list(tensors(out))
    if results and not any(map(is_float, results)):
        return 0
    results = [out] if isinstance(out, list) else results
    return max(
        sum(t.numel() for t in tensors(value) if is_float(t))
        for value in (*args, *kwargs.values(), *results, 0)
    )


# --- where the largest tensor does not tell --------------------------------------------------


@formula("native_batch_norm", "cudnn_batch_norm", "_native_batch_norm_legit")
@formula("_batch_norm_with_update")
def _batch_norm(out: Any, x: Tensor, *rest: Any, **__: Any) -> Work:
    """Mean 1, variance 3, subtract and scale 2, weight and bias 2; the last four at rest."""
    training = next((value for value in rest if isinstance(value, bool)), True)
    return Work(pointwise=(8 if training else 4) * x.numel())


@formula("_native_batch_norm_legit_no_training", "_batch_norm_no_update")
def _batch_norm_at_rest(out: Any, x: Tensor, *_: Any, **__: Any) -> Work:
    return Work(pointwise=4 * x.numel())


@formula("nll_loss_forward", "nll_loss2d_forward")
def _nll_loss(out: Any, x: Tensor, target: Tensor, *_: Any, **__: Any) -> Work:
    return Work(pointwise=target.numel())


@formula("nll_loss_backward", "nll_loss2d_backward")
def _nll_loss_backward(
    out: Any, grad: Tensor, x: Tensor, target: Tensor, *_: Any, **__: Any
) -> Work:
    return Work(pointwise=target.numel())


@formula("embedding_dense_backward", "_embedding_bag_backward", "_embedding_bag_dense_backward")
def _embedding_backward(out: Any, grad: Tensor, indices: Tensor, *_: Any, **__: Any) -> Work:
    """Each row that was looked up is added to its row of the gradient."""
    return Work(pointwise=indices.numel() * grad.shape[-1])


@formula("_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(out: Any, weight: Tensor, indices: Tensor, *_: Any, **__: Any) -> Work:
    return Work(pointwise=indices.numel() * weight.shape[-1])


@formula("scatter_add", "index_add", "scatter_reduce", "index_reduce")
def _scatter_add(
    out: Any, x: Tensor, dim: int, index: Tensor, source: Tensor, *_: Any, **__: Any
) -> Work:
    return Work(pointwise=source.numel() if is_float(source) else 0)


@formula("index_put", "_index_put_impl", "_unsafe_index_put")
def _index_put(
    out: Any, x: Tensor, indices: Any, values: Tensor, accumulate: bool = False, *_: Any, **__: Any
) -> Work:
    return Work(pointwise=values.numel() if accumulate and is_float(values) else 0)


@formula("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d")
def _pool(out: Any, x: Tensor, kernel: list[int], *_: Any, **__: Any) -> Work:
    """Each result looks at its whole window. A kernel of one number is square, or a cube."""
    result = next(tensors(out))
    dimensions = 3 if x.ndim == 5 else 2
    window = kernel[0] ** dimensions if len(kernel) == 1 else prod(kernel)
    return Work(pointwise=window * result.numel())


@formula("avg_pool2d_backward", "avg_pool3d_backward")
def _avg_pool_backward(
    out: Any, grad: Tensor, x: Tensor, kernel: list[int], *_: Any, **__: Any
) -> Work:
    return _pool(grad, x, kernel)


@formula("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def _max_pool_backward(out: Any, grad: Tensor, *_: Any, **__: Any) -> Work:
    return Work(pointwise=grad.numel())
