"""Every instruction form agrees with its twin, however its operands come."""

import forms
import fuzz
import numpy as np
import on_machine
import pytest

from course import vgpu
from course.vgpu import residents

ALL = forms.all_forms()


def kernels(every):
    batches = fuzz.batches(ALL, every)
    return [pytest.param(b, id=f"{b[0].name} and {len(b) - 1} more") for b in batches]


@pytest.mark.parametrize("batch", kernels(every=False))
def test_forms_agree_with_their_twins(batch):
    assert not on_machine.mismatches(batch, every=False)


@pytest.mark.slow
@pytest.mark.parametrize("batch", kernels(every=True))
def test_forms_agree_with_their_twins_in_all_variants(batch):
    assert not on_machine.mismatches(batch)


def test_the_list_of_forms_is_a_table():
    names = [f.name for f in ALL]
    assert len(names) == len(set(names)) > 2000
    opcodes = {n.split(".")[0].split()[0] for n in names}
    assert len(opcodes) > 50


def test_whole_warps_take_the_fast_path(monkeypatch):
    """Otherwise the comparisons above would say nothing about it."""
    chosen = [f for f in ALL if f.name in ("add.s32", "fma.rn.f32", "cvt.rn.f16.f32", "shl.b64")]
    counts = []
    run = residents.Residents.run

    def note(team, *how):
        code = run(team, *how)
        counts.append(team.counts.copy())
        return code

    monkeypatch.setattr(residents.Residents, "run", note)
    monkeypatch.setattr(fuzz, "selection", lambda block: np.ones(fuzz.THREADS, np.uint32))
    for form in chosen:
        data, builder = fuzz.Data(form), fuzz.Builder([form], every=False)
        program = vgpu.Program(builder.ptx(data))
        for block in fuzz.BLOCKS:
            out = on_machine.launch(program, builder, data, block)
            assert not fuzz.compare(builder, data, out, block)
    # the masked version counts its blocks, the fast one does not
    assert [bool(c.any()) for c in counts] == [False, True] * len(chosen)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("add.s32", lambda a, b: a + b + (a == 5)),
        ("add.f32", lambda a, b: a),
        ("lop3.b32 0xe8", lambda a, b, c: a & b | c),
        ("setp.lt.s32", lambda a, b: int(a <= b)),
        ("cvt.rzi.s32.f32", lambda a: 0),
    ],
)
def test_a_wrong_twin_is_noticed(name, change):
    right = next(f for f in ALL if f.name == name)
    wrong = forms.Form(**{**right.__dict__, "twin": change})
    assert on_machine.mismatches([wrong], every=False)
