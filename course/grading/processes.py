"""Ends what a notebook started, to the last process.

On Linux `keep` puts a keeper between us and a notebook. The kernel hands it every process below it
whose parent has ended, whatever session that process made for itself, so nothing gets away.
Elsewhere `kill_tree` ends what descends from the notebook by living parents; a process whose parent
has ended before, such as a daemon, stays.
"""

import contextlib
import os
import sys

import psutil

#: From <linux/prctl.h>.
PR_SET_CHILD_SUBREAPER = 36


def kill_tree(pid: int) -> None:
    """Kill the process `pid` and everything it started."""
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        kill_children(root)
        root.kill()


def kill_children(root: psutil.Process) -> None:
    """Kill everything that the process `root` started; it may be starting more."""
    for _ in range(100):
        family = root.children(recursive=True)
        living = [process for process in family if is_alive(process)]
        if not living:
            return
        for process in living:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(living, timeout=0.1)


def is_alive(process: psutil.Process) -> bool:
    """Say whether `process` runs: one that has ended may wait for its parent to hear of it."""
    try:
        return process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def adopt_orphans() -> None:
    """Become the parent of every process below this one whose own parent ends (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def keep() -> bool:
    """Fork into a keeper and a child; return True in the keeper once the child is gone.

    When the child ends, the keeper kills what the child has left behind. Killing the keeper's tree
    kills the child and all that it started.
    """
    adopt_orphans()
    child = os.fork()
    if child == 0:
        return False
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    kill_children(psutil.Process())
    return True
