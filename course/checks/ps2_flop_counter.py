"""The checks of problem set 2, "Your own FLOP counter": one public function for each test cell.

The references know nothing of dispatch modes. A model is a list of matrix products, written down
by hand in `ps2_products`, and everything else is arithmetic on that list; what each misconception
would give is in `ps2_mistakes`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from course.checks.cases import primes
from course.checks.plain import show
from course.checks.ps2_mistakes import (
    Mistakes,
    backward_mistakes,
    conv_mistakes,
    follows_from,
    forward_mistakes,
    from_matmul,
    product_mistakes,
)
from course.checks.ps2_products import (
    Product,
    Shapes,
    backward_flops,
    checkpointed_mlp,
    conv_product,
    forward_flops,
    mlp,
    products,
)
from course.checks.question import Question, Reply
from course.checks.theory import Answer
from course.checks.wrong import Wrong
from course.specs import gpu

SET = "ps2_flop_counter"

Student = Callable[..., Any]

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
        right = 2 * m * n * k
        question.ask(m, n, k).gives(right, known=product_mistakes(m, n, k))
    question.passed()


def addmm_flops(student: Student) -> None:
    """Check ``addmm_flops(bias_shape, a_shape, b_shape)``: matmul work and bias work, apart."""
    question = Question(SET, "addmm_flops", student)
    for m, n, k in (primes(question.rng, 3, 2, 99) for _ in range(4)):
        work = 2 * m * n * k
        known = {
            "matmul": [
                *from_matmul([Product(1, m, n, k, backward=0)]),
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
            *from_matmul([Product(b, m, n, k, backward=0)]),
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
        shapes = [*x], [*weight], [*stride], [*padding]
        right = conv_product(*shapes).flops
        question.ask(x, weight, stride, padding).gives(right, known=conv_mistakes(*shapes))
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
            known={"flops": forward_mistakes(name, shapes, model)},
        )
        _adds_up(reply)
    question.passed()


_FORWARD = ("linear", "mlp", "bmm", "einsum", "conv", "attention")


def count_unknown(student: Student) -> None:
    """Check that ``count`` names the operators it cannot count, and how often each was called."""
    question = Question(SET, "count_unknown", student, "count")
    n, columns, repeats = primes(question.rng, 3, 3, 13)
    for name, shapes, unknown, flops in [
        ("inverse", {"n": n, "columns": columns}, {"aten.linalg_inv_ex": 1}, 2 * n * n * columns),
        ("spectrum", {"n": n, "repeats": repeats}, {"aten._fft_r2c": repeats}, 0),
    ]:
        reply = _ask_count(question, name, shapes)
        _nothing_harmless(reply)
        calls = {_full(key): value for key, value in reply.value["unknown"].items()}
        operator = next(iter(unknown))
        known = {"unknown": {operator: [(1, "Count every call: it was called more than once.")]}}
        if operator not in calls:
            raise Wrong(
                f"{reply.what} does not report {operator} under 'unknown'. There is no "
                "formula for it, and it is not in NOT_COUNTED: the count must not look complete."
            )
        Reply(reply.what, {"unknown": calls, "flops": reply.value["flops"]}).gives(
            {"unknown": unknown, "flops": flops}, known=known
        )
    question.passed()


def count_safely(student: Student) -> None:
    """Check ``count_safely(name, shapes)``: the count survives an exception, the mode does not.

    That no mode stays on is seen by `course.checks.question.perform`, whatever "leaked" says.
    """
    question = Question(SET, "count_safely", student)
    batch, a, b, c, d = primes(question.rng, 5, 2, 40)
    done, never = 2 * batch * a * b, 2 * batch * c * d
    failed = (
        "You counted the product that failed: its factors do not fit, so it did no work. "
        "Run the operator first, count afterwards."
    )
    lost = (0, "One product was done before the failure. Is the count lost with the exception?")
    any_error = "A model may raise any exception, not RuntimeError alone: none may come through."
    for name, shapes, flops, error, known in [
        (
            "mismatch",
            {"batch": batch, "widths": [a, b], "wrong": [c, d]},
            done,
            "RuntimeError",
            [lost, (done + 2 * batch * b * d, failed), (done + never, failed)],
        ),
        ("missing_row", {"m": batch, "n": b, "k": a, "row": batch + c}, done, "IndexError", [lost]),
        ("linear", {"batch": batch, "inputs": c, "outputs": d}, never, None, []),
    ]:
        reply = question.ask(name, shapes, if_raises=any_error if error else "")
        _error_of_the_model(reply, error)
        product = Product(1, batch, *((b, a) if error else (d, c)), backward=0)
        swallowed = (
            "The model raised an exception and nobody noticed. Does __exit__ return True, or an "
            "except swallow it?"
        )
        watched = (
            48,
            "The counter still counted after its block: 2 x 2 x 4 x 3 FLOPs of your own product. "
            "Is flops read after it, or the block left too late?",
        )
        reply.gives(
            {"error": error, "flops": flops, "leaked": 0},
            known={
                "error": [(None, swallowed)],
                "flops": [*known, *from_matmul([product])],
                "leaked": [watched],
            },
        )
    question.passed()


def _error_of_the_model(reply: Reply, right: str | None) -> None:
    """Raise if "error" names an exception that the counter raised, and not the model."""
    error = reply.value.get("error") if isinstance(reply.value, dict) else None
    if type(error) is str and error != right and re.fullmatch(r"\w+(Error|Exception)", error):
        model = f"raises {right}" if right else "did not"
        raise Wrong(
            f"{reply.what}['error'] is {error!r}: your counter raised {error}; the model {model}. "
            "Is there a mistake in a formula? Your except hides it here: call count instead."
        )


# --- part 3: what the built-in counter misses -------------------------------------------------


def compare_counters(student: Student) -> None:
    """Check ``compare_counters(name, shapes)``: your count, PyTorch's, and what it misses."""
    question = Question(SET, "compare_counters", student)
    for name, shapes in _small_models(question, ("linear", "matvec", "sdpa", "conv", "inverse")):
        model = products(name, shapes)
        flops, builtin = forward_flops(model), _builtin(name, shapes)
        missed = [_MISSED[name]] if builtin < flops else []
        reply = question.ask(name, shapes)
        known = {
            "mine": forward_mistakes(name, shapes, model),
            "builtin": [(flops, "That is the right count, but PyTorch's counter says otherwise.")],
            "missed": _missed_too_much(reply),
        }
        reply.gives({"mine": flops, "builtin": builtin, "missed": missed}, known=known)
    question.passed()


_MISSED = {"matvec": "aten.mv", "sdpa": "aten._scaled_dot_product_flash_attention_for_cpu"}


def _missed_too_much(reply: Reply) -> Mistakes:
    """Return why the "missed" of `reply` is wrong, its names written alike from here on."""
    value = reply.value
    if not isinstance(value, dict) or not isinstance(value.get("missed"), list | tuple):
        return []
    value["missed"] = names = [_full(key) for key in value["missed"]]
    for name in names:
        if _short(name) in VIEWS | POINTWISE:
            why = f"Nothing is counted for {name} on either side, so nothing is missed: list only "
            return [(names, f"{why}operators with FLOPs in your count.")]
        if _short(name) == "linalg_inv_ex":
            why = f"{name} is unknown to your counter as well, and a blind spot of both: list only "
            return [(names, f"{why}operators with FLOPs in your count.")]
    return [([], "Your counter found work that the built-in one did not. Where?")]


def _builtin(name: str, shapes: Shapes) -> int:
    """Return what PyTorch's own counter says, on the PyTorch that is installed."""
    import torch
    from torch.nn import functional
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        if name == "matvec":
            torch.mv(torch.ones(shapes["rows"], shapes["columns"]), torch.ones(shapes["columns"]))
        elif name == "inverse":
            torch.linalg.inv(torch.eye(shapes["n"])) @ torch.ones(shapes["n"], shapes["columns"])
        elif name == "sdpa":
            *outer, queries, keys, dim = (
                shapes[key] for key in ("batch", "heads", "queries", "keys", "dim")
            )
            q, kv = torch.ones(*outer, queries, dim), torch.ones(*outer, keys, dim)
            functional.scaled_dot_product_attention(q, kv, kv)
        else:
            return forward_flops(products(name, shapes))
    return counter.get_total_flops()


# --- part 4: backward, and the rule 6ND -------------------------------------------------------


def train(student: Student) -> None:
    """Check ``train(name, shapes)``: the FLOPs of a forward and of a backward pass, apart."""
    question = Question(SET, "train", student)
    models = ("mlp", "linear", "bmm", "attention", "conv", "convnet", "sdpa", "block")
    for name, shapes in _small_models(question, models):
        model = products(name, shapes)
        forward, backward = forward_flops(model), backward_flops(model)
        known = {
            "forward": forward_mistakes(name, shapes, model),
            "backward": backward_mistakes(name, model),
        }
        question.ask(name, shapes).gives({"forward": forward, "backward": backward}, known=known)
    question.passed()


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
                *from_matmul(model),
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
    # three layers at least: with two, 6ND happens to be what is executed
    for layers in (3, 5):
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
                *((flops / full, reason) for flops, reason in from_matmul(plain, backward=True)),
                (executed / full, "MFU divides the nominal work: what the step costs without "
                 "recomputation. This is what was executed."),
                (3 * forward / full, "That is 6ND. The nominal work here is that of your "
                 "mlp_training_flops, without the gradient that nobody needs. "
                 + follows_from("mlp_training_flops")),
                ((3 * forward - plain[-1].flops) / full, "The first layer's input needs no "
                 f"gradient, not the last one's. {follows_from('mlp_training_flops')}"),
                (forward / full, "That is the forward pass alone: a step has a backward pass too."),
                (100 * nominal / full, percent),
            ],
            "hfu": [
                (nominal / full, "HFU divides what was executed: the hidden layers run forward "
                 "twice. Count the checkpointed model."),
                ((nominal + forward) / full, "Not everything is computed again: the last layer "
                 "is not checkpointed. Count, do not assume."),
                (4 / 3 * nominal / full, "4/3 of MFU is 8ND over 6ND: every layer again, and the "
                 "first layer like the others. Count the checkpointed model instead."),
                (4 * forward / full, "That is 8ND: every layer forward twice, and the first layer "
                 "like the others. Count the checkpointed model instead."),
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
            (width, "At N = D the powers are the same, N^2 D and N D^2, but not their factors: "
             "count both with all their matrices."),
            (6 * width * 3, "Forward only: the factor 3 of training is on both sides."),
            (6, "That is the factor of D: in tokens it is 6 x 4,096."),
        ),
    ).check("attention_crossover", number)  # fmt: skip


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
    if name == "convnet":
        batch, channels, *filters = primes(question.rng, 4, 2, 11)
        kernel, (height, width) = primes(question.rng, 2, 3, 7), primes(question.rng, 2, 17, 31)
        image = {"batch": batch, "channels": channels, "height": height, "width": width}
        return image | {"filters": filters, "kernel": kernel}
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
        "inverse": ("n", "columns"),
    }[name]
    return dict(zip(keys, primes(question.rng, len(keys), 2, 23), strict=True))


def _ask_count(question: Question, name: str, shapes: Shapes) -> Reply:
    """Ask ``count``; its reply has the right keys, and dicts where dicts belong."""
    reply = question.ask(name, shapes)
    value = reply.value
    shape = {"flops": 0, "by_operator": {}, "unknown": {}}
    if not isinstance(value, dict) or value.keys() != shape.keys():
        reply.gives(shape)  # raises, with what is missing
    for key, number in (("by_operator", "FLOPs"), ("unknown", "number of calls")):
        part = Reply(f"{reply.what}[{key!r}]", value[key])
        if not isinstance(value[key], dict):
            raise Wrong(
                f"{part.what} is {show(value[key])}; expected a dict from each operator's name to "
                f"its {number}."
            )
        if any(type(number) not in (int, float) for number in value[key].values()):
            part.gives(dict.fromkeys(value[key], 0))  # raises: numbers are expected
    return reply


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
            f"but 'flops' is {reply.value['flops']:,}. Does a later call of an operator replace "
            "the earlier ones, = where += is meant?"
        )


def _short(operator: Any) -> str:
    """Return ``mm`` for ``aten.mm``, ``aten.mm.default`` or ``aten::mm``."""
    parts = str(operator).replace("::", ".").split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "aten" else parts[0]


def _full(operator: Any) -> str:
    """Return ``aten.mm``, as the notebook writes names, for any of those."""
    return f"aten.{_short(operator)}"
