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
        help="gets results.json, results.csv, feedback/STUDENT.html and the seed; may hold earlier "
        "results: who changed nothing keeps them",
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
    from course import notebooks
    from course.grading import again, grade, gradebook, release, results, sets
    from course.grading.cells import Blueprint
    from course.grading.stock import Stock

    problem_set = sets.find(args.set)
    folders = grade.students(args.submissions)
    blueprint = Blueprint(notebooks.parse(release.build(problem_set)))
    seed, earlier = again.prepare(args.out, args.submissions, problem_set.name, blueprint)
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
            earlier=earlier,
        )
    print(grade.report(problem_set.name, args.submissions, entries))
    if earlier:
        print(again.describe(earlier, results.read(args.out), folders))
    try:
        gradebook.build(args.out, problem_set)
        entries = results.write(args.out, gradebook.collect(args.out, problem_set.name))
    except Exception as error:  # the results are written: they do without it
        print(
            "The gradebook.db for points given by hand could not be written, and the results are "
            f"without such points: {type(error).__name__}: {error}"
        )
    if waiting := grade.waiting(entries):
        print(waiting)
    print(
        f"Written to {args.out}: results.json, results.csv, feedback/; gradebook.db, in which a "
        "person gives points; and seed.txt: set COURSE_SECRET_SEED to what it says to grade with "
        "the same inputs again."
    )
    return 0
