"""``grade``: grade a folder of submissions."""

import argparse
from pathlib import Path

HELP = "grade a folder of submissions with nbgrader: points, messages, feedback"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``grade``."""
    parser.add_argument("set", metavar="SET", help="for example ps2")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--from",
        dest="submissions",
        type=Path,
        metavar="FOLDER",
        help="holds a folder for each student with the student's notebook in it",
    )
    what.add_argument(
        "--by-hand",
        action="store_true",
        help="add the points that were given in formgrader to the results in --out",
    )
    parser.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="FOLDER",
        help="gets results.json, results.csv, feedback/STUDENT.html and the seed",
    )


def run(args: argparse.Namespace) -> int:
    """Grade; return 0 also if some submissions could not be read."""
    return by_hand(args) if args.by_hand else grade_all(args)


def by_hand(args: argparse.Namespace) -> int:
    """Write the results again, with the points that a person gave; return the exit code."""
    from course.grading import grade, gradebook, results, sets

    record = gradebook.collect(args.out, sets.find(args.set).name)
    entries = results.write(args.out, record)
    waiting = grade.waiting(entries)
    print(f"Written again with the points given by hand: {args.out}. {waiting}".rstrip())
    return 0


def grade_all(args: argparse.Namespace) -> int:
    """Grade a folder of submissions; return the exit code."""
    import os
    import secrets

    from course import Problem, notebooks
    from course.grading import grade, gradebook, release, sets
    from course.grading.cells import Blueprint
    from course.grading.stock import Stock

    problem_set = sets.find(args.set)
    if args.out.resolve() == args.submissions.resolve() or (args.out / "results.json").exists():
        raise Problem(
            f"{args.out} holds submissions or earlier results, and grading would write over them. "
            "Give --out a folder that is new or empty."
        )
    folders = grade.students(args.submissions, args.out)
    blueprint = Blueprint(notebooks.parse(release.build(problem_set)))
    seed = os.environ.get("COURSE_SECRET_SEED") or secrets.token_hex(16)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "seed.txt").write_text(seed + "\n", encoding="utf-8")
    workers = grade.worker_count(len(folders))
    with Stock(problem_set, workers) as engine:
        entries = grade.grade(
            problem_set.name,
            blueprint,
            args.submissions,
            args.out,
            engine,
            seed=seed,
            workers=workers,
        )
    print(grade.report(problem_set.name, args.submissions, entries))
    try:
        gradebook.build(args.out, problem_set)
    except Exception as error:  # the results are written: they do without it
        print(f"There is no gradebook.db for points given by hand: {type(error).__name__}: {error}")
    print(
        f"Written to {args.out}: results.json, results.csv, feedback/; gradebook.db, in which a "
        "person gives points; and seed.txt: set COURSE_SECRET_SEED to what it says to grade with "
        "the same inputs again."
    )
    return 0
