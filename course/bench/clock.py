"""Timing on a real GPU, as every benchmark of kernels does it."""

import itertools
import statistics
from collections.abc import Callable

import torch

from course import Problem, gpu


def need_a_gpu(name: str) -> None:
    """Refuse to run benchmark `name` where kernels run on the virtual GPU.

    Raises
    ------
    Problem
        There is no real GPU here.
    """
    if gpu.device().kind != "cuda":
        raise Problem(
            f"bench {name} reads the clock of a GPU, and kernels run on the virtual GPU here. "
            f"What an H200 gave is in course/measured/nvidia-h200/{name}.json."
        )


def seconds(launch: Callable[..., object], *arguments: object, launches: int = 10) -> float:
    """Return the median time of ``launch(*arguments)``, by events, after two to warm up."""
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(launches + 1)]
    launch(*arguments)
    launch(*arguments)
    marks[0].record()
    for mark in marks[1:]:
        launch(*arguments)
        mark.record()
    torch.cuda.synchronize()
    times = (before.elapsed_time(after) for before, after in itertools.pairwise(marks))
    return statistics.median(times) / 1e3
