"""NumPy integers, Counter and defaultdict, tuples for lists, and windows counted one by one."""

# %% cell: matmul_flops
import numpy as np


def matmul_flops(m, n, k):
    return 2 * np.prod([m, n, k])

# %% cell: conv2d_flops
def conv2d_flops(x_shape, w_shape, stride, padding):
    flops = 2 * x_shape[0] * np.prod(w_shape)
    for axis in (0, 1):
        start, places = -padding[axis], 0
        while start + w_shape[2 + axis] <= x_shape[2 + axis] + padding[axis]:
            start, places = start + stride[axis], places + 1
        flops = flops * places
    return float(flops)

# %% cell: flop_counter
from collections import Counter, defaultdict


class FlopCounter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.by_operator, self.unknown = defaultdict(int), Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = str(func.overloadpacket)
        if name in FORMULAS:
            self.by_operator[name] += FORMULAS[name](args, out)
        else:
            self.unknown.update([name] * (not func.is_view and name not in NOT_COUNTED))
        return out

    @property
    def flops(self):
        return sum(self.by_operator.values())

# %% cell: attention_crossover
attention_crossover = np.int64(24576)

# %% cell: flash_training
flash_training = 240

# %% cell: training_days
training_days = np.float64(20.6)
