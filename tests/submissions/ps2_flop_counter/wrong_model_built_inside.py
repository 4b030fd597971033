"""Builds the model inside the block, so making the weights is watched too."""
# loses: test_count_forward, test_count_unknown
# says: built inside the block

# %% cell: count
def count(name, shapes):
    with FlopCounter() as counter:
        build(name, shapes)()
    return {
        "flops": counter.flops,
        "by_operator": counter.by_operator,
        "unknown": counter.unknown,
    }
