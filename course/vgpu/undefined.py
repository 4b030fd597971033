"""Which bits of a value nobody has defined, and in which lanes.

It is told by pairs of a lane mask (LLVM text) and the bits that are undefined in its lanes. What
moves, cuts out or joins bits at known places keeps account of each of them: so padding of
structures, bit-fields and halves of a word may stay undefined as long as nothing depends on them.
All other instructions make a whole result undefined where any bit that they read is.
"""

from collections.abc import Iterable

Poison = tuple[tuple[str, int], ...]


def ones(width: int) -> int:
    """Return a number with `width` ones."""
    return (1 << width) - 1


def united(poisons: Iterable[Poison | None]) -> Poison:
    """Return all that is undefined in any of `poisons`."""
    bits: dict[str, int] = {}
    for poison in poisons:
        for mask, some in poison or ():
            bits[mask] = bits.get(mask, 0) | some
    return tuple(bits.items())


def cut(poison: Poison | None, keep: int) -> Poison:
    """Return what is undefined of the bits `keep`."""
    return tuple((mask, bits & keep) for mask, bits in poison or () if bits & keep)


def moved(poison: Poison | None, amount: int) -> Poison:
    """Return what is undefined after a shift to the left by `amount`, right if negative."""
    shifted = (
        (mask, bits << amount if amount >= 0 else bits >> -amount) for mask, bits in poison or ()
    )
    return tuple((mask, bits) for mask, bits in shifted if bits)


def extended(poison: Poison | None, width: int, wide: int) -> Poison:
    """Return what is undefined after copying the sign bit of `width` bits into all up to `wide`."""
    filled = ones(wide) ^ ones(width)
    return tuple(
        (mask, bits | filled if bits >> (width - 1) & 1 else bits) for mask, bits in poison or ()
    )


def by_byte(poison: Poison, width: int) -> list[Poison]:
    """Return what is undefined of each byte of a value."""
    return [cut(poison, 255 << place) for place in range(0, width, 8)]
