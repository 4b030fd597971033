"""Input cases by seed: public for students, secret when grading.

Everything in the repository is open, the checks too. What a student cannot know is the numbers
that a grader will ask about: they come from ``COURSE_SECRET_SEED``, which the instructor sets and
which is in no repository. Without it a fixed public seed is used, so that a check says the same
thing every time.
"""

import hashlib
import os

import numpy as np

SECRET = "COURSE_SECRET_SEED"
PUBLIC = "public"


def cases(set_name: str, question: str) -> np.random.Generator:
    """Return the source of random inputs for one question.

    Parameters
    ----------
    set_name
        Name of the problem set, such as ``"ps2_flop_counter"``.
    question
        Name of the question, such as ``"bmm_flops"``: each has numbers of its own.

    Returns
    -------
    numpy.random.Generator
        The same stream for the same set, question and seed, on every machine.
    """
    seed = os.environ.get(SECRET) or PUBLIC
    digest = hashlib.sha256("\0".join((set_name, question, seed)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


def distinct(rng: np.random.Generator, count: int, low: int, high: int) -> list[int]:
    """Return `count` different integers from `low` to `high`, both included, in random order.

    Different sizes show a swapped pair: in a square, rows and columns look alike.
    """
    return [int(n) for n in rng.choice(np.arange(low, high + 1), size=count, replace=False)]


def odd(rng: np.random.Generator, low: int, high: int) -> int:
    """Return an odd integer from `low` to `high`: no multiple of a tile."""
    return int(rng.choice([n for n in range(low, high + 1) if n % 2]))


def primes(rng: np.random.Generator, count: int, low: int, high: int) -> list[int]:
    """Return `count` different primes from `low` to `high`, in random order.

    A product of different primes tells which factors are in it, so a wrong count shows its mistake.
    """
    candidates = [n for n in range(max(low, 2), high + 1) if _is_prime(n)]
    if len(candidates) < count:
        raise ValueError(f"there are only {len(candidates)} primes from {low} to {high}")
    return [int(n) for n in rng.choice(candidates, size=count, replace=False)]


def _is_prime(n: int) -> bool:
    return all(n % d for d in range(2, int(n**0.5) + 1))
