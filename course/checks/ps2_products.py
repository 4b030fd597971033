"""The models of problem set 2, written down by hand as lists of matrix products.

Nothing is run here. What a counter of operators must find is arithmetic on these lists.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

Shapes = dict[str, Any]


class Product(NamedTuple):
    """`batch` products of an m x k by a k x n matrix.

    `backward` is how many products of the same size the backward pass does for it: one for each
    factor that needs a gradient, and those that are computed again.
    """

    batch: int
    m: int
    n: int
    k: int
    backward: float

    @property
    def flops(self) -> int:
        """FLOPs of the forward product: one multiply-add for each (batch, row, column, k)."""
        return 2 * self.batch * self.m * self.n * self.k


def positions(size: int, kernel: int, stride: int, padding: int) -> int:
    """Return at how many places a window of `kernel` fits along a padded side of `size`."""
    return len(range(0, size + 2 * padding - kernel + 1, stride))


def conv_product(x: list[int], w: list[int], stride: list[int], padding: list[int]) -> Product:
    """Return a convolution as the one matrix product that does the same work.

    Filters times windows: `x` is (N, C, H, W), `w` is (F, C per group, R, S). With groups it is a
    product for each group, of the same total work.
    """
    windows = prod(map(positions, x[2:], w[2:], stride, padding))
    return Product(1, w[0], x[0] * windows, prod(w[1:]), backward=1)


def products(name: str, shapes: Shapes) -> list[Product]:
    """Return the matrix products of one forward pass of the notebook's model `name`."""
    return _MODELS[name](**shapes)


def _linear(batch: int, inputs: int, outputs: int) -> list[Product]:
    return [Product(1, batch, outputs, inputs, backward=1)]


def mlp(batch: int, widths: list[int]) -> list[Product]:
    """Return linear layers of `widths`; the first one's input is data and needs no gradient."""
    layers = enumerate(pairwise(widths))
    return [Product(1, batch, n, k, backward=2 if i else 1) for i, (k, n) in layers]


def checkpointed_mlp(batch: int, widths: list[int]) -> list[Product]:
    """Return the same with every hidden layer computed again in the backward pass."""
    *hidden, last = mlp(batch, widths)
    return [*(p._replace(backward=p.backward + 1) for p in hidden), last]


def _bmm(batch: int, m: int, n: int, k: int) -> list[Product]:
    return [Product(batch, m, n, k, backward=2)]


def _einsum(batch: int, queries: int, keys: int, heads: int, dim: int) -> list[Product]:
    return [Product(batch * heads, queries, keys, dim, backward=2)]


def _conv(
    batch: int,
    channels: int,
    height: int,
    width: int,
    filters: int,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
) -> list[Product]:
    x, w = [batch, channels, height, width], [filters, channels, *kernel]
    return [conv_product(x, w, stride, padding)]


def _convnet(
    batch: int, channels: int, height: int, width: int, filters: list[int], kernel: list[int]
) -> list[Product]:
    x, model = [batch, channels, height, width], []
    for backward, layer in enumerate(filters, 1):  # the first layer's input is data
        w = [layer, x[1], *kernel]
        model.append(conv_product(x, w, [1, 1], [0, 0])._replace(backward=backward))
        x = [batch, layer, *(size - window + 1 for size, window in zip(x[2:], kernel, strict=True))]
    return model


def _attention(
    batch: int, heads: int, queries: int, keys: int, dim: int, backward: float = 2
) -> list[Product]:
    scores = Product(batch * heads, queries, keys, dim, backward)
    return [scores, scores._replace(n=dim, k=keys)]


def _sdpa(**shapes: int) -> list[Product]:
    # five products backward for two forward: the scores once more, then dV, dP, dQ, dK
    return _attention(**shapes, backward=5 / 2)


def _block(batch: int, tokens: int, heads: int, dim: int, hidden: int) -> list[Product]:
    rows = batch * tokens
    linear = [(3 * dim, dim), (dim, dim), (hidden, dim), (dim, hidden)]
    core = _sdpa(batch=batch, heads=heads, queries=tokens, keys=tokens, dim=dim // heads)
    return [Product(1, rows, n, k, backward=2) for n, k in linear] + core


def _matvec(rows: int, columns: int) -> list[Product]:
    return [Product(1, rows, 1, columns, backward=1)]


def _inverse(n: int, columns: int) -> list[Product]:
    # the product after the inverse; what the inverse costs, no counter here knows
    return [Product(1, n, columns, n, backward=0)]


_MODELS: dict[str, Callable[..., list[Product]]] = {
    "linear": _linear,
    "mlp": mlp,
    "checkpointed_mlp": checkpointed_mlp,
    "bmm": _bmm,
    "einsum": _einsum,
    "conv": _conv,
    "convnet": _convnet,
    "attention": _attention,
    "sdpa": _sdpa,
    "block": _block,
    "matvec": _matvec,
    "inverse": _inverse,
}


def forward_flops(model: Iterable[Product]) -> int:
    """Return the FLOPs of one forward pass."""
    return sum(p.flops for p in model)


def backward_flops(model: Iterable[Product]) -> int:
    """Return the FLOPs of one backward pass, with what it computes again."""
    return round(sum(p.flops * p.backward for p in model))
