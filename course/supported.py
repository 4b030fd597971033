"""Whether this Python, on this machine, can run the course at all.

Keep to words that Python 3.6 can read (no ``X | Y`` annotations, no ``:=``, no ``match``).
"""

import os
import platform
import shutil
import struct
import subprocess
import sys
import sysconfig

OLDEST = (3, 11)
NEWEST = (3, 14)

#: What PyTorch publishes wheels for: (sys.platform, machine).
MACHINES = {
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("win32", "win-amd64"),
    ("darwin", "arm64"),
}
OLDEST_MACOS = (14,)
OLDEST_GLIBC = (2, 28)


def complaint() -> str:
    """Return one paragraph saying why this Python cannot run the course, or ``""`` if it can.

    With ``COURSE_ENV=active`` somebody else chose the packages: then only the oldest version
    counts, which the course's own source needs.
    """
    version = sys.version_info[:2]
    active = os.environ.get("COURSE_ENV") == "active"
    if version < OLDEST or (version > NEWEST and not active):
        return _wrong_version()
    return "" if active else _no_wheels()


def _wrong_version() -> str:
    """Say which versions would do, and which of them are on this machine."""
    text = (
        f"The course needs Python {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}; "
        f"this is Python {platform.python_version()} ({sys.executable})."
    )
    found = interpreters()
    if found:
        others = f" ({', '.join(found[1:])} would do too)" if found[1:] else ""
        command = " ".join([found[0], "-m", "course", *sys.argv[1:]])
        return f"{text} This machine has one that will do{others}: {command}"
    return (
        f"{text} None of those was found on this machine: install one (python.org has installers "
        "for Windows and macOS; Debian 12, Ubuntu 24.04 or newer: apt install python3-venv; "
        "Homebrew: brew install python@3.13) and start the course with it, for example: "
        "python3.13 -m course"
    )


def interpreters() -> list:
    """Return commands on the PATH that start a Python the course can use, newest first.

    Each is tried, because a name proves nothing: pyenv puts a ``python3.12`` there that only
    says it is not selected.
    """
    start = "py -3." if os.name == "nt" else "python3."
    candidates = [f"{start}{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    versions = {}  # version -> command: `python3` is no news where `python3.12` is the same
    for command in [*candidates, "python3", "python"]:
        version = _version_of(command.split())
        if OLDEST <= version <= NEWEST:
            versions.setdefault(version, command)
    return list(versions.values())


def _version_of(command: list) -> tuple:
    """Return (major, minor) of the Python that `command` starts, or () where it starts none."""
    if shutil.which(command[0]) is None:
        return ()
    code = "import sys; print(sys.version_info[0], sys.version_info[1])"
    try:
        output = subprocess.check_output(
            [*command, "-c", code], stderr=subprocess.DEVNULL, timeout=20
        )
        major, minor = output.split()
        return (int(major), int(minor))
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()


def _no_wheels() -> str:
    """Say why PyTorch cannot be installed for this Python, or return ``""``."""
    machine = sysconfig.get_platform() if os.name == "nt" else platform.machine()
    libc, libc_version = platform.libc_ver()
    if platform.python_implementation() != "CPython":
        what = f"this is {platform.python_implementation()}"
        needs = "CPython, the usual Python"
    elif struct.calcsize("P") != 8:
        what = "this Python is a 32-bit build"
        needs = "a 64-bit Python: install that one"
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        what = "this Python is a free-threaded build"
        needs = "the usual build: install that one"
    elif sys.platform == "darwin" and machine == "x86_64":
        what = "this is a Python for Intel Macs"
        needs = (
            "Apple silicon (on an Apple silicon Mac install an arm64 Python; for an Intel Mac "
            "there is no current PyTorch: use a Linux machine or a hosted notebook service)"
        )
    elif (sys.platform, machine) not in MACHINES:
        what = f"this is {platform.system()} on {machine}"
        needs = "Linux (x86-64 or arm64), Windows (x86-64) or macOS (Apple silicon)"
    elif sys.platform == "darwin" and _numbers(platform.mac_ver()[0]) < OLDEST_MACOS:
        what = f"this is macOS {platform.mac_ver()[0]}"
        needs = "macOS 14 or newer: update macOS"
    elif sys.platform == "linux" and (libc != "glibc" or _numbers(libc_version) < OLDEST_GLIBC):
        what = f"this Linux has {libc} {libc_version}" if libc else "this Linux is without glibc"
        needs = "glibc 2.28 or newer (Debian 10, Ubuntu 20.04, RHEL 8 and whatever is newer)"
    else:
        return ""
    return (
        f"The course cannot be set up here: {what}, and PyTorch, which the course rests on, is "
        f"published for {needs}."
    )


def _numbers(version: str) -> tuple:
    """Return ``"2.28"`` as (2, 28), and an empty text as ()."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())
