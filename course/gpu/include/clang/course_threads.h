// Barriers, fences, and what the threads of a warp tell each other.
#pragma once
#include "course_language.h"

COURSE_FN int __syncthreads_count(int p) { return __nvvm_bar0_popc(p); }
COURSE_FN int __syncthreads_and(int p) { return __nvvm_bar0_and(p); }
COURSE_FN int __syncthreads_or(int p) { return __nvvm_bar0_or(p); }
COURSE_FN void __syncwarp(unsigned mask = 0xffffffff) { __nvvm_bar_warp_sync(mask); }
COURSE_FN void __threadfence_block() { __nvvm_membar_cta(); }
COURSE_FN void __threadfence() { __nvvm_membar_gl(); }
COURSE_FN void __threadfence_system() { __nvvm_membar_sys(); }

COURSE_FN unsigned __activemask() { return __nvvm_activemask(); }
COURSE_FN int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
COURSE_FN int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
COURSE_FN int __uni_sync(unsigned mask, int p) { return __nvvm_vote_uni_sync(mask, p); }
COURSE_FN unsigned __ballot_sync(unsigned mask, int p) {
  return __nvvm_vote_ballot_sync(mask, p);
}

// The third operand of shfl: lanes of a segment of `width`, and where a value may come from at most.
#define COURSE_SHUFFLE(name, kind, second, bound)                                                  \
  template <class T>                                                                               \
  COURSE_FN T __##name##_sync(unsigned mask, T value, second, int width = 32) {                    \
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,                              \
                  "a shuffle moves 2, 4 or 8 bytes");                                              \
    int clamp = (32 - width) << 8 | bound;                                                         \
    if constexpr (sizeof(T) == 2) {                                                                \
      int wide = __builtin_bit_cast(unsigned short, value);                                        \
      unsigned short got = __nvvm_shfl_sync_##kind##_i32(mask, wide, lane, clamp);                 \
      return __builtin_bit_cast(T, got);                                                           \
    } else if constexpr (sizeof(T) == 4) {                                                         \
      int got = __nvvm_shfl_sync_##kind##_i32(mask, __builtin_bit_cast(int, value), lane, clamp);  \
      return __builtin_bit_cast(T, got);                                                           \
    } else {                                                                                       \
      struct Halves {                                                                              \
        int low, high;                                                                             \
      } halves = __builtin_bit_cast(Halves, value);                                                \
      halves.low = __nvvm_shfl_sync_##kind##_i32(mask, halves.low, lane, clamp);                   \
      halves.high = __nvvm_shfl_sync_##kind##_i32(mask, halves.high, lane, clamp);                 \
      return __builtin_bit_cast(T, halves);                                                        \
    }                                                                                              \
  }
COURSE_SHUFFLE(shfl, idx, int lane, 31)
COURSE_SHUFFLE(shfl_up, up, unsigned lane, 0)
COURSE_SHUFFLE(shfl_down, down, unsigned lane, 31)
COURSE_SHUFFLE(shfl_xor, bfly, int lane, 31)
#undef COURSE_SHUFFLE

template <class T>
COURSE_FN unsigned __match_any_sync(unsigned mask, T value) {
  if constexpr (sizeof(T) == 4)
    return __nvvm_match_any_sync_i32(mask, __builtin_bit_cast(unsigned, value));
  else
    return __nvvm_match_any_sync_i64(mask, __builtin_bit_cast(unsigned long, value));
}

template <class T>
COURSE_FN unsigned __match_all_sync(unsigned mask, T value, int* all) {
  if constexpr (sizeof(T) == 4)
    return __nvvm_match_all_sync_i32p(mask, __builtin_bit_cast(unsigned, value), all);
  else
    return __nvvm_match_all_sync_i64p(mask, __builtin_bit_cast(unsigned long, value), all);
}

COURSE_FN int __reduce_add_sync(unsigned mask, int v) { return __nvvm_redux_sync_add(v, mask); }
COURSE_FN int __reduce_min_sync(unsigned mask, int v) { return __nvvm_redux_sync_min(v, mask); }
COURSE_FN int __reduce_max_sync(unsigned mask, int v) { return __nvvm_redux_sync_max(v, mask); }
COURSE_FN unsigned __reduce_add_sync(unsigned mask, unsigned v) {
  return __nvvm_redux_sync_add(v, mask);
}
COURSE_FN unsigned __reduce_min_sync(unsigned mask, unsigned v) {
  return __nvvm_redux_sync_umin(v, mask);
}
COURSE_FN unsigned __reduce_max_sync(unsigned mask, unsigned v) {
  return __nvvm_redux_sync_umax(v, mask);
}
COURSE_FN unsigned __reduce_and_sync(unsigned mask, unsigned v) {
  return __nvvm_redux_sync_and(v, mask);
}
COURSE_FN unsigned __reduce_or_sync(unsigned mask, unsigned v) {
  return __nvvm_redux_sync_or(v, mask);
}
COURSE_FN unsigned __reduce_xor_sync(unsigned mask, unsigned v) {
  return __nvvm_redux_sync_xor(v, mask);
}

COURSE_FN clock_t clock() { return (int)__nvvm_read_ptx_sreg_clock(); }
COURSE_FN long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
COURSE_FN void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
COURSE_FN void __trap() { asm volatile("trap;"); }

// Loads and stores with a hint for the caches.
#define COURSE_LOAD(name) \
  template <class T>      \
  COURSE_FN T name(const T* at) { return *(const __attribute__((address_space(1))) T*)at; }
#define COURSE_STORE(name) \
  template <class T>       \
  COURSE_FN void name(T* at, T value) { *(__attribute__((address_space(1))) T*)at = value; }
COURSE_LOAD(__ldg)
COURSE_LOAD(__ldca)
COURSE_LOAD(__ldcg)
COURSE_LOAD(__ldcs)
COURSE_LOAD(__ldlu)
COURSE_STORE(__stwb)
COURSE_STORE(__stcg)
COURSE_STORE(__stcs)
COURSE_STORE(__stwt)
#undef COURSE_LOAD
#undef COURSE_STORE

#define COURSE_SPACE(name, number)                                                                 \
  COURSE_FN unsigned __is##name(const void* p) { return __nvvm_isspacep_##number(p); }
COURSE_SPACE(Global, global)
COURSE_SPACE(Shared, shared)
COURSE_SPACE(Local, local)
COURSE_SPACE(Constant, const)
#undef COURSE_SPACE
COURSE_FN size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(__attribute__((address_space(3))) const void*)p;
}
COURSE_FN size_t __cvta_generic_to_global(const void* p) {
  return (size_t)(__attribute__((address_space(1))) const void*)p;
}
COURSE_FN void* __cvta_shared_to_generic(size_t p) {
  return (void*)(__attribute__((address_space(3))) void*)p;
}
COURSE_FN void* __cvta_global_to_generic(size_t p) {
  return (void*)(__attribute__((address_space(1))) void*)p;
}
