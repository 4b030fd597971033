// Inclusive prefix sums of any length in three launches: blocks by warp shuffles, their sums, the rest.
__device__ int scan_warp(int v) {
    int lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(0xffffffff, v, d);
        if (lane >= d)
            v += below;
    }
    return v;
}

__global__ void scan_blocks(const int* x, int* y, int* sums, int n) {
    __shared__ int warps[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32;
    int v = scan_warp(i < n ? x[i] : 0);
    if (threadIdx.x % 32 == 31)
        warps[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int w = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        w = scan_warp(w);
        warps[threadIdx.x] = w;
    }
    __syncthreads();
    if (warp > 0)
        v += warps[warp - 1];
    if (i < n)
        y[i] = v;
    if (sums && threadIdx.x == blockDim.x - 1)
        sums[blockIdx.x] = v;
}

__global__ void add_sums(int* y, const int* sums, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        y[i] += sums[blockIdx.x - 1];
}
