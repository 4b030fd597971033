// Atomics: relaxed, for the device; with _block and _system behind the name, for those scopes.
// The first come from clang, which then knows the state space; it has no scopes but that one.
#pragma once
#include "course_language.h"

#define COURSE_ASM(name, operation, type, letter)                                              \
  COURSE_FN type name(type* at, type value) {                                                  \
    type old;                                                                                  \
    asm volatile("atom." operation " %0, [%1], %2;"                                            \
                 : "=" letter(old)                                                             \
                 : "l"(at), letter(value)                                                      \
                 : "memory");                                                                  \
    return old;                                                                                \
  }
#define COURSE_ATOMIC(name, builtin, operation, type, ptx, letter)                             \
  COURSE_FN type name(type* at, type value) {                                                  \
    return builtin(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                        \
  }                                                                                            \
  COURSE_ASM(name##_block, "cta." operation "." ptx, type, letter)                             \
  COURSE_ASM(name##_system, "sys." operation "." ptx, type, letter)
#define COURSE_ARITHMETIC(name, builtin, operation)                                            \
  COURSE_ATOMIC(name, builtin, operation, int, "s32", "r")                                     \
  COURSE_ATOMIC(name, builtin, operation, unsigned, "u32", "r")                                \
  COURSE_ATOMIC(name, builtin, operation, unsigned long, "u64", "l")                           \
  COURSE_ATOMIC(name, builtin, operation, unsigned long long, "u64", "l")
#define COURSE_BITWISE(name, builtin, operation)                                               \
  COURSE_ATOMIC(name, builtin, operation, int, "b32", "r")                                     \
  COURSE_ATOMIC(name, builtin, operation, unsigned, "b32", "r")                                \
  COURSE_ATOMIC(name, builtin, operation, unsigned long, "b64", "l")                           \
  COURSE_ATOMIC(name, builtin, operation, unsigned long long, "b64", "l")

COURSE_ARITHMETIC(atomicAdd, __scoped_atomic_fetch_add, "add")
COURSE_ARITHMETIC(atomicMin, __scoped_atomic_fetch_min, "min")
COURSE_ARITHMETIC(atomicMax, __scoped_atomic_fetch_max, "max")
COURSE_BITWISE(atomicAnd, __scoped_atomic_fetch_and, "and")
COURSE_BITWISE(atomicOr, __scoped_atomic_fetch_or, "or")
COURSE_BITWISE(atomicXor, __scoped_atomic_fetch_xor, "xor")
COURSE_BITWISE(atomicExch, __scoped_atomic_exchange_n, "exch")
COURSE_ATOMIC(atomicMin, __scoped_atomic_fetch_min, "min", long long, "s64", "l")
COURSE_ATOMIC(atomicMax, __scoped_atomic_fetch_max, "max", long long, "s64", "l")
COURSE_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, "add", float, "f32", "f")
COURSE_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, "add", double, "f64", "d")
#undef COURSE_BITWISE
#undef COURSE_ARITHMETIC
#undef COURSE_ATOMIC
#undef COURSE_ASM

#define COURSE_SUB(suffix)                                                                     \
  COURSE_FN int atomicSub##suffix(int* at, int value) {                                        \
    return (int)atomicAdd##suffix((unsigned*)at, 0u - (unsigned)value);                        \
  }                                                                                            \
  COURSE_FN unsigned atomicSub##suffix(unsigned* at, unsigned value) {                         \
    return atomicAdd##suffix(at, 0u - value);                                                  \
  }
COURSE_SUB()
COURSE_SUB(_block)
COURSE_SUB(_system)
#undef COURSE_SUB

#define COURSE_EXCHANGE(suffix)                                                              \
  COURSE_FN float atomicExch##suffix(float* at, float value) {                               \
    return __builtin_bit_cast(                                                               \
        float, atomicExch##suffix((unsigned*)at, __builtin_bit_cast(unsigned, value)));      \
  }
COURSE_EXCHANGE()
COURSE_EXCHANGE(_block)
COURSE_EXCHANGE(_system)
#undef COURSE_EXCHANGE

#define COURSE_SWAP_ASM(name, operation, type, letter)                                         \
  COURSE_FN type name(type* at, type expected, type value) {                                   \
    type old;                                                                                  \
    asm volatile("atom." operation " %0, [%1], %2, %3;"                                        \
                 : "=" letter(old)                                                             \
                 : "l"(at), letter(expected), letter(value)                                    \
                 : "memory");                                                                  \
    return old;                                                                                \
  }
#define COURSE_SWAP(type, ptx, letter)                                                         \
  COURSE_FN type atomicCAS(type* at, type expected, type value) {                              \
    __scoped_atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED,          \
                                       __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);               \
    return expected;                                                                           \
  }                                                                                            \
  COURSE_SWAP_ASM(atomicCAS_block, "cta.cas." ptx, type, letter)                               \
  COURSE_SWAP_ASM(atomicCAS_system, "sys.cas." ptx, type, letter)
COURSE_SWAP(int, "b32", "r")
COURSE_SWAP(unsigned, "b32", "r")
COURSE_SWAP(unsigned long, "b64", "l")
COURSE_SWAP(unsigned long long, "b64", "l")
COURSE_SWAP(unsigned short, "b16", "h")
#undef COURSE_SWAP
#undef COURSE_SWAP_ASM

COURSE_FN unsigned atomicInc(unsigned* at, unsigned last) { return __nvvm_atom_inc_gen_ui(at, last); }
COURSE_FN unsigned atomicDec(unsigned* at, unsigned last) { return __nvvm_atom_dec_gen_ui(at, last); }
