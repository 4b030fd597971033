"""The figures of the course. They draw what others computed, and never compute it.

Each function returns a matplotlib Figure in the style of the course; `show` displays it with words
for those who do not see it:

    figure = figures.flop_breakdown({"attention": 2.1e9, "mlp": 4.3e9}, total=6.4e9)
    figures.show(figure, alt="Bar chart: of 6.4 GFLOP, attention does a third, the MLP two thirds.")

A figure of one's own gets the same looks inside ``with figures.context():``.
"""

from course.figures.charts import flop_breakdown, roofline
from course.figures.diagrams import MATMULS, attention_shapes, transformer_block
from course.figures.display import show
from course.figures.pictures import toolchain
from course.figures.style import context

__all__ = [
    "MATMULS",
    "attention_shapes",
    "context",
    "flop_breakdown",
    "roofline",
    "show",
    "toolchain",
    "transformer_block",
]
