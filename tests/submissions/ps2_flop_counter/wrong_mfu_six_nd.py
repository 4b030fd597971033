"""Takes 6ND for the nominal work."""
# loses: test_utilisation
# says: That is 6ND

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed, full = sum(step.values()), seconds * peak
    return {"mfu": plan["six_nd"] / full, "hfu": executed / full}
