"""Makes the exception for the last layer instead of the first."""
# loses: test_mlp_training_flops, test_utilisation
# says: not the last

# %% cell: mlp_training_flops
def mlp_training_flops(batch, widths):
    layers = [2 * batch * a * b for a, b in pairwise(widths)]
    forward = sum(layers)
    return {"forward": forward, "backward": 2 * forward - layers[-1], "six_nd": 3 * forward}
