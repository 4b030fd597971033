"""course.flops against independent arithmetic, and against PyTorch's counter where that is right.

A product of tensors full of ones sums to the number of its multiply-adds. That is the independent
count used here: it knows nothing of formulas.
"""

import threading

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from course import flops
from course.flops.compare import comparisons
from course.flops.formulas import FORMULAS


def counted(function, *args, **kwargs):
    with flops.count() as c:
        function(*args, **kwargs)
    assert not c.unknown
    return c


def both_ways(function, *inputs):
    """Count function(*inputs) and the backward pass of its sum."""
    return counted(lambda: function(*inputs).sum().backward())


def wants_grad(*shape, **kwargs):
    return torch.randn(*shape, requires_grad=True, **kwargs)


# --- products ----------------------------------------------------------------------------------

PRODUCTS = {
    "mm": (torch.mm, (3, 5), (5, 7)),
    "matmul of one row": (torch.matmul, (1, 5), (5, 7)),
    "matrix @ vector": (torch.matmul, (3, 5), (5,)),
    "vector @ matrix": (torch.matmul, (5,), (5, 7)),
    "vector @ vector": (torch.matmul, (5,), (5,)),
    "bmm": (torch.bmm, (2, 3, 5), (2, 5, 7)),
    "broadcast": (torch.matmul, (4, 1, 3, 5), (2, 5, 7)),
    "batch @ matrix": (torch.matmul, (4, 2, 3, 5), (5, 7)),
    "batch @ vector": (torch.matmul, (4, 3, 5), (5,)),
    "linear": (F.linear, (2, 3, 5), (7, 5)),
    "einsum, bmm": (lambda a, b: torch.einsum("bik,bjk->bij", a, b), (2, 3, 5), (2, 7, 5)),
    "einsum, two sums": (lambda a, b: torch.einsum("ikl,lkj->ij", a, b), (3, 5, 2), (2, 5, 7)),
    "tensordot": (lambda a, b: torch.tensordot(a, b, 2), (3, 5, 2), (5, 2, 7)),
    "inner": (torch.inner, (3, 5), (7, 5)),
    "three matrices": (lambda a, b: torch.linalg.multi_dot([a, b, b.T]), (3, 5), (5, 7)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_product_has_two_flops_per_multiply_add(name):
    product, *shapes = PRODUCTS[name]
    ones = [torch.ones(shape) for shape in shapes]
    expected = 2 * product(*ones).sum().item()
    if name == "three matrices":  # its entries are sums of sums: count the two products apart
        expected = 2 * (ones[0] @ ones[1]).sum().item() + 2 * 3 * 7 * 5
    assert counted(product, *ones).flops == expected


@pytest.mark.parametrize("name", ["mm", "bmm", "linear", "batch @ matrix", "einsum, bmm"])
def test_backward_of_a_product_is_two_products_or_one(name):
    product, *shapes = PRODUCTS[name]
    both = both_ways(product, *[wants_grad(*shape) for shape in shapes])
    assert both.backward.flops == 2 * both.forward.flops
    first = both_ways(product, torch.randn(shapes[0]), wants_grad(*shapes[1]))
    assert first.backward.flops == first.forward.flops == both.forward.flops


def test_bias_is_pointwise_and_not_part_of_the_product():
    x, w, b = torch.randn(6, 5), torch.randn(7, 5), torch.randn(7)
    for c in (counted(F.linear, x, w, b), counted(torch.addmm, b, x, w.T)):
        assert (c.flops, c.pointwise) == (2 * 6 * 5 * 7, 6 * 7)
    c = counted(torch.addmm, b, x, w.T, beta=0)
    assert (c.flops, c.pointwise) == (2 * 6 * 5 * 7, 0)
    assert counted(torch.addmv, b[:6], x, w[0]).flops == 2 * 6 * 5
    batch = torch.randn(3, 6, 5), torch.randn(3, 5, 7)
    assert counted(torch.baddbmm, torch.randn(6, 7), *batch).flops == 3 * 2 * 6 * 5 * 7
    assert counted(torch.addbmm, torch.randn(6, 7), *batch).flops == 3 * 2 * 6 * 5 * 7


def test_in_place_and_out_forms_count_the_same():
    x, y, out = torch.randn(6, 5), torch.randn(5, 7), torch.empty(6, 7)
    assert counted(torch.mm, x, y, out=out).flops == 2 * 6 * 5 * 7
    c = counted(torch.ones(6, 7).addmm_, x, y)
    assert (c.flops, c.pointwise) == (2 * 6 * 5 * 7, 6 * 7)


def test_a_complex_multiply_add_is_four_real_ones():
    x, y = (torch.randn(shape, dtype=torch.complex64) for shape in ((3, 5), (5, 7)))
    real = sum(2 * p.numel() * 5 for p in (x.real @ y.real, x.imag @ y.imag) for _ in range(2))
    assert counted(torch.mm, x, y).flops == real


def test_products_of_integers_count():
    ints = [torch.ones(shape, dtype=torch.int8) for shape in ((32, 16), (16, 24))]
    assert counted(torch._int_mm, *ints).flops == 2 * 32 * 16 * 24


CONVOLUTIONS = [
    pytest.param(dimensions, transposed, groups, stride, dilation, id=f"{dimensions}d-{name}")
    for dimensions in (1, 2, 3)
    for name, transposed, groups, stride, dilation in [
        ("plain", False, 1, 1, 1),
        ("strided-dilated", False, 1, 2, 2),
        ("grouped", False, 2, 1, 1),
        ("depthwise", False, 4, 2, 1),
        ("transposed", True, 1, 2, 1),
        ("transposed-grouped", True, 2, 2, 2),
    ]
]


@pytest.mark.parametrize(("dimensions", "transposed", "groups", "stride", "dilation"), CONVOLUTIONS)
def test_convolution_counts_its_multiply_adds(dimensions, transposed, groups, stride, dilation):
    name = f"conv{'_transpose' if transposed else ''}{dimensions}d"
    convolve = getattr(F, name)
    x_shape = (3, 4, 11, 9, 8)[: 2 + dimensions]
    kernel = (3, 2, 3)[:dimensions]
    w_shape = (4, 12 // groups, *kernel) if transposed else (12, 4 // groups, *kernel)
    options = {"groups": groups, "stride": stride, "dilation": dilation}
    expected = 2 * convolve(torch.ones(x_shape), torch.ones(w_shape), **options).sum().item()

    x, w, b = wants_grad(*x_shape), wants_grad(*w_shape), wants_grad(12)
    both = both_ways(lambda: convolve(x, w, b, **options))
    assert both.forward.flops == expected
    assert both.backward.flops == 2 * expected
    assert both.forward.pointwise - convolve(x, w, **options).numel() == both.forward.pointwise // 2
    first = both_ways(lambda: convolve(x.detach(), w, **options))
    assert first.backward.flops == expected


def test_padding_is_multiplied_like_anything_else():
    x, w = torch.randn(2, 3, 8, 8), torch.randn(5, 3, 3, 3)
    padded = F.pad(torch.ones_like(x), (1, 1, 1, 1), value=1)
    expected = 2 * F.conv2d(padded, torch.ones_like(w)).sum().item()
    assert counted(F.conv2d, x, w, padding=1).flops == expected


def test_unrolled_lstm_does_what_the_layer_does():
    torch.manual_seed(0)
    layer, x = nn.LSTM(4, 6), wants_grad(5, 3, 4)
    state = wants_grad(1, 3, 6), wants_grad(1, 3, 6)
    cell = nn.LSTMCell(4, 6)

    def unrolled():
        h, c = state[0][0], state[1][0]
        outputs = []
        for step in x:
            h, c = cell(step, (h, c))
            outputs.append(h)
        torch.stack(outputs).sum().backward()

    fused = counted(lambda: layer(x, state)[0].sum().backward())
    plain = counted(unrolled)
    assert fused.forward.flops == plain.forward.flops == 5 * 2 * 3 * 24 * (4 + 6)
    assert fused.backward.flops == plain.backward.flops


# --- attention ---------------------------------------------------------------------------------


def attention_products(batch, heads, queries, keys, width, value_width):
    """Return the multiply-adds of Q Kᵀ and of P V."""
    scores = torch.ones(batch, heads, queries, width) @ torch.ones(batch, heads, width, keys)
    values = torch.ones(batch, heads, keys, value_width)
    return scores.sum().item(), (torch.ones_like(scores) @ values).sum().item()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("key_heads", [6, 2])
def test_fused_attention_on_a_cpu(key_heads, causal):
    q, k, v = (
        wants_grad(2, 6, 9, 8),
        wants_grad(2, key_heads, 11, 8),
        wants_grad(2, key_heads, 11, 8),
    )

    def attend():
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=key_heads != 6)
        y.sum().backward()

    scores, values = attention_products(2, 6, 9, 11, 8, 8)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        c = counted(attend)
    assert c.forward.flops == 2 * (scores + values)
    assert c.backward.flops == 2 * (3 * scores + 2 * values)  # five products: 2.5 times
    with sdpa_kernel(SDPBackend.MATH):
        c = counted(attend)
    assert c.forward.flops == 2 * (scores + values)
    assert c.backward.flops == 2 * (2 * scores + 2 * values)  # four: P was kept


def test_values_of_another_width():
    q, k, v = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 12)
    scores, values = attention_products(2, 3, 5, 7, 8, 12)
    c = counted(F.scaled_dot_product_attention, q, k, v)
    assert c.flops == 2 * (scores + values)
    work = flops.formulas.attention_forward(2, 3, 5, 7, 8, 12)
    assert work.flops == 2 * (scores + values)
    assert flops.formulas.attention_backward(2, 3, 5, 7, 8, 12).flops == 6 * scores + 4 * values


def test_fused_attention_moves_no_scores():
    q = torch.randn(1, 2, 256, 8)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        fused = counted(F.scaled_dot_product_attention, q, q + 1, q + 2)
    with sdpa_kernel(SDPBackend.MATH):
        plain = counted(F.scaled_dot_product_attention, q, q + 1, q + 2)
    assert fused.flops == plain.flops
    assert fused.bytes < 5 * q.numel() * 4 + 2 * 256 * 4  # q, k, v, out and a number for each row
    assert plain.bytes > 2 * 2 * 256 * 256 * 4


def block(width=24, heads=4):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 96), nn.GELU(), nn.Linear(96, width))

        def forward(self, x):
            parts = self.qkv(self.norm1(x)).unflatten(-1, (3, heads, width // heads))
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).flatten(2))
            return x + self.mlp(self.norm2(x))

    return Block()


def test_transformer_block_by_hand():
    batch, n, width, heads = 2, 13, 24, 4
    model, x = block(width, heads), wants_grad(batch, n, width)
    with flops.count(model) as c:
        model(x).sum().backward()
    rows = batch * n
    products = {
        "qkv": 2 * rows * width * 3 * width,
        "proj": 2 * rows * width * width,
        "mlp.0": 2 * rows * width * 96,
        "mlp.2": 2 * rows * 96 * width,
    }
    attention = 4 * batch * heads * n * n * (width // heads)
    table = c.by_module()
    for name, expected in products.items():
        assert table[name].forward.flops == expected
        assert table[name].backward.flops == 2 * expected
    assert table["mlp"].forward.flops == products["mlp.0"] + products["mlp.2"]
    assert table["norm1"].total.flops == 0
    assert table["norm1"].backward.pointwise > table["norm1"].forward.pointwise > 0
    assert table["Block"].forward.flops == c.forward.flops == sum(products.values()) + attention
    backward = 2 * sum(products.values()) + attention * 5 // 2
    assert table["Block"].backward.flops == c.backward.flops == backward
    assert c.flops == c.forward.flops + c.backward.flops
    operators = c.by_operator()
    assert sum(row.total.flops for row in operators.values()) == c.flops
    assert sum(row.total.bytes for row in operators.values()) == c.bytes


@pytest.mark.parametrize("make", [lambda: nn.TransformerEncoderLayer(24, 4, 96, batch_first=True)])
def test_fast_path_of_an_encoder_layer_counts_what_the_slow_one_does(make):
    layer, x = make().eval(), torch.randn(2, 9, 24)
    slow = counted(layer, x)
    assert "addmm" in slow.by_operator()
    for quiet in (torch.no_grad, torch.inference_mode):
        with quiet():
            fast = counted(layer, x)
        assert set(fast.by_operator()) == {"_transformer_encoder_layer_fwd"}
        assert fast.flops == slow.flops


def test_multihead_attention():
    batch, n, width = 2, 9, 24
    layer, x = nn.MultiheadAttention(width, 4, batch_first=True), torch.randn(batch, n, width)
    expected = 2 * batch * n * width * 4 * width + 4 * batch * n * n * width
    for weights in (True, False):
        assert counted(layer, x, x, x, need_weights=weights).flops == expected
    layer.eval()
    with torch.inference_mode():
        fast = counted(layer, x, x, x)
    assert set(fast.by_operator()) == {"_native_multi_head_attention"}
    assert fast.flops == expected


# --- pointwise arithmetic and bytes ------------------------------------------------------------


def test_embedding_multiplies_nothing_and_reads_the_rows_it_needs():
    table, index = nn.Embedding(1000, 16), torch.tensor([[5, 5, 7], [900, 0, 1]])
    c = counted(table, index)
    assert (c.flops, c.pointwise) == (0, 0)
    assert c.bytes == 6 * 8 + 6 * 16 * 4 + 6 * 16 * 4  # indices, rows read, rows written
    c = counted(nn.Embedding(3, 16), torch.zeros(50, dtype=torch.int64))
    assert c.bytes == 50 * 8 + 3 * 16 * 4 + 50 * 16 * 4  # a table is read once at most
    c = both_ways(table, index)
    assert c.backward.flops == 0
    assert c.backward.pointwise == 6 * 16  # each row is added to its row of the gradient


def test_layer_norm_is_few_operations_and_many_bytes():
    norm, x = nn.LayerNorm(32), torch.randn(10, 32)
    c = counted(norm, x)
    assert (c.flops, c.pointwise) == (0, 8 * 320)
    assert c.bytes == 4 * (2 * 320 + 2 * 32 + 2 * 10)  # x and y, weight and bias, mean and rstd


@pytest.mark.parametrize(
    ("function", "operations", "elements_moved"),
    [
        (lambda x: x + 1, 60, 120),
        (lambda x: x * x, 60, 120),
        (lambda x: x + x[0], 60, 126),
        (lambda x: x.relu_(), 60, 120),
        (lambda x: x.sum(), 60, 61),
        (lambda x: x.sum(0), 60, 66),
        (lambda x: x.softmax(-1), 300, 120),
        (lambda x: x.add_(1), 60, 120),
        (lambda x: x.zero_(), 0, 60),
        (lambda x: x.clone(), 0, 120),
        (lambda x: x.t(), 0, 0),
        (lambda x: x.view(60)[3:].unsqueeze(0), 0, 0),
        (lambda x: torch.empty(7, 7), 0, 0),
        (lambda x: torch.ones(7, 7), 0, 49),
        (lambda x: x[:2].zero_(), 0, 12),
        (lambda x: torch.cat([x, x[:2]]), 0, 60 + 12 + 72),
        (lambda x: x @ x.t(), 0, 60 + 100),
        (lambda x: torch.add(x, 1, out=torch.empty(10, 6)), 60, 120),
        (lambda x: x[0].expand(1000, 6) + 1, 6000, 6 + 6000),
        (lambda x: x[:, :1].expand(10, 1000) + 1, 10000, 10 + 10000),
        (lambda x: x.unfold(0, 3, 1).sum(), 144, 61),
        (lambda x: x.t_(), 0, 0),
        (lambda x: F.batch_norm(x, torch.zeros(6), torch.ones(6)), 4 * 60, None),
        (lambda x: F.batch_norm(x, None, None, training=True), 8 * 60, None),
        (lambda x: torch._foreach_add([x, x[:2]], 1), 72, 2 * 60 + 2 * 12),
        (lambda x: torch.randn(5, 6), 0, 30),
    ],
)
def test_arithmetic_and_bytes_of_an_operator(function, operations, elements_moved):
    c = counted(function, torch.randn(10, 6))
    assert c.pointwise == operations
    if elements_moved is not None:
        assert c.bytes == 4 * elements_moved


def test_choosing_and_comparing_is_no_arithmetic():
    x, i = torch.randn(10, 6), torch.arange(10)
    for function in (lambda: x > 0, lambda: i + i, lambda: x.argmax(-1), lambda: i.sum()):
        assert counted(function).pointwise == 0


def test_lookup_and_store_touch_what_they_need():
    cache, index, new = torch.zeros(1000, 8), torch.tensor([3, 997]), torch.randn(2, 8)
    assert counted(cache.index_select, 0, index).bytes == 2 * 8 + 2 * 64
    assert counted(lambda: cache[index]).bytes == 2 * 8 + 2 * 64
    assert counted(cache.index_copy_, 0, index, new).bytes <= 2 * 8 + 3 * 64
    assert counted(cache.__setitem__, 5, new[0]).bytes == 64


def test_sparse_tensors_are_reported():
    with flops.count() as c:
        torch.eye(50).to_sparse() @ torch.randn(50, 4)
    assert c.unknown == {"_to_sparse": 1, "mm": 1}
    assert c.flops == 0
    assert 0 < c.by_operator()["mm"].total.bytes < 50 * 50 * 4


# --- which phase and which module ---------------------------------------------------------------


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_runs_the_forward_pass_again(reentrant):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.layers = (
                nn.Linear(8, 8),
                nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 8)),
            )

        def forward(self, x):
            return checkpoint(self.layers, self.first(x), use_reentrant=reentrant)

    model, x = Model(), torch.randn(5, 8)
    with flops.count(model) as c:
        model(x).sum().backward()
    table = c.by_module()
    layer = 2 * 5 * 8 * 16
    first = 2 * 5 * 8 * 8
    assert c.forward.flops == first + 2 * layer
    assert c.backward.flops == first + 4 * layer  # the input of `first` wants no gradient
    # the newer implementation stops when it has what the backward pass needs: not the last product
    again = 2 * layer if reentrant else layer
    assert c.recompute.flops == table["Model"].recompute.flops == again
    assert table["layers"].recompute.flops == again
    assert table["layers.0"].recompute.flops == layer
    assert table["first"].recompute.flops == 0
    assert table["layers.1"].backward.flops == 2 * layer
    with FlopCounterMode(display=False) as theirs:
        model(x).sum().backward()
    assert theirs.get_total_flops() == c.flops == c.forward.flops + c.backward.flops + again


def test_checkpointing_a_function_without_modules():
    w, x = wants_grad(8, 8), wants_grad(5, 8)
    c = counted(
        lambda: checkpoint(lambda x: (x @ w).relu() @ w, x, use_reentrant=False).sum().backward()
    )
    product = 2 * 5 * 8 * 8
    assert (c.forward.flops, c.backward.flops, c.recompute.flops) == (
        2 * product,
        4 * product,
        product,
    )


def test_without_recomputation_there_is_none():
    with torch.autograd.graph.save_on_cpu():
        c = both_ways(nn.Linear(4, 5), wants_grad(3, 4))
    assert c.recompute == flops.Work()


def test_modules_called_twice_and_shared():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 6, bias=False)
            self.b = nn.Sequential(self.a, nn.ReLU())

        def forward(self, x):
            return self.b(self.a(self.a(x)))

    model = Twice()
    with flops.count(model) as c:
        model(torch.randn(4, 6)).sum().backward()
    table, product = c.by_module(), 2 * 4 * 6 * 6
    assert table["a"].forward.flops == 3 * product
    assert table["a"].backward.flops == 5 * product  # the first call's input wants no gradient
    assert table["b"].forward.flops == product
    assert table["b"].backward.flops == 2 * product
    assert table["Twice"].total.flops == c.flops


def test_backward_of_each_layer_is_its_own_even_without_a_gradient_of_the_input():
    model = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 7), nn.Linear(7, 2))
    model[1].requires_grad_(False)
    with flops.count(model) as c:
        model(torch.randn(4, 3)).sum().backward()
    table = c.by_module()
    assert [table[str(i)].backward.flops for i in range(3)] == [
        2 * 4 * 3 * 5,
        2 * 4 * 5 * 7,  # passes the gradient on, makes none for its weights
        2 * 2 * 4 * 7 * 2,
    ]


def test_gradients_of_gradients_belong_to_their_modules():
    class Square(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.w = nn.Parameter(torch.randn(width, width))

        def forward(self, x):
            return (x @ self.w).square()

    model, x = nn.Sequential(Square(5), Square(5)), wants_grad(4, 5)
    with flops.count(model) as c:
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        before = c.backward.flops
        gradient.square().sum().backward()
    product = 2 * 4 * 5 * 5
    assert c.forward.flops == 2 * product
    assert before == 2 * product
    # each product of the first backward pass has two of its own, each of the forward pass as well,
    assert c.backward.flops - before == (4 + 4) * product
    table = c.by_module()
    assert table["0"].backward.flops == table["1"].backward.flops == 5 * product
    assert c.by_module().get("(outside modules)").backward.flops == 0


def test_backward_inside_a_module_call():
    class Force(nn.Module):
        def __init__(self):
            super().__init__()
            self.energy = nn.Linear(6, 1, bias=False)

        def forward(self, x):
            with torch.enable_grad():
                x = x.requires_grad_()
                return torch.autograd.grad(self.energy(x).sum(), x)[0]

    model = Force()
    with flops.count(model) as c:
        model(torch.randn(4, 6))
    assert c.by_module()["energy"].backward.flops == c.backward.flops == 2 * 4 * 6


def test_names_without_a_model():
    first, second = nn.Sequential(nn.Linear(3, 4)), nn.Sequential(nn.Linear(4, 5))
    with flops.count() as c:
        second(first(torch.randn(2, 3))) @ torch.randn(5, 2)
    names = [
        "Sequential",
        "Sequential.0",
        "Sequential (2)",
        "Sequential (2).0",
        "(outside modules)",
    ]
    assert list(c.by_module()) == names
    assert list(c.by_module(depth=0)) == [names[0], names[2], names[4]]
    assert c.by_module()["(outside modules)"].forward.flops == 2 * 2 * 5 * 2


def test_a_module_that_calls_itself_counts_once():
    class Recursive(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x, depth=3):
            return self.layer(x) if depth == 0 else self(self.layer(x), depth - 1)

    c = counted(Recursive(), torch.randn(2, 3))
    assert c.by_module()["Recursive"].forward.flops == c.flops == 4 * 2 * 2 * 3 * 3


def test_a_graph_made_before_the_count_belongs_to_no_module():
    model, x = nn.Linear(3, 4), torch.randn(2, 3)
    early = model(x).sum()
    with flops.count(model) as c:
        model(x)
        early.backward()
    assert c.by_module()["(outside modules)"].backward.flops == c.backward.flops == 2 * 2 * 3 * 4


def test_a_module_kept_in_a_list_is_named_under_its_caller():
    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = [nn.Linear(3, 3)]

        def forward(self, x):
            return self.kept[0](x)

    c = counted(Hidden(), torch.randn(2, 3))
    assert list(c.by_module()) == ["Hidden", "Hidden.Linear"]


def test_training_steps_accumulate_gradients_for_their_modules():
    model = nn.Linear(3, 4)
    model(torch.randn(2, 3)).sum().backward()
    with flops.count(model) as c:
        model(torch.randn(2, 3)).sum().backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    table = c.by_module()
    assert (
        table["Linear"].backward.pointwise == 4 * 2 + 16
    )  # sum for the bias; both gradients added
    assert table["(outside modules)"].forward.pointwise == 16 + 2 * 4  # the step, and the loss


# --- where and how it counts ---------------------------------------------------------------------


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_forward_pass_counts_the_same(mode):
    model, x = block(), torch.randn(2, 7, 24)
    expected = counted(model, x)
    with mode():
        c = counted(model, x)
    assert (c.flops, c.pointwise) == (expected.flops, expected.pointwise)
    assert c.backward == flops.Work()
    with flops.count() as inside, mode():
        model(x)
    assert inside.flops == expected.flops


def test_autocast_changes_bytes_and_not_flops():
    layer, x = nn.Linear(8, 16), torch.randn(4, 8)
    full = both_ways(layer, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = both_ways(layer, x)
    assert half.flops == full.flops
    assert half.by_operator()["addmm"].total.bytes * 2 == full.by_operator()["addmm"].total.bytes


def test_nested_counters_both_count():
    x = torch.randn(4, 4)
    with flops.count() as outer:
        x @ x
        with flops.count() as inner, torch.inference_mode():
            F.linear(x, x)
        x @ x
    assert inner.flops == 2 * 4**3
    assert outer.flops == 3 * inner.flops
    assert outer.by_operator()["mm"].total.calls == 3


def test_entering_again_goes_on_and_entering_twice_is_refused():
    x, c = torch.randn(4, 4), flops.count()
    for _ in range(2):
        with c:
            x @ x
    assert c.flops == 2 * 2 * 4**3
    with c, pytest.raises(RuntimeError, match="counting already"), c:
        pass
    x @ x
    assert c.flops == 2 * 2 * 4**3


def state():
    module = nn.modules.module
    return (
        len(module._global_forward_pre_hooks),
        len(module._global_forward_hooks),
        len(_get_current_dispatch_mode_stack()),
        torch._C._is_multithreading_enabled(),
        torch._dynamo.eval_frame._stance.stance,
    )


def test_state_is_restored_when_the_body_raises():
    before = state()
    with pytest.raises(ZeroDivisionError), flops.count() as c:
        torch.ones(2, 2) @ torch.ones(2, 2)
        assert state() != before
        1 / 0  # noqa: B018
    assert state() == before
    torch.ones(2, 2) @ torch.ones(2, 2)
    assert c.flops == 16


def test_an_exception_that_is_caught_leaves_the_attribution_right():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError

    model = nn.ModuleDict({"bad": nn.Sequential(nn.Linear(3, 3), Fails()), "good": nn.Linear(3, 3)})
    with flops.count(model) as c:
        with pytest.raises(ValueError):
            model["bad"](torch.randn(2, 3))
        model["good"](torch.randn(2, 3))
        torch.randn(2, 3) @ torch.randn(3, 3)
    table = c.by_module()
    assert table["bad"].forward.flops == table["good"].forward.flops == 36
    assert table["(outside modules)"].forward.flops == 36


def test_an_interruption_leaves_the_attribution_right_outside_the_module_that_caught_it():
    class Interrupted(nn.Module):
        def forward(self, x):
            raise KeyboardInterrupt

    class Catches(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Interrupted()

        def forward(self, x):
            with pytest.raises(KeyboardInterrupt):
                self.inner(x)

    with flops.count() as c:
        Catches()(None)
        torch.randn(2, 3) @ torch.randn(3, 3)
    assert c.by_module()["(outside modules)"].forward.flops == 36


def test_the_program_computes_the_same_with_and_without_a_counter():
    torch.manual_seed(3)
    model, x = block(), wants_grad(2, 7, 24)
    model(x).square().sum().backward()
    plain = [x.grad, *(p.grad for p in model.parameters())]
    x.grad = None
    model.zero_grad()
    with flops.count():
        y = model(x)
        y.square().sum().backward()
    for expected, parameter in zip(plain, [x, *model.parameters()], strict=True):
        np.testing.assert_array_equal(expected, parameter.grad)
    assert type(y.grad_fn).__name__ == "AddBackward0"  # and no hook of ours in the graph


def test_shapes_are_enough():
    with torch.device("meta"):
        model = block(width=4096, heads=32)
        x = torch.empty(64, 8192, 4096, requires_grad=True)  # 8.6 GB, if it were allocated
    c = both_ways(model, x)
    small, y = block(width=24, heads=4), wants_grad(2, 9, 24)
    with sdpa_kernel(SDPBackend.MATH):
        real = both_ways(small, y)
    pretended = both_ways(small.to("meta"), y.detach().to("meta").requires_grad_())
    assert pretended.flops == real.flops
    rows, attention = 64 * 8192, 4 * 64 * 8192**2 * 4096
    assert c.forward.flops == 2 * rows * 4096 * (4 * 4096 + 2 * 96) + attention


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    real = both_ways(block(), torch.randn(2, 7, 24))
    with FakeTensorMode():
        fake = both_ways(block(), torch.randn(2, 7, 24))
    with flops.count() as around, FakeTensorMode():
        block()(torch.randn(2, 7, 24)).sum().backward()
    assert fake.flops == around.flops == real.flops
    assert fake.by_operator()["mm"].total == real.by_operator()["mm"].total


def test_tensors_made_of_tensors_are_opened():
    ragged = torch.nested.nested_tensor([torch.randn(3, 8), torch.randn(5, 8)], layout=torch.jagged)
    assert counted(lambda: ragged.matmul(torch.randn(8, 4))).flops == 2 * (3 + 5) * 8 * 4


NESTED = "ignore:The PyTorch API of nested tensors"


def nested(*shapes):
    """A nested tensor, not of the jagged kind: one C++ tensor without a shape."""
    return torch.nested.nested_tensor([torch.randn(shape) for shape in shapes])


@pytest.mark.filterwarnings(NESTED)
def test_nested_tensors_count_as_their_components():
    layer, x = nn.Linear(5, 7), nested((3, 5), (4, 5))
    c = counted(lambda: torch.nested.to_padded_tensor(layer(x), 0.0).sum().backward())
    assert c.forward.flops == 2 * (3 + 4) * 5 * 7
    assert c.backward.flops == c.forward.flops  # x wants no gradient
    assert c.by_operator()["linear"].total.pointwise == (3 + 4) * 7
    assert counted(nn.Linear(5, 7, bias=False), x).pointwise == 0
    a, b = nested((2, 3, 5), (2, 4, 5)), nested((2, 5, 3), (2, 5, 6))
    assert counted(torch.matmul, a, b).flops == 2 * 2 * (3 * 5 * 3 + 4 * 5 * 6)
    assert counted(torch.bmm, x, nested((5, 3), (5, 2))).flops == 2 * (3 * 5 * 3 + 4 * 5 * 2)
    assert counted(lambda: x.softmax(-1)).pointwise == 5 * x.numel()
    assert counted(F.gelu, x).pointwise == x.numel()
    assert counted(nn.LayerNorm(5), x).pointwise == 8 * x.numel()
    assert counted(lambda: x + x).bytes == 2 * 4 * x.numel()


@pytest.mark.filterwarnings(NESTED)
def test_attention_and_encoder_on_nested_tensors():
    q = nested((2, 3, 8), (2, 4, 8))
    attention = counted(F.scaled_dot_product_attention, q, q, q)
    assert attention.flops == 2 * 2 * 2 * (3 * 3 + 4 * 4) * 8
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    lengths, xs = (3, 4), [torch.randn(1, length, 8) for length in (3, 4)]
    with torch.no_grad():
        together = counted(layer, nested(*((length, 8) for length in lengths)))
        apart = [counted(layer, x) for x in xs]
    assert together.flops == sum(c.flops for c in apart) > 0


def test_questions_about_shapes_move_nothing():
    """Forward-mode derivatives ask them: is the tangent like the input?"""
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    c = counted(torch.func.jvp, lambda a: a @ w, (x,), (torch.randn(3, 4),))
    assert c.flops == 3 * (2 * 3 * 4 * 5)  # PyTorch multiplies the zero tangent of w as well
    assert not {"is_same_size", "_has_same_storage_numel"} & c.by_operator().keys()
    counted(torch.func.jvp, nn.Linear(4, 5), (x,), (torch.randn(3, 4),))


def test_function_transforms():
    x, w = torch.randn(3, 2, 4), torch.randn(4, 5)
    assert counted(torch.vmap(lambda a: a @ w), x).flops == 2 * 6 * 4 * 5
    c = counted(torch.func.grad(lambda w: (x @ w).sum()), w)
    assert (c.forward.flops, c.backward.flops) == (2 * 6 * 4 * 5, 2 * 6 * 4 * 5)


@pytest.mark.filterwarnings("ignore:Using `torch.compile")  # our hooks are global ones
def test_compiled_functions_count_as_written_or_say_why_not():
    model, x = nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 2)), torch.randn(3, 4)
    compiled = torch.compile(model, backend="aot_eager")

    def work(function):
        model.zero_grad()
        c = both_ways(function, x)
        return c.flops, c.pointwise

    expected = work(model)
    assert work(compiled) == expected  # its first call is inside the count
    torch._dynamo.reset()
    loss = compiled(x).sum()
    assert work(compiled) == expected  # it was compiled before
    with flops.count(), pytest.raises(RuntimeError, match="Compute the loss inside"):
        loss.backward()
    assert work(torch.compile(model, backend="aot_eager", fullgraph=True)) == expected


def test_what_it_cannot_see_it_refuses():
    x = torch.randn(3, 3)
    with flops.count(), pytest.raises(NotImplementedError, match="cannot count"):
        torch.cond(torch.tensor(True), lambda x: x @ x, lambda x: x + x, (x,))
    with pytest.raises(TypeError, match=r"takes a torch\.nn\.Module"):
        flops.count(lambda x: x)


def test_another_thread_is_not_counted():
    x = torch.randn(4, 4)
    with flops.count() as c:
        thread = threading.Thread(target=lambda: x @ x)
        thread.start()
        thread.join()
    assert c.flops == 0


# --- unknown operators, own formulas, tables ------------------------------------------------------


def test_operators_without_a_formula_are_reported_everywhere():
    with flops.count() as c:
        torch.fft.fft(torch.randn(8))
        torch.linalg.cholesky(torch.eye(3))
        torch.fft.fft(torch.randn(8))
    assert c.unknown["_fft_r2c"] == 2
    for text in (repr(c), str(c.by_operator()), str(c.by_module()), c.by_operator()._repr_html_()):
        assert "_fft_r2c" in text
        assert "linalg_cholesky_ex" in text
    assert c.by_operator()["_fft_r2c"].total.bytes == 2 * 8 * (4 + 8)


def test_an_operator_of_ones_own(monkeypatch):
    @torch.library.custom_op("course_test::triple_product", mutates_args=())
    def triple_product(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        return a @ b @ c

    tensors = [torch.randn(shape) for shape in ((2, 3), (3, 4), (4, 5))]
    with flops.count() as c:
        triple_product(*tensors)
    assert c.unknown == {"course_test::triple_product": 1}

    monkeypatch.setitem(FORMULAS, "course_test::triple_product", None)  # undone after the test

    @flops.formula("course_test::triple_product")
    def work(out, a, b, c):
        return flops.Work(flops=2 * a.numel() * b.shape[1] + 2 * out.numel() * c.shape[0])

    c = counted(triple_product, *tensors)
    assert c.flops == counted(lambda: tensors[0] @ tensors[1] @ tensors[2]).flops
    assert c.bytes == 4 * (6 + 12 + 20 + 10)


def test_tables():
    class Odd(nn.Linear):
        pass

    Odd.__name__ = "Odd<T>"
    with flops.count() as c:
        Odd(3, 4)(torch.randn(2, 3)).sum().backward()
    text, html = str(c.by_module()), c.by_module()._repr_html_()
    lines = text.splitlines()
    assert len({line.index("0") for line in lines if "total" in line}) == 1
    assert lines[0].split() == [
        "module",
        "calls",
        "forward",
        "backward",
        "share",
        "pointwise",
        "bytes",
    ]
    assert "Odd&lt;T&gt;" in html and "Odd<T>" not in html
    assert '<th scope="col"' in html
    assert "48" in repr(c) and "forward 48" in repr(c)
    assert str(flops.count().by_operator())  # nothing counted is no error


def test_every_operator_seen_was_measured():
    """Run a zoo of operators beside an independent log of what was dispatched."""
    seen = set()

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.add(func.overloadpacket.__name__.removesuffix("_"))
            return func(*args, **(kwargs or {}))

    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.SiLU(), nn.MaxPool2d(2), nn.GroupNorm(2, 8)]
    layers += [nn.Dropout(), nn.AvgPool2d(2), nn.Flatten(), nn.LazyLinear(6), nn.LogSoftmax(-1)]
    model, x = nn.Sequential(*layers), torch.randn(2, 3, 14, 14)
    model(x)
    optimizer = torch.optim.AdamW(model.parameters())
    with Log(), flops.count() as c:
        F.nll_loss(model(x), torch.tensor([1, 4])).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert not c.unknown
    assert {
        "convolution_backward",
        "native_group_norm_backward",
        "addcdiv",
        "nll_loss_forward",
    } <= seen
    assert seen >= set(c.by_operator())


# --- PyTorch's counter ---------------------------------------------------------------------------


def test_a_dozen_models_against_pytorchs_counter():
    found = {comparison.model: comparison for comparison in comparisons()}
    assert len(found) >= 10
    lacking = {
        "transformer block": "no formula for _scaled_dot_product_flash_attention_for_cpu",
        "depthwise-separable CNN": "convolution_backward alone: ",
        "nn.TransformerEncoderLayer, inference": "no formula for _transformer_encoder_layer_fwd",
        "logistic regression, matrix @ vector": "no formula for mv",
    }
    for name, comparison in found.items():
        assert comparison.ours > 0
        if name in lacking:
            assert lacking[name] in comparison.reason
            assert comparison.ours != comparison.theirs
        elif name != "LSTM":  # one operator with oneDNN, products without
            assert (comparison.ours, comparison.reason) == (comparison.theirs, "")

    # where the two differ, the arithmetic by hand
    rows, width, n = 2 * 17, 48, 17
    linear = 3 * 2 * rows * width * (4 * width + 2 * 4 * width)
    attention = 4 * 2 * n * n * width
    assert found["transformer block"].ours == linear + attention + attention * 5 // 2
    depthwise = 2 * 2 * 8 * 49 * 9
    pointwise_layer = 2 * 2 * 12 * 49 * 8
    assert found["depthwise-separable CNN"].ours == 2 * depthwise + 3 * pointwise_layer
    assert found["logistic regression, matrix @ vector"].ours == 2 * 2 * 30 * 12
    rows, width = 2 * 9, 24
    encoder = 2 * rows * width * (4 * width + 2 * 96) + 4 * 2 * 9 * 9 * width
    assert found["nn.TransformerEncoderLayer, inference"].ours == encoder
    weights = 64 * (10 + 16) + 64 * (16 + 16)
    assert found["LSTM"].ours == 3 * 2 * 11 * 3 * weights
    table = str(flops.against_torch())
    assert table.count("equal") >= 8


# --- on a GPU ------------------------------------------------------------------------------------

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


@needs_gpu
@pytest.mark.parametrize("backend", ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"])
@pytest.mark.parametrize("key_heads", [4, 2])
def test_fused_attention_on_a_gpu(backend, key_heads):
    if backend == "EFFICIENT_ATTENTION" and key_heads == 2:
        pytest.skip("no grouped keys in that backend")
    half = {"dtype": torch.bfloat16, "device": "cuda"}
    q, k, v = (wants_grad(2, h, 256, 64, **half) for h in (4, key_heads, key_heads))

    def attend():
        F.scaled_dot_product_attention(q, k, v, enable_gqa=key_heads != 4).sum().backward()

    with sdpa_kernel(getattr(SDPBackend, backend)):
        c = counted(attend)
    scores, values = attention_products(2, 4, 256, 256, 64, 64)
    assert c.forward.flops == 2 * (scores + values)
    assert c.backward.flops == 5 * (scores + values)


@needs_gpu
def test_one_thread_runs_the_backward_pass_on_a_gpu():
    model, x = block().cuda(), torch.randn(2, 7, 24, device="cuda", requires_grad=True)
    with flops.count(model) as c, sdpa_kernel(SDPBackend.MATH):
        y = checkpoint(model, x, use_reentrant=True)
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        gradient.square().sum().backward()
        y.sum().backward()
    assert c.recompute.flops == c.forward.flops // 2
    outside = c.by_module()["(outside modules)"]
    assert outside.total.flops == 0


@needs_gpu
def test_gpu_operators():
    x = torch.randn(11, 3, 10, device="cuda", requires_grad=True)
    layer = nn.LSTM(10, 16, num_layers=2).cuda()
    c = counted(lambda: layer(x)[0].sum().backward())
    weights = 64 * (10 + 16) + 64 * (16 + 16)
    assert (c.forward.flops, c.backward.flops) == (2 * 33 * weights, 4 * 33 * weights)
    a = torch.randn(32, 64, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(48, 64, device="cuda").to(torch.float8_e4m3fn).T
    one = torch.ones((), device="cuda")
    assert counted(torch._scaled_mm, a, b, one, one).flops == 2 * 32 * 64 * 48
    a, b = torch.randn(40, 16, device="cuda"), torch.randn(2, 16, 24, device="cuda")
    offsets = torch.tensor([16, 40], dtype=torch.int32, device="cuda")
    grouped = counted(torch._grouped_mm, a.bfloat16(), b.bfloat16(), offs=offsets)
    assert grouped.flops == 2 * 40 * 16 * 24


@needs_gpu
def test_attention_operators_below_sdpa():
    q, k, v = (torch.randn(2, n, 4, 64, device="cuda").half() for n in (96, 128, 128))
    scores, values = attention_products(2, 4, 96, 128, 64, 64)
    aten = torch.ops.aten
    flash = (None, None, 96, 128, 0.0, False, False)
    assert counted(aten._flash_attention_forward, q, k, v, *flash).flops == 2 * (scores + values)
    efficient = (None, None, None, None, None, 0.0, 0)
    c = counted(aten._efficient_attention_forward, q, k, v, *efficient)
    assert c.flops == 2 * (scores + values)
    ends = torch.tensor([0, 32, 96], dtype=torch.int32, device="cuda")
    with flops.count() as c:
        aten._flash_attention_forward(q[0], q[1], q[1], ends, ends, 64, 64, 0.0, False, False)
    assert c.unknown == {"_flash_attention_forward": 1}
