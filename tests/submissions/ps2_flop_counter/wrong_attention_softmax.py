"""Adds the softmax to the products of the fused attention."""
# loses: test_compare_counters, test_train
# says: no matmul-like work

# %% cell: more_formulas
def matvec_flops(args, out):
    return 2 * args[0].numel()


def fused_attention_flops(args, out):
    (batch, heads, n, d), m = args[0].shape, args[1].shape[2]
    return 4 * batch * heads * n * m * d + 3 * batch * heads * n * m


FORMULAS["aten.mv"] = matvec_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu"] = fused_attention_flops
