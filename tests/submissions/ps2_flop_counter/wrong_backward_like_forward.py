"""Assumes that the backward pass costs as much as the forward pass."""
# loses: test_train, test_utilisation
# says: for each factor that needs one

# %% cell: train
def train(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as forward:
        loss = run().sum()
    with FlopCounter() as backward:
        loss.backward()
    return {"forward": forward.flops, "backward": forward.flops}
