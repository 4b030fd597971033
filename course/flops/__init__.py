"""Count the floating-point operations and the bytes of a PyTorch program, operator by operator.

    with flops.count(model) as c:
        model(x).sum().backward()
    print(c.by_module())

What is counted, and how:

- `c.flops` is matrix-multiply-like work: products, convolutions, attention, recurrent layers. A
  multiply and the add that follows it are two FLOPs, so a product of (m, k) and (k, n) is 2mnk.
- `c.pointwise` is the rest of the arithmetic, one per element unless `elementwise` says otherwise:
  the bias of a linear layer, activations, softmax, norms, sums. A maximum is one, and so is a whole
  activation such as GELU; softmax is five. Only floating-point results count, so a < b is none.
- `c.bytes` is what the operators read and write: each input once, each output once, a view nothing.
  What a fused operator keeps to itself, and what a cache catches, is not in it.
- `c.unknown` names operators without a formula. Their FLOPs are missing from the totals, their
  bytes are not.

Everything that runs is counted, so what `torch.utils.checkpoint` does again shows up, in a column
of its own. A causal mask changes nothing: the count is that of the full product. A count needs
shapes alone: tensors on the meta device and fake tensors are counted without being allocated.

A counter sees the PyTorch operators of the thread that entered it, and keeps backward passes in
that thread while it counts. Work that is none (NumPy, a raw kernel, a CUDA graph being replayed) is
invisible to it. A function from `torch.compile` is counted as the eager program it stands for.
"""

from course.flops.compare import against_torch
from course.flops.counter import FlopCounter, count
from course.flops.formulas import formula
from course.flops.work import Work

__all__ = ["FlopCounter", "Work", "against_torch", "count", "formula"]
