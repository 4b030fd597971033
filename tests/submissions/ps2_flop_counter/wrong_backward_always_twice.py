"""Assumes that the backward pass costs twice the forward pass, always."""
# loses: test_train, test_utilisation
# says: whose first factor is data

# %% cell: train
def train(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as forward:
        loss = run().sum()
    with FlopCounter() as backward:
        loss.backward()
    return {"forward": forward.flops, "backward": 2 * forward.flops}
