"""Reports all that has no formula, what is known to be harmless too."""
# loses: test_count_forward, test_count_unknown
# says: known to do no matmul work

# %% cell: flop_counter
class FlopCounter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.by_operator = {}
        self.unknown = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = str(func.overloadpacket)
        if name in FORMULAS:
            self.by_operator[name] = self.by_operator.get(name, 0) + FORMULAS[name](args, out)
        else:
            self.unknown[name] = self.unknown.get(name, 0) + 1
        return out

    @property
    def flops(self):
        return sum(self.by_operator.values())
