"""``grade``: grade a folder of submissions."""

import argparse
from pathlib import Path

HELP = "grade a folder of submissions with nbgrader: points, messages, feedback"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``grade``."""
    parser.add_argument("set", metavar="SET", help="for example ps2")
    parser.add_argument(
        "--from",
        dest="submissions",
        required=True,
        type=Path,
        metavar="FOLDER",
        help="holds a folder for each student with the student's notebook in it",
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
    import os
    import secrets

    from course import Problem, notebooks
    from course.grading import grade, release, sets
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
    print(
        f"Written to {args.out}: results.json, results.csv, feedback/, submitted/ (what ran), and "
        "seed.txt: set COURSE_SECRET_SEED to what it says to grade with the same inputs again."
    )
    return 0
