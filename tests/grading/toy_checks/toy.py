"""Checks of the toy set: what a module of course.checks is like, in a few lines."""

from course.checks import Wrong
from course.checks.cases import cases
from course.checks.question import Question


def matmul_flops(function):
    question = Question("toy", "matmul_flops", function)
    for _ in range(2):
        m, n, k = (int(i) for i in question.rng.integers(2, 50, size=3))
        question.ask(m, n, k).gives(
            2 * m * n * k, known=[(m * n * k, "Count the multiply and the add.")]
        )
    question.passed()


def square_bytes(function):
    question = Question("toy", "square_bytes", function)
    n = int(question.rng.integers(3, 50))
    question.ask(n).gives(4 * n * n, known=[(n * n, "A float has four bytes.")])
    question.passed()


def block_flops(function):
    question = Question("toy", "block_flops", function)
    n = int(question.rng.integers(3, 50))
    question.ask(n).gives(6 * n**3, known=[(2 * n**3, "There are three of them.")])
    question.passed()


def ridge(value):
    if value is None:
        raise Wrong("ridge is not answered yet.")
    if type(value) not in (int, float) or abs(value - 295) > 1:
        raise Wrong(f"{value!r} is not the ridge point.")
    print("ridge: right")


def seed_of_the_day():
    return int(cases("toy", "seed").integers(10**9))
