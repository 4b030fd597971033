"""One method with a chain of ifs on the operator's name; no table, no formulas from part 1."""

# %% cell: formulas
FORMULAS = None  # the counter below needs no table

# %% cell: flop_counter
class FlopCounter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.by_operator, self.unknown = {}, {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        if name in ("mm", "bmm", "mv"):
            flops = 2 * args[0].numel() * (args[1].shape[-1] if args[1].dim() > 1 else 1)
        elif name == "addmm":
            flops = 2 * args[1].numel() * args[2].shape[1]
        elif name == "convolution":
            flops = 2 * out.numel() * args[1].numel() // args[1].shape[0]
        elif name == "convolution_backward":
            flops = sum(args[-1][:2]) * 2 * args[0].numel() * args[2].numel() // args[2].shape[0]
        elif name == "_scaled_dot_product_flash_attention_for_cpu":
            flops = 4 * args[0].numel() * args[1].shape[2]
        elif name == "_scaled_dot_product_flash_attention_for_cpu_backward":
            flops = 10 * args[1].numel() * args[2].shape[2]
        elif func.is_view or f"aten.{name}" in NOT_COUNTED:
            return out
        else:
            self.unknown[name] = self.unknown.get(name, 0) + 1
            return out
        self.by_operator[name] = self.by_operator.get(name, 0) + flops
        return out

    @property
    def flops(self):
        return sum(self.by_operator.values())

# %% cell: more_formulas
more_formulas = None  # they are in the chain

# %% cell: compare_counters
def compare_counters(name, shapes):
    run = build(name, shapes)
    mine, builtin = FlopCounter(), FlopCounterMode(display=False)
    with mine:
        run()
    with builtin:
        run()
    total = builtin.get_total_flops()
    missed = [f"aten.{operator}" for operator in mine.by_operator] if total < mine.flops else []
    return {"mine": mine.flops, "builtin": total, "missed": missed}

# %% cell: backward_formulas
backward_formulas = None  # they are in the chain
