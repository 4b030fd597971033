"""Computes the FLOPs of a product and does not return them."""
# loses: test_matmul_flops, test_addmm_flops, test_bmm_flops, test_conv2d_flops, test_count_forward, test_count_unknown, test_count_safely, test_compare_counters, test_train, test_mlp_training_flops, test_utilisation
# says: Is there a return?

# %% cell: matmul_flops
def matmul_flops(m, n, k):
    flops = 2 * m * n * k
