"""Expects a RuntimeError and lets every other exception through."""
# loses: test_count_safely
# says: may raise any exception, not RuntimeError alone

# %% cell: count_safely
def count_safely(name, shapes):
    run = build(name, shapes)
    counter, error = FlopCounter(), None
    try:
        with counter:
            run()
    except RuntimeError as problem:
        error = type(problem).__name__
    return {"flops": counter.flops, "error": error, "leaked": 0}
