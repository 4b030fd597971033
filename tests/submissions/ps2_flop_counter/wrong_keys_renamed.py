"""Returns the total under another name."""
# loses: test_count_forward, test_count_unknown
# says: has no 'flops'

# %% cell: count
def count(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as counter:
        run()
    return {"total": counter.flops, "by_operator": counter.by_operator, "unknown": {}}
