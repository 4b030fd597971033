"""Counts models on the meta device, which computes shapes only; the fused attention by hand."""

# %% cell: count
def on_meta(name, shapes):
    with torch.device("meta"):
        return build(name, shapes)


def count(name, shapes):
    with_values = name in ("sdpa", "block", "inverse", "spectrum")
    run = build(name, shapes) if with_values else on_meta(name, shapes)
    with FlopCounter() as counter:
        run()
    return {
        "flops": counter.flops,
        "by_operator": dict(sorted(counter.by_operator.items())),
        "unknown": dict(counter.unknown),
    }

# %% cell: train
def train(name, shapes):
    # on the meta device the fused attention falls apart into its products, and its backward pass
    # stores P: what it executes on a CPU has to be counted with values
    run = build(name, shapes) if name in ("sdpa", "block") else on_meta(name, shapes)
    counter = FlopCounter()
    with counter:
        result = run()
    forward = counter.flops
    with counter:
        result.backward(torch.ones_like(result))
    return {"forward": forward, "backward": counter.flops - forward}

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    step, *hidden = mlp_training_flops(**shapes), *pairwise(shapes["widths"][:-1])
    again = sum(2 * shapes["batch"] * a * b for a, b in hidden)
    nominal = step["forward"] + step["backward"]
    return {"mfu": nominal / seconds / peak, "hfu": (nominal + again) / seconds / peak}
