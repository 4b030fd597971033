// cooperative_groups::reduce over a tile or a coalesced group.
#pragma once
#include <cooperative_groups.h>

namespace cooperative_groups {

#define COURSE_OPERATION(name, expression)                                                  \
  template <class T>                                                                        \
  struct name {                                                                             \
    COURSE_MEMBER T operator()(T a, T b) const {       \
      return expression;                                                                    \
    }                                                                                       \
  };
COURSE_OPERATION(plus, a + b)
COURSE_OPERATION(less, b < a ? b : a)
COURSE_OPERATION(greater, a < b ? b : a)
COURSE_OPERATION(bit_and, a& b)
COURSE_OPERATION(bit_or, a | b)
COURSE_OPERATION(bit_xor, a ^ b)
#undef COURSE_OPERATION

template <unsigned N, class Parent, class T, class Operation>
COURSE_FN T reduce(const thread_block_tile<N, Parent>& tile, T value, Operation operation) {
#pragma unroll
  for (int d = N / 2; d > 0; d /= 2) value = operation(value, tile.shfl_xor(value, d));
  return value;
}

template <class T, class Operation>
COURSE_FN T reduce(const coalesced_group& group, T value, Operation operation) {
  T total = group.shfl(value, 0);
  for (unsigned i = 1; i < group.size(); i++) total = operation(total, group.shfl(value, i));
  return total;
}

}  // namespace cooperative_groups
