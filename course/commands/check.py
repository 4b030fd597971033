"""``check``: say which answers are right."""

import argparse

HELP = "run the tests of a problem set on your answers: one line a question"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``check``."""
    parser.add_argument(
        "what",
        nargs="?",
        metavar="SET|PATH",
        help="a set, for example ps2, or a notebook (default: all sets that you have started)",
    )


def run(args: argparse.Namespace) -> int:
    """Check what was named; return 0 if every answer that a test judges is right."""
    from course.grading import check
    from course.grading.fast import Fast

    with Fast() as engine:
        return max(check.check(target, engine) for target in check.targets(args.what))
