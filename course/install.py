"""Make a virtual environment and fill it with pip: progress to follow, failures in plain words."""

import os
import platform
import re
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from course import Problem
from course.pip_progress import Progress

#: Free space that a fresh set-up needs, in bytes: what pip unpacks and, meanwhile, the wheels.
#: Measured: 2.5 + 0.8 GB with a CPU build of PyTorch, 6.0 + 3.0 GB with the CUDA build.
SPACE_CPU = 3.5e9
SPACE_CUDA = 9.5e9

#: pip keeps a copy of each wheel for the next time where that much more is free.
SPACE_CACHE = 3.5e9

#: In the virtual environment: all that pip said.
LOG = "install.log"

#: What pip reports when it starts on PyTorch's own CUDA libraries.
CUDA_LINE = re.compile(r"Collecting nvidia-cudnn|Processing .*nvidia_cudnn")

AGAIN = "start the same command again: what is already fetched is not fetched twice"

FULL_DISK = (
    "The disk became full while the course was set up. Make room (the set-up takes about "
    f"{SPACE_CPU / 1e9:.1f} GB, or {SPACE_CUDA / 1e9:.1f} GB where PyTorch comes with CUDA) and "
    "start the same command again."
)

#: What the end of pip's output means: a pattern, and the paragraph for whoever waits for it.
CAUSES = (
    (
        r"No space left on device|not enough space on the disk|Disk quota exceeded",
        FULL_DISK,
    ),
    (
        r"SSL module is not available",
        "This Python was built without SSL, so pip cannot fetch anything. Install Python from "
        "python.org or from your system's packages and start the course with that one.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "pip does not trust the certificate of the package index, as happens behind a proxy that "
        "reads along. Ask for its certificate, set PIP_CERT to that file, and " + AGAIN + ".",
    ),
    (
        r"NewConnectionError|NameResolutionError|name resolution|Name or service not known"
        r"|getaddrinfo failed|ProxyError|unreachable|Connection refused|ConnectTimeout|ReadTimeout"
        r"|Read timed out|ConnectionReset|ConnectionError|RemoteDisconnected|IncompleteRead",
        "pip could not reach the package index. Check the network (behind a proxy set HTTPS_PROXY) "
        "and " + AGAIN + ". On a machine that has the packages but no network, COURSE_ENV=active "
        "uses the Python you start the course with, as it is.",
    ),
    (
        r"No matching distribution found for (?P<package>\S+)",
        "pip found no wheel of {package} for Python {python} on this machine ({platform}): its "
        "package index has none, or could not be reached. Where pip is set to an index of its own "
        "(see pip config list), that one must hold every package of requirements.txt.",
    ),
    (
        r"WinError (5|32)\b|Access is denied",
        "A file in .venv is in use. Close JupyterLab and every other program that runs from .venv, "
        "and start the same command again.",
    ),
    (
        r"Permission denied|Read-only file system",
        "pip may not write where it has to. See the file named below, give yourself the right to "
        "write there, and start the same command again.",
    ),
)


def empty(folder: Path) -> None:
    """Delete what is in `folder` (which may be a link to a roomier disk), or make it.

    Raises
    ------
    Problem
        If something in it cannot be deleted, or it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except OSError as error:
        raise Problem(
            f"{folder.name} cannot be made anew ({error.strerror}: {error.filename}). Close "
            "JupyterLab and every other program that runs from it, check that you may write "
            f"there, and start the course with a Python from outside {folder.name}."
        ) from None


def check_space(folder: Path) -> None:
    """Raise Problem if the disk of `folder` is too full for even the smallest set-up."""
    free = shutil.disk_usage(folder).free
    if free < SPACE_CPU:
        raise Problem(_too_full(free, SPACE_CPU))


def create(folder: Path) -> None:
    """Make a virtual environment with pip in the empty `folder`.

    Raises
    ------
    Problem
        If this Python comes without venv or ensurepip, or they fail.
    """
    try:
        import ensurepip  # noqa: F401 (Debian takes it out of its Python; venv then fails late)
        import venv
    except ImportError as error:
        version = "{}.{}".format(*sys.version_info)
        raise Problem(
            f"This Python ({sys.executable}) comes without the module {error.name}, which makes "
            f"virtual environments. On Debian and Ubuntu: sudo apt install python{version}-venv. "
            "Elsewhere install Python from python.org. Then start the same command again."
        ) from None
    try:
        venv.EnvBuilder(symlinks=os.name != "nt", with_pip=True).create(folder)
    except subprocess.CalledProcessError as error:
        output = (error.output or b"").decode("utf-8", "replace").splitlines()
        raise Problem(_explain(output, "Python's ensurepip could not install pip.")) from None
    except ValueError as error:  # a folder whose name has the PATH's separator in it
        raise Problem(f"Python cannot make {folder.name} here: {error}") from None


def packages(venv: Path, python: Path, requirements: Path, expected: int, lock: int) -> None:
    """Install `requirements` with the pip of `python`, showing how far it is.

    Parameters
    ----------
    venv
        The folder of the virtual environment: pip's temporary files and its log go there.
    python
        Its interpreter.
    requirements
        The file for ``pip install -r``.
    expected
        How many packages `requirements` names for this machine.
    lock
        Descriptor of the lock file; pip holds it too, so that it outlives a killed parent.

    Raises
    ------
    Problem
        If pip fails: what happened, what to do, and the end of the log.
    """
    free = shutil.disk_usage(venv).free
    temporary = venv / "tmp"
    temporary.mkdir(exist_ok=True)
    # -I: another PYTHONPATH must not pass for installed. Wheels only: nobody needs a compiler
    command = [str(python), "-I", "-u", "-X", "utf8", "-m", "pip", "install", "--no-input"]
    command += ["--only-binary=:all:", "--progress-bar=off", "-r", str(requirements)]
    if free < SPACE_CACHE + (SPACE_CUDA if _cuda_is_likely() else SPACE_CPU):
        command += ["--no-cache-dir"]
    process = subprocess.Popen(
        command,
        env=_variables_for_pip(temporary),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=() if os.name == "nt" else (lock,),
        encoding="utf-8",
        errors="replace",
    )
    progress = Progress(expected, site_packages(venv), temporary)
    follower = _Follower(process, progress, venv / LOG, room_for_cuda=free >= SPACE_CUDA)
    try:
        follower.start()
        while follower.is_alive():
            follower.join(0.2)
            progress.show()
    finally:
        _end(process)
        progress.end()
        shutil.rmtree(temporary, ignore_errors=True)
    if follower.wants_cuda and free < SPACE_CUDA:
        raise Problem(_too_full(free, SPACE_CUDA))
    if process.returncode:
        raise Problem(_explain(follower.recent, "pip failed."))


class _Follower(threading.Thread):
    """Reads what pip says: into the log, to the progress line, and for trouble ahead."""

    def __init__(
        self, process: subprocess.Popen, progress: Progress, log: Path, room_for_cuda: bool
    ) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.progress = progress
        self.log = log
        self.room_for_cuda = room_for_cuda
        self.wants_cuda = False
        self.recent: deque[str] = deque(maxlen=60)

    def run(self) -> None:
        with self.log.open("w", encoding="utf-8") as record:
            for line in self.process.stdout:
                self.recent.append(line)
                self.progress.hear(line)
                with suppress(OSError):  # a full disk: pip will say so itself
                    record.write(line)
                    record.flush()
                if CUDA_LINE.match(line):
                    self.wants_cuda = True
                    if not self.room_for_cuda:
                        self.process.terminate()


def _end(process: subprocess.Popen) -> None:
    """Let pip finish after Ctrl-C, which it got as well; end it where it does not."""
    if process.poll() is None:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _variables_for_pip(temporary: Path) -> dict[str, str]:
    """Return the variables for pip: no settings that install elsewhere, room for its files."""
    elsewhere = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER")
    kept = {name: value for name, value in os.environ.items() if name not in elsewhere}
    # /tmp is often a small disk in memory, too small for the wheel of PyTorch
    return kept | {"PIP_USER": "0"} | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))


def _cuda_is_likely() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64"


def site_packages(venv: Path) -> Path:
    """Return the folder for packages in the virtual environment `venv`."""
    if os.name == "nt":
        return venv / "Lib" / "site-packages"
    return next(venv.glob("lib/python3.*/site-packages"))


def has_pip(venv: Path) -> bool:
    """Tell whether the virtual environment `venv` has a pip."""
    folders = ("Lib", "lib/python3.*")
    return any(any(venv.glob(f"{folder}/site-packages/pip")) for folder in folders)


def _too_full(free: float, needed: float) -> str:
    with_cuda = " because PyTorch comes with CUDA here" if needed == SPACE_CUDA else ""
    return (
        f"The disk has {free / 1e9:.1f} GB free; setting the course up takes about "
        f"{needed / 1e9:.1f} GB{with_cuda}. Make room, or move the folder of the course to a disk "
        "that has it, and start the same command again."
    )


def _explain(output: Iterable[str], otherwise: str) -> str:
    """Turn the last lines of pip's output into a paragraph, with the very last ones below."""
    lines = [line.rstrip() for line in output if line.strip()]
    text = otherwise
    for pattern, paragraph in CAUSES:
        if found := re.search(pattern, "\n".join(lines)):
            text = paragraph.format(
                python=platform.python_version(),
                platform=f"{platform.system()} {platform.machine()}",
                **found.groupdict(),
            )
            break
    tail = "\n".join("    " + line[:150] for line in lines[-5:])
    return f"{text}\n\nThe last lines of pip (all of them are in .venv/{LOG}):\n{tail}"
