"""Has no formula for the fused attention of the CPU, only for that of a GPU."""
# loses: test_compare_counters, test_train
# says: arrives as one operator of its own

# %% cell: more_formulas
def matvec_flops(args, out):
    return 2 * args[0].numel()


def fused_attention_flops(args, out):
    return 4 * args[0].numel() * args[1].shape[2]


FORMULAS["aten.mv"] = matvec_flops
FORMULAS["aten._scaled_dot_product_flash_attention"] = fused_attention_flops
