"""``tidy``: bring the committed notebooks into their one form."""

import argparse

HELP = "strip outputs from lectures and solutions and write them in canonical form"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``tidy``."""
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if something differs"
    )


def run(args: argparse.Namespace) -> int:
    """Tidy, or list what is not tidy; return the exit code."""
    from course.notebooks import tidy

    untidy = tidy(check=args.check)
    state = "is not tidy" if args.check else "is tidy now"
    print("\n".join(f"{name} {state}." for name in untidy) or "All notebooks are tidy.")
    if untidy and args.check:
        print("Mend it with: python3 -m course tidy")
        return 1
    return 0
