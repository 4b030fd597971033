"""Writes the unit behind the number."""
# loses: test_training_days
# says: Write the number without quotes or unit

# %% cell: training_days
training_days = "20.6 days"
