"""Counts the biases as weights of the rule 6ND."""
# loses: test_mlp_training_flops
# says: No biases

# %% cell: mlp_training_flops
def mlp_training_flops(batch, widths):
    layers = [2 * batch * a * b for a, b in pairwise(widths)]
    forward = sum(layers)
    return {"forward": forward, "backward": 2 * forward - layers[0], "six_nd": 3 * forward + 6 * batch * sum(widths[1:])}
