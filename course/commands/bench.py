"""``bench``: measure ours beside its peers."""

import argparse
from pathlib import Path

HELP = "measure ours beside its peers, in one run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``bench``."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="which benchmark; without a name they are listed"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the records there too")


def run(args: argparse.Namespace) -> int:
    """Run a benchmark and print its table; return the exit code."""
    from course import Problem, bench

    if args.json and not args.json.resolve().parent.is_dir():
        raise Problem(f"There is no folder {args.json.parent} to write {args.json.name} into.")
    result = bench.measure(args.name)
    print(bench.table(result))
    if args.json:
        bench.write(result, args.json)
    return 0
