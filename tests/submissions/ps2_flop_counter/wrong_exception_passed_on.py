"""Lets the model's exception through."""
# loses: test_count_safely
# says: raised RuntimeError

# %% cell: count_safely
def count_safely(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as counter:
        run()
    return {"flops": counter.flops, "error": None, "leaked": 0}
