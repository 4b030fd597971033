"""What test cells import: questions, comparisons, theory answers and input cases.

A test cell is one call, for example ``ps2.matmul_flops(matmul_flops)``. It prints one line when the
answer is right, and raises `Wrong`, whose message is for the student, when it is not.

The modules, each leaning only on those before it: `wrong` (the exception), `plain` (what may be an
answer, and its form on a wire), `cases` (inputs from a seed), `compare` (is it right, and if not,
why), `theory` (answers that are one number), `question` (asks a student's function), and one module
for each problem set.
"""

from course.checks.wrong import Wrong

__all__ = ["Wrong"]
