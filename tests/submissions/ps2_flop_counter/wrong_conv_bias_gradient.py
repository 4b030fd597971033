"""Counts the gradient of a bias as a convolution of its own."""
# loses: test_train
# says: the gradient of each bias as a convolution

# %% cell: backward_formulas
def conv2d_backward_flops(args, out):
    return sum(args[10]) * conv2d_flops(args[1].shape, args[2].shape, args[4], args[5])


def fused_attention_backward_flops(args, out):
    return fused_attention_flops(args[1:], out) * 5 // 2


FORMULAS["aten.convolution_backward"] = conv2d_backward_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu_backward"] = fused_attention_backward_flops
