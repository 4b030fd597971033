"""The checks of problem set 2, "Your own FLOP counter": one public function for each test cell.

The references know nothing of dispatch modes. A model is a list of matrix products, written down
by hand in `ps2_products`, and everything else (forward, backward, what each misconception would
give) is arithmetic on that list.
"""

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from course.checks.cases import primes
from course.checks.plain import show
from course.checks.ps2_products import (
    Product,
    Shapes,
    backward_flops,
    checkpointed_mlp,
    conv_product,
    forward_flops,
    mlp,
    positions,
    products,
)
from course.checks.question import Question, Reply
from course.checks.theory import Answer
from course.checks.wrong import Wrong
from course.specs import gpu

SET = "ps2_flop_counter"

Student = Callable[..., Any]

HALF = "You counted each multiply-add once. It is a multiplication and an addition: 2 FLOPs."

#: Operators that rename or re-stride data, and some of those that compute without multiplying
#: matrices. A nonzero count under such a name has its own message.
VIEWS, POINTWISE = (
    frozenset(names.split())
    for names in (
        "t view _unsafe_view transpose permute expand unsqueeze squeeze select slice detach alias "
        "as_strided reshape",
        "relu gelu mul add add_ div sum softmax _softmax _safe_softmax native_layer_norm ones_like "
        "clone copy_ threshold_backward gelu_backward _softmax_backward_data "
        "native_layer_norm_backward",
    )
)


# --- part 1: formulas -------------------------------------------------------------------------


def matmul_flops(student: Student) -> None:
    """Check ``matmul_flops(m, n, k)``: the FLOPs of an m x k matrix times a k x n matrix."""
    question = Question(SET, "matmul_flops", student)
    for m, n, k in [*(primes(question.rng, 3, 2, 99) for _ in range(4)), [1, 1, 1]]:
        known = [
            (m * n * k, HALF),
            (
                m * n * (2 * k - 1),
                "You left out the very first addition of each sum. The convention of hardware "
                "and of papers is a multiply-add for each of the k terms: 2k a sum.",
            ),
            (2 * m * n, "Each of the m x n results is a sum of k products, not one product."),
            (2 * m * k, "That is one column of the result: there are n columns."),
            (2 * (m * k + k * n), "That counts the elements of the inputs, not the work."),
        ]
        question.ask(m, n, k).gives(2 * m * n * k, known=known)
    question.passed()


def addmm_flops(student: Student) -> None:
    """Check ``addmm_flops(bias_shape, a_shape, b_shape)``: matmul work and bias work, apart."""
    question = Question(SET, "addmm_flops", student)
    for m, n, k in (primes(question.rng, 3, 2, 99) for _ in range(4)):
        work = 2 * m * n * k
        known = {
            "matmul": [
                (work // 2, HALF),
                (
                    work + m * n,
                    "You counted the additions of the bias as matmul work. They do not run on "
                    "tensor cores and grow with m x n only: they belong under 'bias'.",
                ),
            ],
            "bias": [
                (n, "The bias has n elements, but it is added to every one of the m rows."),
                (0, "Adding the bias is no matmul work, but it is work: count it under 'bias'."),
                (2 * m * n, "One addition for each result; nothing is multiplied here."),
            ],
        }
        reply = question.ask((n,), (m, k), (k, n))
        reply.gives({"matmul": work, "bias": m * n}, known=known)
    question.passed()


def bmm_flops(student: Student) -> None:
    """Check ``bmm_flops(a_shape, b_shape)``: a batch of products."""
    question = Question(SET, "bmm_flops", student)
    for b, m, n, k in (primes(question.rng, 4, 2, 50) for _ in range(4)):
        work = 2 * b * m * n * k
        known = [
            (2 * m * n * k, f"That is the work of one of the {b} products: mind the batch."),
            (work // 2, HALF),
            (work * b, "The batch counts once: product i takes a[i] and b[i], no other pair."),
        ]
        question.ask((b, m, k), (b, k, n)).gives(work, known=known)
    question.passed()


def conv2d_flops(student: Student) -> None:
    """Check ``conv2d_flops(x_shape, w_shape, stride, padding)``."""
    question = Question(SET, "conv2d_flops", student)
    for case in _conv_cases(question):
        n, c, h, w, f, c_w, r, s, stride, padding = case
        x, weight = (n, c, h, w), (f, c_w, r, s)
        right = conv_product([*x], [*weight], [*stride], [*padding])
        places = [positions(*side) for side in zip((h, w), (r, s), stride, padding, strict=True)]
        a_place = right.flops // prod(places)  # the work of all filters at one place, all images
        known = [
            (right.flops // 2, HALF),
            (a_place * h * w, "You counted a result for every pixel of x. Count those of out."),
            (
                a_place * prod(positions(*side) for side in _sides(case, padding=(0, 0))),
                "You left the padding out: it adds places where the window fits.",
            ),
            (
                a_place * prod(positions(*side) for side in _sides(case, half=True)),
                "Padding is added on both ends of a side: 2 x padding.",
            ),
            (
                a_place * prod(positions(*side) for side in _sides(case, stride=(1, 1))),
                "You left the stride out: the window moves in steps of it.",
            ),
            (
                a_place * prod(_rounded_up(*side) for side in _sides(case)),
                "A window that does not fit as a whole is not computed: round down.",
            ),
            (right.flops // n, "That is one image: x holds a batch of them."),
            (right.flops // c_w, "Each filter sums over its channels: w_shape[1] of them."),
            (right.flops // f, "That is one filter: there are w_shape[0]."),
            (right.flops // s * r, "The kernel is r x s, which need not be a square."),
            (right.flops // (r * s), "Each result needs a multiply-add for each kernel element."),
        ]
        if c != c_w:
            reason = "This convolution has groups: one filter sees w_shape[1] channels, not C."
            known.insert(0, (right.flops // c_w * c, reason))
        question.ask(x, weight, stride, padding).gives(right.flops, known=known)
    question.passed()


def _conv_cases(question: Question) -> Iterable[tuple]:
    """Yield sizes (N, C, H, W, F, C per group, R, S, stride, padding) that show each mistake."""
    for groups, stride, padding in [
        (1, (1, 1), (0, 0)),
        (1, (1, 1), (3, 1)),
        (1, (3, 4), (0, 0)),
        (1, (4, 3), (1, 3)),
        (5, (1, 3), (1, 0)),
    ]:
        n, c_w, f, kernel, sides = _conv_sizes(question, stride, padding)
        yield n, c_w * groups, *sides, f * groups, c_w, *kernel, stride, padding


def _conv_sizes(question: Question, stride: Iterable[int], padding: Iterable[int]) -> tuple:
    """Draw N, C, F, kernel and sides: primes, and in steps a last window hangs over the edge."""
    n, c, *kernel = primes(question.rng, 4, 3, 11)
    (f,) = primes(question.rng, 1, 13, 19)
    sides: list[int] = []
    for size, step, pad in zip(kernel, stride, padding, strict=True):
        drawn = primes(question.rng, 7, 17, 43)
        fits = [side for side in drawn if step == 1 or (side + 2 * pad - size) % step]
        sides.append(next(side for side in fits if side not in sides))
    return n, c, f, kernel, sides


def _sides(
    case: tuple, stride: tuple | None = None, padding: tuple | None = None, half: bool = False
) -> list[tuple[int, int, int, int]]:
    """Return (size, kernel, stride, padding) of both sides, with a mistake put in."""
    _, _, h, w, _, _, r, s, true_stride, true_padding = case
    steps, pads = stride or true_stride, padding or true_padding
    if half:  # padding on one end only is half of it on both
        h, w, pads = h + pads[0], w + pads[1], (0, 0)
    return list(zip((h, w), (r, s), steps, pads, strict=True))


def _rounded_up(size: int, kernel: int, stride: int, padding: int) -> int:
    return -(-(size + 2 * padding - kernel) // stride) + 1


# --- part 2: the mode -------------------------------------------------------------------------


def count_forward(student: Student) -> None:
    """Check ``count(name, shapes)`` on models made of mm, addmm, bmm and convolution."""
    question = Question(SET, "count_forward", student, "count")
    for name, shapes in _small_models(question, _FORWARD):
        model = products(name, shapes)
        reply = _ask_count(question, name, shapes)
        _no_work_in_views(reply)
        _nothing_harmless(reply)
        _has_formulas(reply)
        reply.gives(
            {
                "flops": forward_flops(model),
                "unknown": {},
                "by_operator": reply.value["by_operator"],
            },
            known={"flops": _forward_mistakes(name, model)},
        )
        _adds_up(reply)
    question.passed()


_FORWARD = ("linear", "mlp", "bmm", "einsum", "conv", "attention")


def count_unknown(student: Student) -> None:
    """Check that ``count`` names the operators it cannot count, and how often each was called."""
    question = Question(SET, "count_unknown", student, "count")
    n, columns, repeats = primes(question.rng, 3, 3, 13)
    for name, shapes, unknown, flops in [
        ("inverse", {"n": n, "columns": columns}, {"linalg_inv_ex": 1}, 2 * n * n * columns),
        ("spectrum", {"n": n, "repeats": repeats}, {"_fft_r2c": repeats}, 0),
    ]:
        reply = _ask_count(question, name, shapes)
        _nothing_harmless(reply)
        calls = {_short(key): value for key, value in reply.value["unknown"].items()}
        operator = next(iter(unknown))
        known = {"unknown": {operator: [(1, "Count every call: it was called more than once.")]}}
        if operator not in calls:
            raise Wrong(
                f"{reply.what} does not report aten.{operator} under 'unknown'. There is no "
                "formula for it, and it is not in NOT_COUNTED: the count must not look complete."
            )
        Reply(reply.what, {"unknown": calls, "flops": reply.value["flops"]}).gives(
            {"unknown": unknown, "flops": flops}, known=known
        )
    question.passed()


def count_safely(student: Student) -> None:
    """Check ``count_safely(name, shapes)``: the count survives an exception, the mode does not."""
    question = Question(SET, "count_safely", student)
    batch, a, b, c, d = primes(question.rng, 5, 2, 40)
    done = 2 * batch * a * b
    known = {
        "flops": [
            (
                done + 2 * batch * b * d,
                "You counted the product that failed: its factors do not fit, so it did no work. "
                "Run the operator first, count afterwards.",
            ),
            (done + 2 * batch * c * d, "You counted the product that failed: it did no work."),
            (0, "One product was done before the failure. Is the count lost with the exception?"),
        ],
        "error": [
            (
                None,
                "The model raised an exception and nobody noticed. Does __exit__ return True, "
                "or an except swallow it?",
            )
        ],
    }
    mismatch = {"batch": batch, "widths": [a, b], "wrong": [c, d]}
    reply = question.ask("mismatch", mismatch)
    leaked = reply.value.get("leaked") if isinstance(reply.value, dict) else None
    if type(leaked) is int and leaked != 0:
        raise Wrong(
            f"{reply.what} returned {show(reply.value)}: the counter still counted after its block "
            "had been left by an exception. The mode is on for good, in every later cell too. "
            "Enter it with `with`, or leave it in a `finally`."
        )
    reply.gives({"flops": done, "error": "RuntimeError", "leaked": 0}, known=known)
    linear = {"batch": batch, "inputs": c, "outputs": d}
    reply = question.ask("linear", linear)
    reply.gives({"flops": 2 * batch * c * d, "error": None, "leaked": 0}, known=known)
    question.passed()


# --- part 3: what the built-in counter misses -------------------------------------------------


def compare_counters(student: Student) -> None:
    """Check ``compare_counters(name, shapes)``: your count, PyTorch's, and what it misses."""
    question = Question(SET, "compare_counters", student)
    for name, shapes in _small_models(question, ("linear", "matvec", "sdpa", "conv")):
        flops, builtin = forward_flops(products(name, shapes)), _builtin(name, shapes)
        missed = [] if builtin == flops else [_MISSED[name]]
        reply = question.ask(name, shapes)
        if isinstance(reply.value, dict) and isinstance(reply.value.get("missed"), list | tuple):
            reply.value["missed"] = [_short(key) for key in reply.value["missed"]]
        known = {
            "mine": _missing_formula(name, shapes, flops),
            "builtin": [(flops, "That is the right count, but PyTorch's counter says otherwise.")],
            "missed": [([], "Your counter found work that the built-in one did not. Where?")],
        }
        reply.gives({"mine": flops, "builtin": builtin, "missed": missed}, known=known)
    question.passed()


_MISSED = {"matvec": "mv", "sdpa": "_scaled_dot_product_flash_attention_for_cpu"}


def _builtin(name: str, shapes: Shapes) -> int:
    """Return what PyTorch's own counter says, on the PyTorch that is installed."""
    import torch
    from torch.nn import functional
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        if name == "matvec":
            torch.mv(torch.ones(shapes["rows"], shapes["columns"]), torch.ones(shapes["columns"]))
        elif name == "sdpa":
            *outer, queries, keys, dim = (
                shapes[key] for key in ("batch", "heads", "queries", "keys", "dim")
            )
            q, kv = torch.ones(*outer, queries, dim), torch.ones(*outer, keys, dim)
            functional.scaled_dot_product_attention(q, kv, kv)
        else:
            return forward_flops(products(name, shapes))
    return counter.get_total_flops()


def _missing_formula(name: str, shapes: Shapes, flops: int) -> list[tuple[int, str]]:
    nothing, half = "Nothing was counted.", HALF
    if name == "matvec":
        nothing = "A matrix times a vector is a product too: aten.mv has no formula yet."
    if name == "sdpa":
        nothing = (
            "scaled_dot_product_attention arrives as one operator of its own, which has no "
            "formula yet: it is in the 'unknown' of your count."
        )
        half = "Attention is two products of the same size: Q K^T and P V."
        linear = flops // shapes["keys"] * shapes["dim"]
        return [(0, nothing), (flops // 2, half), (linear, "Each query meets each key: N M d.")]
    return [(0, nothing), (flops // 2, half)]


# --- part 4: backward, and the rule 6ND -------------------------------------------------------


def train(student: Student) -> None:
    """Check ``train(name, shapes)``: the FLOPs of a forward and of a backward pass, apart."""
    question = Question(SET, "train", student)
    models = ("mlp", "linear", "bmm", "attention", "conv", "sdpa", "block")
    for name, shapes in _small_models(question, models):
        model = products(name, shapes)
        forward, backward = forward_flops(model), backward_flops(model)
        known = {
            "forward": _forward_mistakes(name, model),
            "backward": _backward_mistakes(name, model),
        }
        question.ask(name, shapes).gives({"forward": forward, "backward": backward}, known=known)
    question.passed()


def _backward_mistakes(name: str, model: list[Product]) -> list[tuple[float, str]]:
    forward, backward = forward_flops(model), backward_flops(model)
    fused = round(sum(p.flops * p.backward for p in model if p.backward == 5 / 2))
    missing = "The backward pass was not counted. Does it run inside a `with` of its own?"
    if fused:
        missing = "The backward operator of the fused attention has no formula yet."
        twice = (
            "Twice the forward pass is ordinary autograd. The fused attention kept no N x M "
            "matrix, so its backward computes the scores again: five products for two."
        )
    else:
        twice = (
            "Twice the forward pass, for a model whose first factor is data: nobody needs its "
            "gradient, so one of the two products is not done. Count, do not assume."
        )
    if name == "conv":
        missing = "aten.convolution_backward has no formula yet."
    return [
        (backward - fused if fused else 0, missing),
        (2 * forward, twice),
        (forward + backward, "That is forward and backward together; they are asked apart."),
        (
            forward,
            "As much as the forward pass: but each product has a gradient to compute for each "
            "factor that needs one, dA = dC B^T and dB = A^T dC.",
        ),
    ]


def mlp_training_flops(student: Student) -> None:
    """Check ``mlp_training_flops(batch, widths)``: by formula, before anything runs."""
    question = Question(SET, "mlp_training_flops", student)
    for layers in (1, 2, 3, 5):
        batch, *widths = primes(question.rng, layers + 2, 2, 70)
        model = mlp(batch, widths)
        forward, backward = forward_flops(model), backward_flops(model)
        weights = sum(p.n * p.k for p in model)
        biases = sum(p.n for p in model)
        first = "The first layer's input is data: its gradient, one product, is never computed."
        known = {
            "forward": [
                (forward // 2, HALF),
                (forward // batch, "That is one row of the batch."),
                (forward + batch * biases, "Biases are no matmul work."),
            ],
            "backward": [
                (2 * forward, first),
                (
                    2 * forward - model[-1].flops,
                    "It is the first layer whose input needs no gradient, not the last: the loss "
                    "sits after the last one.",
                ),
                (forward, "Each layer has two gradients to compute, except the first."),
                (forward + backward, "That is the whole step; here the backward pass alone."),
            ],
            "six_nd": [
                (forward + backward, "6ND is the rule of thumb, without the exception."),
                (6 * (weights + biases) * batch, "N: the weights of the matrices. No biases."),
                (2 * weights * batch, "2ND is the forward pass alone."),
                (6 * weights, "D is the number of rows that go through: the batch."),
            ],
        }
        right = {"forward": forward, "backward": backward, "six_nd": 6 * weights * batch}
        question.ask(batch, widths).gives(right, known=known)
    question.passed()


# --- part 5: recomputation --------------------------------------------------------------------


def utilisation(student: Student) -> None:
    """Check ``utilisation(shapes, seconds, peak)``: nominal and executed FLOPs over the peak."""
    question = Question(SET, "utilisation", student)
    for layers in (2, 4):
        batch, *widths = primes(question.rng, layers + 2, 3, 60)
        plain, checkpointed = mlp(batch, widths), checkpointed_mlp(batch, widths)
        forward = forward_flops(plain)
        nominal = forward + backward_flops(plain)
        executed = forward + backward_flops(checkpointed)
        # about half of a small machine's peak, in round numbers
        peak = 1e9 * int(question.rng.integers(10, 100))
        seconds = float(f"{nominal / peak / question.rng.uniform(0.3, 0.6):.3g}")
        full = seconds * peak
        percent = "A fraction is asked for, not per cent."
        known = {
            "mfu": [
                (executed / full, "MFU divides the nominal work: what the step costs without "
                 "recomputation. This is what was executed."),
                (3 * forward / full, "That is 6ND. The nominal work here is that of your "
                 "mlp_training_flops, without the gradient that nobody needs."),
                (100 * nominal / full, percent),
            ],
            "hfu": [
                (nominal / full, "HFU divides what was executed: the hidden layers run forward "
                 "twice. Count the checkpointed model."),
                ((nominal + forward) / full, "Not everything is computed again: the last layer "
                 "is not checkpointed. Count, do not assume."),
                (100 * executed / full, percent),
            ],
        }  # fmt: skip
        reply = question.ask({"batch": batch, "widths": widths}, seconds, peak)
        reply.gives({"mfu": nominal / full, "hfu": executed / full}, known=known, rtol=1e-9)
    question.passed()


# --- theory -----------------------------------------------------------------------------------


def attention_crossover(number: Any) -> None:
    """Check the sequence length at which attention costs as much as the linear layers."""
    width = 4096
    Answer(
        value=6 * width,
        unit="tokens",
        wrong=(
            (12 * width, "Attention has two products, Q K^T and P V: 4 N^2 D a sequence, not 2."),
            (3 * width, "Count multiply-adds as 2 FLOPs on both sides, or on neither."),
            (4 * width, "The four projections are linear layers too: 4 D^2 weights beside 8 D^2."),
            (2 * width, "The MLP's two layers are linear layers too: 8 D^2 weights beside 4 D^2."),
            (6 * width * 3, "Forward only: the factor 3 of training is on both sides."),
            (6, "That is the factor of D: in tokens it is 6 x 4,096."),
        ),
    ).check("attention_crossover", number)


def flash_training(number: Any) -> None:
    """Check the executed FLOPs of attention, forward and FlashAttention's backward."""
    forward = 4 * 1 * 16 * 4096**2 * 64 / 1e9
    Answer(
        value=3.5 * forward,
        unit="GFLOP",
        wrong=(
            (forward, "That is the forward pass alone; a training step has a backward pass too."),
            (2.5 * forward, "That is the backward pass alone."),
            (3 * forward, "3 x forward is ordinary autograd, which keeps the matrix P. "
             "FlashAttention computes the scores again: five products backward."),
            (3.5 * forward / 2, "Half: two products forward, Q K^T and P V, with 2 FLOPs a "
             "multiply-add, and no causal mask."),
            (3.5 * forward / 64, "Each product is 2 B H N^2 d: N squared, and d once."),
            (3.5 * forward / 16, "That is one head: there are 16."),
        ),
    ).check("flash_training", number)  # fmt: skip


def training_days(number: Any) -> None:
    """Check how long a training run takes, by the rule 6ND and a model FLOPs utilisation."""
    peak = gpu("H100 SXM").peak("bf16")
    days = 6 * 8.03e9 * 15e12 / (1024 * peak * 0.40) / 86_400
    Answer(
        value=days,
        unit="days",
        wrong=(
            (days / 3, "2ND is the forward pass alone; training costs 6ND."),
            (days * 2 / 3, "4ND is the backward pass alone; training costs 6ND."),
            (days / 2, "Half: either 3ND (a multiply-add is 2 FLOPs) or a peak with sparsity."),
            (days * 0.4, "At the full peak. The run reaches 40 % of it."),
            (days * 0.16, "The utilisation divides the speed: more days, not fewer."),
            (days * 4 / 3, "8ND is with recomputation. MFU counts nominal FLOPs, so 6ND."),
            (days * 24, "Those are hours."),
            (days * 86_400, "Those are seconds."),
            (days * 1024, "That is on one GPU: there are 1,024."),
        ),
    ).check("training_days", number)


# --- what the counting questions share --------------------------------------------------------


def _small_models(question: Question, names: Iterable[str]) -> Iterable[tuple[str, Shapes]]:
    """Yield (name, shapes) with fresh sizes, all different primes."""
    for name in names:
        yield name, _sizes(question, name)


def _sizes(question: Question, name: str) -> Shapes:
    if name == "mlp":
        batch, *widths = primes(question.rng, 5, 2, 40)
        return {"batch": batch, "widths": widths}
    if name == "conv":
        stride, padding = ([1, 3], [3, 1]) if question.rng.integers(2) else ([3, 1], [1, 3])
        batch, channels, filters, kernel, sides = _conv_sizes(question, stride, padding)
        sizes = {"batch": batch, "channels": channels, "height": sides[0], "width": sides[1]}
        window = {"filters": filters, "kernel": kernel, "stride": stride, "padding": padding}
        return sizes | window
    if name == "block":
        batch, tokens, heads, a, b = primes(question.rng, 5, 2, 13)
        return {"batch": batch, "tokens": tokens, "heads": heads, "dim": heads * a, "hidden": a * b}
    keys = {
        "linear": ("batch", "inputs", "outputs"),
        "bmm": ("batch", "m", "n", "k"),
        "einsum": ("batch", "queries", "keys", "heads", "dim"),
        "attention": ("batch", "heads", "queries", "keys", "dim"),
        "sdpa": ("batch", "heads", "queries", "keys", "dim"),
        "matvec": ("rows", "columns"),
    }[name]
    return dict(zip(keys, primes(question.rng, len(keys), 2, 23), strict=True))


def _ask_count(question: Question, name: str, shapes: Shapes) -> Reply:
    """Ask ``count``; its reply has the right keys, and dicts where dicts belong."""
    reply = question.ask(name, shapes)
    value = reply.value
    shape = {"flops": 0, "by_operator": {}, "unknown": {}}
    if not isinstance(value, dict) or value.keys() != shape.keys():
        reply.gives(shape)  # raises, with what is missing
    for key in ("by_operator", "unknown"):
        part = Reply(f"{reply.what}[{key!r}]", value[key])
        if not isinstance(value[key], dict):
            part.gives({})  # raises: a dict is expected
        if any(type(number) not in (int, float) for number in value[key].values()):
            part.gives(dict.fromkeys(value[key], 0))  # raises: numbers are expected
    return reply


def _forward_mistakes(name: str, model: list[Product]) -> list[tuple[float, str]]:
    flops = forward_flops(model)
    nothing = "Nothing was counted. Print func in __torch_dispatch__ to see what arrives."
    if name == "einsum":
        nothing = (
            "Nothing was counted. There is no operator called einsum: it arrives as aten.bmm. A "
            "counter that watches functions such as torch.einsum would need all their names."
        )
    mistakes = [
        (0, nothing),
        (flops // 2, HALF),
        (sum(2 * p.m * p.n * p.k for p in model), "The batch of a batched product is missing."),
        (sum(p.flops + p.m * p.n for p in model), "The bias is added to the matmul work."),
        (2 * flops, "Everything is counted twice: is the mode entered twice?"),
    ]
    if name == "attention":
        half = "One of the two products of attention is missing, or multiply-adds count once."
        mistakes.insert(1, (flops // 2, half))
    return mistakes


def _no_work_in_views(reply: Reply) -> None:
    """Raise if FLOPs are booked under an operator that multiplies no matrices."""
    for key, flops in reply.value["by_operator"].items():
        name = _short(key)
        if flops and name in VIEWS:
            raise Wrong(
                f"{reply.what} counts {flops} FLOPs for {key}. It only gives the same numbers "
                "another shape or name: a view does no arithmetic."
            )
        if flops and name in POINTWISE:
            raise Wrong(
                f"{reply.what} counts {flops} FLOPs for {key}, which multiplies no matrices. "
                "Here 'flops' is matmul-like work only; it is in NOT_COUNTED for that reason."
            )


def _nothing_harmless(reply: Reply) -> None:
    """Raise if a view or a pointwise operator is reported as unknown."""
    for key in reply.value["unknown"]:
        if _short(key) in ("uniform_", "normal_", "randn", "rand", "eye"):
            raise Wrong(
                f"{reply.what} reports {key} as unknown: it makes up numbers for weights or "
                "inputs. Is the model built inside the block? Build it before."
            )
        if _short(key) in VIEWS | POINTWISE:
            raise Wrong(
                f"{reply.what} reports {key} as unknown. It is known to do no matmul work: only "
                "what is no view, not in NOT_COUNTED and without a formula is unknown."
            )


def _has_formulas(reply: Reply) -> None:
    """Raise if an operator that question 5 asks a formula for is reported as unknown."""
    for key in reply.value["unknown"]:
        if _short(key) in ("mm", "addmm", "bmm", "convolution"):
            raise Wrong(f"{reply.what} reports {key} as unknown: it needs a formula in FORMULAS.")


def _adds_up(reply: Reply) -> None:
    total = sum(reply.value["by_operator"].values())
    if total != reply.value["flops"]:
        raise Wrong(
            f"{reply.what}: the values of 'by_operator' add up to {total:,}, "
            f"but 'flops' is {reply.value['flops']:,}."
        )


def _short(operator: Any) -> str:
    """Return ``mm`` for ``aten.mm``, ``aten.mm.default`` or ``aten::mm``."""
    parts = str(operator).replace("::", ".").split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "aten" else parts[0]
