"""Uses one counter for all models, so the counts add up."""
# loses: test_count_forward, test_count_unknown
# says: when called again

# %% cell: count
THE_COUNTER = FlopCounter()


def count(name, shapes):
    run = build(name, shapes)
    with THE_COUNTER as counter:
        run()
    return {
        "flops": counter.flops,
        "by_operator": counter.by_operator,
        "unknown": counter.unknown,
    }
