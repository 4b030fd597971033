"""``doctor``: say what this machine is and what it can do."""

import argparse

HELP = "say what this machine is, what differs from the pins, what it can do"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``doctor``."""
    parser.add_argument("--json", action="store_true", help="the same as data")


def run(args: argparse.Namespace) -> int:
    """Print the report; return 0, whatever it says."""
    import json

    from course import doctor

    report = doctor.examine()
    print(json.dumps(report, indent=1) if args.json else doctor.describe(report))
    return 0
