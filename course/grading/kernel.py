"""What the kernel of a graded notebook does differently; an extension of IPython.

nbgrader_config.py has it loaded by the kernels in which nbgrader runs submissions. A cell cannot
end such a kernel by ``exit()``, which would cost all later cells. What a cell does to
``sys.stdout`` ends with it: a kernel without a ``sys.stdout`` answers no more. And a flood of
output is cut where it arises, before it has to pass through the kernel's sockets.
"""

import os
import sys
import warnings
from typing import Any

from course.grading.output import LIMIT, Kept


def load_ipython_extension(shell: Any) -> None:
    """Change `shell`; IPython calls this."""
    outputs = Outputs()
    shell.events.register("pre_run_cell", outputs.begin)
    shell.events.register("post_run_cell", outputs.end)
    forbid_exit(shell)


class Outputs:
    """Gives each cell an output of its own, and the kernel what it needs of that."""

    def __init__(self) -> None:
        self._streams, self._process, self._kept = (sys.stdout, sys.stderr), os.getpid(), Kept(0)

    def begin(self, info: object) -> None:
        """Begin a cell."""
        sys.stdout = sys.stderr = self._kept = Kept(LIMIT)

    def end(self, result: object) -> None:
        """End a cell."""
        if os.getpid() != self._process:
            os._exit(0)  # the cell has forked, and this is the child: the rest is its parent's
        sys.stdout, sys.stderr = self._streams
        sys.stdout.write(self._kept.text())


def forbid_exit(shell: Any) -> None:
    """Have ``exit()`` end its cell only, without IPython's advice on other ways to exit."""
    shell.ask_exit = refuse_to_exit
    warnings.filterwarnings("ignore", message="To exit: use")


def refuse_to_exit() -> None:
    """Raise what ``exit()`` meets in place of the end of the session."""
    raise SystemExit("a cell cannot end the session here: remove exit()")
