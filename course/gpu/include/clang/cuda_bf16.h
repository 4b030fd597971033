// __nv_bfloat16 and __nv_bfloat162, in the names of NVIDIA's header.
#pragma once
#include "course_half.h"

COURSE_HALF(__nv_bfloat16, __bf16)
struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  COURSE_MEMBER constexpr __nv_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) : x(x), y(y) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
COURSE_HALF_ARITHMETIC(__nv_bfloat16, __nv_bfloat162, __bf16, __course_bfloat162)

COURSE_FN __nv_bfloat16 __float2bfloat16(float x) { return x; }
COURSE_FN __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
COURSE_FN __nv_bfloat16 __double2bfloat16(double x) { return x; }
COURSE_FN __nv_bfloat16 __int2bfloat16_rn(int x) { return x; }
COURSE_FN float __bfloat162float(__nv_bfloat16 x) { return x; }
COURSE_FN unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) {
  return __builtin_bit_cast(unsigned short, x);
}
COURSE_FN short __bfloat16_as_short(__nv_bfloat16 x) { return __builtin_bit_cast(short, x); }
COURSE_FN __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) {
  return __builtin_bit_cast(__nv_bfloat16, x);
}
COURSE_FN __nv_bfloat16 __short_as_bfloat16(short x) { return __builtin_bit_cast(__nv_bfloat16, x); }

COURSE_FN __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
COURSE_FN __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
COURSE_FN __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
COURSE_FN __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
COURSE_FN __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
COURSE_FN __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
COURSE_FN float2 __bfloat1622float2(__nv_bfloat162 p) { return {p.x, p.y}; }
COURSE_FN __nv_bfloat16 __low2bfloat16(__nv_bfloat162 p) { return p.x; }
COURSE_FN __nv_bfloat16 __high2bfloat16(__nv_bfloat162 p) { return p.y; }
COURSE_FN __nv_bfloat162 __low2bfloat162(__nv_bfloat162 p) { return {p.x, p.x}; }
COURSE_FN __nv_bfloat162 __high2bfloat162(__nv_bfloat162 p) { return {p.y, p.y}; }

COURSE_FN __nv_bfloat162 atomicAdd(__nv_bfloat162* at, __nv_bfloat162 value) {
  unsigned old;
  asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(at), "r"(__builtin_bit_cast(unsigned, value))
               : "memory");
  return __builtin_bit_cast(__nv_bfloat162, old);
}
