import os
import subprocess
import sys
from pathlib import Path

import pytest

from course import ROOT, gpu
from course.gpu import cache, compiler, headers

SOURCE = "__global__ void f(int* x) { x[0] = 42; }"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def runs(monkeypatch):
    """Count the runs of the compiler."""
    made = []
    run = compiler._run

    def counted(*arguments):
        made.append(arguments)
        return run(*arguments)

    monkeypatch.setattr(compiler, "_run", counted)
    return made


def files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def test_what_is_stored_comes_back(folder):
    parts = {"ptx": "ä\n".encode(), "cubin": bytes(range(256)) * 3, "empty": b""}
    cache.store("ab" * 32, parts)
    assert cache.load("ab" * 32) == parts
    assert cache.load("cd" * 32) is None


def test_the_second_time_nothing_is_compiled(folder, runs):
    first = gpu.compile(SOURCE)
    first.resources()
    assert len(runs) == 2  # PTX, then the cubin when it was asked for
    second = gpu.compile(SOURCE)
    assert second.ptx() == first.ptx() and second.cubin() == first.cubin()
    assert str(second.resources()) == str(first.resources())
    assert len(runs) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"source": SOURCE + " "},
        {"arch": "sm_80"},
        {"options": ["-DX=1"]},
        {"options": ["-lineinfo", "-DX=2"]},
    ],
)
def test_another_input_is_another_entry(folder, runs, change):
    gpu.compile(SOURCE)
    gpu.compile(**({"source": SOURCE} | change))
    assert len(runs) == 2


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "garbage", "folder"])
def test_a_damaged_entry_is_made_again(folder, runs, damage):
    ptx = gpu.compile(SOURCE).ptx()
    (file,) = files(folder)
    data = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        file.write_bytes(
            {"empty": b"", "cut": data[:-9], "flipped": flipped, "garbage": b"x" * 99}[damage]
        )
    assert gpu.compile(SOURCE).ptx() == ptx
    assert len(runs) == 2
    if damage != "folder":
        assert file.read_bytes() == data


def test_a_changed_header_is_noticed(folder, runs, tmp_path, monkeypatch):
    place = tmp_path / "notebook"
    place.mkdir()
    monkeypatch.chdir(place)
    outer = '#include "outer.cuh"\n__global__ void f(int* x) { x[0] = VALUE; }'
    (place / "outer.cuh").write_text('#include "inner.cuh"\n', "utf-8")
    (place / "inner.cuh").write_text("#define VALUE 1234\n", "utf-8")
    assert "1234" in gpu.compile(outer).ptx()
    (place / "inner.cuh").write_text("#define VALUE 5678\n", "utf-8")
    assert "5678" in gpu.compile(outer).ptx()
    assert len(runs) == 2


def test_a_header_of_an_option_is_noticed(folder, runs, tmp_path):
    place = tmp_path / "include"
    place.mkdir()
    source = "#include <mine.cuh>\n__global__ void f(int* x) { x[0] = VALUE; }"
    for value in ("1234", "5678"):
        (place / "mine.cuh").write_text(f"#define VALUE {value}\n", "utf-8")
        assert value in gpu.compile(source, options=[f"-I{place}"]).ptx()


def test_an_include_by_macro_is_not_cached(folder, runs, tmp_path, monkeypatch):
    place = tmp_path / "notebook"
    place.mkdir()
    monkeypatch.chdir(place)
    (place / "a.cuh").write_text("#define VALUE 7\n", "utf-8")
    source = '#define NAME "a.cuh"\n#include NAME\n__global__ void f(int* x) { x[0] = VALUE; }'
    for _ in range(2):
        gpu.compile(source)
    assert len(runs) == 2 and files(folder / "compiled") == []


def test_errors_are_not_cached(folder, runs):
    for _ in range(2):
        with pytest.raises(gpu.CompileError):
            gpu.compile("__global__ void f(int* x) { x[0] = ; }")
    assert len(runs) == 2 and files(folder) == []


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch, runs):
    blocked = tmp_path / "a file"
    blocked.write_text("in the way", "utf-8")
    monkeypatch.setenv("COURSE_CACHE", str(blocked))
    for _ in range(2):
        assert "42" in gpu.compile(SOURCE).ptx()
    assert len(runs) == 2


def test_several_processes_at_once(folder):
    script = (
        "import hashlib; from course import gpu\n"
        "for n in range(6):\n"
        "    m = gpu.compile(f'__global__ void f(int* x) {{ x[0] = {1000 + n}; }}')\n"
        "    assert str(1000 + n) in m.ptx() and m.cubin()[:4] == b'\\x7fELF'\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert len(files(folder)) == 12 and not list(folder.rglob("*.tmp"))


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "mine"))
    assert cache.folder() == tmp_path / "mine"
    monkeypatch.delenv("COURSE_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder().parent == tmp_path
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder().parent == Path.home() / ".cache"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder().parent == Path.home() / "Library" / "Caches"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache.folder().parent == tmp_path / "local"


def test_a_cached_source_of_another_folder_keeps_its_lines(folder, tmp_path, monkeypatch):
    """Line tables and warnings name the file with its folder: what they say must fit this one."""
    monkeypatch.setattr(headers, "ROOT", tmp_path)
    source = "__global__ void f(int* x) {\n    int unused;\n    x[0] = 42;\n}"
    shown = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        module = gpu.compile(source)
        shown.append((module.sass(), module.warnings))
    assert shown[0] == shown[1]
    assert "// cell.cu:3  x[0] = 42;" in shown[1][0]
    assert "unused" in shown[1][1][0]
