"""``lab``: open the course in JupyterLab."""

import argparse
import difflib
import os
import secrets
import socket
import sys
import threading
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import quote

from course import ROOT, Problem

HELP = "open the course in JupyterLab (also what happens without a command)"

START = ROOT / "notebooks" / "00_start_here.ipynb"
PORT = 8888

#: Defaults of JupyterLab that the course changes: no question about news, no panels of nbgrader
#: (they talk to an exchange that nobody set up; `check` and `grade` do their work here).
SETTINGS = ROOT / "course" / "lab_settings"
NBGRADER = [
    f"nbgrader.server_extensions.{name}"
    for name in ("assignment_list", "course_list", "formgrader", "validate_assignment")
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lab``."""
    parser.add_argument(
        "notebook",
        nargs="?",
        metavar="NOTEBOOK",
        help="what to open first (default: notebooks/00_start_here.ipynb)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, do not open a browser"
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="N",
        help=f"the port to serve at (default: {PORT}, or the next one that is free; 0: any)",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C; return the exit code."""
    notebook = find(args.notebook) if args.notebook else START
    return serve(notebook, browser=not args.no_browser, port=args.port)


def find(name: str) -> Path:
    """Return the notebook called `name`, seen from here or from the course's folder.

    Raises
    ------
    Problem
        If there is none, or if it lies outside the course, which JupyterLab could not open.
    """
    for folder in (Path.cwd(), ROOT):
        path = (folder / name).resolve()
        if path.exists():
            if path.is_relative_to(ROOT):
                return path
            raise Problem(f"{name} lies outside the folder of the course: copy it to my/ first.")
    known = [path.relative_to(ROOT).as_posix() for path in sorted(START.parent.glob("*.ipynb"))]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    guess = f" Did you mean {close[0]}?" if close else ""
    raise Problem(f"There is no notebook {name}.{guess} The lectures are in notebooks/.")


def serve(notebook: Path, browser: bool = True, port: int | None = None) -> int:
    """Run JupyterLab with `notebook` open until Ctrl-C; return the exit code.

    Parameters
    ----------
    notebook
        A file in the folder of the course.
    browser
        Whether to open a browser, where this machine can show one.
    port
        Where to serve; None for 8888 or the next free port, 0 for any free one.

    Raises
    ------
    Problem
        If `port` was asked for and cannot be had.
    """
    if port is not None:
        _check_port(port)
    server, token = _initialise(port)
    address = server.connection_url + "lab/tree/" + quote(notebook.relative_to(ROOT).as_posix())
    address += f"?token={token}"

    def announce() -> None:
        if port is None and server.port != PORT:
            print(f"Port {PORT} is in use: this JupyterLab takes {server.port}.")
        print(f"The course is open at\n\n    {address}\n")
        if "SSH_CONNECTION" in os.environ:
            forward = f"{server.port}:127.0.0.1:{server.port}"
            print(f"From your own computer, first: ssh -L {forward} {socket.gethostname()}")
        print("Ctrl-C ends it.", flush=True)
        if browser and can_show_a_browser():
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    server.io_loop.add_callback(announce)  # runs once the server answers
    server.start()
    return 0


def _initialise(port: int | None) -> tuple[Any, str]:
    """Return JupyterLab's server, ready to start, and the token that opens it."""
    # jsonschema imports this package if it is there, which takes two seconds to build parsers
    # for a format (IRIs) that no schema of Jupyter uses; it does without where it is missing
    sys.modules["rfc3987_syntax"] = None
    # kernels of this environment, not of the same name in the home directory
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    os.chdir(ROOT)  # nbgrader looks for its configuration here
    from jupyterlab.labapp import LabApp

    token = secrets.token_hex(16)
    options = {
        "ServerApp.root_dir": ROOT,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": PORT if port is None else port,
        "ServerApp.port_retries": 50 if port is None else 0,
        "ServerApp.open_browser": False,  # announce() does, with an address that needs no file
        "ServerApp.allow_root": True,
        "ServerApp.answer_yes": True,  # one Ctrl-C is enough
        "IdentityProvider.token": token,
        "ServerApp.jpserver_extensions": dict.fromkeys(NBGRADER, False),
        "LabApp.app_settings_dir": SETTINGS,
        "Application.log_level": "ERROR",
    }
    argv = [f"--{name}={value}" for name, value in options.items()]
    return LabApp.initialize_server(argv=argv), token


def _check_port(port: int) -> None:
    with socket.socket() as probe:
        if os.name != "nt":  # there it would mean that two may listen
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Problem(
                f"Port {port} cannot be used ({reason}). Another JupyterLab may have it: leave "
                "--port out to get the next free one, or choose another number."
            ) from None


def can_show_a_browser() -> bool:
    """Say whether a browser that is opened here would be seen."""
    if "BROWSER" in os.environ:
        return True
    if "SSH_CONNECTION" in os.environ:
        return False
    screen = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return screen or sys.platform in ("win32", "darwin")
