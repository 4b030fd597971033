"""Divides the forward pass alone for the MFU."""
# loses: test_utilisation
# says: a step has a backward pass too

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed, full = sum(step.values()), seconds * peak
    return {"mfu": plan["forward"] / full, "hfu": executed / full}
