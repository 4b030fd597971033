"""Counts the gradient of the filters alone, always."""
# loses: test_train
# says: for each factor that needs one

# %% cell: backward_formulas
def conv2d_backward_flops(args, out):
    return 1 * conv2d_flops(args[1].shape, args[2].shape, args[4], args[5])


def fused_attention_backward_flops(args, out):
    return fused_attention_flops(args[1:], out) * 5 // 2


FORMULAS["aten.convolution_backward"] = conv2d_backward_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu_backward"] = fused_attention_backward_flops
