"""The past of lecture 01: rows with sources, sums that add up, a fit that fits."""

import math

import pytest

from course import history


def test_rows_are_in_order_and_have_sources():
    for points in (history.models(), history.clocks()):
        years = [p.year for p in points]
        assert years == sorted(years)
        assert all(p.value > 0 and p.source and p.url.startswith("https://") for p in points)
        assert len(points) >= 12


def test_what_papers_state_agrees_with_what_follows_from_their_numbers():
    by_name = {p.name: p.value for p in history.models()}
    assert by_name["Llama 3 405B"] == pytest.approx(3.8e25, rel=0.01)  # section 3.2.1 says so
    assert by_name["GPT-3"] == pytest.approx(6 * 174.6e9 * 300e9, rel=0.01)
    assert by_name["AlexNet"] == pytest.approx(4.7e17, rel=0.01)


def test_the_multiply_adds_of_alexnet_are_those_of_its_layers():
    convolutions = [
        (55, 96, 11 * 11 * 3),
        (27, 256, 5 * 5 * 48),
        (13, 384, 3 * 3 * 256),
        (13, 384, 3 * 3 * 192),
        (13, 256, 3 * 3 * 192),
    ]
    total = sum(side * side * channels * each for side, channels, each in convolutions)
    total += 9216 * 4096 + 4096 * 4096 + 4096 * 1000
    (row,) = [row for row in history._rows()["model"] if row["name"] == "AlexNet"]
    assert row["multiply_adds"] == total


def test_a_fit_finds_the_doubling_time():
    points = [
        history.Point("x", year, 3e10 * 2 ** ((year - 2000) / 0.7), "", "s", "u")
        for year in (2001.3, 2004.0, 2009.9, 2010.0)
    ]
    trend = history.fit(points)
    assert trend.doubling == pytest.approx(0.7)
    assert trend.at(2000) == pytest.approx(3e10)
    assert trend.at(2000.7) == pytest.approx(6e10)


def test_a_fit_needs_two_years():
    point = history.clocks()[0]
    with pytest.raises(ValueError, match="two years or more"):
        history.fit([point, point])


def test_the_clocks_stopped():
    before = history.fit([p for p in history.clocks() if p.year < 2003])
    after = history.fit([p for p in history.clocks() if p.year > 2003])
    assert before.doubling < 3
    assert after.doubling > 15
    assert math.isfinite(after.doubling)
