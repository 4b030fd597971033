"""Our counter beside PyTorch's own, on a dozen small models: equal where that one is right."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from course.flops.counter import count
from course.flops.table import Table


@dataclass(frozen=True)
class Comparison:
    """FLOPs of one model by both counters; `reason` is empty where they agree."""

    model: str
    ours: int
    theirs: int
    reason: str


def against_torch() -> Table:
    """Count each model with `count` and with ``torch.utils.flop_counter``; show both and why."""
    rows = [[c.model, f"{c.ours:,}", f"{c.theirs:,}", c.reason or "equal"] for c in comparisons()]
    return Table(["model", "ours", "PyTorch's", "PyTorch's counter"], rows, numbers=(1, 2))


def comparisons() -> Iterator[Comparison]:
    """Yield the comparison of each model in MODELS."""
    for name, make in MODELS.items():
        run = make()
        with count() as ours:
            run()
        with FlopCounterMode(display=False) as counter:
            run()
        theirs = {
            str(operator).removeprefix("aten."): flops
            for operator, flops in counter.get_flop_counts().get("Global", {}).items()
        }
        mine = {name: row.total.flops for name, row in ours.by_operator().items()}
        yield Comparison(name, ours.flops, sum(theirs.values()), _reason(mine, theirs))


def _reason(ours: dict[str, int], theirs: dict[str, int]) -> str:
    """Say for each operator with different counts what PyTorch's counter does with it."""
    known = {str(operator).removeprefix("aten.") for operator in flop_registry}
    wrong = [name for name in ours if ours[name] != theirs.get(name, 0)]
    missing = " and ".join(name for name in wrong if name not in known)
    parts = [f"no formula for {missing}"] if missing else []
    parts += [f"{n} alone: {theirs[n] / ours[n]:.3g} × ours" for n in wrong if n in known]
    return "; ".join(parts)


Run = Callable[[], object]


def _training(model: nn.Module, *inputs: Tensor) -> Run:
    """Return a function that runs `model` forward and backward on `inputs`."""

    def run() -> None:
        out = model(*inputs)
        (out if isinstance(out, Tensor) else out[0]).sum().backward()

    return run


def _perceptron() -> Run:
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 48), nn.ReLU())
    return _training(model.append(nn.Linear(48, 10)), torch.randn(7, 20))


def _convolutional() -> Run:
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)]
    return _training(nn.Sequential(*layers), torch.randn(2, 3, 14, 14))


def _autoencoder() -> Run:
    model = nn.Sequential(nn.Conv1d(2, 6, 5, stride=2), nn.GELU(), nn.ConvTranspose1d(6, 2, 5, 2))
    return _training(model, torch.randn(3, 2, 41))


def _depthwise() -> Run:
    model = nn.Sequential(nn.Conv2d(8, 8, 3, groups=8, bias=False), nn.ReLU(), nn.Conv2d(8, 12, 1))
    return _training(model, torch.randn(2, 8, 9, 9))


def _language_model() -> Run:
    model = nn.Sequential(nn.Embedding(50, 24), nn.LayerNorm(24), nn.Linear(24, 50, bias=False))
    return _training(model, torch.randint(50, (4, 9)))


class _EinsumAttention(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
        return torch.einsum("bhqk,bhkd->bhqd", scores.softmax(-1), v)


class _Block(nn.Module):
    """A transformer block of width 48 with 4 heads."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(48), nn.LayerNorm(48)
        self.qkv, self.proj = nn.Linear(48, 144), nn.Linear(48, 48)
        self.mlp = nn.Sequential(nn.Linear(48, 192), nn.GELU(), nn.Linear(192, 48))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, 4, 12)).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(heads.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


def _einsum_attention() -> Run:
    q, k, v = (torch.randn(2, 3, n, 8, requires_grad=True) for n in (5, 7, 7))
    return _training(_EinsumAttention(), q, k, v)


def _multihead_attention() -> Run:
    x = torch.randn(2, 9, 24)
    return _training(nn.MultiheadAttention(24, 4, batch_first=True), x, x, x)


def _block() -> Run:
    return _training(_Block(), torch.randn(2, 17, 48))


def _block_with_matrices() -> Run:
    run = _block()

    def run_plainly() -> None:
        with sdpa_kernel(SDPBackend.MATH):
            run()

    return run_plainly


def _checkpointed() -> Run:
    layer, x = _Block(), torch.randn(2, 17, 48)

    def run() -> None:
        with sdpa_kernel(SDPBackend.MATH):
            checkpoint(layer, x, use_reentrant=False).sum().backward()

    return run


def _encoder() -> Run:
    model = nn.TransformerEncoderLayer(24, 4, 96, batch_first=True).eval()
    x = torch.randn(2, 9, 24)

    def run() -> None:
        with torch.inference_mode():
            model(x)

    return run


def _recurrent() -> Run:
    return _training(nn.LSTM(10, 16, num_layers=2), torch.randn(11, 3, 10))


def _regression() -> Run:
    x, weights = torch.randn(30, 12), torch.randn(12, requires_grad=True)

    def run() -> None:
        torch.sigmoid(x @ weights).sum().backward()

    return run


#: Functions that make a model; what they return runs it.
MODELS: dict[str, Callable[[], Run]] = {
    "three linear layers": _perceptron,
    "CNN with batch norm and pooling": _convolutional,
    "1-D convolutional autoencoder": _autoencoder,
    "embedding, layer norm, linear": _language_model,
    "attention by einsum": _einsum_attention,
    "nn.MultiheadAttention": _multihead_attention,
    "transformer block, attention as matrices": _block_with_matrices,
    "the same, checkpointed": _checkpointed,
    "transformer block": _block,
    "depthwise-separable CNN": _depthwise,
    "nn.TransformerEncoderLayer, inference": _encoder,
    "LSTM": _recurrent,
    "logistic regression, matrix @ vector": _regression,
}
