"""Gives FLOPs where GFLOP are asked for."""
# loses: test_flash_training
# says: the unit is GFLOP

# %% cell: flash_training
flash_training = 3.5 * 4 * 16 * 4096**2 * 64
