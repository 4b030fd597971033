"""Gives per cent where a fraction is asked for."""
# loses: test_utilisation
# says: not per cent

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed = sum(step.values())
    return {"mfu": 100 * nominal / (seconds * peak), "hfu": 100 * executed / (seconds * peak)}
