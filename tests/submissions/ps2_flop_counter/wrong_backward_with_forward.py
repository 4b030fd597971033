"""Counts the forward pass in the backward pass again."""
# loses: test_train, test_utilisation
# says: forward and backward together

# %% cell: train
def train(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as forward:
        run()
    with FlopCounter() as both:
        run().sum().backward()
    return {"forward": forward.flops, "backward": both.flops}
