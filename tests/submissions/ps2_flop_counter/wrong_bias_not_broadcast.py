"""Counts one addition for each element of the bias."""
# loses: test_addmm_flops
# says: added to every one of the m rows

# %% cell: addmm_flops
def addmm_flops(bias_shape, a_shape, b_shape):
    (m, k), n = a_shape, b_shape[1]
    return {"matmul": 2 * m * n * k, "bias": bias_shape[0]}
