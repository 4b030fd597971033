"""Forgets the count when the model fails."""
# loses: test_count_safely
# says: Is the count lost with the exception?

# %% cell: count_safely
def count_safely(name, shapes):
    try:
        return {"flops": count(name, shapes)["flops"], "error": None, "leaked": 0}
    except Exception as problem:
        return {"flops": 0, "error": type(problem).__name__, "leaked": 0}
