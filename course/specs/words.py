"""Numbers as people write them, and the names nearest to a mistyped one."""

import difflib
from collections.abc import Iterable


def quantity(value: float | str, unit: str = "", digits: int = 5) -> str:
    """Return `value` as people write it: ``989.4 TFLOP/s``, ``12.583 MFLOP``, ``228 KiB``.

    Rates take decimal prefixes up to tera, so that peaks stay comparable; counts of FLOP go on to
    exa; bytes take binary prefixes. `digits` is the number of significant ones.
    """
    if isinstance(value, str):
        return value
    if unit == "bytes":
        power = max((p for p in range(4) if value >= 1024**p), default=0)
        return f"{value / 1024**power:,.{digits}g} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"
    prefixes = {"FLOP": " kMGTPE"} | dict.fromkeys(("Hz", "bytes/s", "FLOP/s", "op/s"), " kMGT")
    if unit in prefixes:
        power = max((p for p in range(len(prefixes[unit])) if value >= 1000**p), default=0)
        prefix = prefixes[unit][power].strip()
        return f"{_plain(value / 1000**power, digits)} {prefix}{unit.replace('bytes', 'B')}"
    shown = f"{value:,}" if isinstance(value, int) else _plain(value, digits)
    return f"{shown} {unit}".rstrip()


def _plain(value: float, digits: int) -> str:
    """Return `value` with `digits` significant digits, never in powers of ten."""
    return f"{float(f'{value:.{digits}g}'):,.10g}"


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
