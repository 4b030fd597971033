"""``release``: make assignments/ from solutions/."""

import argparse

HELP = "make assignments/ from solutions/, or check that it is up to date"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``release``."""
    parser.add_argument("sets", nargs="*", metavar="SET", help="default: all of them")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if something differs"
    )


def run(args: argparse.Namespace) -> int:
    """Release, or compare with what is released; return the exit code."""
    from course.grading.release import release

    return release(args.sets, check=args.check)
