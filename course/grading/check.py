"""A student's own look at a notebook: which answers are right, and why the others are not."""

import builtins
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course import ROOT, Problem, notebooks
from course.grading import intake, score, sets
from course.grading.cells import Blueprint, Notebook, defines, uses
from course.grading.engine import Engine, Limits, code_cells, run_whole
from course.grading.repair import Unreadable
from course.grading.score import Question
from course.grading.sets import ProblemSet

#: An answer takes a second or two; whoever waits for an endless loop should not wait a minute.
LIMITS = Limits(cell_seconds=20.0, notebook_seconds=80.0, least_seconds=3.0)
INDENT = " " * 16
PYTHONS = {name for name in dir(builtins) if not name.startswith("_")}


@dataclass(frozen=True)
class Target:
    """A notebook to check, and the set it belongs to."""

    path: Path
    problem_set: ProblemSet
    note: str = ""
    """What to say about the choice of the file."""


def targets(what: str | None, root: Path = ROOT) -> list[Target]:
    """Return what to check: a set by name, a notebook by path, or every set that was started.

    Raises
    ------
    Problem
        If there is no such set or file, or nothing was started.
    """
    if what is None:
        found = [started(problem_set) for problem_set in sets.all_sets(root)]
        if not any(found):
            first = next(iter(sets.all_sets(root))).name
            raise Problem(
                f"You have not started a problem set. Begin with: python3 -m course start {first}"
            )
        return [target for target in found if target]
    path = Path(what)
    if path.suffix == ".ipynb" or path.exists():
        return [target_at(path, root)]
    problem_set = sets.find(what, root)
    target = started(problem_set)
    if target is None:
        work, command = problem_set.relative(problem_set.work), f"python3 -m course start {what}"
        there = [problem_set.relative(path) for path in intake.notebooks_in(root / "my")]
        others = f", and no answers of the set in {', '.join(there[:5])}" if there else ""
        raise Problem(f"There is no {work} yet{others}. Begin with: {command}")
    return [target]


def started(problem_set: ProblemSet) -> Target | None:
    """Return the student's copy of the set, also if it was renamed or moved within my/.

    Raises
    ------
    Problem
        If it is not where `start` put it and several files could be it.
    """
    plan, folder = blueprint(problem_set), problem_set.root / "my"
    found = [path for path in intake.notebooks_in(folder) if intake.holds_answers(path, plan)]
    names = [problem_set.relative(path) for path in found if path != problem_set.work]
    if problem_set.work.exists():
        listed = " and ".join(names)
        return Target(problem_set.work, problem_set, listed and f"Not checked: {listed}.")
    if len(found) > 1:
        raise Problem(
            f"There is no {problem_set.relative(problem_set.work)}, and several files hold answers "
            f"of the set: {', '.join(names)}. Say which: python3 -m course check {names[0]}"
        )
    return Target(found[0], problem_set) if found else None


def target_at(path: Path, root: Path) -> Target:
    """Return the target for the notebook at `path`, whose set its name or its cells tell."""
    if not path.is_file():
        what = f"{path} is a folder, and" if path.is_dir() else f"There is no notebook {path}:"
        example = next(iter(sets.all_sets(root))).name
        raise Problem(
            f"{what} check takes the path of an .ipynb file, or a set, for example {example}. "
            "Without either it checks all sets that you have started."
        )
    known = sets.all_sets(root)
    by_name = [s for s in known if path.name == s.filename]
    for problem_set in by_name or known:
        if by_name or intake.holds_answers(path, blueprint(problem_set)):
            return Target(path, problem_set)
    names = ", ".join(s.name for s in known)
    raise Problem(f"{path} holds no answers of any problem set. The sets are: {names}.")


def blueprint(problem_set: ProblemSet) -> Blueprint:
    """Return the released notebook of the set."""
    sets.require_release(problem_set)
    return Blueprint(notebooks.read(problem_set.release))


def check(target: Target, engine: Engine) -> int:
    """Print one line for each question of a notebook; return 0 if all that tests judge is right."""
    plan = blueprint(target.problem_set)
    print(f"{target.problem_set.relative(target.path)}")
    try:
        submission = intake.take(target.path, plan)
    except Unreadable as error:
        print(f"  It cannot be checked: {error}.")
        return 1
    if target.path.name != target.problem_set.filename:
        print(
            note(f"Hand it in as {target.problem_set.filename}; it is called {target.path.name}.")
        )
    for flag in [target.note, *submission.flags, *shadows(submission.notebook)]:
        if flag:
            print(note(flag))
    results = run_whole(engine, submission.notebook, limits=LIMITS)
    questions, essays = score.questions(plan, submission, results), plan.of("essay")
    for question in questions:
        title = plan.title_of(question.id)
        print(line(question, title, by_hand=question.id in essays))
    judged = [question for question in questions if question.id not in essays]
    earned, most = sum(q.score for q in judged), sum(q.max for q in judged)
    by_hand = sum(q.max for q in questions) - most
    rest = f"; {by_hand:g} more are graded by hand" if by_hand else ""
    print(f"  {earned:g} of {most:g} points{rest}")
    return 0 if all(question.state == "right" for question in judged) else 1


def shadows(notebook: Notebook) -> Iterator[str]:
    """Yield a sentence for each of Python's own functions whose name another cell has taken."""
    code = code_cells(notebook)
    for cell in code:
        for name in sorted(defines(cell) & PYTHONS):
            users = [c["id"] for c in code if c is not cell and name in uses(c)]
            if users:
                yield (
                    f"The cell {cell['id']} defines {name}, and so {name} in {' and '.join(users)} "
                    "is no longer Python's: give yours another name."
                )


def note(text: str) -> str:
    """Return a line for something worth knowing."""
    return textwrap.fill(text, 96, initial_indent="  note: ", subsequent_indent="        ")


def line(question: Question, title: str, *, by_hand: bool) -> str:
    """Return the line of one question, called as its heading and its cell are.

    Below it stands why it is not right.
    """
    state, message = question.state, question.message
    if by_hand:
        state, message = "by hand", "" if state == "by hand" else "Not answered."
    earned = "–" if by_hand else f"{question.score:g}"
    first = f"  {state:<14}{earned:>4} / {question.max:<4g} {title} ({question.id})"
    if state == "right" or (state == "not answered" and message == score.NOT_ANSWERED):
        return first
    below = [
        textwrap.fill(text, 96, initial_indent=INDENT, subsequent_indent=INDENT)
        for text in message.splitlines()
    ]
    return "\n".join([first, *below])
