// Sum of everything with cooperative groups: tiles of 16 threads, then one atomic a tile.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void reduce(const int* x, int* total, int n) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int v = 0;
    for (int i = blockIdx.x * blockDim.x + block.thread_rank(); i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    v = cg::reduce(tile, v, cg::plus<int>());
    if (tile.thread_rank() == 0)
        atomicAdd(total, v);
}

__global__ void count_positive(const int* x, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        cg::coalesced_group group = cg::coalesced_threads();
        if (group.thread_rank() == 0)
            atomicAdd(count, group.size());
    }
}
