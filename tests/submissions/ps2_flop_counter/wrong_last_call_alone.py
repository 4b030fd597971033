"""Replaces the FLOPs of earlier calls by those of the last."""
# loses: test_count_forward, test_train, test_utilisation
# says: That is the last call alone

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
            self.by_operator[name] = FORMULAS[name](args, out)
        elif not func.is_view and name not in NOT_COUNTED:
            self.unknown[name] = self.unknown.get(name, 0) + 1
        return out

    @property
    def flops(self):
        return sum(self.by_operator.values())
