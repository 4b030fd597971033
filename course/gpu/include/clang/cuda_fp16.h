// __half and __half2, in the names of NVIDIA's header.
#pragma once
#include "course_half.h"

COURSE_HALF(__half, _Float16)
struct __align__(4) __half2 {
  __half x, y;
  __half2() = default;
  COURSE_MEMBER constexpr __half2(__half x, __half y) : x(x), y(y) {}
};
typedef __half half;
typedef __half2 half2;
COURSE_HALF_ARITHMETIC(__half, __half2, _Float16, __course_half2)

COURSE_FN __half __float2half(float x) { return x; }
COURSE_FN __half __float2half_rn(float x) { return x; }
COURSE_FN __half __double2half(double x) { return x; }
COURSE_FN __half __int2half_rn(int x) { return x; }
COURSE_FN __half __uint2half_rn(unsigned x) { return x; }
COURSE_FN float __half2float(__half x) { return x; }
COURSE_FN int __half2int_rn(__half x) { return (int)rintf(x); }
COURSE_FN int __half2int_rz(__half x) { return (int)(float)x; }
COURSE_FN unsigned short __half_as_ushort(__half x) { return __builtin_bit_cast(unsigned short, x); }
COURSE_FN short __half_as_short(__half x) { return __builtin_bit_cast(short, x); }
COURSE_FN __half __ushort_as_half(unsigned short x) { return __builtin_bit_cast(__half, x); }
COURSE_FN __half __short_as_half(short x) { return __builtin_bit_cast(__half, x); }

COURSE_FN __half2 make_half2(__half x, __half y) { return {x, y}; }
COURSE_FN __half2 __halves2half2(__half x, __half y) { return {x, y}; }
COURSE_FN __half2 __half2half2(__half x) { return {x, x}; }
COURSE_FN __half2 __float2half2_rn(float x) { return {x, x}; }
COURSE_FN __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
COURSE_FN __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
COURSE_FN float2 __half22float2(__half2 p) { return {p.x, p.y}; }
COURSE_FN __half __low2half(__half2 p) { return p.x; }
COURSE_FN __half __high2half(__half2 p) { return p.y; }
COURSE_FN __half2 __low2half2(__half2 p) { return {p.x, p.x}; }
COURSE_FN __half2 __high2half2(__half2 p) { return {p.y, p.y}; }
COURSE_FN __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
COURSE_FN __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

COURSE_FN __half2 atomicAdd(__half2* at, __half2 value) {
  unsigned old;
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(at), "r"(__builtin_bit_cast(unsigned, value))
               : "memory");
  return __builtin_bit_cast(__half2, old);
}
