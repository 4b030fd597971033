"""Watches the functions of torch instead of its operators, and forgets einsum."""
# loses: test_count_forward, test_count_unknown, test_compare_counters, test_train, test_utilisation
# says: There is no operator called einsum

# %% cell: flop_counter
class FlopCounter(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.by_operator = {}
        self.unknown = {}

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "linear":
            self.add(name, 2 * out.numel() * args[0].shape[-1])
        elif name in ("matmul", "__matmul__", "mm", "bmm"):
            self.add(name, 2 * out.numel() * args[0].shape[-1])
        elif name == "conv2d":
            flops = conv2d_flops(args[0].shape, args[1].shape, kwargs["stride"], kwargs["padding"])
            self.add(name, flops)
        return out

    def add(self, name, flops):
        self.by_operator[name] = self.by_operator.get(name, 0) + flops

    @property
    def flops(self):
        return sum(self.by_operator.values())
