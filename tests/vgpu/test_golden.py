"""The virtual GPU gives what a real GPU gave on the same kernels."""

import forms
import fuzz
import golden
import numpy as np
import on_machine
import pytest

from course import vgpu

FILES = sorted(path.name for path in golden.FOLDER.glob("*.json"))
ALL = forms.all_forms()


def batches(every):
    known = golden.read(FILES[0])["digests"]
    able = [f for f in ALL if f"{f.name} [{'v' * len(f.sources)}]" in known]
    return [
        pytest.param(b, id=f"{b[0].name} and {len(b) - 1} more") for b in fuzz.batches(able, every)
    ]


@pytest.fixture(scope="module", params=FILES)
def silicon(request):
    return golden.read(request.param)


def test_a_real_gpu_was_asked(silicon):
    assert len(silicon["digests"]) > 15_000
    assert len(silicon["approximations"]) >= 29


@pytest.mark.parametrize("batch", batches(every=False))
def test_forms_give_what_silicon_gave(silicon, batch):
    assert not disagreements(silicon, batch, every=False)


@pytest.mark.slow
@pytest.mark.parametrize("batch", batches(every=True))
def test_forms_give_what_silicon_gave_in_all_variants(silicon, batch):
    assert not disagreements(silicon, batch, every=True)


def test_another_result_is_noticed(silicon):
    form = next(f for f in ALL if f.name == "add.s32")
    other = {**silicon["digests"], "add.s32 [vv]": ["00000000", "00000000"]}
    found = disagreements({**silicon, "digests": other}, [form], every=False)
    assert found == ["add.s32 [vv], blocks of 32", "add.s32 [vv], blocks of 24"]


def test_an_approximation_out_of_bounds_is_noticed(silicon):
    form = next(f for f in ALL if f.name == "div.approx.f32")
    theirs = golden.unpack(silicon["approximations"][form.name], np.uint32)
    assert not golden.apart(form, theirs, theirs).any()
    plain = np.isfinite(theirs.view(np.float32)) & (np.abs(theirs.view(np.float32)) > 1e-30)
    assert golden.apart(form, theirs + np.uint32(5), theirs)[plain].all()


def disagreements(silicon, batch, every):
    data, builder = fuzz.Data(batch[0]), fuzz.Builder(batch, every)
    group = silicon["inputs"].get(golden.group(batch[0]))
    assert group == golden.inputs_digest(data), (
        "the inputs are not those of the golden file: the generator of random numbers or the "
        "edge values have changed; run tests/on_gpu/differential.py on a GPU again"
    )
    program = vgpu.Program(builder.ptx(data))
    found = []
    for place, block in enumerate(fuzz.BLOCKS):
        out = on_machine.launch(program, builder, data, block)
        digests = golden.digests(builder, data, out, block)
        found += [
            f"{v.name}, blocks of {block}"
            for v in builder.variants
            if v.form.bound is None and silicon["digests"][v.name][place] != digests[v.name]
        ]
        if block == 32:
            found += approximate_disagreements(silicon, builder, out)
    return found


def approximate_disagreements(silicon, builder, out):
    """Two results that each lie within the bound lie within twice the bound of each other."""
    found = []
    for name, raw in golden.approximations(builder, out).items():
        form = next(f for f in builder.forms if f.name == name)
        theirs = golden.unpack(silicon["approximations"][name], raw.dtype)
        far = golden.apart(form, raw, theirs)
        found += [f"{name}: {raw[i]:#x} here, {theirs[i]:#x} there" for i in np.flatnonzero(far)]
    return found
