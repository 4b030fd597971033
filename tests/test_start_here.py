"""The first lecture: what its text says is what its cells show."""

import json
import os
import re

import nbformat
import pytest
from nbclient import NotebookClient

from course import ROOT, gpu, specs
from course.gpu import compiler

PATH = ROOT / "notebooks" / "00_start_here.ipynb"

pytestmark = pytest.mark.skipif(
    gpu.compiler_problem() is not None or compiler.uses_clang(),
    reason="the text speaks of what NVRTC makes, which is not here",
)

#: What the text counts, asked of the kernel when all cells have run.
QUESTIONS = """
import json, re
names = set(re.findall(r"%(rd|r|f|p)(\\d+)", vectors.ptx().split("ld.param", 1)[1]))
print(json.dumps({
    "names": {kind: sum(k == kind for k, _ in names) for kind in ("rd", "r", "f", "p")},
    "registers": vectors.resources()["add"].registers,
    "instructions": len(instructions), "statement": len(statement),
    "possible": possible, "bytes": bytes_moved, "flops": counted.total.flops / n,
    "lines": vectors.source.splitlines(),
}))
"""


@pytest.fixture(scope="module")
def lecture(tmp_path_factory):
    """Run the lecture on the virtual GPU with predictions; return its outputs and its numbers."""
    notebook = nbformat.read(PATH, as_version=4)
    for cell in notebook.cells:
        cell.source = re.sub(r"^my_(\w+) = \.\.\.", r"my_\1 = 4711", cell.source)
    notebook.cells.append(nbformat.v4.new_code_cell(QUESTIONS, id="questions"))
    folder = tmp_path_factory.mktemp("start-here")
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}})
    client.execute(env=os.environ | {"COURSE_DEVICE": "virtual"})
    shown = {cell.id: text(cell) for cell in notebook.cells if cell.cell_type == "code"}
    return shown, json.loads(shown["questions"])


def text(cell):
    parts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
    return "".join(parts)


def prose(name):
    cells = nbformat.read(PATH, as_version=4).cells
    return next(cell.source for cell in cells if cell.id == name)


def test_predictions_are_compared(lecture):
    shown, _ = lecture
    for name in ("count-instructions", "count-additions"):
        assert shown[name].startswith("You said 4711.\n")


def test_instructions_are_counted_and_explained(lecture):
    shown, found = lecture
    lines = shown["read-ptx"].rstrip().split("\n")
    assert f"{found['statement']} instructions for the statement" in shown["count-instructions"]
    assert f"{found['instructions']} in the whole kernel" in shown["count-instructions"]
    assert len(lines) == found["instructions"]
    assert all(re.search(r";\s+\S", line) for line in lines), "an instruction without a word"
    work = [line.split()[1] for line in lines if line.startswith("->")]
    assert work == ["ld.global.f32", "ld.global.f32", "add.f32", "st.global.f32"]
    assert found["statement"] == 11, "four do the work, seven find the addresses"
    for quoted in ("add.f32 %f3, %f2, %f1;", "@%p1 bra", "mul.wide", "%tid.x", "%ctaid.x"):
        assert quoted in prose("reading-ptx") and quoted in shown["read-ptx"]


def test_registers_in_ptx_and_on_the_chip(lecture):
    shown, found = lecture
    assert found["names"] == {"rd": 10, "r": 5, "f": 3, "p": 1}
    assert found["registers"] < sum(found["names"].values())
    index = re.search(r"IMAD (R\d+), .*\n.*if \(i < n\)", shown["read-sass"])[1]
    assert f"FADD {index}, " in shown["read-sass"], "the sum takes the register of i"
    for word in ("LDG", "STG", "IMAD.WIDE", "@P0 EXIT", "R2.64", "c[0x0][0x"):
        assert word in shown["read-sass"]


def test_messages_name_the_lines_that_the_text_names(lecture):
    shown, found = lecture
    assert found["lines"][0] == "// %%cuda vectors"
    assert "c[i] = a[i] + b[i];" in found["lines"][6 - 1]
    assert 'line 4: identifier "blockDmi" is undefined' in shown["typo"]
    assert "line 7: expected" in shown["missing-semicolon"]
    assert "Line 6 has no" in shown["missing-semicolon"]


def test_launch_is_right_and_the_careless_one_is_caught(lecture):
    shown, _ = lecture
    assert shown["launch-add"].startswith("virtual GPU (sm_90a): all 100,003 sums are those of")
    assert "391 blocks of 256 threads, and 93 threads had nothing to do" in shown["launch-add"]
    assert "a[100003]" in shown["launch-careless"] and "line 6" in shown["launch-careless"]


def test_numbers_in_the_answers(lecture):
    _, found = lecture
    h100, h200 = specs.gpu("H100 SXM"), specs.gpu("H200 SXM")
    assert (found["bytes"], found["flops"]) == (12, 1)
    additions = h100.derived_peak("fp32").value / 2  # a multiply-add is two FLOPs
    assert found["possible"] == pytest.approx(additions / (h100.memory_bandwidth / 12))
    assert (h200.sms, h200.clock_boost_hz) == (h100.sms, h100.clock_boost_hz)
    assert "4.8 / 3.35 = 1.43" in prose("one-square")
    assert (h200.memory_bandwidth, h100.memory_bandwidth) == (4.8e12, 3.35e12)
    assert round(h200.memory_bandwidth / h100.memory_bandwidth, 2) == 1.43
    assert h100.memory_bytes > 2**32, "the memory is larger than 32 bits can count"


def test_figures_have_words(lecture):
    shown, _ = lecture
    assert "How does a GPU work? 00 Start here (ready); 01 The Bitter Lesson" in shown["course-map"]
    assert "Threads 2 and 3 of block 2 have no element" in shown["threads-and-elements"]
    assert "A chart of 120 squares." in shown["count-additions"]
