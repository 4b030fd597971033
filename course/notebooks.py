"""Notebooks as files, in one canonical form: a diff shows what somebody changed and no more."""

import json
from pathlib import Path
from typing import Any

from course import ROOT, Problem

#: All that a committed notebook says about its kernel; versions would differ on every machine.
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

#: What a cell's metadata may say; the rest is the state of somebody's editor.
KEPT = ("deletable", "editable", "jupyter", "nbgrader", "tags")


def read(path: Path) -> dict[str, Any]:
    """Return the notebook at `path` as plain data, cell sources as single strings.

    Raises
    ------
    ValueError
        If the file is not a notebook of nbformat 4; the message says what was found.
    """
    try:
        return parse(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{path.name} is not a notebook: {error}") from None


def parse(text: str) -> dict[str, Any]:
    """Return the notebook that is written in `text`; see `read`."""
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise ValueError(f"its JSON breaks off ({error})") from None
    if not isinstance(notebook, dict) or "cells" not in notebook:
        raise ValueError("it has no list of cells")
    for cell in notebook["cells"]:
        if isinstance(cell.get("source"), list):
            cell["source"] = "".join(cell["source"])
    return notebook


def canonical(notebook: dict[str, Any]) -> str:
    """Return the one text form of `notebook`: nbformat 4.5, sorted keys, no outputs.

    Raises
    ------
    ValueError
        If a cell has no id.
    """
    cells = []
    for number, cell in enumerate(notebook["cells"], start=1):
        if "id" not in cell:
            raise ValueError(f"cell {number} has no id: save the notebook with JupyterLab once")
        source = "".join(cell["source"])
        metadata = {key: value for key, value in cell.get("metadata", {}).items() if key in KEPT}
        kept = {
            "cell_type": cell["cell_type"],
            "id": cell["id"],
            "metadata": metadata,
            "source": source.splitlines(keepends=True),
        }
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        cells.append(kept)
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Write `notebook` to `path` in canonical form."""
    path.write_text(canonical(notebook), encoding="utf-8", newline="\n")


def committed(root: Path = ROOT) -> list[Path]:
    """Return the notebooks that people edit: the lectures and the solutions."""
    return sorted([*root.glob("notebooks/*.ipynb"), *root.glob("solutions/*/*.ipynb")])


def tidy(*, check: bool, root: Path = ROOT) -> list[str]:
    """Write the committed notebooks in canonical form; with `check`, change nothing.

    Returns
    -------
    list of str
        Those that were not in it.

    Raises
    ------
    Problem
        If a file is no notebook.
    """
    untidy = []
    for path in committed(root):
        name = path.relative_to(root).as_posix()
        try:
            notebook = read(path)
            text = canonical(notebook)
        except ValueError as error:
            raise Problem(f"{name}: {error}") from None
        if path.read_bytes() != text.encode():
            untidy.append(name)
            if not check:
                write(path, notebook)
    return untidy
