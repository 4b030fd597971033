// Atomics: relaxed, for the device; with _block and _system behind the name, for those scopes.
#pragma once
#include "course_language.h"

#define COURSE_ATOMIC(name, operation, type)                                                   \
  COURSE_FN type name(type* at, type value) {                                                  \
    return operation(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);                      \
  }                                                                                            \
  COURSE_FN type name##_block(type* at, type value) {                                          \
    return operation(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);                      \
  }                                                                                            \
  COURSE_FN type name##_system(type* at, type value) {                                         \
    return operation(at, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);                      \
  }
#define COURSE_ATOMICS(name, operation)               \
  COURSE_ATOMIC(name, operation, int)                 \
  COURSE_ATOMIC(name, operation, unsigned)            \
  COURSE_ATOMIC(name, operation, unsigned long)       \
  COURSE_ATOMIC(name, operation, unsigned long long)

COURSE_ATOMICS(atomicAdd, __scoped_atomic_fetch_add)
COURSE_ATOMICS(atomicSub, __scoped_atomic_fetch_sub)
COURSE_ATOMICS(atomicMin, __scoped_atomic_fetch_min)
COURSE_ATOMICS(atomicMax, __scoped_atomic_fetch_max)
COURSE_ATOMICS(atomicAnd, __scoped_atomic_fetch_and)
COURSE_ATOMICS(atomicOr, __scoped_atomic_fetch_or)
COURSE_ATOMICS(atomicXor, __scoped_atomic_fetch_xor)
COURSE_ATOMICS(atomicExch, __scoped_atomic_exchange_n)
COURSE_ATOMIC(atomicMin, __scoped_atomic_fetch_min, long long)
COURSE_ATOMIC(atomicMax, __scoped_atomic_fetch_max, long long)
COURSE_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, float)
COURSE_ATOMIC(atomicAdd, __scoped_atomic_fetch_add, double)
#undef COURSE_ATOMICS
#undef COURSE_ATOMIC

#define COURSE_EXCHANGE(suffix)                                                              \
  COURSE_FN float atomicExch##suffix(float* at, float value) {                               \
    return __builtin_bit_cast(                                                               \
        float, atomicExch##suffix((unsigned*)at, __builtin_bit_cast(unsigned, value)));      \
  }
COURSE_EXCHANGE()
COURSE_EXCHANGE(_block)
COURSE_EXCHANGE(_system)
#undef COURSE_EXCHANGE

#define COURSE_SWAP(suffix, scope, type)                                                      \
  COURSE_FN type atomicCAS##suffix(type* at, type expected, type value) {                     \
    __scoped_atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED,         \
                                       __ATOMIC_RELAXED, scope);                              \
    return expected;                                                                          \
  }
#define COURSE_SWAPS(type)                             \
  COURSE_SWAP(, __MEMORY_SCOPE_DEVICE, type)           \
  COURSE_SWAP(_block, __MEMORY_SCOPE_WRKGRP, type)     \
  COURSE_SWAP(_system, __MEMORY_SCOPE_SYSTEM, type)
COURSE_SWAPS(int)
COURSE_SWAPS(unsigned)
COURSE_SWAPS(unsigned long)
COURSE_SWAPS(unsigned long long)
COURSE_SWAPS(unsigned short)
#undef COURSE_SWAPS
#undef COURSE_SWAP

COURSE_FN unsigned atomicInc(unsigned* at, unsigned last) { return __nvvm_atom_inc_gen_ui(at, last); }
COURSE_FN unsigned atomicDec(unsigned* at, unsigned last) { return __nvvm_atom_dec_gen_ui(at, last); }
