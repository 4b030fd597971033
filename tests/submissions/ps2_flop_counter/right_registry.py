"""Formulas registered by a decorator under the operators themselves; all from the size of the result."""

# %% cell: formulas
FORMULAS = {}


def counts(*operators):
    def register(formula):
        FORMULAS.update(dict.fromkeys(operators, formula))
        return formula

    return register


@counts(torch.ops.aten.mm, torch.ops.aten.bmm)
def product_of_two(out, a, b):
    return 2 * out.numel() * a.shape[-1]


@counts(torch.ops.aten.addmm)
def product_with_bias(out, bias, a, b, **factors):
    return 2 * out.numel() * a.shape[-1]


@counts(torch.ops.aten.convolution)
def windows(out, x, w, *rest):
    return 2 * out.numel() * w[0].numel()

# %% cell: flop_counter
class FlopCounter(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        operator = func.overloadpacket
        formula = FORMULAS.get(operator)
        if formula:
            self.calls.append((str(operator), formula(out, *args, **(kwargs or {}))))
        elif not (func.is_view or str(operator) in NOT_COUNTED):
            self.calls.append((str(operator), None))
        return out

    @property
    def by_operator(self):
        names = {name for name, flops in self.calls if flops is not None}
        return {n: sum(f for m, f in self.calls if m == n) for n in names}

    @property
    def unknown(self):
        names = [name for name, flops in self.calls if flops is None]
        return {name: names.count(name) for name in names}

    @property
    def flops(self):
        return sum(flops or 0 for _, flops in self.calls)

# %% cell: more_formulas
@counts(torch.ops.aten.mv)
def product_with_vector(out, a, x):
    return 2 * a.numel()


@counts(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu)
def fused_attention(out, q, k, v, *rest, **options):
    scores = q[..., 0].numel() * k.shape[-2]
    return 2 * scores * q.shape[-1] + 2 * scores * v.shape[-1]

# %% cell: backward_formulas
@counts(torch.ops.aten.convolution_backward)
def windows_backward(out, gradient, x, w, *rest):
    return sum(2 * gradient.numel() * w[0].numel() for wanted in rest[-1][:2] if wanted)


@counts(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward)
def fused_attention_backward(out, gradient, q, k, v, *rest, **options):
    return 5 * 2 * q.numel() * k.shape[-2]
