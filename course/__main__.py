"""``python3 -m course``: set the course up where that is still to do, then run a command.

This file and course/supported.py keep to words that Python 3.6 can read, so that an old
interpreter gets to say what is wrong with it.
"""

import sys

from course import supported


def main() -> int:
    """Run the command line; return the exit code."""
    complaint = supported.complaint()
    if complaint:
        sys.stderr.write(complaint + "\n")
        return 1
    from course import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
