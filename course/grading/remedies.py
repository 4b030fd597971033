"""Preprocessors that nbgrader lacks; nbgrader_config.py puts them in their places."""

import re
from typing import Any

from nbgrader.preprocessors import ClearSolutions, DeduplicateIds, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution

from course.grading import cells
from course.grading.output import LIMIT, shorten

HEADER = """\
> **How to work on this problem set.** `python3 -m course start {name}` makes your own copy in `my/`
> and opens it there; `python3 -m course check {name}` tells you which answers are right and why the
> others are not. You write only in the cells that say so, and add cells of your own as you like.

<!-- For authors: generated from solutions/{name}/{name}.ipynb. Change it there, then run:
python3 -m course release
-->
"""


class Stubs(ClearSolutions):
    """Put stubs that name what is missing in the place of the solutions of a code cell."""

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Clear one cell."""
        if cell.cell_type == "code" and is_solution(cell):
            cell.source = clear(cell.source)
            return cell, resources
        return super().preprocess_cell(cell, resources, index)


def clear(source: str) -> str:
    """Return the answer cell `source` with a stub in the place of each solution.

    In a function the stub raises NotImplementedError with the function's name; at the top level it
    binds the names of the solution to None; in CUDA C++ it is a comment.
    """

    def stub(region: re.Match[str]) -> str:
        indent, mark, solution = region.groups()
        if mark == "//":
            lines = ["// your code here"]
        elif indent:
            name = re.findall(r"^\s*def (\w+)", source[: region.start()], flags=re.M)[-1]
            lines = ["# your code here", f'raise NotImplementedError("{name} is not written yet")']
        else:
            names = cells.defines({"cell_type": "code", "source": solution})
            lines = [f"{name} = None  # your answer" for name in sorted(names, key=solution.find)]
        return "\n".join(indent + line for line in lines)

    return cells.SOLUTION.sub(stub, source)


class Header(NbGraderPreprocessor):
    """Tell the student, below the title, how to work on the set."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Insert the header cell."""
        from nbformat.v4 import new_markdown_cell

        text = HEADER.format(name=resources["nbgrader"]["assignment"])
        nb.cells.insert(1, new_markdown_cell(text, id="how-to-work"))
        return nb, resources


class DropDuplicates(DeduplicateIds):
    """Keep the last of several cells with one grade_id, and drop the others.

    nbgrader blanks their metadata instead, which stops the whole batch (jupyter/nbgrader#1083).
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Drop what the library would blank."""
        nb, resources = super().preprocess(nb, resources)
        nb.cells = [cell for cell in nb.cells if cell.metadata.get("nbgrader") != {}]
        return nb, resources


class TameOutputs(NbGraderPreprocessor):
    """Keep outputs from costing points or filling the disk.

    Text on stderr becomes text on stdout (nbgrader gives no points to a test cell that warns), the
    value of a test cell's last expression is dropped (nbgrader would take it for a score), and a
    cell keeps at most LIMIT of output.
    """

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Tame the outputs of one cell."""
        if cell.cell_type != "code":
            return cell, resources
        left, kept = LIMIT, []
        for output in cell.outputs:
            if output.output_type == "execute_result" and is_grade(cell):
                continue
            if output.output_type == "stream":
                output.name = "stdout"
                output.text = shorten(output.text, left)
                left -= len(output.text)
            elif output.output_type != "error":
                size = len(str(output.data))
                if size > left:
                    continue
                left -= size
            kept.append(output)
        cell.outputs = kept
        return cell, resources
