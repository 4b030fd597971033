"""What the known misconceptions of problem set 2 would count: wrong values, each with its reason.

All is arithmetic on the products of `ps2_products`. Of several mistakes that give one value, the
first in a list is named.
"""

from collections.abc import Callable
from math import prod

from course.checks.ps2_products import (
    Product,
    Shapes,
    backward_flops,
    conv_product,
    forward_flops,
    positions,
)

Mistakes = list[tuple[float, str]]

HALF = "You counted each multiply-add once. It is a multiplication and an addition: 2 FLOPs."

_WRONG_PRODUCTS: list[tuple[Callable[[int, int, int], int], str]] = [
    (lambda m, n, k: m * n * k, HALF),
    (
        lambda m, n, k: m * n * (2 * k - 1),
        "You left out the very first addition of each sum. The convention of hardware and of "
        "papers is a multiply-add for each of the k terms: 2k a sum.",
    ),
    (
        lambda m, n, k: 2 * m * n,
        "Each of the m x n results is a sum of k products, not one product.",
    ),
    (lambda m, n, k: 2 * m * k, "That is one column of the result: there are n columns."),
    (
        lambda m, n, k: 2 * (m * k + k * n),
        "That counts the elements of the inputs, not the work.",
    ),
]


def follows_from(earlier: str) -> str:
    """Return the advice to repair an earlier answer before this one."""
    return f"If the check of {earlier} fails too, this follows from it: repair that first."


def product_mistakes(m: int, n: int, k: int) -> Mistakes:
    """Return what wrong formulas give for an m x k by a k x n matrix."""
    return [(wrong(m, n, k), reason) for wrong, reason in _WRONG_PRODUCTS]


def from_matmul(model: list[Product], *, backward: bool = False) -> Mistakes:
    """Return what `model` costs if ``matmul_flops`` is wrong; with `backward`, a whole step."""
    return [
        (
            sum(
                p.batch * wrong(p.m, p.n, p.k) * (1 + p.backward if backward else 1) for p in model
            ),
            f"{reason} {follows_from('matmul_flops')}",
        )
        for wrong, reason in _WRONG_PRODUCTS
    ]


def conv_mistakes(x: list[int], w: list[int], stride: list[int], padding: list[int]) -> Mistakes:
    """Return what misreadings of a convolution's shapes give; `x` and `w` are shapes."""
    n, c, *sizes = x
    f, c_w, r, s = w
    right = conv_product(x, w, stride, padding).flops
    sides = list(zip(sizes, (r, s), stride, padding, strict=True))

    def places(rule: Callable[[int, int, int, int], int]) -> int:
        return prod(rule(*side) for side in sides)

    a_place = right // places(positions)  # the work of all filters at one place, for all images
    mistakes = [
        (right // 2, HALF),
        (
            a_place * places(lambda size, *_: size),
            "You counted a result for every pixel of x. Count those of out.",
        ),
        (
            a_place * places(lambda size, kernel, step, _: positions(size, kernel, step, 0)),
            "You left the padding out: it adds places where the window fits.",
        ),
        (
            a_place * places(lambda size, kernel, step, pad: (size + pad - kernel) // step + 1),
            "Padding is added on both ends of a side: 2 x padding.",
        ),
        (
            a_place // (r * s) * places(_pixels_under_windows),
            "That leaves out the zeros of the padding, as a convolution of ones does: but the "
            "hardware multiplies them too. Pad with ones before you convolve them.",
        ),
        (
            a_place * places(lambda size, kernel, _, pad: positions(size, kernel, 1, pad)),
            "You left the stride out: the window moves in steps of it.",
        ),
        (
            a_place * places(lambda size, kernel, step, pad: (size + 2 * pad - kernel) // step),
            "Those are the steps that the window takes. It is at one place before the first: + 1.",
        ),
        (
            a_place * places(_rounded_up),
            "A window that does not fit as a whole is not computed: round down.",
        ),
        (right // n, "That is one image: x holds a batch of them."),
        (right // c_w, "Each filter sums over its channels: w_shape[1] of them."),
        (right // f, "That is one filter: there are w_shape[0]."),
        (right // s * r, "The kernel is r x s, which need not be a square."),
        (right // (r * s), "Each result needs a multiply-add for each kernel element."),
    ]
    if c != c_w:
        reason = "This convolution has groups: one filter sees w_shape[1] channels, not C."
        mistakes.insert(0, (right // c_w * c, reason))
    return mistakes


def _rounded_up(size: int, kernel: int, stride: int, padding: int) -> int:
    return -(-(size + 2 * padding - kernel) // stride) + 1


def _pixels_under_windows(size: int, kernel: int, stride: int, padding: int) -> int:
    """Return how many pixels all windows along a side cover together, padding not counted."""
    starts = range(-padding, size + padding - kernel + 1, stride)
    return sum(min(start + kernel, size) - max(start, 0) for start in starts)


_NOTHING = {
    "einsum": "Nothing was counted. There is no operator called einsum: it arrives as aten.bmm. A "
    "counter that watches functions such as torch.einsum would need all their names.",
    "matvec": "A matrix times a vector is a product too. It arrives as an operator of its own, "
    "which has no formula yet: it is in the 'unknown' of your count.",
    "sdpa": "scaled_dot_product_attention arrives as one operator of its own, which has no "
    "formula yet: it is in the 'unknown' of your count.",
}


def forward_mistakes(name: str, shapes: Shapes, model: list[Product]) -> Mistakes:
    """Return what is counted for the forward pass of the model `name` by mistake."""
    flops = forward_flops(model)
    nothing = "Nothing was counted. Print func in __torch_dispatch__ to see what arrives."
    mistakes: Mistakes = [(0, _NOTHING.get(name, nothing))]
    if name == "conv":
        x = [shapes[key] for key in ("batch", "channels", "height", "width")]
        w = [shapes["filters"], shapes["channels"], *shapes["kernel"]]
        wrong = conv_mistakes(x, w, shapes["stride"], shapes["padding"])
        mistakes += [(value, f"{why} {follows_from('conv2d_flops')}") for value, why in wrong]
    if name == "sdpa":
        mistakes += _fused_mistakes(shapes, flops)
    if name == "attention":
        mistakes += [(flops // 2, "Attention is two products of the same size: one is missing.")]
    if name == "mlp":
        last = "That is the last call alone. Add to self.by_operator[name], do not replace it."
        mistakes += [(model[-1].flops, last)]
    return [
        *mistakes,
        *from_matmul(model),
        (
            sum(2 * p.m * p.n * p.k for p in model),
            f"The batch of a batched product is missing. {follows_from('bmm_flops')}",
        ),
        (
            sum(p.flops + p.m * p.n for p in model),
            f"The bias is added to the matmul work. {follows_from('addmm_flops')}",
        ),
        (2 * flops, "Everything is counted twice: is the mode entered twice?"),
    ]


def _fused_mistakes(shapes: Shapes, flops: int) -> Mistakes:
    n, m, d = shapes["queries"], shapes["keys"], shapes["dim"]
    scores = flops // (4 * d)  # batch x heads x N x M
    softmax = "The softmax is no matmul-like work: count the two products alone."
    square = "Each of the N queries meets each of the M keys: N M, and not the square of either."
    return [
        (flops // 2, "Attention is two products of the same size: Q K^T and P V."),
        (flops // m * d, "Each query meets each key: N M d."),
        (flops // m * n, square),
        (flops // n * m, square),
        *((flops + steps * scores, softmax) for steps in range(1, 7)),
    ]


def backward_mistakes(name: str, model: list[Product]) -> Mistakes:
    """Return what is counted for the backward pass of the model `name` by mistake."""
    forward, backward = forward_flops(model), backward_flops(model)
    fused = round(sum(p.flops * p.backward for p in model if p.backward == 5 / 2))
    missing = "The backward pass was not counted. Does it run inside a `with` of its own?"
    twice = (
        "Twice the forward pass, for a model whose first factor is data: nobody needs its "
        "gradient, so one of the two products is not done. Count, do not assume."
    )
    mistakes: Mistakes = []
    if fused:
        missing = (
            "The backward operator of the fused attention has no formula yet, or yours returned 0."
        )
        twice = (
            "Twice the forward pass is ordinary autograd. The fused attention kept no N x M "
            "matrix, so its backward computes the scores again: five products for two."
        )
    if name in ("conv", "convnet"):
        missing = (
            "aten.convolution_backward has no formula yet, or your formula returned 0. Its last "
            "argument is output_mask: gradient of x, of w and of the bias, in this order."
        )
    if name == "convnet":
        every = "You counted the gradient of each bias as a convolution. It is a sum: leave out "
        mistakes.append((backward + forward, f"{every}output_mask[2]."))
    return [
        *mistakes,
        (backward - fused if fused else 0, missing),
        (2 * forward, twice),
        (forward + backward, "That is forward and backward together; they are asked apart."),
        (
            forward,
            "As much as the forward pass: but each product has a gradient to compute for each "
            "factor that needs one, dA = dC B^T and dB = A^T dC.",
        ),
    ]
