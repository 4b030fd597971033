"""Any file that a student hands in -> a notebook as plain data. Nothing in it is run.

What cannot be read is refused with a reason in plain words; what is merely old or odd is read.
`course.grading.repair` then looks at the cells.
"""

import json
import re
from pathlib import Path
from typing import Any

from course.grading import repair
from course.grading.cells import Blueprint, Cell, Notebook
from course.grading.repair import Submission, Unreadable

MAX_BYTES = 20 * 2**20
#: Files and folders that editors leave beside the real ones.
HIDDEN = re.compile(r"^\.|-checkpoint\.ipynb$")


def take(path: Path, blueprint: Blueprint) -> Submission:
    """Return the submission in the file at `path`.

    Raises
    ------
    Unreadable
        If there is nothing to grade in it.
    """
    notebook, flags = read(path)
    submission = repair.clean(notebook, blueprint)
    submission.flags[:0] = flags
    return submission


def choose(folder: Path, filename: str, blueprint: Blueprint) -> tuple[Path, list[str]]:
    """Return the notebook in a student's `folder` to grade, and what there is to say about it.

    The file called `filename` if it is there; otherwise the only one that holds answer cells of
    the set. Which of two was meant is for a person to say.

    Raises
    ------
    Unreadable
        If no file, or more than one, can be meant.
    """
    if folder.is_symlink():
        raise Unreadable("the student's folder is a symbolic link; links are not followed")
    found = notebooks_in(folder)
    plausible = [path for path in found if path.name == filename]
    plausible = plausible or [path for path in found if holds_answers(path, blueprint)]
    plausible = plausible or (found if len(found) == 1 else [])
    if len(plausible) > 1:
        names = ", ".join(repr(path.relative_to(folder).as_posix()) for path in plausible)
        raise Unreadable(f"several files could be the submission: {names}; leave only one of them")
    if not plausible:
        there = ", ".join(sorted(repr(p.name) for p in folder.iterdir())[:5]) or "nothing"
        raise Unreadable(f"there is no notebook {filename!r}; the folder holds {there}")
    path = plausible[0]
    if path.name != filename:
        return path, [f"The file was called {path.name!r}, not {filename!r}."]
    others = [p for p in found if p != path and holds_answers(p, blueprint)]
    listed = " and ".join(repr(p.relative_to(folder).as_posix()) for p in others)
    taken = path.relative_to(folder).as_posix()
    return path, [f"{taken!r} was taken. There are answers in {listed} too."] if others else []


def notebooks_in(folder: Path) -> list[Path]:
    """Return the notebooks in `folder` and below it."""
    return [p for p in sorted(folder.rglob("*.ipynb")) if not hidden(p.relative_to(folder))]


def hidden(path: Path) -> bool:
    """Say whether `path` lies in what editors leave behind."""
    return any(HIDDEN.search(part) for part in path.parts)


def holds_answers(path: Path, blueprint: Blueprint) -> bool:
    """Say whether the notebook at `path` has an answer cell of the set."""
    try:
        take(path, blueprint)
    except Unreadable:
        return False
    return True


def read(path: Path) -> tuple[Notebook, list[str]]:
    """Return the notebook in a file of any vintage, as nbformat 4, and what was odd about it."""
    if path.is_symlink() or not path.is_file():
        raise Unreadable("the notebook is not an ordinary file; links are not followed")
    size = path.stat().st_size / 2**20
    if size > MAX_BYTES / 2**20:
        raise Unreadable(
            f"the file has {size:.0f} MiB, and more than {MAX_BYTES // 2**20} are not read: clear "
            "the outputs and save it again"
        )
    raw = path.read_bytes()
    try:
        text, flags = raw.decode("utf-8-sig"), []
    except UnicodeDecodeError:
        text, flags = raw.decode("latin-1"), ["The file is not UTF-8; it was read as Latin-1."]
    return upgrade(parse(text)), flags


def parse(text: str) -> Any:
    """Return the JSON in `text`."""
    if not text.strip():
        raise Unreadable("the file is empty")
    if re.search(r"^(<<<<<<<|>>>>>>>) ", text, flags=re.M):
        raise Unreadable("the file has the marks of an unfinished git merge (<<<<<<<) in it")
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unreadable(
            f"the file is not a whole notebook: its JSON breaks off ({error}); it may have been "
            "cut short on the way, so hand it in again"
        ) from None
    except RecursionError:
        raise Unreadable("the file is not a notebook: its JSON is nested too deeply") from None


def upgrade(data: Any) -> Notebook:
    """Return `data` as a notebook of nbformat 4 whose cells have what the rest relies on."""
    version = data.get("nbformat", 4) if isinstance(data, dict) else None
    if not isinstance(version, int):
        raise Unreadable("the file is JSON, but not a notebook")
    if version > 4:
        raise Unreadable(f"the notebook has format {version}, which is newer than 4; save it as 4")
    if version < 4:
        data = upgrade_old(data)
    listed = data.get("cells")
    if not isinstance(listed, list):
        raise Unreadable("the notebook has no list of cells")
    tidied = [tidy(cell) for cell in listed if isinstance(cell, dict)]
    return {"cells": [cell for cell in tidied if cell["cell_type"] in ("code", "markdown", "raw")]}


def upgrade_old(data: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook of nbformat 1 to 3 as one of 4."""
    import nbformat

    try:
        return nbformat.convert(nbformat.from_dict(data), 4)
    except Exception as error:  # the converters of old formats fail in many ways
        message = f"the notebook has the old format {data['nbformat']} and cannot be converted"
        raise Unreadable(f"{message} ({error})") from None


def tidy(cell: dict[str, Any]) -> Cell:
    """Return `cell` with a string as its source, Unix line ends, and a metadata mapping."""
    source, noted = cell.get("source", ""), cell.get("metadata")
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    text = text.encode("utf-8", "replace").decode("utf-8")  # JSON can spell half a character
    return {
        "id": cell["id"] if isinstance(cell.get("id"), str) else "",
        "cell_type": cell.get("cell_type"),
        "source": re.sub(r"\r\n?", "\n", text),
        "metadata": noted if isinstance(noted, dict) else {},
    }
