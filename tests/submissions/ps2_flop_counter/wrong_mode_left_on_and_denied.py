"""Enters the mode and never leaves it, and says that nothing leaked."""
# loses: test_count_safely
# says: left FlopCounter switched on

# %% cell: count_safely
def count_safely(name, shapes):
    run = build(name, shapes)
    counter, error = FlopCounter(), None
    counter.__enter__()
    try:
        run()
    except Exception as problem:
        error = type(problem).__name__
    return {"flops": counter.flops, "error": error, "leaked": 0}
