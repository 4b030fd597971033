"""``start``: begin a problem set."""

import argparse

HELP = "copy a problem set to my/ and open it there; later, open it again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``start``."""
    parser.add_argument("set", metavar="SET", help="for example ps2")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, do not open a browser"
    )


def run(args: argparse.Namespace) -> int:
    """Copy the set if it is not there yet, and open it; return the exit code."""
    from course.commands import lab
    from course.grading import sets

    problem_set = sets.find(args.set)
    copied = sets.start(problem_set)
    work = problem_set.relative(problem_set.work)
    print(f"{work} is your copy." if copied else f"{work} was there: you go on with it.")
    return lab.serve(problem_set.work, browser=not args.no_browser)
