"""Takes the width for the crossover."""
# loses: test_attention_crossover
# says: not their factors

# %% cell: attention_crossover
attention_crossover = 4096
