"""The lectures in their order, the problem sets after them, and which of both are here today."""

from dataclasses import dataclass

from course import ROOT


@dataclass(frozen=True)
class Lecture:
    """A lecture and the problem set that follows it.

    Attributes
    ----------
    name : str
        The stem of its notebook; the first two digits are its number.
    title : str
        Its heading.
    problem_set : str or None
        The folder of the problem set after it.
    """

    name: str
    title: str
    problem_set: str | None = None

    @property
    def number(self) -> str:
        """Two digits, such as ``06``."""
        return self.name[:2]

    @property
    def ready(self) -> bool:
        """Whether its notebook is here."""
        return (ROOT / "notebooks" / f"{self.name}.ipynb").is_file()

    @property
    def problem_set_ready(self) -> bool:
        """Whether its problem set is here, as students get it."""
        name = self.problem_set
        return name is not None and (ROOT / "assignments" / name / f"{name}.ipynb").is_file()


@dataclass(frozen=True)
class Part:
    """Lectures that answer one question together."""

    question: str
    lectures: tuple[Lecture, ...]


PARTS = (
    Part(
        "How does a GPU work?",
        (
            Lecture("00_start_here", "Start here"),
            Lecture("01_bitter_lesson", "The Bitter Lesson"),
            Lecture("02_gpu_architecture", "GPU architecture"),
            Lecture("03_simt_and_warps", "SIMT and warps"),
            Lecture("04_global_memory", "Global memory"),
            Lecture("05_shared_memory", "Shared memory", "ps1_puzzles"),
        ),
    ),
    Part(
        "What limits its speed?",
        (
            Lecture("06_counting_flops", "Counting FLOPs", "ps2_flop_counter"),
            Lecture("07_roofline", "Roofline", "ps3_theory"),
        ),
    ),
    Part(
        "How does a matmul get fast?",
        (
            Lecture("08_matmul_by_tiles", "Matmul by tiles"),
            Lecture("09_raw_cuda", "Raw CUDA", "ps4_matmul"),
        ),
    ),
    Part(
        "How does attention get fast?",
        (
            Lecture("10_online_softmax", "Online softmax"),
            Lecture("11_flash_attention", "FlashAttention", "ps5_flash_attention"),
            Lecture("12_flash_attention_backward", "The backward pass", "ps6_backward"),
        ),
    ),
    Part(
        "And all of it on Hopper?",
        (
            Lecture("13_tensor_cores", "Tensor cores"),
            Lecture("14_tiles", "Tiles", "ps7_tensor_cores"),
            Lecture("15_tma_and_mbarrier", "TMA and mbarrier", "ps8_async"),
            Lecture("16_wgmma", "wgmma", "ps9_hopper"),
            Lecture("17_hopper_attention", "FlashAttention on Hopper"),
            Lecture("18_linear_attention", "Linear attention", "capstone"),
        ),
    ),
)

LECTURES = tuple(lecture for part in PARTS for lecture in part.lectures)
PROBLEM_SETS = tuple(lecture.problem_set for lecture in LECTURES if lecture.problem_set)


def describe() -> str:
    """Return the order of the lectures in words, for those who do not see the map."""
    return " ".join(
        f"{part.question} {'; '.join(map(_describe, part.lectures))}." for part in PARTS
    )


def _describe(lecture: Lecture) -> str:
    words = f"{lecture.number} {lecture.title}{_mark(lecture.ready)}"
    if lecture.problem_set:
        words += f", then {lecture.problem_set}{_mark(lecture.problem_set_ready)}"
    return words


def _mark(ready: bool) -> str:
    return " (ready)" if ready else ""
