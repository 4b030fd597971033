"""Compiled code on disk, one file for each content key, one folder for each user.

Several processes may use the folder at once: a file appears whole or not at all. A file that
cannot be read, or whose checksum is wrong, counts as missing.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

_NAME = "gpus-and-flashattention"


def folder() -> Path:
    """Return where compiled code is kept: ``COURSE_CACHE``, or the user's own cache folder."""
    if chosen := os.environ.get("COURSE_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / _NAME


def load(key: str) -> dict[str, bytes] | None:
    """Return what was stored under `key`, or None.

    Parameters
    ----------
    key : str
        Hexadecimal digest of everything that the stored value depends on.
    """
    try:
        data = _path(key).read_bytes()
    except (OSError, RuntimeError):  # the latter: this user has no home
        return None
    digest, body = data[:32], data[32:]
    if hashlib.sha256(body).digest() != digest:
        return None
    head, _, rest = body.partition(b"\n")
    parts, start = {}, 0
    for name, size in json.loads(head):
        parts[name] = rest[start : start + size]
        start += size
    return parts


def store(key: str, parts: dict[str, bytes]) -> None:
    """Keep `parts` under `key`, if there is a place for it: a full disk or no home is no error."""
    head = json.dumps([[name, len(data)] for name, data in parts.items()]).encode()
    body = head + b"\n" + b"".join(parts.values())
    temporary = None
    try:
        target = _path(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".tmp", delete=False) as file:
            temporary = file.name
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(temporary, target)
    except (OSError, RuntimeError):
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _path(key: str) -> Path:
    return folder() / "compiled" / key[:2] / key[2:]
