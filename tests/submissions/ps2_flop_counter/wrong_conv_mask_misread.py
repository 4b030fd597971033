"""Reads the entries of x and of the bias from the mask."""
# loses: test_train
# says: or your formula returned 0

# %% cell: backward_formulas
def conv2d_backward_flops(args, out):
    return (args[10][0] + args[10][2]) * conv2d_flops(args[1].shape, args[2].shape, args[4], args[5])


def fused_attention_backward_flops(args, out):
    return fused_attention_flops(args[1:], out) * 5 // 2


FORMULAS["aten.convolution_backward"] = conv2d_backward_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu_backward"] = fused_attention_backward_flops
