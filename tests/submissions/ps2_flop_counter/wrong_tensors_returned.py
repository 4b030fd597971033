"""Returns tensors of one element where numbers are asked for."""
# loses: test_mlp_training_flops, test_utilisation
# says: Its .item() is the number

# %% cell: mlp_training_flops
def mlp_training_flops(batch, widths):
    sizes = torch.tensor(widths)
    layers = 2 * batch * sizes[1:] * sizes[:-1]
    forward = layers.sum()
    return {"forward": forward, "backward": 2 * forward - layers[0], "six_nd": 3 * forward}
