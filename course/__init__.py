"""GPUs and FlashAttention: the package behind the course.

Only the standard library may be imported here, in words that Python 3.6 can read:
``python3 -m course`` runs before anything else is installed, and on whatever Python there is.
"""

from pathlib import Path

#: The folder that holds the whole course: course/, notebooks/, assignments/ and the rest.
ROOT = Path(__file__).resolve().parent.parent


class Problem(Exception):
    """Something that the person at the keyboard can mend; the message is one clear paragraph.

    The command line prints the message, without a traceback, and exits with code 1.
    """
