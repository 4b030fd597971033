"""Where the course's packages live: find the environment, make or mend it, go on inside it."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from course import ROOT, Problem, install, requirements, supported

VENV = ROOT / ".venv"
#: Written last: what .venv was made from. Without it, or with other contents, .venv is not ready.
STAMP = VENV / "course.json"
LOCK = ROOT / ".cache" / "setup.lock"
#: Set for the process that goes on inside .venv; a second time round would be an endless loop.
RESTARTED = "COURSE_RESTARTED"

#: Windows' default limit for a path, and the longest one below .venv (in PyTorch's licences).
WINDOWS_PATH = 260
LONGEST_BELOW = 200


@dataclass(frozen=True)
class State:
    """What .venv needs: ``ready``, ``mend`` (let pip look) or ``build`` (anew), and why."""

    action: str
    reason: str = ""


def enter(arguments: list[str], build: bool = True) -> bool:
    """Go on where requirements.txt is met, setting .venv up first where that is needed.

    Returns in the process that may import the packages. Where that is not this one, this call
    does not return: ``python -m course`` with the same `arguments` takes over inside .venv.

    Parameters
    ----------
    arguments
        The command line behind ``python -m course``.
    build
        False to leave everything as it is: then the answer tells whether the packages are here.

    Raises
    ------
    Problem
        If the environment cannot be made, with what to do about it.
    """
    restarted = os.environ.pop(RESTARTED, None)
    choice = os.environ.get("COURSE_ENV", "")
    if choice not in ("", "active"):
        raise Problem(f"COURSE_ENV is {choice!r}: it can be 'active', or not be set at all.")
    if choice:
        if build:
            _say_what_differs()
        _make_course_importable()
        return True
    if _is_met_here():
        _make_course_importable()
        return True
    if restarted:
        raise Problem(
            f"The Python of .venv says that its packages are those of {sys.prefix}. Delete the "
            "folder .venv and start the same command again."
        )
    if state().action != "ready":
        if not build:
            return False
        with _lock() as lock:
            todo = state()  # another process may have done it meanwhile
            if todo.action != "ready":
                _set_up(todo, lock)
    _restart(arguments)


def state() -> State:
    """Return what .venv needs before the course can run in it."""
    if not VENV.exists():
        return State("build", "Setting the course up: its packages go into the folder .venv.")
    stamp = _read_stamp()
    if stamp is not None and not stamp.get("complete"):
        return State("build", "The last set-up did not finish: building .venv anew.")
    version = _version_of(python())
    if not version:
        return State("build", "The Python that .venv was made with is gone: building it anew.")
    if not supported.OLDEST <= tuple(version[:2]) <= supported.NEWEST:
        return State("build", f"The Python {version[0]}.{version[1]} of .venv does not suit.")
    if stamp is None:  # made by hand, by an editor or by a tool: keep it
        if not install.has_pip(VENV):
            return State("build", "The folder .venv is unfinished: building it anew.")
        return State("mend", "There is a .venv already: adding what the course needs.")
    if stamp.get("folder") != _folder():
        return State("build", "The course moved to another folder: building .venv anew.")
    if stamp.get("python", [])[:2] != version[:2]:
        return State("build", "The Python of .venv was replaced by another: building it anew.")
    if stamp != _stamp(version):
        return State("mend", "What the course needs has changed: bringing .venv up to date.")
    return State("ready")


def python() -> Path:
    """Return the interpreter of .venv, whether it is there or not."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _is_met_here() -> bool:
    """Tell whether the running Python can go on as it is."""
    inside = VENV.exists() and Path(sys.prefix).resolve() == VENV.resolve()
    if inside and STAMP.exists():
        return state().action == "ready"
    return not requirements.differences(requirements.read())


def _set_up(todo: State, lock: int) -> None:
    """Make or mend .venv as `todo` says."""
    print(todo.reason, file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        if todo.action == "build":
            _check_path_length()
            install.empty(VENV)
            install.check_space(VENV)
            _write_stamp({"complete": False})
            install.create(VENV)
        else:
            _write_stamp({"complete": False})
        pins = requirements.read(markers=requirements.markers_for(_version_of(python())))
        install.packages(VENV, python(), requirements.FILE, len(pins), lock)
        # relative, hence in ASCII: Python before 3.13 reads this file in the locale's encoding
        site_packages = install.site_packages(VENV)
        link = os.path.relpath(ROOT, site_packages)
        (site_packages / "course.pth").write_text(link + "\n", encoding="ascii")
        missing = requirements.differences(pins, [str(site_packages)])
        if missing:
            raise Problem(
                f"pip ended well, and yet .venv is not as it should be ({missing[0]}). A setting "
                "of pip that installs elsewhere may be the cause: see pip config list."
            )
        _write_stamp(_stamp(_version_of(python())))
    except OSError as error:
        raise Problem(_explain(error)) from None
    minutes, seconds = divmod(int(time.monotonic() - began), 60)
    print(f"Set up in {minutes}:{seconds:02d}.", file=sys.stderr, flush=True)


def _stamp(version: list[int]) -> dict:
    return {
        "complete": True,
        "folder": _folder(),
        "python": version,
        "requirements": hashlib.sha256(requirements.FILE.read_bytes()).hexdigest(),
    }


def _folder() -> str:
    """Return the folder of the course, spelt the same in every locale."""
    return os.fsencode(ROOT).decode("utf-8", "backslashreplace")


def _read_stamp() -> dict | None:
    """Return the stamp, {} if it cannot be read, None if there is none."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _write_stamp(stamp: dict) -> None:
    STAMP.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


def _version_of(interpreter: Path) -> list[int]:
    """Return the version of `interpreter` as three numbers, or [] if it does not run."""
    code = "import sys; print(*sys.version_info[:3])"
    command = [str(interpreter), "-I", "-S", "-c", code]
    try:
        output = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout
        return [int(number) for number in output.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def _explain(error: OSError) -> str:
    """Say in a paragraph why the folder of the course cannot be written to."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return install.FULL_DISK
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"The folder of the course cannot be written to ({error.strerror}: {error.filename}). "
            "Copy the course to a folder of your own, or start it with COURSE_ENV=active set, to "
            "use the Python you start it with and the packages which that one has."
        )
    return f"Setting the course up failed: {error}."


def _check_path_length() -> None:
    """Raise Problem where Windows would refuse the paths of some packages."""
    room = WINDOWS_PATH - LONGEST_BELOW - len(str(VENV))
    if os.name == "nt" and room < 0 and not _windows_takes_long_paths():
        raise Problem(
            f"The path of this folder is {-room} characters too long for Windows: files of "
            "PyTorch would not fit below it. Move the course to a shorter path such as "
            "C:\\course, or let Windows take long paths (Settings, System, For developers)."
        )


def _windows_takes_long_paths() -> bool:
    import winreg

    key = r"SYSTEM\CurrentControlSet\Control\FileSystem"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return winreg.QueryValueEx(opened, "LongPathsEnabled")[0] == 1
    except OSError:
        return False


@contextmanager
def _lock() -> Iterator[int]:
    """Hold the lock of the set-up, waiting for whoever has it; yield the file's descriptor.

    It is the operating system's lock, so it ends with the process that holds it, however that
    ends: there is no stale lock to clear away.
    """
    try:
        LOCK.parent.mkdir(exist_ok=True)
        file = LOCK.open("a")
    except OSError as error:
        raise Problem(_explain(error)) from None
    with file:
        told = False
        while not _try_lock(file.fileno()):
            if not told:
                text = "Another process is setting the course up: waiting for it."
                print(text, file=sys.stderr, flush=True)
                told = True
            time.sleep(0.3)
        yield file.fileno()


def _try_lock(descriptor: int) -> bool:
    """Take the lock; return False if somebody else has it."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # any other error: a file system without locks, where one process is the rule anyway
        return error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True


def _say_what_differs(most: int = 5) -> None:
    differing = requirements.differences(requirements.read())
    if not differing:
        return
    lines = [f"COURSE_ENV=active: using {sys.executable} as it is, though it differs:"]
    lines += [f"  {difference}" for difference in differing[:most]]
    if differing[most:]:
        lines.append(f"  and {len(differing) - most} more (python3 -m course doctor lists them)")
    print("\n".join(lines), file=sys.stderr, flush=True)


def _make_course_importable() -> None:
    """Let child processes, such as a notebook's kernel, import course from any folder."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if Path(sys.prefix).resolve() != VENV.resolve() and str(ROOT) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, paths)])


def _restart(arguments: list[str]) -> NoReturn:
    """Go on inside .venv with the same command."""
    outside = ("PYTHONHOME", "PYTHONPATH")
    variables = {name: value for name, value in os.environ.items() if name not in outside}
    # a terminal in JupyterLab and `!python` in a notebook then mean this environment too
    variables["PATH"] = os.pathsep.join([str(python().parent), os.environ.get("PATH", "")])
    variables |= {"VIRTUAL_ENV": str(VENV), RESTARTED: "1"}
    command = [str(python()), "-m", "course", *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":
        sys.exit(run_child(command, variables))
    os.execve(command[0], command, variables)


def run_child(command: list[str], variables: dict[str, str]) -> int:
    """Run `command` and return its exit code, as if it had taken this process's place.

    For Windows, where exec gives the prompt back at once. Ctrl-C reaches both processes: the
    child decides what it means, this one goes on waiting for it.
    """
    signal.signal(signal.SIGINT, lambda number, frame: None)
    return subprocess.run(command, env=variables).returncode
