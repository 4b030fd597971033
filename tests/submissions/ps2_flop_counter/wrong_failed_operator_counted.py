"""Counts an operator before it has run."""
# loses: test_count_safely
# says: so it did no work

# %% cell: formulas
FORMULAS = {
    "aten.mm": lambda args, out: matmul_flops(*args[0].shape, args[1].shape[1]),
    "aten.addmm": lambda args, out: addmm_flops(*(t.shape for t in args[:3]))["matmul"],
    "aten.bmm": lambda args, out: bmm_flops(args[0].shape, args[1].shape),
    "aten.convolution": lambda args, out: conv2d_flops(args[0].shape, args[1].shape, args[3], args[4]),
}

# %% cell: flop_counter
class FlopCounter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.by_operator = {}
        self.unknown = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func.overloadpacket)
        if name in FORMULAS:
            self.by_operator[name] = self.by_operator.get(name, 0) + FORMULAS[name](args, None)
        elif not func.is_view and name not in NOT_COUNTED:
            self.unknown[name] = self.unknown.get(name, 0) + 1
        return func(*args, **(kwargs or {}))

    @property
    def flops(self):
        return sum(self.by_operator.values())
