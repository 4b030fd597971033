"""Convolves ones, where the zeros of the padding add nothing."""
# loses: test_conv2d_flops, test_count_forward, test_compare_counters, test_train
# says: leaves out the zeros of the padding

# %% cell: conv2d_flops
def conv2d_flops(x_shape, w_shape, stride, padding):
    n, c, h, w = x_shape
    f, c_w, r, s = w_shape
    x, weight = torch.ones(x_shape), torch.ones(w_shape)
    out = F.conv2d(x, weight, stride=stride, padding=padding, groups=c // c_w)
    return 2 * int(out.sum(dtype=torch.float64))
