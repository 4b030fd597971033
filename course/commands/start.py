"""``start``: begin a problem set."""

import argparse
import contextlib
import os
import socket
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: What a terminal or a kernel of Jupyter's has in its environment.
INSIDE = ("JUPYTER_SERVER_ROOT", "JPY_SESSION_NAME", "JPY_PARENT_PID", "JUPYTERHUB_SERVICE_PREFIX")

HELP = "copy a problem set to my/ and open it there; later, open it again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``start``."""
    parser.add_argument("set", metavar="SET", help="for example ps2")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, do not open a browser"
    )


def run(args: argparse.Namespace) -> int:
    """Copy the set if it is not there yet, and open it; return the exit code."""
    from course.commands import lab
    from course.grading import sets

    problem_set = sets.find(args.set)
    copied = sets.start(problem_set)
    work = problem_set.relative(problem_set.work)
    print(f"{work} is your copy." if copied else f"{work} was there: you go on with it.")
    if address := served_at(problem_set.work, problem_set.root):
        print(f"JupyterLab is running already. There it is\n\n    {address}\n")
        if not args.no_browser and not inside() and lab.can_show_a_browser():
            webbrowser.open(address)
        return 0
    if inside():
        print(f"You are in Jupyter already: open {work} in its list of files, on the left.")
        return 0
    return lab.serve(problem_set.work, browser=not args.no_browser)


def inside() -> bool:
    """Say whether this is a terminal or a kernel of Jupyter's, where the page is open already."""
    return any(name in os.environ for name in INSIDE)


def served_at(notebook: Path, root: Path) -> str | None:
    """Return the address of `notebook` in a JupyterLab that runs in the folder `root`, if any."""
    if "JUPYTERHUB_SERVICE_PREFIX" in os.environ:
        return None  # the address that it knows of itself is not the one that a browser sees
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers():
        if Path(server["root_dir"]).resolve() == root.resolve() and answers(server):
            address = server["url"] + "lab/tree/" + quote(notebook.relative_to(root).as_posix())
            return f"{address}?token={server['token']}" if server["token"] else address
    return None


def answers(server: dict[str, Any]) -> bool:
    """Say whether somebody listens where `server` says; its note may have outlived it."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((server["hostname"], server["port"]), timeout=2.0),
    ):
        return True
    return False
