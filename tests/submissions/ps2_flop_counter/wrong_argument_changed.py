"""Takes the sizes out of the caller's dict."""
# loses: test_utilisation
# says: changed its argument number 1

# %% cell: utilisation
def utilisation(shapes, seconds, peak):
    shapes["widths"] = [int(width) for width in shapes["widths"]] + [1]
    plan, step = mlp_training_flops(**shapes), train("checkpointed_mlp", shapes)
    nominal = plan["forward"] + plan["backward"]
    executed = sum(step.values())
    return {"mfu": nominal / (seconds * peak), "hfu": executed / (seconds * peak)}
