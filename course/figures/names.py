"""Names made to fit."""

from itertools import takewhile


def shorten(words: str, length: int) -> str:
    """Return `words` in at most `length` characters, the middle left out if need be."""
    if len(words) <= length:
        return words
    head = (length - 1) // 2
    return words[:head] + "…" + words[len(words) - (length - 1 - head) :]


def shorten_all(names: list[str], length: int) -> list[str]:
    """Return `names`, each in at most `length` characters, still different from each other.

    Where leaving out the middle would make two names equal, what all have in common at the start
    goes first, and then what they have in common at the end; if that is not enough, they are
    numbered.
    """
    short = [shorten(name, length) for name in names]
    if len(set(short)) == len(set(names)):
        return short
    start = _common(names)
    end = _common([name[start:][::-1] for name in names])
    short = []
    for name in names:
        own, tail = name[start : len(name) - end], name[len(name) - end :]
        short.append(shorten("…" + own + shorten(tail, max(1, length - len(own) - 1)), length))
    if len(set(short)) == len(set(names)):
        return short
    return [shorten(f"{number} {name}", length) for number, name in enumerate(names, 1)]


def _common(names: list[str]) -> int:
    """Return the number of characters with which all `names` begin."""
    columns = (set(letters) for letters in zip(*names, strict=False))
    return sum(1 for _ in takewhile(lambda letters: len(letters) == 1, columns))
