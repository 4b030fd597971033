"""Counts both gradients of a convolution, though nobody asked for that of the image."""
# loses: test_train
# says: nobody needs its gradient

# %% cell: backward_formulas
def conv2d_backward_flops(args, out):
    return 2 * conv2d_flops(args[1].shape, args[2].shape, args[4], args[5])


def fused_attention_backward_flops(args, out):
    return fused_attention_flops(args[1:], out) * 5 // 2


FORMULAS["aten.convolution_backward"] = conv2d_backward_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu_backward"] = fused_attention_backward_flops
