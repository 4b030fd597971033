"""Takes N x N for N x M in the fused attention."""
# loses: test_compare_counters, test_train
# says: not the square of either

# %% cell: more_formulas
def matvec_flops(args, out):
    return 2 * args[0].numel()


def fused_attention_flops(args, out):
    (batch, heads, n, d), m = args[0].shape, args[1].shape[2]
    return 4 * batch * heads * n * n * d


FORMULAS["aten.mv"] = matvec_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu"] = fused_attention_flops
