// What does a bank conflict cost?
//
// Idea: every warp of one block reads 4-byte elements `stride` apart between lanes, as fast as it can.
// The 32 banks serve one element each per cycle, so a request takes as many cycles as the busiest
// bank has different elements to give.
// Shapes: one block, any number of warps; 32 * `stride` elements must fit into `places`, a power of 2.
// Hazard: with few warps latency is measured, not the banks' rate: use at least 16. And ptxas merges
// loads of the same address that are not volatile.

__global__ void strided(int stride, int places, int loads, unsigned* sum, long long* cycles) {
    extern __shared__ unsigned box[];
    for (int i = threadIdx.x; i < places; i += blockDim.x) box[i] = i;
    unsigned base = __cvta_generic_to_shared(box), total = 0;
    unsigned at = threadIdx.x % 32 * stride % places * 4;
    __syncthreads();
    long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i < loads; i++) {
        unsigned value;
        asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(base + at));
        total += value;
    }
    __syncthreads();
    if (threadIdx.x == 0) *cycles = clock64() - begin;
    sum[threadIdx.x] = total;
}
