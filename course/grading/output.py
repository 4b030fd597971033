"""Keeps the head and the tail of what a notebook prints; nobody reads the middle of a flood."""

import io
import re

#: No cell of a graded notebook keeps more output than this, in characters.
LIMIT = 20_000

#: What stands in the place of the middle.
GAP = "\n[... {:,} characters left out ...]\n"


class Kept(io.TextIOBase):
    """A text stream that keeps the head and the tail of what is written, not the middle."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = self._tail = ""
        self._left_out = 0

    def writable(self) -> bool:
        """Say that it takes text."""
        return True

    def write(self, text: str) -> int:
        """Keep what fits of `text`."""
        room = self._half - len(self._head)
        self._head += text[:room] if room > 0 else ""
        self._tail += text[room:] if room > 0 else text
        if len(self._tail) > 4 * self._half:
            self._trim()
        return len(text)

    def _trim(self) -> None:
        self._left_out += max(len(self._tail) - self._half, 0)
        self._tail = self._tail[-self._half :]

    def text(self) -> str:
        """Return what was kept."""
        self._trim()
        gap = GAP.format(self._left_out) if self._left_out else ""
        return self._head + gap + self._tail


def shorten(text: str, limit: int) -> str:
    """Return at most about `limit` characters of `text`: its head and its tail."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 0)
    gap = GAP.format(len(text) - 2 * half)
    return text[:half] + gap + (text[-half:] if half else "")


def left_out(text: str) -> int:
    """Return how many characters were left out of `text`."""
    gap = re.search(r"\n\[\.\.\. ([\d,]+) characters left out \.\.\.\]\n", text)
    return int(gap[1].replace(",", "")) if gap else 0
