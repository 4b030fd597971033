"""Counts 2k - 1 FLOPs a sum, leaving out the first addition."""
# loses: test_matmul_flops, test_addmm_flops, test_bmm_flops, test_conv2d_flops, test_count_forward, test_count_unknown, test_count_safely, test_compare_counters, test_train, test_mlp_training_flops, test_utilisation
# says: a multiply-add for each of the k terms

# %% cell: matmul_flops
def matmul_flops(m, n, k):
    return m * n * (2 * k - 1)
