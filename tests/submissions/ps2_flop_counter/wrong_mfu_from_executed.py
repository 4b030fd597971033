"""Divides the executed FLOPs for the MFU as well."""
# loses: test_utilisation
# says: MFU divides the nominal work

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed = sum(step.values())
    return {"mfu": executed / (seconds * peak), "hfu": executed / (seconds * peak)}
