"""Counts one of the two products of attention."""
# loses: test_compare_counters, test_train
# says: Attention is two products of the same size

# %% cell: more_formulas
def matvec_flops(args, out):
    return 2 * args[0].numel()


def fused_attention_flops(args, out):
    return 2 * args[0].numel() * args[1].shape[2]


FORMULAS["aten.mv"] = matvec_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu"] = fused_attention_flops
