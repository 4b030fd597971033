"""Takes 2ND, the forward pass, for training."""
# loses: test_training_days
# says: 2ND is the forward pass alone

# %% cell: training_days
training_days = 2 * 8.03e9 * 15e12 / (1024 * 989.4e12 * 0.4) / 86400
