"""printf of kernels: C's formats, applied to the raw bytes of the arguments."""

import re
import struct
from collections.abc import Callable

import numpy as np

_FORMAT = re.compile(r"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*))?(hh|h|ll|l|z|t|j)?([diouxXeEfFgGaAcsp%])")


def messages(log: np.ndarray, used: int, string: Callable[[int], str]) -> list[str]:
    """Return what the threads of a launch printed, in the order in which they ran.

    `log` holds for each call: block, thread, address of the format, number of argument words, and
    these words.
    `string` reads a zero-terminated string of the device.
    """
    result, at = [], 0
    end = min(used, len(log))
    while at + 4 <= end:
        count = int(log[at + 3])
        if at + 4 + count > end:
            break
        words = log[at + 4 : at + 4 + count].tobytes()
        result.append(_format(string(int(log[at + 2])), words, string))
        at += 4 + count
    if used > len(log):
        result.append("[printf: the buffer was full, the rest is lost]\n")
    return result


def _format(text: str, raw: bytes, string: Callable[[int], str]) -> str:
    offset = 0

    def take(size: int, code: str) -> int | float:
        nonlocal offset
        offset = -(-offset // size) * size
        value = struct.unpack_from(f"<{code}", raw.ljust(offset + size, b"\0"), offset)[0]
        offset += size
        return value

    def one(match: re.Match) -> str:
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        width = str(take(4, "i")) if width == "*" else width or ""
        if precision == "*":
            precision = str(take(4, "i"))
        spec = flags + width + (f".{precision}" if precision is not None else "")
        if kind in "eEfFgG":
            return f"%{spec}{kind}" % take(8, "d")
        if kind in "aA":
            digits = re.sub(r"\.?0*p", "p", float(take(8, "d")).hex())
            return f"%{flags + width}s" % (digits.upper() if kind == "A" else digits)
        if kind == "s":
            return f"%{spec}s" % string(int(take(8, "Q")))
        if kind == "p":
            return f"{take(8, 'Q'):#x}"
        if kind == "c":
            return f"%{spec}s" % chr(int(take(4, "I")) & 255)
        wide = length in ("ll", "l", "z", "t", "j")
        code = ("q" if wide else "i") if kind in "di" else ("Q" if wide else "I")
        value = take(8 if wide else 4, code)
        if length in ("h", "hh"):
            bits = 16 if length == "h" else 8
            value &= (1 << bits) - 1
            value -= (value >> (bits - 1) << bits) if kind in "di" else 0
        if "#" in flags and kind in "oxX":
            return _alternative(kind, flags, width, precision, value)
        return f"%{spec}{'d' if kind == 'u' else kind}" % value

    return _FORMAT.sub(one, text)


def _alternative(kind: str, flags: str, width: str, precision: str | None, value: int) -> str:
    """Return an octal or hexadecimal number in the form of C's ``#``, which is not Python's."""
    digits = format(value, kind)
    if precision is not None:
        digits = digits.zfill(int(precision or 0)) if value or int(precision or 0) else ""
    before = f"0{kind}" if kind != "o" and value else ""
    if kind == "o" and not digits.startswith("0"):
        before = "0"
    room = int(width or 0) - len(before)
    if "-" in flags:
        return before + digits.ljust(room)
    if "0" in flags and precision is None:
        return before + digits.zfill(room)
    return (before + digits).rjust(int(width or 0))
