"""A submitted notebook -> a clean one, and in plain words what was put right.

Only the student's own text goes on: the answers, the essays, and cells of their own that an answer
needs. Everything else comes from the released notebook, so edited tests, changed points and copied
cells have no effect, and whoever grades afterwards meets a notebook without surprises.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from course.grading import cells
from course.grading.cells import Blueprint, Cell, Notebook


class Unreadable(ValueError):
    """The submission cannot be graded; the message says why, in plain words."""


@dataclass
class Submission:
    """A clean notebook with a student's answers."""

    notebook: Notebook
    flags: list[str] = field(default_factory=list)
    """What was put right, one sentence each; empty if nothing was."""
    untouched: set[str] = field(default_factory=set)
    """Ids of the answers and essays that are as they were released."""
    missing: set[str] = field(default_factory=set)
    """Ids of the answers and essays that are not there."""


def clean(notebook: Notebook, blueprint: Blueprint) -> Submission:
    """Return the released notebook with the answers of `notebook` in it.

    Raises
    ------
    Unreadable
        If no answer of the set can be found.
    """
    match = Match(notebook["cells"], blueprint)
    written = blueprint.of("answer", "essay")
    if not match.texts:
        raise Unreadable(
            f"none of the {len(written)} answer cells of the set is in it: is it the right one?"
        )
    return Submission(
        notebook=match.compose(),
        flags=[*match.flags()],
        untouched={k for k in match.texts if match.is_released(match.places[k], written[k])},
        missing=set(written) - set(match.texts),
    )


@dataclass
class Match:
    """Which cell of the released notebook each submitted cell is."""

    handed_in: list[Cell]
    blueprint: Blueprint

    @cached_property
    def owners(self) -> list[str | None]:
        """For each cell the id of the graded cell that it is, or is a copy of.

        Three handles, of which editors strip one or two: nbgrader's grade_id, the cell's id, and
        the marker in its first line. A cell without any may still have its released text.
        """
        texts = {cells.text(cell): key for key, cell in self.blueprint.graded.items()}
        return [self.owner(cell, texts) for cell in self.handed_in]

    def owner(self, cell: Cell, texts: dict[str, str]) -> str | None:
        """Return the id of the graded cell that `cell` is; `texts` holds the released texts."""
        for handle in (cells.metadata(cell).get("grade_id"), cell["id"], cells.marker(cell)):
            if isinstance(handle, str) and handle in self.blueprint.graded:
                return handle
        return texts.get(cells.text(cell))

    def copies(self, key: str | None) -> list[int]:
        """Return the indices of the cells that are the graded cell `key`; None: of nobody's."""
        return [i for i, owner in enumerate(self.owners) if owner == key]

    def is_released(self, at: int, released: Cell) -> bool:
        """Say whether the cell at index `at` has the text that was released."""
        return cells.text(self.handed_in[at]) == cells.text(released)

    @cached_property
    def places(self) -> dict[str, int]:
        """For each graded cell that is there the index of the submitted cell that counts."""
        found: dict[str, int] = {}
        for key, released in self.blueprint.graded.items():
            at = self.place(key, released)
            if at is None and cells.role(released) == "essay":
                at = self.below(found)
            if at is not None:
                found[key] = at
        return found

    def place(self, key: str, released: Cell) -> int | None:
        """Return the index of the cell that counts as the graded cell `key`, if it is there.

        Of several copies of an answer the last that was worked on counts; failing that, the last
        cell of the student's own that defines what the answer must define.
        """
        copies = self.copies(key)
        if cells.role(released) not in ("answer", "essay"):
            return copies[-1] if copies else None
        wanted = cells.defines(released)
        worked_on = [i for i in copies if not self.is_released(i, released)]
        for indices in (worked_on, self.copies(None) if wanted else []):
            complete = [i for i in indices if wanted <= cells.defines(as_code(self.handed_in[i]))]
            if complete:
                return complete[-1]
        return (worked_on or copies or [None])[-1]

    def below(self, found: dict[str, int]) -> int | None:
        """Return nobody's text cell right below the one found last: an essay stands there."""
        at = [*found.values()][-1] + 1 if found else 0
        free = at < len(self.handed_in) and self.owners[at] is None
        return at if free and self.handed_in[at]["cell_type"] == "markdown" else None

    @cached_property
    def texts(self) -> dict[str, str]:
        """What the student wrote, by the id of the answer or essay."""
        written = self.blueprint.of("answer", "essay")
        return {k: self.handed_in[at]["source"] for k, at in self.places.items() if k in written}

    def helpers(self) -> list[int]:
        """Return the indices of the student's own cells that bind a name which an answer needs.

        Own experiments and plots do not run again; an import or a function that an answer uses
        does. A cell that binds an answer's own name does not: it would take the answer's place.
        """
        released = self.blueprint.notebook["cells"]
        answers = set().union(*map(cells.defines, self.blueprint.of("answer").values()))
        course = set().union(*map(cells.defines, released))
        owners = {None, *self.blueprint.of("answer")}  # a split answer leaves an incomplete copy
        own = {
            i: cells.defines(self.handed_in[i])
            for i, owner in enumerate(self.owners)
            if owner in owners and i not in self.places.values()
        }
        own = {i: names - course for i, names in own.items() if not names & answers}
        graded = self.blueprint.graded
        answered = [graded[key] | {"source": text} for key, text in self.texts.items()]
        needed = set().union(*map(cells.uses, answered))
        chosen: set[int] = set()
        while more := {i for i, names in own.items() if names & needed} - chosen:
            chosen |= more
            needed = set().union(*(cells.uses(self.handed_in[i]) for i in more))
        return sorted(chosen)

    def compose(self) -> Notebook:
        """Return the released notebook with the answers, and each helper below its neighbour."""
        below: dict[str, list[Cell]] = {}
        for number, i in enumerate(self.helpers(), start=1):
            above = [(at, key) for key, at in self.places.items() if at < i]
            helper = as_code(
                {"id": f"own-{number}", "metadata": {}, "source": self.handed_in[i]["source"]}
            )
            below.setdefault(max(above)[1] if above else "", []).append(helper)
        composed = below.get("", [])
        for cell in self.blueprint.notebook["cells"]:
            text = self.texts.get(cell["id"], cell["source"])
            composed += [cell | {"source": text}, *below.get(cell["id"], [])]
        return self.blueprint.notebook | {"cells": composed}

    # --- what to say about it --------------------------------------------------------------

    def flags(self) -> Iterator[str]:
        """Yield one sentence for everything that `compose` puts right."""
        for key, released in self.blueprint.graded.items():
            if cells.role(released) in ("answer", "essay"):
                yield from self.flags_of_answer(key, released)
            elif released["cell_type"] == "code":
                yield from self.flags_of_locked(key, released)
        yield from self.flags_of_metadata()
        order = [at for key, at in self.places.items() if len(self.copies(key)) == 1]
        if order != sorted(order):
            yield "Cells were moved; they run in the order of the release."

    def flags_of_answer(self, key: str, released: Cell) -> Iterator[str]:
        """Say what was odd about an answer or essay."""
        copies, at = self.copies(key), self.places.get(key)
        kind = cells.role(released)
        if at is None:
            yield f"The {kind} cell {key} is missing."
            return
        if len(copies) > 1:
            yield f"The {kind} cell {key} is there {len(copies)} times; the last edited one counts."
        if copies and at not in copies:
            yield f"The answer {key} stood in a cell of your own; it counts."
        if self.handed_in[at]["cell_type"] != released["cell_type"]:
            now = self.handed_in[at]["cell_type"]
            yield f"The {kind} cell {key} was turned into a {now} cell; its text counts."

    def flags_of_locked(self, key: str, released: Cell) -> Iterator[str]:
        """Say what was odd about a test or another cell of the course's."""
        copies, at = self.copies(key), self.places.get(key)
        kind = cells.role(released)
        if at is None:
            yield f"The {kind} cell {key} was missing; it is back."
            return
        if len(copies) > 1:
            yield f"The {kind} cell {key} is there {len(copies)} times; it runs once."
        if self.handed_in[at]["cell_type"] != "code" or not self.is_released(at, released):
            yield f"The {kind} cell {key} was changed; the original runs."

    def flags_of_metadata(self) -> Iterator[str]:
        """Say which of nbgrader's notes are missing, changed or invented."""
        noted = {key: cells.metadata(self.handed_in[at]) for key, at in self.places.items()}
        told = {k for k, at in self.places.items() if self.copies(k) and at not in self.copies(k)}
        if bare := sum(not notes and key not in told for key, notes in noted.items()):
            yield (
                f"The grading data of {bare} cells was missing (another editor drops it); they "
                "were recognised by their ids, first lines or what they define."
            )
        for key, notes in noted.items():
            released = cells.metadata(self.blueprint.graded[key])
            names = ("grade_id", "grade", "solution", "locked", "points", "schema_version")
            changed = [n for n in names if notes and notes.get(n) != released.get(n)]
            if changed:
                was = ", ".join(f"{n}: {str(notes.get(n))[:20]}" for n in changed)
                yield f"The grading data of {key} was changed ({was}); the course's own is used."
        for i in self.copies(None):
            notes = cells.metadata(self.handed_in[i])
            if notes.get("grade") or notes.get("solution"):
                name = str(notes.get("grade_id"))[:40]
                yield f"A cell calls itself graded, but the set has no {name!r}; it is ignored."


def as_code(cell: Cell) -> Cell:
    """Return `cell` read as code, whatever the student turned it into."""
    return cell | {"cell_type": "code"}
