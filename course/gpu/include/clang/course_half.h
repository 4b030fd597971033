// What cuda_fp16.h and cuda_bf16.h share: a number of 16 bits, a pair, and arithmetic on both.
#pragma once
#include "course_atomics.h"
#include "course_math.h"
#include "course_threads.h"
#include "course_vectors.h"

// clang-format off
#define COURSE_HALF(T, raw)                                                                        \
  struct T {                                                                                       \
    raw value;                                                                                     \
    T() = default;                                                                                 \
    COURSE_MEMBER constexpr T(float x) : value((raw)x) {}                                          \
    COURSE_MEMBER constexpr T(double x) : value((raw)x) {}                                         \
    COURSE_MEMBER constexpr T(int x) : value((raw)x) {}                                            \
    COURSE_MEMBER constexpr T(unsigned x) : value((raw)x) {}                                       \
    COURSE_MEMBER constexpr T(long long x) : value((raw)x) {}                                      \
    COURSE_MEMBER constexpr T(unsigned long long x) : value((raw)x) {}                             \
    COURSE_MEMBER constexpr operator float() const { return (float)value; }                        \
  };                                                                                               \
  COURSE_FN T __course_##T(raw x) { T h; h.value = x; return h; }

#define COURSE_HALF_BINARY(T, name, expression) \
  COURSE_FN T name(T a, T b) { return __course_##T(expression); }
#define COURSE_HALF_COMPARISON(T, name, symbol)                                                    \
  COURSE_FN bool operator symbol(T a, T b) { return a.value symbol b.value; }                      \
  COURSE_FN bool name(T a, T b) { return a.value symbol b.value; }
#define COURSE_HALF_OPERATOR(T, name, symbol)                                                      \
  COURSE_HALF_BINARY(T, name, a.value symbol b.value)                                              \
  COURSE_FN T operator symbol(T a, T b) { return name(a, b); }                                     \
  COURSE_FN T& operator symbol##=(T& a, T b) { return a = name(a, b); }
// A function by way of float, on one number and on a pair.
#define COURSE_HALF_UNARY(T, P, name, expression)                                                  \
  COURSE_FN T h##name(T h) { float x = h; return T((float)(expression)); }                         \
  COURSE_FN P h2##name(P p) { return {h##name(p.x), h##name(p.y)}; }
#define COURSE_PAIR_OPERATOR(P, V, name, symbol)                                                   \
  COURSE_FN P name(P a, P b) {                                                                     \
    return __builtin_bit_cast(P, __builtin_bit_cast(V, a) symbol __builtin_bit_cast(V, b));        \
  }                                                                                                \
  COURSE_FN P operator symbol(P a, P b) { return name(a, b); }                                     \
  COURSE_FN P& operator symbol##=(P& a, P b) { return a = name(a, b); }

#define COURSE_HALF_ARITHMETIC(T, P, raw, V)                                                       \
  typedef raw V __attribute__((ext_vector_type(2)));                                               \
  COURSE_HALF_OPERATOR(T, __hadd, +)                                                               \
  COURSE_HALF_OPERATOR(T, __hsub, -)                                                               \
  COURSE_HALF_OPERATOR(T, __hmul, *)                                                               \
  COURSE_HALF_OPERATOR(T, __hdiv, /)                                                               \
  COURSE_HALF_COMPARISON(T, __heq, ==)                                                             \
  COURSE_HALF_COMPARISON(T, __hne, !=)                                                             \
  COURSE_HALF_COMPARISON(T, __hlt, <)                                                              \
  COURSE_HALF_COMPARISON(T, __hle, <=)                                                             \
  COURSE_HALF_COMPARISON(T, __hgt, >)                                                              \
  COURSE_HALF_COMPARISON(T, __hge, >=)                                                             \
  COURSE_FN T __hfma(T a, T b, T c) {                                                              \
    return __course_##T(__builtin_elementwise_fma(a.value, b.value, c.value));                     \
  }                                                                                                \
  COURSE_FN T __hneg(T a) { return __course_##T(-a.value); }                                       \
  COURSE_FN T operator-(T a) { return __hneg(a); }                                                 \
  COURSE_FN T __habs(T a) { return __course_##T(__builtin_elementwise_abs(a.value)); }             \
  COURSE_HALF_BINARY(T, __hmin, (raw)__builtin_fminf((float)a, (float)b))                          \
  COURSE_HALF_BINARY(T, __hmax, (raw)__builtin_fmaxf((float)a, (float)b))                          \
  COURSE_FN bool __hisnan(T a) { return a.value != a.value; }                                      \
  COURSE_FN int __hisinf(T a) { return __builtin_isinf((float)a) ? a.value > (raw)0 ? 1 : -1 : 0; }\
  COURSE_HALF_UNARY(T, P, exp, expf(x))                                                            \
  COURSE_HALF_UNARY(T, P, exp2, exp2f(x))                                                          \
  COURSE_HALF_UNARY(T, P, exp10, exp10f(x))                                                        \
  COURSE_HALF_UNARY(T, P, log, logf(x))                                                            \
  COURSE_HALF_UNARY(T, P, log2, log2f(x))                                                          \
  COURSE_HALF_UNARY(T, P, log10, log10f(x))                                                        \
  COURSE_HALF_UNARY(T, P, sin, sinf(x))                                                            \
  COURSE_HALF_UNARY(T, P, cos, cosf(x))                                                            \
  COURSE_HALF_UNARY(T, P, tanh, tanhf(x))                                                          \
  COURSE_HALF_UNARY(T, P, sqrt, sqrtf(x))                                                          \
  COURSE_HALF_UNARY(T, P, rsqrt, rsqrtf(x))                                                        \
  COURSE_HALF_UNARY(T, P, rcp, 1 / x)                                                              \
  COURSE_HALF_UNARY(T, P, floor, floorf(x))                                                        \
  COURSE_HALF_UNARY(T, P, ceil, ceilf(x))                                                          \
  COURSE_HALF_UNARY(T, P, trunc, truncf(x))                                                        \
  COURSE_HALF_UNARY(T, P, rint, rintf(x))                                                          \
  COURSE_PAIR_OPERATOR(P, V, __hadd2, +)                                                           \
  COURSE_PAIR_OPERATOR(P, V, __hsub2, -)                                                           \
  COURSE_PAIR_OPERATOR(P, V, __hmul2, *)                                                           \
  COURSE_PAIR_OPERATOR(P, V, __h2div, /)                                                           \
  COURSE_FN P __hfma2(P a, P b, P c) {                                                             \
    return __builtin_bit_cast(                                                                     \
        P, __builtin_elementwise_fma(__builtin_bit_cast(V, a), __builtin_bit_cast(V, b),           \
                                     __builtin_bit_cast(V, c)));                                   \
  }                                                                                                \
  COURSE_FN P __hneg2(P a) { return {-a.x, -a.y}; }                                                \
  COURSE_FN P operator-(P a) { return __hneg2(a); }                                                \
  COURSE_FN P __habs2(P a) { return {__habs(a.x), __habs(a.y)}; }                                  \
  COURSE_FN P __hmin2(P a, P b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                   \
  COURSE_FN P __hmax2(P a, P b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                   \
  COURSE_FN bool operator==(P a, P b) { return a.x == b.x && a.y == b.y; }                         \
  COURSE_FN bool operator!=(P a, P b) { return !(a == b); }                                        \
  COURSE_FN float __low2float(P p) { return p.x; }                                                 \
  COURSE_FN float __high2float(P p) { return p.y; }                                                \
  COURSE_FN P __lowhigh2highlow(P p) { return {p.y, p.x}; }                                        \
  COURSE_FN T atomicAdd(T* at, T value) {                                                          \
    return __course_##T(__scoped_atomic_fetch_add(&at->value, value.value, __ATOMIC_RELAXED,       \
                                                  __MEMORY_SCOPE_DEVICE));                         \
  }
// clang-format on
