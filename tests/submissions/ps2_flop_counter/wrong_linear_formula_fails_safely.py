"""Only when it counts safely does its formula for a layer with a bias fail."""
# loses: test_count_safely
# says: your counter raised AttributeError; the model did not

# %% cell: count_safely
class Hurried(FlopCounter):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = super().__torch_dispatch__(func, types, args, kwargs)
        if func.overloadpacket == torch.ops.aten.addmm:
            self.add_bias(out)
        return out


def count_safely(name, shapes):
    run = build(name, shapes)
    counter, error = Hurried(), None
    try:
        with counter:
            run()
    except Exception as problem:
        error = type(problem).__name__
    return {"flops": counter.flops, "error": error, "leaked": 0}
