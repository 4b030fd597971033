// Groups of threads by name: the grid, a block, tiles of a warp, and the lanes that are here.
#pragma once
#include "course_atomics.h"
#include "course_integers.h"
#include "course_threads.h"
#include "course_vectors.h"

namespace cooperative_groups {

COURSE_FN unsigned __thread_of_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

struct thread_block {
  COURSE_MEMBER static void sync() { __syncthreads(); }
  COURSE_MEMBER static unsigned thread_rank() { return __thread_of_block(); }
  COURSE_MEMBER static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  COURSE_MEMBER static unsigned num_threads() { return size(); }
  COURSE_MEMBER static dim3 group_index() { return (uint3)blockIdx; }
  COURSE_MEMBER static dim3 thread_index() { return (uint3)threadIdx; }
  COURSE_MEMBER static dim3 group_dim() { return blockDim; }
  COURSE_MEMBER static dim3 dim_threads() { return blockDim; }
};
COURSE_FN thread_block this_thread_block() { return {}; }

struct grid_group {
  COURSE_MEMBER static unsigned long long num_blocks() {
    return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
  }
  COURSE_MEMBER static unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  COURSE_MEMBER static unsigned long long size() { return num_blocks() * thread_block::size(); }
  COURSE_MEMBER static unsigned long long num_threads() { return size(); }
  COURSE_MEMBER static unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + __thread_of_block();
  }
  COURSE_MEMBER static dim3 group_dim() { return gridDim; }
  COURSE_MEMBER static dim3 dim_blocks() { return gridDim; }
  COURSE_MEMBER static dim3 block_index() { return (uint3)blockIdx; }
  // A cooperative launch keeps a counter behind envreg 1 and 2. Its highest bit flips when every
  // block has arrived: block 0 adds what the others, who add one each, leave to 2^31.
  COURSE_MEMBER static void sync() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    unsigned* arrived = (unsigned*)((unsigned long long)high << 32 | low) + 1;
    __syncthreads();
    if (__thread_of_block() == 0) {
      unsigned own = block_rank() == 0 ? 0x80000000u - ((unsigned)num_blocks() - 1) : 1;
      __threadfence();
      unsigned before = atomicAdd(arrived, own);
      while (((before ^ *(volatile unsigned*)arrived) & 0x80000000u) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
  }
};
COURSE_FN grid_group this_grid() { return {}; }

// What tiles and coalesced groups share: lanes of one warp, given by a mask.
struct __lanes {
  unsigned mask, rank, count;

  COURSE_MEMBER unsigned thread_rank() const { return rank; }
  COURSE_MEMBER unsigned size() const { return count; }
  COURSE_MEMBER unsigned num_threads() const { return count; }
  COURSE_MEMBER void sync() const { __syncwarp(mask); }
  COURSE_MEMBER int any(int p) const { return __any_sync(mask, p); }
  COURSE_MEMBER int all(int p) const { return __all_sync(mask, p); }
};

template <unsigned N, class Parent = void>
struct thread_block_tile : __lanes {
  static_assert(N > 0 && N <= 32 && (N & (N - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
  thread_block_tile() = default;
  template <class Other>
  COURSE_MEMBER thread_block_tile(const thread_block_tile<N, Other>& tile) : __lanes(tile) {}
  COURSE_MEMBER unsigned meta_group_rank() const { return __thread_of_block() / N; }
  COURSE_MEMBER unsigned meta_group_size() const { return (thread_block::size() + N - 1) / N; }
  COURSE_MEMBER unsigned ballot(int p) const {
    return __ballot_sync(mask, p) >> (__thread_of_block() % 32 / N * N) & (~0u >> (32 - N));
  }
  template <class T>
  COURSE_MEMBER T shfl(T v, int lane) const { return __shfl_sync(mask, v, lane, N); }
  template <class T>
  COURSE_MEMBER T shfl_up(T v, unsigned d) const { return __shfl_up_sync(mask, v, d, N); }
  template <class T>
  COURSE_MEMBER T shfl_down(T v, unsigned d) const { return __shfl_down_sync(mask, v, d, N); }
  template <class T>
  COURSE_MEMBER T shfl_xor(T v, int d) const { return __shfl_xor_sync(mask, v, d, N); }
};

template <unsigned N, class Group>
COURSE_FN thread_block_tile<N, Group> tiled_partition(const Group&) {
  unsigned lane = __thread_of_block() % 32, first = lane / N * N;
  thread_block_tile<N, Group> tile;
  tile.mask = (~0u >> (32 - N)) << first;
  tile.rank = lane - first;
  tile.count = N;
  return tile;
}

struct coalesced_group : __lanes {
  // the lane whose rank in the group is `wanted`
  COURSE_MEMBER int lane(int wanted) const {
    unsigned left = mask;
    for (int i = 0; i < wanted; i++) left &= left - 1;
    return __ffs(left) - 1;
  }
  template <class T>
  COURSE_MEMBER T shfl(T v, int from) const { return __shfl_sync(mask, v, lane(from)); }
  template <class T>
  COURSE_MEMBER T shfl_down(T v, unsigned d) const {
    return __shfl_sync(mask, v, lane(rank + d < count ? rank + d : rank));
  }
  template <class T>
  COURSE_MEMBER T shfl_up(T v, unsigned d) const {
    return __shfl_sync(mask, v, lane(rank >= d ? rank - d : rank));
  }
};
COURSE_FN coalesced_group coalesced_threads() {
  unsigned mask = __activemask(), lane = __thread_of_block() % 32;
  coalesced_group group;
  group.mask = mask;
  group.rank = __popc(mask & ((1u << lane) - 1));
  group.count = __popc(mask);
  return group;
}

template <class Group>
COURSE_FN void sync(const Group& group) { group.sync(); }

}  // namespace cooperative_groups
