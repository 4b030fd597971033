// char1 to double4, make_*, dim3, and the built-in variables.
#pragma once
#include "course_language.h"

// Copied member by member: from that the compiler makes one access of 8 or 16 bytes, as nvcc does,
// where of a copy of bytes it makes several. trivial_abi: parameters by value all the same.
// clang-format off
#define COURSE_COPIES(vector, initializers, assignments)                                           \
    vector() = default;                                                                            \
    COURSE_MEMBER vector(const vector& v) : initializers {}                                        \
    COURSE_MEMBER vector& operator=(const vector& v) { assignments; return *this; }
#define COURSE_VECTORS(name, type)                                                                 \
  struct name##1 { type x; };                                                                      \
  struct __align__(2 * sizeof(type)) [[clang::trivial_abi]] name##2 {                              \
    type x, y;                                                                                     \
    COURSE_COPIES(name##2, COURSE_LIST(x(v.x), y(v.y)), COURSE_LIST(x = v.x, y = v.y))             \
    COURSE_MEMBER constexpr name##2(type x, type y = 0) : x(x), y(y) {}                            \
  };                                                                                               \
  struct [[clang::trivial_abi]] name##3 {                                                          \
    type x, y, z;                                                                                  \
    COURSE_COPIES(name##3, COURSE_LIST(x(v.x), y(v.y), z(v.z)),                                    \
                  COURSE_LIST(x = v.x, y = v.y, z = v.z))                                          \
    COURSE_MEMBER constexpr name##3(type x, type y = 0, type z = 0) : x(x), y(y), z(z) {}          \
  };                                                                                               \
  struct __align__(sizeof(type) == 8 ? 16 : 4 * sizeof(type)) [[clang::trivial_abi]] name##4 {     \
    type x, y, z, w;                                                                               \
    COURSE_COPIES(name##4, COURSE_LIST(x(v.x), y(v.y), z(v.z), w(v.w)),                            \
                  COURSE_LIST(x = v.x, y = v.y, z = v.z, w = v.w))                                 \
    COURSE_MEMBER constexpr name##4(type x, type y = 0, type z = 0, type w = 0)                    \
        : x(x), y(y), z(z), w(w) {}                                                                \
  };                                                                                               \
  COURSE_FN name##1 make_##name##1(type x) { return {x}; }                                         \
  COURSE_FN name##2 make_##name##2(type x, type y) { return {x, y}; }                              \
  COURSE_FN name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                   \
  COURSE_FN name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define COURSE_LIST(...) __VA_ARGS__
// clang-format on

COURSE_VECTORS(char, signed char)
COURSE_VECTORS(uchar, unsigned char)
COURSE_VECTORS(short, short)
COURSE_VECTORS(ushort, unsigned short)
COURSE_VECTORS(int, int)
COURSE_VECTORS(uint, unsigned)
COURSE_VECTORS(long, long)
COURSE_VECTORS(ulong, unsigned long)
COURSE_VECTORS(longlong, long long)
COURSE_VECTORS(ulonglong, unsigned long long)
COURSE_VECTORS(float, float)
COURSE_VECTORS(double, double)
#undef COURSE_VECTORS
#undef COURSE_COPIES

struct dim3 {
  unsigned x, y, z;
  COURSE_MEMBER constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  COURSE_MEMBER constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  COURSE_MEMBER constexpr operator uint3() const { return {x, y, z}; }
};

// `threadIdx.x` reads a special register: a property, so that no variable exists.
// clang-format off
#define COURSE_REGISTER(name, type, field, special) \
  __declspec(property(get = name##_##field)) unsigned field; \
  COURSE_FN unsigned name##_##field() { return __nvvm_read_ptx_sreg_##special##_##field(); }
#define COURSE_VARIABLE(name, type, special)                                                       \
  struct __course_##name {                                                                         \
    COURSE_REGISTER(name, type, x, special)                                                        \
    COURSE_REGISTER(name, type, y, special)                                                        \
    COURSE_REGISTER(name, type, z, special)                                                        \
    COURSE_MEMBER operator type() const {                    \
      return {name##_x(), name##_y(), name##_z()};                                                 \
    }                                                                                              \
  };                                                                                               \
  extern const __device__ __attribute__((weak)) __course_##name name;
// clang-format on

COURSE_VARIABLE(threadIdx, uint3, tid)
COURSE_VARIABLE(blockIdx, uint3, ctaid)
COURSE_VARIABLE(blockDim, dim3, ntid)
COURSE_VARIABLE(gridDim, dim3, nctaid)
#undef COURSE_REGISTER
#undef COURSE_VARIABLE
#undef COURSE_LIST

constexpr int warpSize = 32;
