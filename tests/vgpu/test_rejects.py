"""What the virtual GPU does not run is an error that names it and its line."""

import cases
import forms
import pytest

from course.vgpu import Program, Unsupported, opcodes  # noqa: F401 - opcodes fills the table
from course.vgpu.cfg import build
from course.vgpu.layout import Layout
from course.vgpu.lowering import Lowering
from course.vgpu.table import TABLE

REGISTERS = """.reg .pred %q<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
.reg .f32 %f<4>; .reg .f64 %d<4>;"""


def lower(code):
    """Lower a kernel with this code, which stands on line 7."""
    text = cases.module(f".loc 1 7 0\n{code}", 1, REGISTERS, '.file 1 "kernel.cu"')
    program = Program(text)
    layout = Layout(program.module, build(program.module, "k"))
    for fast in (False, True):
        Lowering(layout, fast, True).function("k")


def refusal(code):
    with pytest.raises(Unsupported) as error:
        lower(code)
    return str(error.value)


@pytest.mark.parametrize(
    "code",
    [
        "add.sat.u32 %r0, %r1, %r2;",
        "add.rn.s32 %r0, %r1, %r2;",
        "add.f32.f16 %f0, %h1, %f2;",
        "add.rn.ftz.f32x2 %rd0, %rd1, %rd2;",
        "add.rz.f16 %h0, %h1, %h2;",
        "add.cc.u16 %h0, %h1, %h2;",
        "sub.u16x2 %r0, %r1, %r2;",
        "mul.s32 %r0, %r1, %r2;",
        "mul.wide.u64 %rd0, %rd1, %rd2;",
        "mad.lo.sat.s32 %r0, %r1, %r2, %r3;",
        "div.f32 %f0, %f1, %f2;",
        "fma.rn.oob.f16 %h0, %h1, %h2, %h3;",
        "min.relu.u32 %r0, %r1, %r2;",
        "max.ftz.f64 %d0, %d1, %d2;",
        "sqrt.f32 %f0, %f1;",
        "ex2.approx.bf16 %h0, %h1;",
        "sin.f32 %f0, %f1;",
        "shl.s32 %r0, %r1, %r2;",
        "shf.l.b32 %r0, %r1, %r2, %r3;",
        "prmt.b32.f5e %r0, %r1, %r2, %r3;",
        "setp.lo.s32 %q0, %r1, %r2;",
        "setp.lt.b32 %q0, %r1, %r2;",
        "setp.lt.nor.s32 %q0, %r1, %r2, %q1;",
        "selp.b8 %h0, %h1, %h2, %q0;",
        "cvt.f16.f32 %h0, %f1;",
        "cvt.rn.f32.f16 %f0, %h1;",
        "cvt.s32.f32 %r0, %f1;",
        "cvt.rs.f16x2.f32 %r0, %f1, %f2, %r3;",
        "cvt.rn.satfinite.e2m1x2.f32 %h0, %f1, %f2;",
        "ld.global.f16 %h0, [%rd0];",
        "ld.shared::cluster.b32 %r0, [%rd0];",
        "ld.global.v3.b32 {%r0, %r1, %r2}, [%rd0];",
        "st.global.nc.b32 [%rd0], %r0;",
        "atom.global.add.b32 %r0, [%rd0], %r1;",
        "atom.global.and.u32 %r0, [%rd0], %r1;",
        "atom.global.inc.s32 %r0, [%rd0], %r1;",
        "atom.global.min.f32 %f0, [%rd0], %f1;",
        "atom.global.add.f16 %h0, [%rd0], %h1;",
        "atom.global.max.noftz.f16 %h0, [%rd0], %h1;",
        "atom.global.add.min.u32 %r0, [%rd0], %r1;",
        "red.global.add.v2.u32 [%rd0], {%r0, %r1};",
        "shfl.idx.b32 %r0, %r1, %r2, %r3;",
        "vote.ballot.b32 %r0, %q1;",
        "redux.sync.add.f32 %f0, %f1, -1;",
        "bar.cluster 0;",
        "fence.proxy.async;",
        "membar.proxy.alias;",
        "cvta.u16 %h0, %h1;",
        "ret.conditional;",
    ],
)
def test_modifiers_that_are_not_known_are_refused(code):
    name = code.split()[0].rstrip(";")
    message = refusal(code)
    assert f"'{name}'" in message and "source line 7" in message


@pytest.mark.parametrize(
    "code",
    [
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
        "{%r4,%r5}, {%f0,%f1,%f2,%f3};",
        "wgmma.fence.sync.aligned;",
        "mbarrier.init.shared.b64 [%rd0], 1;",
        "cp.async.wait_all;",
        "tex.1d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [%rd0, {%f1}];",
        "setmaxnreg.inc.sync.aligned.u32 240;",
        "frobnicate.b32 %r0, %r1;",
    ],
)
def test_opcodes_that_are_not_known_are_named(code):
    message = refusal(code)
    assert f"this opcode: '{code.split()[0].rstrip(';')}'" in message
    assert "source line 7" in message


@pytest.mark.parametrize(
    "code",
    [
        "add.s32 %rd0, %r1, %r2;",
        "add.s32 %r0, %rd1, %r2;",
        "add.f32 %f0, %d1, %f2;",
        "fma.rn.f16 %h0, %h1, %h2, %r3;",
        "mul.wide.s32 %r0, %r1, %r2;",
        "mov.u32 %rd0, %r1;",
        "mov.b64 %rd0, {%r1, %h2};",
        "mov.b32 %r0, {%r1, %r2};",
        "setp.eq.s32 %r0, %r1, %r2;",
        "selp.b32 %r0, %r1, %r2, %r3;",
        "popc.b64 %rd0, %rd1;",
        "shl.b64 %rd0, %rd1, %rd2;",
        "and.pred %q0, %q1, %r2;",
        "add.f16 %h0, %h1, 0f3F800000;",
        "cvt.rn.f64.s32 %r0, %r1;",
        "cvt.s64.s32 %rd0, %h1;",
        "ld.global.b64 %r0, [%rd0];",
        "st.global.b64 [%rd0], %r0;",
        "ld.global.v2.b32 %r0, [%rd0];",
        "atom.global.add.u32 %rd0, [%rd0], %r1;",
        "add.s32 %r0, %r1;",
        "add.s32 5, %r1, %r2;",
        "fma.rn.f32 %f0, %f1, %f2;",
        "setp.lt.and.s32 %q0, %r1, %r2;",
        "mov.u32 %r0, %nosuchregister;",
    ],
)
def test_operands_that_do_not_fit_are_refused(code):
    """Assemblers refuse them as well: in inline assembly they are a mistake in a constraint."""
    message = refusal(code)
    assert f"'{code.split()[0]}'" in message and "source line 7" in message


def test_a_modifier_too_many_is_refused_in_every_form():
    tried = set()
    for row in forms.all_forms():
        name = row.text.split()[0].rstrip(";")
        opcode, *mods = name.split(".")
        if name in tried or opcode == "mov":
            continue
        tried.add(name)
        assert TABLE[opcode].accepts(tuple(mods)), name
        for place in range(len(mods) + 1):
            assert not TABLE[opcode].accepts((*mods[:place], "bogus", *mods[place:])), name
        assert not TABLE[opcode].accepts(tuple(mods[:-1])) or opcode == "prmt", name
    assert len(tried) > 1500


def test_every_opcode_of_the_table_is_tried():
    """A lowering that no form and no case uses is not tested."""
    texts = [row.text for row in forms.all_forms()] + [case.ptx for case in cases.all_cases()]
    words = {w.split(".")[0] for text in texts for w in text.replace(";", "; ").split()}
    hints = {"prefetch", "prefetchu", "discard", "applypriority", "pmevent", "nanosleep", "brkpt"}
    results = {"barresult", "met"}
    elsewhere = {"trap", "membar", "fence", "griddepcontrol", "createpolicy", "ldu"} | results
    assert {o for o in TABLE if o not in words and f"{o};" not in words} <= hints | elsewhere


@pytest.mark.parametrize(
    "code",
    [
        "prefetch.global.L2 [%rd0];",
        "prefetchu.L1 [%rd0];",
        "discard.global.L2 [%rd0], 128;",
        "applypriority.global.L2::evict_normal [%rd0], 128;",
        "nanosleep.u32 20;",
        "pmevent 3;",
        "griddepcontrol.wait;",
        "membar.gl;",
        "fence.acq_rel.gpu;",
        "fence.sc.cta;",
        "createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800000;",
        "ldu.global.v2.f32 {%f0, %f1}, [%rd0];",
        "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r0, %r1, %r2, %r3}, [%rd0];",
        "ld.global.L2::cache_hint.b32 %r0, [%rd0], %rd1;",
        "ld.relaxed.gpu.global.u32 %r0, [%rd0];",
        "ld.volatile.shared.f64 %d0, [%rd0];",
        "st.release.sys.global.v2.b64 [%rd0], {%rd1, %rd2};",
        "st.global.cs.f32 [%rd0], %f0;",
        "atom.acq_rel.gpu.global.cas.b32 %r0, [%rd0], %r1, %r2;",
        "red.global.add.L2::cache_hint.u32 [%rd0], %r1, %rd1;",
        "setp.ne.and.b16 %q0|%q1, %h0, 0, !%q2;",
        "mov.u64 %rd0, %clock64;",
        "mov.u32 %r0, %clock;",
        "mov.u64 %rd0, %globaltimer;",
        "mov.u16 %h0, %tid.x;",
    ],
)
def test_what_compilers_write_is_accepted(code):
    lower(code)
