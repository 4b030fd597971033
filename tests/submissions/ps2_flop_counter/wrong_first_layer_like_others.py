"""Counts the gradient of the data, which nobody computes."""
# loses: test_mlp_training_flops, test_utilisation
# says: The first layer's input is data

# %% cell: mlp_training_flops
def mlp_training_flops(batch, widths):
    layers = [2 * batch * a * b for a, b in pairwise(widths)]
    forward = sum(layers)
    return {"forward": forward, "backward": 2 * forward, "six_nd": 3 * forward}
