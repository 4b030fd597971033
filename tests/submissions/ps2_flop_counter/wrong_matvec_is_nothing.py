"""Counts nothing for a matrix times a vector, as PyTorch's own counter does."""
# loses: test_compare_counters
# says: A matrix times a vector is a product too

# %% cell: more_formulas
def matvec_flops(args, out):
    return 0


def fused_attention_flops(args, out):
    return 4 * args[0].numel() * args[1].shape[2]


FORMULAS["aten.mv"] = matvec_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu"] = fused_attention_flops
