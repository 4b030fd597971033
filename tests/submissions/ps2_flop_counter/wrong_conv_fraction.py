"""Divides with / and counts fractions of a window."""
# loses: test_conv2d_flops, test_count_forward, test_compare_counters, test_train
# says: divide with //

# %% cell: conv2d_flops
def conv2d_flops(x_shape, w_shape, stride, padding):
    n, c, h, w = x_shape
    f, c_w, r, s = w_shape
    out_h = (h + 2 * padding[0] - r) / stride[0] + 1
    out_w = (w + 2 * padding[1] - s) / stride[1] + 1
    return 2 * n * f * out_h * out_w * c_w * r * s
