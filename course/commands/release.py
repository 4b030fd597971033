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
    from tqdm import tqdm

    from course.grading import release, sets

    chosen = [sets.find(name) for name in args.sets] or sets.all_sets()
    texts = {
        problem_set: text
        for problem_set in tqdm(chosen, desc="release", unit="set", leave=False)
        if (text := release.outdated(problem_set)) is not None
    }
    strays = release.strays(sets.all_sets())
    for problem_set, text in texts.items():
        name = problem_set.relative(problem_set.release)
        if args.check:
            print(f"{name} is not what {problem_set.relative(problem_set.source)} makes.")
        else:
            problem_set.release.parent.mkdir(parents=True, exist_ok=True)
            problem_set.release.write_text(text, encoding="utf-8", newline="\n")
            print(f"{name} is new.")
    for name in strays:
        print(f"{name} is made from nothing in solutions/: delete it.")
    if args.check and texts:
        print("Mend it with: python3 -m course release")
    if not texts and not strays:
        print(f"assignments/ is what solutions/ makes ({len(chosen)} checked).")
    return 1 if strays or (args.check and texts) else 0
