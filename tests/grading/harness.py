"""Notebooks from the files of tests/submissions, and their questions graded."""

import json
import time

import psutil

from course import notebooks
from course.grading import processes, repair, score
from course.grading.cells import Blueprint
from course.grading.engine import LIMITS, run_whole

#: A process with a session of its own and no living parent; prints its number.
DAEMON = """
import os, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        time.sleep(600)
    os._exit(0)
os.wait()
print(os.read(reading, 20).decode())
"""


def put(path, notebook, **top):
    """Write `notebook` to `path` as Jupyter does, with `top` in place of what stands around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [c | ({"outputs": [], "execution_count": None} if c["cell_type"] == "code" else {})
             for c in notebook["cells"]]  # fmt: skip
    whole = {"cells": cells, "metadata": notebooks.METADATA, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(whole | top), encoding="utf-8")
    return path


def hand_in(problem_set, replaced: dict[str, str]) -> dict:
    """Return the reference solution with the cells in `replaced` replaced."""
    notebook = notebooks.read(problem_set.source)
    ids = {cell["id"] for cell in notebook["cells"]}
    assert replaced.keys() <= ids, f"no such cell: {replaced.keys() - ids}"
    for cell in notebook["cells"]:
        if cell["id"] in replaced:
            cell["source"] = f"# cell: {cell['id']}\n{replaced[cell['id']]}"
    return notebook


def blueprint_of(problem_set) -> Blueprint:
    return Blueprint(notebooks.read(problem_set.release))


def questions(
    notebook, blueprint, engine, *, seed=None, limits=LIMITS
) -> dict[str, score.Question]:
    """Return what each question of a handed-in notebook brought, by id."""
    submission = repair.clean(notebook, blueprint)
    results = run_whole(engine, submission.notebook, seed=seed, limits=limits)
    return {q.id: q for q in score.questions(blueprint, submission, results)}


def lost(found: dict[str, score.Question]) -> list[str]:
    """Return the ids of the questions that a test judges and that brought less than all points."""
    return [q.id for q in found.values() if q.state in ("wrong", "not answered")]


def ends(pid):
    """Whether the process `pid` ends within a minute; one that nobody waits for has ended."""
    begin = time.monotonic()
    while alive(pid) and time.monotonic() - begin < 60:
        time.sleep(0.05)
    return not alive(pid)


def alive(pid):
    try:
        return processes.is_alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False
