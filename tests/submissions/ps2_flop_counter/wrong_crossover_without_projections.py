"""Forgets the four projections."""
# loses: test_attention_crossover
# says: The four projections are linear layers too

# %% cell: attention_crossover
attention_crossover = 4 * 4096
