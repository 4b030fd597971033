"""Prints the answer instead of returning it."""
# loses: test_train, test_utilisation
# says: Is there a return?

# %% cell: train
def train(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as forward:
        loss = run().sum()
    with FlopCounter() as backward:
        loss.backward()
    print({"forward": forward.flops, "backward": backward.flops})
