"""Assumes that checkpointing repeats the whole forward pass."""
# loses: test_utilisation
# says: the last layer is not checkpointed

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed = nominal + plan["forward"]
    return {"mfu": nominal / (seconds * peak), "hfu": executed / (seconds * peak)}
