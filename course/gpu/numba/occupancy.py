"""How many blocks of a kernel a multiprocessor holds at a time (compute capability 9.0).

The numbers are those of table "Technical Specifications per Compute Capability" in NVIDIA's CUDA
C++ Programming Guide; the way of rounding is that of NVIDIA's occupancy calculator.
"""

WARP = 32
MULTIPROCESSORS = 132
WARPS = 64
BLOCKS = 32
REGISTERS = 65536
_REGISTERS_STEP = 256  # a warp gets a multiple of this
_REGISTER_FILES = 4  # each serves a quarter of the warps
SHARED = 233_472
_SHARED_STEP = 128
SHARED_OF_THE_SYSTEM = 1024  # taken from each block's share


def warps_by_registers(registers: int) -> int:
    """Return how many warps fit by their registers, `registers` for each thread."""
    of_a_warp = _up(max(registers, 1) * WARP, _REGISTERS_STEP)
    return REGISTERS // _REGISTER_FILES // of_a_warp * _REGISTER_FILES


def most_threads(registers: int) -> int:
    """Return the largest block that a thread's registers allow."""
    return min(1024, warps_by_registers(registers) * WARP)


def blocks(threads: int, registers: int, shared: int) -> int:
    """Return how many blocks fit.

    Parameters
    ----------
    threads : int
        Of a block.
    registers : int
        Of a thread.
    shared : int
        Bytes of a block, static and dynamic.
    """
    warps = -(-threads // WARP)
    if not warps:
        return 0
    of_a_block = _up(shared + SHARED_OF_THE_SYSTEM, _SHARED_STEP)
    return min(BLOCKS, WARPS // warps, warps_by_registers(registers) // warps, SHARED // of_a_block)


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
