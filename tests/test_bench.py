"""What ``bench`` says; the benchmarks themselves are timed, not tested."""

import argparse
import sys
from types import SimpleNamespace

import pytest

from course import Problem, bench, cli
from course.bench import Record
from course.commands import bench as command


@pytest.mark.parametrize(
    ("line", "fault"),
    [("bench", "Say which benchmark."), ("bench vgpux", "There is no benchmark 'vgpux'.")],
)
def test_without_a_name_that_is_known_they_are_listed(line, fault):
    args = cli.parse(line.split())
    with pytest.raises(Problem) as caught:
        args.run(args)
    first, *listed = str(caught.value).splitlines()
    assert first == f"{fault} There are:"
    assert listed == [f"  {name}: {what}" for name, what in bench.BENCHES.items()]


def test_a_table_says_what_its_ratio_is(monkeypatch, capsys):
    records = [
        Record("copy", "end_to_end_cold", 2.0, "s", "numba-sim", 6.0),
        Record("copy", "plain", 0.5, "s"),
    ]
    monkeypatch.setitem(sys.modules, "course.bench.vgpu", SimpleNamespace(run=lambda: records))
    assert command.run(argparse.Namespace(name="vgpu", json=None)) == 0
    table, legend = capsys.readouterr().out.split("\n\n")
    header, cold, plain = table.splitlines()
    assert " ".join(header.split()) == "case variant value unit peer peer's value ratio"
    assert cold.split() == ["copy", "end_to_end_cold", "2", "s", "numba-sim", "6", "3"]
    assert plain.split() == ["copy", "plain", "0.5", "s"]
    words = " ".join(legend.split())
    assert "cold is the first call" in words
    assert "above 1, ours is faster" in words
