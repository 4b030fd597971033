"""The command line: ``python3 -m course COMMAND``."""

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from course import Problem, environment

#: Each is a module of course.commands with HELP, add_arguments(parser) and run(args) -> exit code.
COMMANDS = ("lab", "test", "doctor", "start", "check", "release", "grade", "tidy", "bench")

#: What runs where the packages are not there yet.
WITHOUT_ENVIRONMENT = ("doctor",)


def main(arguments: list[str]) -> int:
    """Run the command that `arguments` name (``lab`` if none) and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # a folder's name or a pip message may hold letters that the console lacks
        stream.reconfigure(errors="backslashreplace")
    try:
        return _run(arguments)
    except BrokenPipeError:
        if not _reader_has_gone():
            raise
        return 1


def _run(arguments: list[str]) -> int:
    try:
        args = parse(arguments)
        environment.enter(arguments, build=args.command not in WITHOUT_ENVIRONMENT)
        return args.run(args)
    except Problem as problem:
        print(problem, file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if os.environ.get("COURSE_ENV") != "active":
            raise  # not for want of a package: those of .venv are known to be there
        print(
            f"COURSE_ENV=active: {sys.executable} lacks {error.name}, which {args.command} needs. "
            "Install it there, or start without COURSE_ENV to let the course make its own .venv.",
            file=sys.stderr,
        )
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    finally:
        sys.stdout.flush()


def _reader_has_gone() -> bool:
    """Say whether nobody reads what is printed any more, as behind ``| head``; then print no more.

    A pipe of the command's own may be the broken one: then what is printed still has a reader.
    """
    try:
        print(flush=True)
    except BrokenPipeError:
        # Python prints what is left when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; without a command it is that of ``lab``.

    Raises
    ------
    Problem
        If there is no such command; the message suggests one.
    """
    first = arguments[0] if arguments else ""
    if not first or (first.startswith("-") and first not in ("-h", "--help")):
        arguments = ["lab", *arguments]
    elif not first.startswith("-") and first not in COMMANDS:
        raise Problem(unknown("command", first, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="python3 -m course",
        description="GPUs and FlashAttention. Without a command: lab.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=100),  # a line a command
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(f"course.commands.{name}")
        command = commands.add_parser(
            name, help=module.HELP, description=module.HELP, allow_abbrev=False
        )
        command.set_defaults(run=module.run, passed_on=None)
        module.add_arguments(command)
    args, rest = parser.parse_known_args(arguments)
    if args.passed_on is not None:  # a command that hands what it does not know to a program
        args.passed_on = rest
    elif rest:
        parser.error(f"{args.command} does not know {' '.join(rest)}; see {args.command} --help")
    return args


def unknown(kind: str, word: str, known: Sequence[str]) -> str:
    """Return the message for a `word` that is none of the `known` ones of that `kind`."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    guess = f" Did you mean {close[0]}?" if close else ""
    return f"There is no {kind} {word!r}.{guess} There are: {', '.join(known)}."
