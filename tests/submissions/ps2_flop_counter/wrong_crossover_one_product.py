"""Counts one of the two products of attention."""
# loses: test_attention_crossover
# says: Attention has two products

# %% cell: attention_crossover
attention_crossover = 12 * 4096
