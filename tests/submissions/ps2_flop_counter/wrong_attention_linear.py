"""Thinks that FlashAttention makes attention linear in the sequence length."""
# loses: test_compare_counters, test_train
# says: Each query meets each key

# %% cell: more_formulas
def matvec_flops(args, out):
    return 2 * args[0].numel()


def fused_attention_flops(args, out):
    return 4 * args[0].numel() * args[0].shape[3]


FORMULAS["aten.mv"] = matvec_flops
FORMULAS["aten._scaled_dot_product_flash_attention_for_cpu"] = fused_attention_flops
