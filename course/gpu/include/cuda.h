// The driver's header declares host functions, which have no place in device code. Kernels need
// one thing of it: the type of a tensor map, passed as `const __grid_constant__ CUtensorMap`.
#pragma once
#define __cuda_cuda_h__
#include <stdint.h>

typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;

typedef struct CUtensorMap_st {
  alignas(64) cuuint64_t opaque[16];
} CUtensorMap;
