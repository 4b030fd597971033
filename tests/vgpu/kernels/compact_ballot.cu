// Keep what is positive: lanes count their predecessors by a ballot, a warp takes places at once.
__global__ void compact(const int* x, int* y, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    bool keep = i < n && x[i] > 0;
    unsigned kept = __ballot_sync(0xffffffff, keep);
    int leader = __ffs(kept) - 1, base = 0;
    if (lane == leader)
        base = atomicAdd(count, __popc(kept));
    base = __shfl_sync(0xffffffff, base, leader);
    if (keep)
        y[base + __popc(kept & ((1u << lane) - 1))] = x[i];
}

// The same among the lanes that happen to be there.
__global__ void compact_active(const int* x, int* y, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        unsigned there = __activemask();
        int leader = __ffs(there) - 1, lane = threadIdx.x & 31, base;
        if (lane == leader)
            base = atomicAdd(count, __popc(there));
        base = __shfl_sync(there, base, leader);
        y[base + __popc(there & ((1u << lane) - 1))] = x[i];
    }
}
