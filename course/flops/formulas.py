"""How much work one operator does that is more than elementwise: products and what is made of them.

A *formula* takes what the operator returned, then the operator's own arguments, and returns `Work`,
or None where it cannot tell. It reads shapes alone. FORMULAS holds the formulas by the operator's
name without a trailing underscore: `addmm_` counts as `addmm`.
"""

from collections.abc import Callable
from math import prod
from typing import Any

from torch import Tensor

from course.flops.work import Work, is_float

Formula = Callable[..., Work | None]
FORMULAS: dict[str, Formula] = {}


def formula(*names: str) -> Callable[[Formula], Formula]:
    """Register the decorated function as the formula of the operators called `names`.

    Parameters
    ----------
    *names
        Names as in ``torch.ops``: ``"mm"`` for one of aten's, ``"mylib::attention"`` for another.

    Examples
    --------
    >>> @formula("mylib::attention")
    ... def attention(out, q, k, v):
    ...     return Work(flops=4 * q.numel() * k.shape[-2])
    """

    def register(function: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(names, function))
        return function

    return register


# --- products --------------------------------------------------------------------------------


def product(out: Tensor, a: Tensor, inner: int) -> int:
    """Return the FLOPs of a product with result `out` whose every element sums `inner` terms.

    A complex multiply-add is four real ones.
    """
    return (8 if a.is_complex() else 2) * out.numel() * inner


@formula("mm", "bmm", "mv", "_int_mm", "_weight_int8pack_mm", "_weight_int4pack_mm")
@formula("_weight_int4pack_mm_for_cpu", "matmul")  # matmul itself only of nested tensors
def _mm(out: Tensor, a: Tensor, *_: Any, **__: Any) -> Work:
    return Work(flops=product(out, a, a.shape[-1]))


@formula("linear")
def _linear(out: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Work:
    """Of nested tensors; for others PyTorch makes it of `addmm`."""
    return Work(flops=product(out, x, x.shape[-1]), pointwise=0 if bias is None else out.numel())


@formula("dot", "vdot")
def _dot(out: Tensor, a: Tensor, *_: Any, **__: Any) -> Work:
    return Work(flops=product(out, a, a.numel()))


@formula("addmm", "addmv", "baddbmm")
def _addmm(out: Tensor, bias: Tensor, a: Tensor, *_: Any, beta: float = 1, **__: Any) -> Work:
    return Work(flops=product(out, a, a.shape[-1]), pointwise=out.numel() if beta else 0)


@formula("addbmm")
def _addbmm(out: Tensor, bias: Tensor, a: Tensor, *_: Any, beta: float = 1, **__: Any) -> Work:
    """One product of (m, batch · k) and (batch · k, n), as the sum over the batch makes it."""
    return Work(
        flops=product(out, a, a.shape[0] * a.shape[2]), pointwise=out.numel() if beta else 0
    )


@formula("_addmm_activation")
def _addmm_activation(out: Tensor, bias: Tensor, a: Tensor, *_: Any, **__: Any) -> Work:
    return Work(flops=product(out, a, a.shape[-1]), pointwise=2 * out.numel())


@formula("_scaled_mm")
def _scaled_mm(
    out: Tensor, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, *rest: Any, **named: Any
) -> Work:
    """Both scales are applied to the result, as a kernel for 8-bit floats does it."""
    bias = rest[0] if rest else named.get("bias")
    return Work(
        flops=product(out, a, a.shape[-1]), pointwise=(2 + (bias is not None)) * out.numel()
    )


@formula("_grouped_mm", "_scaled_grouped_mm")
def _grouped_mm(out: Tensor, a: Tensor, b: Tensor, *_: Any, **__: Any) -> Work:
    """With two matrices it is the inner dimension that the groups share."""
    if a.ndim == b.ndim == 2:
        return Work(flops=product(out[0], a, a.shape[-1]))
    return Work(flops=product(out, a, a.shape[-1]))


@formula("linear_backward")
def _linear_backward(out: Any, x: Tensor, grad: Tensor, weight: Tensor, mask: list[bool]) -> Work:
    flops = product(grad, x, x.shape[-1])
    return Work(flops=(mask[0] + mask[1]) * flops, pointwise=mask[2] * grad.numel())


# --- convolutions ----------------------------------------------------------------------------


@formula("convolution", "_convolution", "convolution_overrideable")
def _convolution(
    out: Tensor,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *_: Any,
    **__: Any,
) -> Work:
    flops = _convolution_flops(x, weight, out, transposed)
    return Work(flops=flops, pointwise=0 if bias is None else out.numel())


@formula("convolution_backward", "convolution_backward_overrideable")
def _convolution_backward(
    out: Any,
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    mask: list[bool],
    **_: Any,
) -> Work:
    """Each gradient pairs the same numbers as the forward pass: it costs exactly as much."""
    flops = _convolution_flops(x, weight, grad, transposed)
    return Work(flops=(mask[0] + mask[1]) * flops, pointwise=mask[2] * grad.numel())


def _convolution_flops(x: Tensor, weight: Tensor, out: Tensor, transposed: bool) -> int:
    """Return the FLOPs of a convolution, the multiplications with padding's zeros included.

    A filter is laid on each position of the output; transposed, each input is spread over one.
    `weight` is (out channels, in channels / groups, *kernel), so weight[0] is what one output
    needs and, transposed, what one input is spread over: groups, dilation and stride need no care.
    """
    return 2 * (x if transposed else out).numel() * prod(weight.shape[1:])


# --- attention -------------------------------------------------------------------------------


def attention_forward(
    batch: int, heads: int, queries: int, keys: int, width: int, value_width: int
) -> Work:
    """Return the work of softmax(Q Kᵀ · scale) V for all heads, whatever the mask.

    Q is (batch, heads, queries, width), K (…, keys, width), V (…, keys, value_width).
    Two products; a scale and a softmax of 5 for each score.
    """
    scores = batch * heads * queries * keys
    return Work(flops=2 * scores * (width + value_width), pointwise=6 * scores)


def attention_backward(
    batch: int, heads: int, queries: int, keys: int, width: int, value_width: int
) -> Work:
    """Return the work of a fused backward pass: the scores again, then four gradients' products.

    S = Q Kᵀ, dP = dO Vᵀ, dV = Pᵀ dO, dQ = dS K, dK = dSᵀ Q: 2.5 times the forward pass. For each
    score: scale, subtract, exp for P; subtract, multiply, scale for dS; and D = rowsum(dO ∘ O).
    """
    scores = batch * heads * queries * keys
    return Work(
        flops=2 * scores * (3 * width + 2 * value_width),
        pointwise=6 * scores + 2 * batch * heads * queries * value_width,
    )


@formula("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu")
@formula("_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention")
@formula("_scaled_dot_product_fused_attention_overrideable")
@formula("_scaled_dot_product_attention_math_for_mps")
def _sdpa(out: Any, q: Tensor, k: Tensor, v: Tensor, *_: Any, **__: Any) -> Work:
    return attention_forward(*_attention_shape(q, k, v))


@formula("_scaled_dot_product_flash_attention_backward")
@formula("_scaled_dot_product_flash_attention_for_cpu_backward")
@formula("_scaled_dot_product_efficient_attention_backward")
@formula("_scaled_dot_product_cudnn_attention_backward")
@formula("_scaled_dot_product_fused_attention_overrideable_backward")
def _sdpa_backward(
    out: Any, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *_: Any, **__: Any
) -> Work:
    return attention_backward(*_attention_shape(q, k, v))


@formula("_flash_attention_forward", "_efficient_attention_forward")
def _flash(out: Any, q: Tensor, k: Tensor, v: Tensor, *rest: Any, **__: Any) -> Work | None:
    """Tensors are (batch, length, heads, width) here; ragged batches are beyond a shape formula."""
    if q.ndim != 4 or any(isinstance(t, Tensor) and not is_float(t) for t in rest):
        return None
    return attention_forward(*_attention_shape(*(t.transpose(1, 2) for t in (q, k, v))))


@formula("_flash_attention_backward", "_efficient_attention_backward")
def _flash_backward(
    out: Any, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *rest: Any, **__: Any
) -> Work | None:
    work = _flash(out, q, k, v, *rest[:5])
    return work and attention_backward(*_attention_shape(*(t.transpose(1, 2) for t in (q, k, v))))


def _attention_shape(q: Tensor, k: Tensor, v: Tensor) -> tuple[int, int, int, int, int, int]:
    """Return the arguments of `attention_forward`; grouped keys serve all heads of the queries."""
    *_, heads, queries, width = q.shape
    return prod(q.shape[:-3]), heads, queries, k.shape[-2], width, v.shape[-1]


@formula("_native_multi_head_attention")
def _native_multi_head_attention(
    out: Any, q: Tensor, k: Tensor, v: Tensor, width: int, heads: int, *_: Any, **__: Any
) -> Work:
    """nn.MultiheadAttention in one operator, its fast path for self-attention without gradients."""
    batch, length, _width = q.shape
    rows, head = batch * length, width // heads
    projections = Work(flops=2 * rows * width * 4 * width, pointwise=4 * rows * width)
    return attention_forward(batch, heads, length, length, head, head) + projections


@formula("_transformer_encoder_layer_fwd")
def _transformer_encoder_layer(
    out: Tensor, x: Tensor, width: int, heads: int, *rest: Any, **__: Any
) -> Work:
    """nn.TransformerEncoderLayer in one operator, likewise: attention, MLP, 2 norms, 2 sums."""
    batch, length, _width = x.shape
    hidden = rest[11].shape[0]  # of the first weight of the MLP, (hidden, width)
    rows, head = batch * length, width // heads
    attention = attention_forward(batch, heads, length, length, head, head)
    projections = 2 * rows * width * (4 * width + 2 * hidden)
    pointwise = rows * ((4 + 1 + 2 + 2 * 8) * width + 2 * hidden)
    return attention + Work(flops=projections, pointwise=pointwise)


# --- recurrent layers ------------------------------------------------------------------------


def _recurrent(rows: int, weights: list[Tensor]) -> Work:
    """Each weight matrix meets each row of the sequence once, in whatever order.

    The arithmetic of the gates is estimated: 5 for each gate's value (two biases and the sum, the
    non-linearity, one use). It is small beside the products.
    """
    matrices = [w for w in weights if w.ndim == 2]
    return Work(
        flops=sum(2 * rows * w.numel() for w in matrices),
        pointwise=5 * rows * sum(w.shape[0] for w in matrices) // 2,
    )


@formula("mkldnn_rnn_layer")
def _mkldnn_rnn(out: Any, x: Tensor, w_in: Tensor, w_hidden: Tensor, *_: Any, **__: Any) -> Work:
    return _recurrent(prod(x.shape[:-1]), [w_in, w_hidden])


@formula("mkldnn_rnn_layer_backward")
def _mkldnn_rnn_backward(
    out: Any, x: Tensor, w_in: Tensor, w_hidden: Tensor, *_: Any, **__: Any
) -> Work:
    forward = _mkldnn_rnn(out, x, w_in, w_hidden)
    return forward + forward


@formula("_cudnn_rnn", "miopen_rnn")
def _cudnn_rnn(out: Any, x: Tensor, weights: list[Tensor], *_: Any, **__: Any) -> Work:
    return _recurrent(prod(x.shape[:-1]), weights)


@formula("_cudnn_rnn_backward", "miopen_rnn_backward")
def _cudnn_rnn_backward(out: Any, x: Tensor, weights: list[Tensor], *rest: Any, **__: Any) -> Work:
    """Through time always, and once more for the weights where they want a gradient."""
    forward = _cudnn_rnn(out, x, weights)
    return forward + forward if rest[-1][3] else forward
