"""Calls every exception a RuntimeError."""
# loses: test_count_safely
# says: your counter raised RuntimeError; the model raises IndexError

# %% cell: count_safely
def count_safely(name, shapes):
    run = build(name, shapes)
    counter, error = FlopCounter(), None
    try:
        with counter:
            run()
    except Exception:
        error = "RuntimeError"
    return {"flops": counter.flops, "error": error, "leaked": 0}
