"""Enters and leaves the mode by hand; an exception skips the leaving."""
# loses: test_count_safely
# says: The mode is on for good

# %% cell: count_safely
def count_safely(name, shapes):
    run = build(name, shapes)
    counter, error = FlopCounter(), None
    try:
        counter.__enter__()
        run()
        counter.__exit__(None, None, None)
    except Exception as problem:
        error = type(problem).__name__
    flops = counter.flops
    torch.ones(2, 3) @ torch.ones(3, 4)
    return {"flops": flops, "error": error, "leaked": counter.flops - flops}
