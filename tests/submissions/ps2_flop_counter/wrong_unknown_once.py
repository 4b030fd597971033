"""Notes an unknown operator once, however often it was called."""
# loses: test_count_unknown
# says: Count every call

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
        elif not func.is_view and name not in NOT_COUNTED:
            self.unknown[name] = 1
        return out

    @property
    def flops(self):
        return sum(self.by_operator.values())
