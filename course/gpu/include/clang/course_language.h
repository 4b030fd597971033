// The words that CUDA adds to C++, printf and assert.
#pragma once

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
// inline, for what that does to shared variables: of those of other kernels clang drops the loads
// where nobody stores, and a missing store would not be found
#define __global__ __attribute__((global)) inline
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) \
  _Pragma("GCC error \"clang, which stands in for NVRTC here, compiles no thread block clusters\"")
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// Of a function of these headers: faults and counts belong to the line that calls it.
#define COURSE_FN static __device__ inline __attribute__((always_inline, nodebug, unused))
#define COURSE_MEMBER __device__ __attribute__((always_inline, nodebug))

#define offsetof(type, member) __builtin_offsetof(type, member)

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef long clock_t;

namespace std {}

extern "C" {
__device__ int vprintf(const char* format, const char* arguments);
__device__ int printf(const char* format, ...);
__device__ void* malloc(size_t);
__device__ void free(void*);
__device__ void* memcpy(void*, const void*, size_t);
__device__ void* memmove(void*, const void*, size_t);
__device__ void* memset(void*, int, size_t);
__device__ void __assertfail(const char* what, const char* file, unsigned line, const char* function,
                             size_t size_of_char);
}

#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1))
#endif
