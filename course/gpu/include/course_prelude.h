// Included before every source, as nvcc does with <cuda_runtime.h>: a kernel that uses uint32_t or
// INFINITY without an include compiles here as it does there.
#pragma once
#include <math.h>
#include <stdint.h>
