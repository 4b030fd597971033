"""Counts one product of a batch."""
# loses: test_bmm_flops, test_count_forward, test_compare_counters, test_train
# says: mind the batch

# %% cell: bmm_flops
def bmm_flops(a_shape, b_shape):
    return 2 * a_shape[1] * a_shape[2] * b_shape[2]
