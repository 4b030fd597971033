"""The figures of the course. They draw what others computed, and never compute it.

Each function returns a matplotlib Figure in the style of the course; `show` displays it with words
for those who do not see it:

    figure = figures.flop_breakdown({"attention": 2.1e9, "mlp": 4.3e9}, total=6.4e9)
    figures.show(figure, alt="Bar chart: of 6.4 GFLOP, attention does a third, the MLP two thirds.")

What a trace counted is drawn from its plain data, and described from it too:

    load, store = trace.to_dict()["launches"][0]["patterns"]
    figures.show(figures.access_pattern(load), alt=figures.describe_access(load))

A figure of one's own gets the same looks inside ``with figures.context():``.
"""

from course.figures.access import access_pattern, describe_access
from course.figures.banks import bank_map, describe_banks
from course.figures.charts import flop_breakdown, roofline
from course.figures.course_map import course_map
from course.figures.diagrams import MATMULS, attention_shapes, transformer_block
from course.figures.display import show
from course.figures.first_kernel import threads_and_elements, unit_chart
from course.figures.growth import growth, race
from course.figures.lanes import lanes
from course.figures.measured import bars, curves, points
from course.figures.pictures import toolchain
from course.figures.shares import describe_bars, describe_curves, share_bars, share_curves
from course.figures.source import describe_source, source_heat
from course.figures.style import context

__all__ = [
    "MATMULS",
    "access_pattern",
    "attention_shapes",
    "bank_map",
    "bars",
    "context",
    "course_map",
    "curves",
    "describe_access",
    "describe_banks",
    "describe_bars",
    "describe_curves",
    "describe_source",
    "flop_breakdown",
    "growth",
    "lanes",
    "points",
    "race",
    "roofline",
    "share_bars",
    "share_curves",
    "show",
    "source_heat",
    "threads_and_elements",
    "toolchain",
    "transformer_block",
    "unit_chart",
]
