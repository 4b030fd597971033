"""Lists what neither counter knows as missed by the built-in one."""
# loses: test_compare_counters
# says: a blind spot of both

# %% cell: compare_counters
def compare_counters(name, shapes):
    run = build(name, shapes)
    with FlopCounter() as mine:
        run()
    with FlopCounterMode(display=False) as builtin:
        run()
    counted = {str(operator) for operator in builtin.get_flop_counts().get("Global", {})}
    seen = [*mine.by_operator, *mine.unknown]
    return {
        "mine": mine.flops,
        "builtin": builtin.get_total_flops(),
        "missed": [name for name in seen if name not in counted],
    }
