"""What the virtual GPU says of itself: the attributes of an H200, where they mean something here.

Names are those of ``CUdevice_attribute`` without their prefix, which numba offers as attributes of
``cuda.get_current_device()``. What depends on a board or on its clock is not there.
"""

from course.gpu.numba import occupancy
from course.gpu.virtual_device import VirtualDevice

_LIMITS = VirtualDevice.limits

VALUES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "WARP_SIZE": occupancy.WARP,
    "MULTIPROCESSOR_COUNT": occupancy.MULTIPROCESSORS,
    # a launch
    "MAX_THREADS_PER_BLOCK": _LIMITS.threads_per_block,
    **{f"MAX_BLOCK_DIM_{a}": n for a, n in zip("XYZ", _LIMITS.block, strict=True)},
    **{f"MAX_GRID_DIM_{a}": n for a, n in zip("XYZ", _LIMITS.grid, strict=True)},
    "MAX_SHARED_MEMORY_PER_BLOCK": 49_152,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": _LIMITS.shared_per_block,
    "RESERVED_SHARED_MEMORY_PER_BLOCK": occupancy.SHARED_OF_THE_SYSTEM,
    "MAX_REGISTERS_PER_BLOCK": occupancy.REGISTERS,
    "TOTAL_CONSTANT_MEMORY": 65_536,
    "L2_CACHE_SIZE": 62_914_560,
    # a multiprocessor
    "MAX_THREADS_PER_MULTIPROCESSOR": occupancy.WARPS * occupancy.WARP,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": occupancy.BLOCKS,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": occupancy.SHARED,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": occupancy.REGISTERS,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    # what it can do
    "COOPERATIVE_LAUNCH": 1,
    "CLUSTER_LAUNCH": 1,
    "CAN_MAP_HOST_MEMORY": 1,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "UNIFIED_ADDRESSING": 1,
    "CONCURRENT_KERNELS": 1,
    "STREAM_PRIORITIES_SUPPORTED": 1,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    # the computer around it
    "PCI_DOMAIN_ID": 0,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "INTEGRATED": 0,
    "ECC_ENABLED": 0,
    "TCC_DRIVER": 0,
    "KERNEL_EXEC_TIMEOUT": 0,
    "COMPUTE_MODE": 0,
    "MULTI_GPU_BOARD": 0,
    "MAX_PITCH": 2**31 - 1,
}
