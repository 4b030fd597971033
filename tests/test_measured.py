"""Recorded results: what is there can be read, and what is not is said."""

import json

import pytest

from course import bench, measured


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "FOLDER", tmp_path)
    measured.read.cache_clear()
    records = [
        bench.Record("copy 16 bytes", "read", 3.0, "byte/s"),
        bench.Record("copy 64 bytes", "read", 5.0, "byte/s"),
        bench.Record("load", "latency", 7.0, "cycles"),
        bench.Record("load", "latency", 2.5, "ns"),
        bench.Record("load", "far", 9.0, "cycles"),
    ]
    result = {
        "bench": "b",
        "device": "GPU",
        "versions": {},
        "date": "2026-01-02",
        "records": [bench.asdict(r) | {"ratio": None} for r in records],
    }
    (tmp_path / "a-gpu").mkdir()
    bench.write(result, tmp_path / "a-gpu" / "b.json")
    yield tmp_path
    measured.read.cache_clear()


def test_values_are_found_by_case_variant_and_unit(folder):
    result = measured.read("b", "a-gpu")
    assert result.value("load", "far") == 9.0
    assert result.value("load", unit="ns") == 2.5
    assert result.series("copy {} bytes") == [(16, 3.0), (64, 5.0)]
    assert str(result) == "recorded on an GPU, 2026-01-02"


def test_what_is_not_there_or_ambiguous_is_said(folder):
    result = measured.read("b", "a-gpu")
    with pytest.raises(KeyError, match="3 records of case 'load'"):
        result.value("load")
    with pytest.raises(KeyError, match="0 records of case 'lod'"):
        result.value("lod")
    with pytest.raises(KeyError, match="no case like"):
        result.series("copy {} kilobytes")
    with pytest.raises(KeyError, match=r"There are: a-gpu/b\."):
        measured.read("c", "a-gpu")


@pytest.mark.parametrize("path", sorted(measured.FOLDER.glob("*/*.json")), ids=lambda p: p.stem)
def test_every_record_is_one_of_the_benchmarks(path):
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["bench"] == path.stem
    assert path.stem in bench.BENCHES
    assert data["device"]
    assert data["date"]
    fields = {"case", "variant", "value", "unit", "peer", "peer_value", "ratio"}
    assert all(set(r) == fields and r["value"] == r["value"] for r in data["records"])


def test_the_h200_bears_out_what_lecture_04_says():
    h200 = measured.read("microbench")
    near, far = (h200.value("load from L2", half) for half in ("near half", "far half"))
    assert 20 < far - near < 40
    for stride, wavefronts in [(1, 1), (2, 2), (3, 1), (8, 8), (32, 32), (33, 1)]:
        took = h200.value(f"shared loads {stride} apart")
        assert took == pytest.approx(wavefronts, rel=0.02)  # what the virtual GPU counts
