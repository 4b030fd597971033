"""Leaves the block before the backward pass."""
# loses: test_train, test_utilisation
# says: The backward pass was not counted

# %% cell: train
def train(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as counter:
        loss = run().sum()
    forward = counter.flops
    loss.backward()
    return {"forward": forward, "backward": counter.flops - forward}
