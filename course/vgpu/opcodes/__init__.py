"""One function for each opcode of PTX; importing this package fills `lowering.TABLE`."""

from . import control, convert, floating, integer, memory, moves, warp  # noqa: F401
