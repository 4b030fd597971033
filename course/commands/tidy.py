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
    from course import ROOT, Problem, notebooks

    untidy = []
    for path in [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("solutions/*/*.ipynb")]:
        name = path.relative_to(ROOT).as_posix()
        try:
            notebook = notebooks.read(path)
            tidy = notebooks.canonical(notebook)
        except ValueError as error:
            raise Problem(f"{name}: {error}") from None
        if path.read_bytes() != tidy.encode():
            untidy.append(name)
            if not args.check:
                notebooks.write(path, notebook)
    state = "is not tidy" if args.check else "is tidy now"
    print("\n".join(f"{name} {state}." for name in sorted(untidy)) or "All notebooks are tidy.")
    if untidy and args.check:
        print("Mend it with: python3 -m course tidy")
        return 1
    return 0
