// Bits, integer arithmetic, conversions that say how they round, min and max.
#pragma once
#include "course_language.h"

COURSE_FN int __popc(unsigned x) { return __builtin_popcount(x); }
COURSE_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
COURSE_FN int __clz(int x) { return __builtin_clzg((unsigned)x, 32); }
COURSE_FN int __clzll(long long x) { return __builtin_clzg((unsigned long long)x, 64); }
COURSE_FN int __ffs(int x) { return __builtin_ffs(x); }
COURSE_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
COURSE_FN unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
COURSE_FN unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
COURSE_FN int __mulhi(int a, int b) { return __nvvm_mulhi_i(a, b); }
COURSE_FN unsigned __umulhi(unsigned a, unsigned b) { return __nvvm_mulhi_ui(a, b); }
COURSE_FN long long __mul64hi(long long a, long long b) { return __nvvm_mulhi_ll(a, b); }
COURSE_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return __nvvm_mulhi_ull(a, b);
}
COURSE_FN int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
COURSE_FN unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
COURSE_FN int __hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
COURSE_FN unsigned __uhadd(unsigned a, unsigned b) { return (a & b) + ((a ^ b) >> 1); }
COURSE_FN unsigned __sad(int a, int b, unsigned c) {
  return c + (a > b ? (unsigned)a - (unsigned)b : (unsigned)b - (unsigned)a);
}
COURSE_FN unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }
COURSE_FN unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  return __nvvm_prmt(a, b, selector & 0x7777);
}
COURSE_FN unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
  return __builtin_rotateleft64((unsigned long long)high << 32 | low, n & 31) >> 32;
}
COURSE_FN unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
  return ((unsigned long long)high << 32 | low) >> (n & 31);
}
COURSE_FN unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned n) {
  return ((unsigned long long)high << 32 | low) << (n < 32 ? n : 32) >> 32;
}
COURSE_FN unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned n) {
  return ((unsigned long long)high << 32 | low) >> (n < 32 ? n : 32);
}
COURSE_FN int __dp4a(int a, int b, int c) {
  asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
  return c;
}
COURSE_FN unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  asm("dp4a.u32.u32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
  return c;
}

COURSE_FN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
COURSE_FN unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
COURSE_FN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
COURSE_FN float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
COURSE_FN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
COURSE_FN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
COURSE_FN int __double2hiint(double x) { return __double_as_longlong(x) >> 32; }
COURSE_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
COURSE_FN double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)high << 32 | (unsigned)low);
}

#define COURSE_CONVERT_AS(name, builtin, to, from, mode, rounding) \
  COURSE_FN to __##name##_##mode(from x) { return __nvvm_##builtin##_##rounding(x); }
#define COURSE_CONVERT(name, builtin, to, from)              \
  COURSE_CONVERT_AS(name, builtin, to, from, rn, rn)         \
  COURSE_CONVERT_AS(name, builtin, to, from, rz, rz)         \
  COURSE_CONVERT_AS(name, builtin, to, from, rd, rm)         \
  COURSE_CONVERT_AS(name, builtin, to, from, ru, rp)
COURSE_CONVERT(float2int, f2i, int, float)
COURSE_CONVERT(float2uint, f2ui, unsigned, float)
COURSE_CONVERT(float2ll, f2ll, long long, float)
COURSE_CONVERT(float2ull, f2ull, unsigned long long, float)
COURSE_CONVERT(double2int, d2i, int, double)
COURSE_CONVERT(double2uint, d2ui, unsigned, double)
COURSE_CONVERT(double2ll, d2ll, long long, double)
COURSE_CONVERT(double2ull, d2ull, unsigned long long, double)
COURSE_CONVERT(int2float, i2f, float, int)
COURSE_CONVERT(uint2float, ui2f, float, unsigned)
COURSE_CONVERT(ll2float, ll2f, float, long long)
COURSE_CONVERT(ull2float, ull2f, float, unsigned long long)
COURSE_CONVERT(ll2double, ll2d, double, long long)
COURSE_CONVERT(ull2double, ull2d, double, unsigned long long)
COURSE_CONVERT(double2float, d2f, float, double)
#undef COURSE_CONVERT
#undef COURSE_CONVERT_AS
COURSE_FN double __int2double_rn(int x) { return x; }
COURSE_FN double __uint2double_rn(unsigned x) { return x; }

#define COURSE_MIN_MAX(result, a, b)                                                   \
  COURSE_FN result min(a x, b y) { return (result)y < (result)x ? (result)y : (result)x; } \
  COURSE_FN result max(a x, b y) { return (result)x < (result)y ? (result)y : (result)x; }
COURSE_MIN_MAX(int, int, int)
COURSE_MIN_MAX(unsigned, unsigned, unsigned)
COURSE_MIN_MAX(unsigned, int, unsigned)
COURSE_MIN_MAX(unsigned, unsigned, int)
COURSE_MIN_MAX(long, long, long)
COURSE_MIN_MAX(unsigned long, unsigned long, unsigned long)
COURSE_MIN_MAX(unsigned long, long, unsigned long)
COURSE_MIN_MAX(unsigned long, unsigned long, long)
COURSE_MIN_MAX(long long, long long, long long)
COURSE_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
COURSE_MIN_MAX(unsigned long long, long long, unsigned long long)
COURSE_MIN_MAX(unsigned long long, unsigned long long, long long)
#undef COURSE_MIN_MAX
COURSE_FN float min(float x, float y) { return __builtin_fminf(x, y); }
COURSE_FN float max(float x, float y) { return __builtin_fmaxf(x, y); }
COURSE_FN double min(double x, double y) { return __builtin_fmin(x, y); }
COURSE_FN double max(double x, double y) { return __builtin_fmax(x, y); }
COURSE_FN double min(float x, double y) { return __builtin_fmin(x, y); }
COURSE_FN double max(float x, double y) { return __builtin_fmax(x, y); }
COURSE_FN double min(double x, float y) { return __builtin_fmin(x, y); }
COURSE_FN double max(double x, float y) { return __builtin_fmax(x, y); }

COURSE_FN unsigned umin(unsigned x, unsigned y) { return x < y ? x : y; }
COURSE_FN unsigned umax(unsigned x, unsigned y) { return x < y ? y : x; }
COURSE_FN long long llmin(long long x, long long y) { return x < y ? x : y; }
COURSE_FN long long llmax(long long x, long long y) { return x < y ? y : x; }
COURSE_FN int abs(int x) { return __builtin_abs(x); }
COURSE_FN long abs(long x) { return __builtin_labs(x); }
COURSE_FN long long abs(long long x) { return __builtin_llabs(x); }
COURSE_FN long labs(long x) { return __builtin_labs(x); }
COURSE_FN long long llabs(long long x) { return __builtin_llabs(x); }
