"""Numbers as people write them, and the names nearest to a mistyped one."""

import difflib
from collections.abc import Iterable


def quantity(value: float | str, unit: str = "") -> str:
    """Return `value` as people write it: ``989.4 TFLOP/s``, ``1.83 GHz``, ``228 KiB``.

    Rates take decimal prefixes up to tera, so that peaks stay comparable; bytes take binary ones.
    """
    if isinstance(value, str):
        return value
    if unit == "bytes":
        power = max((p for p in range(4) if value >= 1024**p), default=0)
        return f"{value / 1024**power:,.5g} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"
    if unit in ("Hz", "bytes/s", "FLOP/s", "op/s"):
        power = max((p for p in range(5) if value >= 1000**p), default=0)
        symbol = unit.replace("bytes", "B")
        return f"{value / 1000**power:,.5g} {' kMGT'[power].strip()}{symbol}"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"
    return f"{shown} {unit}".rstrip()


def closest(word: str, known: Iterable[str]) -> str:
    """Return a sentence with the names closest to `word`, or with all of them."""
    known = list(known)
    if parts := [k for k in known if len(word) > 1 and word.lower() in k.lower()]:
        return f"Did you mean {' or '.join(parts)}?"
    close = difflib.get_close_matches(word.lower(), [k.lower() for k in known], n=3, cutoff=0.5)
    if close:
        by_lower = {k.lower(): k for k in known}
        return f"Did you mean {' or '.join(by_lower[c] for c in close)}?"
    return f"Known: {', '.join(known)}."
