"""Takes the factor 3 of ordinary autograd for FlashAttention."""
# loses: test_flash_training
# says: five products backward

# %% cell: flash_training
flash_training = 3 * 4 * 16 * 4096**2 * 64 / 1e9
