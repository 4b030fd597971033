"""Files of every kind: what can be read is read, what cannot is refused in plain words."""

import json
import os

import nbformat
import pytest
import toy
from harness import put

from course import notebooks
from course.grading import intake
from course.grading.repair import Unreadable

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")


@pytest.fixture
def path(tmp_path, solution):
    return put(tmp_path / "toy.ipynb", solution)


def good(path, blueprint):
    submission = intake.take(path, blueprint)
    assert (submission.untouched, submission.missing) == (set(), set())
    return submission


def refused(path, blueprint) -> str:
    with pytest.raises(Unreadable) as caught:
        intake.take(path, blueprint)
    return str(caught.value)


def test_as_saved(path, blueprint):
    assert good(path, blueprint).flags == []


def test_byte_order_mark_and_crlf(path, blueprint):
    text = path.read_text(encoding="utf-8").replace("\\n", "\\r\\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    submission = good(path, blueprint)
    assert submission.flags == []
    assert "\r" not in json.dumps(submission.notebook).replace("\\r", "\r")


def test_latin_1(path, blueprint, solution):
    solution["cells"][0]["source"] = "# M\u00fcller"
    whole = {"cells": solution["cells"], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}
    path.write_bytes(json.dumps(whole, ensure_ascii=False).encode("latin-1"))
    assert good(path, blueprint).flags == ["The file is not UTF-8; it was read as Latin-1."]


def test_without_ids_as_colab_saves(path, blueprint, solution):
    for cell in solution["cells"]:
        del cell["id"]
        cell["metadata"]["colab"] = {"base_uri": "x"}
    put(path, solution, nbformat_minor=0, metadata={"colab": {}})
    assert good(path, blueprint).flags == []


def test_other_kernel_and_no_outputs(path, blueprint, solution):
    put(path, solution, metadata={"kernelspec": {"name": "julia", "display_name": "J"}})
    for cell in (data := json.loads(path.read_text(encoding="utf-8")))["cells"]:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    path.write_text(json.dumps(data), encoding="utf-8")
    submission = good(path, blueprint)
    assert submission.notebook["metadata"] == notebooks.METADATA


def test_nbformat_3(path, blueprint, solution):
    put(path, solution)
    old = nbformat.convert(nbformat.read(path, as_version=4), 3)
    assert "worksheets" in old
    path.write_text(json.dumps(old), encoding="utf-8")
    assert "2 * m * n * k" in json.dumps(good(path, blueprint).notebook)


def test_half_a_character(path, blueprint):
    text = path.read_text(encoding="utf-8").replace("Because of", "\\ud83d Because of")
    path.write_text(text, encoding="utf-8")
    json.dumps(good(path, blueprint).notebook, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (b'{"cells": [{"id": "a", "so', "its JSON breaks off"),
        (b'{\n<<<<<<< HEAD\n"a": 1\n=======\n>>>>>>> b\n}', "unfinished git merge"),
        (b'{"nbformat": 5, "cells": []}', "format 5, which is newer than 4"),
        (b'{"nbformat": 3, "worksheets": 7}', "old format 3 and cannot be converted"),
        (b'{"nbformat": 4}', "no list of cells"),
        (b'{"nbformat": "4"}', "not a notebook"),
        (b"[1, 2]", "not a notebook"),
        (b'"text"', "not a notebook"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"nbformat": 4, "cells": [1, {"cell_type": "code"}, {"source": 7}]}', "none of the 5"),
        (b"\x89PNG\r\n\x1a\n\x00", "its JSON breaks off"),
    ],
)
def test_files_that_are_no_notebooks(path, blueprint, content, reason):
    path.write_bytes(content)
    assert reason in refused(path, blueprint)


def test_a_huge_file(path, blueprint, monkeypatch):
    monkeypatch.setattr(intake, "MAX_BYTES", 1000)
    assert "are not read: clear the outputs" in refused(path, blueprint)


@needs_links
def test_links_are_not_followed(tmp_path, path, blueprint):
    link = tmp_path / "link.ipynb"
    link.symlink_to(path)
    assert "links are not followed" in refused(link, blueprint)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_are_not_opened(tmp_path, blueprint):
    os.mkfifo(tmp_path / "pipe.ipynb")
    assert "not an ordinary file" in refused(tmp_path / "pipe.ipynb", blueprint)


# --- which file ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "ada"


def chosen(folder, blueprint):
    path, flags = intake.choose(folder, "toy.ipynb", blueprint)
    return path.relative_to(folder).as_posix(), flags


def test_the_name_decides(folder, solution, blueprint):
    put(folder / "toy.ipynb", solution)
    put(folder / "toy (1).ipynb", solution)
    put(folder / "numpy.ipynb", {"cells": [toy.free("a", "1")]})
    put(folder / ".ipynb_checkpoints" / "toy-checkpoint.ipynb", solution)
    said = "'toy.ipynb' was taken. There are answers in 'toy (1).ipynb' too."
    assert chosen(folder, blueprint) == ("toy.ipynb", [said])


def test_the_folder_may_be_nbgraders(folder, solution, blueprint):
    put(folder / "toy" / "toy.ipynb", solution)
    assert chosen(folder, blueprint) == ("toy/toy.ipynb", [])


def test_a_renamed_file_is_found_by_what_is_in_it(folder, solution, blueprint):
    put(folder / "final FINAL (2).ipynb", solution)
    put(folder / "toys.ipynb", {"cells": [toy.free("a", "1")]})
    for left_over in (".ipynb_checkpoints/x.ipynb", "._toy.ipynb", "y-checkpoint.ipynb"):
        put(folder / left_over, solution)
    name, flags = chosen(folder, blueprint)
    assert name == "final FINAL (2).ipynb"
    assert flags == ["The file was called 'final FINAL (2).ipynb', not 'toy.ipynb'."]


def test_two_that_could_be_meant(folder, solution, blueprint):
    put(folder / "toy (1).ipynb", solution)
    put(folder / "toy (2).ipynb", solution)
    with pytest.raises(Unreadable, match=r"'toy \(1\).ipynb', 'toy \(2\).ipynb'; leave only one"):
        chosen(folder, blueprint)


def test_nothing_to_choose(folder, blueprint):
    folder.mkdir()
    with pytest.raises(Unreadable, match="the folder holds nothing"):
        chosen(folder, blueprint)
    (folder / "toy.pdf").write_bytes(b"")
    with pytest.raises(Unreadable, match=r"the folder holds 'toy.pdf'"):
        chosen(folder, blueprint)


def test_a_broken_file_alone_is_chosen_so_that_its_fault_is_named(folder, blueprint):
    folder.mkdir()
    (folder / "toy (1).ipynb").write_text("{", encoding="utf-8")
    assert chosen(folder, blueprint)[0] == "toy (1).ipynb"


@needs_links
def test_a_linked_folder(tmp_path, folder, solution, blueprint):
    put(tmp_path / "bob" / "toy.ipynb", solution)
    folder.symlink_to(tmp_path / "bob", target_is_directory=True)
    with pytest.raises(Unreadable, match="links are not followed"):
        chosen(folder, blueprint)
