"""Inputs by seed."""

import subprocess
import sys

import pytest

from course.checks.cases import SECRET, cases, distinct, odd, primes


@pytest.fixture(autouse=True)
def public(monkeypatch):
    monkeypatch.delenv(SECRET, raising=False)


def draw(set_name="ps2", question="bmm"):
    return cases(set_name, question).integers(2**62, size=4).tolist()


def test_public_inputs_are_the_same_each_time_and_in_each_process():
    code = (
        "from course.checks.cases import cases; print(cases('ps2', 'bmm').integers(2**62, size=4))"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [int(n) for n in there.stdout.strip("[]\n").split()] == draw() == draw()


def test_set_question_and_seed_each_give_other_inputs(monkeypatch):
    streams = [draw(), draw("ps3"), draw(question="conv"), draw("ps2b", "mm"), draw("ps2", "bmm2")]
    for seed in ("one", "two", "Zwölf"):
        monkeypatch.setenv(SECRET, seed)
        streams.append(draw())
    assert len({tuple(stream) for stream in streams}) == len(streams)
    monkeypatch.setenv(SECRET, "one")
    assert draw() == streams[5]
    monkeypatch.setenv(SECRET, "")
    assert draw() == streams[0]


def test_names_do_not_run_together():
    assert draw("ab", "c") != draw("a", "bc")


def test_helpers_draw_what_they_say():
    rng = cases("ps2", "helpers")
    for _ in range(50):
        sizes = distinct(rng, 4, 3, 8)
        assert len(set(sizes)) == 4
        assert set(sizes) <= set(range(3, 9))
        assert odd(rng, 2, 9) in (3, 5, 7, 9)
        found = primes(rng, 3, 0, 13)
        assert len(set(found)) == 3
        assert set(found) <= {2, 3, 5, 7, 11, 13}
    assert all(type(n) is int for n in [*sizes, *found, odd(rng, 1, 9)])
    with pytest.raises(ValueError, match="only 2 primes from 20 to 30"):
        primes(rng, 3, 20, 30)
