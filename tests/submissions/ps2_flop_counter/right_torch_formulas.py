"""PyTorch's own counter with the missing formulas added, and a second mode for what is unknown."""

# %% cell: formulas
FORMULAS = {}  # PyTorch's, and the ones below

# %% cell: flop_counter
class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append((func.overloadpacket, func.is_view))
        return func(*args, **(kwargs or {}))


class FlopCounter:
    def __enter__(self):
        self.names, self.builtin = Names(), FlopCounterMode(display=False, custom_mapping=FORMULAS)
        self.builtin.__enter__()
        self.names.__enter__()
        return self

    def __exit__(self, *exception):
        self.names.__exit__(*exception)
        self.builtin.__exit__(*exception)

    @property
    def by_operator(self):
        return {str(k): v for k, v in self.builtin.get_flop_counts().get("Global", {}).items()}

    @property
    def unknown(self):
        names = [str(operator) for operator, is_view in self.names.seen if not is_view]
        return {
            name: names.count(name)
            for name in names
            if name not in NOT_COUNTED and name not in self.by_operator
        }

    @property
    def flops(self):
        return self.builtin.get_total_flops()

# %% cell: more_formulas
aten = torch.ops.aten
FORMULAS[aten.mv] = lambda a, x, out_shape=None: 2 * a[0] * a[1]
FORMULAS[aten._scaled_dot_product_flash_attention_for_cpu] = (
    lambda q, k, v, *rest, out_shape=None, **options: 4 * q[0] * q[1] * q[2] * k[2] * q[3]
)

# %% cell: backward_formulas
FORMULAS[aten._scaled_dot_product_flash_attention_for_cpu_backward] = (
    lambda grad, q, k, v, *rest, out_shape=None, **options: 10 * q[0] * q[1] * q[2] * k[2] * q[3]
)
