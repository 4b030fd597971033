"""Adds the bias to the matmul work."""
# loses: test_addmm_flops, test_count_forward, test_count_safely, test_compare_counters, test_train, test_utilisation
# says: additions of the bias as matmul work

# %% cell: addmm_flops
def addmm_flops(bias_shape, a_shape, b_shape):
    (m, k), n = a_shape, b_shape[1]
    return {"matmul": 2 * m * n * k + m * n, "bias": m * n}
