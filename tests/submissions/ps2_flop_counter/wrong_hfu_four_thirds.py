"""Takes 4/3 of MFU for HFU."""
# loses: test_utilisation
# says: 4/3 of MFU is 8ND over 6ND

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed, full = sum(step.values()), seconds * peak
    return {"mfu": nominal / full, "hfu": 4 / 3 * nominal / full}
