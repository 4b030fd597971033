// Sum of everything: a grid-stride loop, a shuffle in each warp, one in the first, one atomic a block.
__device__ float sum_warp(float v) {
    for (int d = warpSize / 2; d > 0; d /= 2)
        v += __shfl_xor_sync(0xffffffff, v, d);
    return v;
}

__global__ void reduce(const float* x, float* total, int n) {
    __shared__ float warps[32];
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    v = sum_warp(v);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
        v = sum_warp(v);
        if (threadIdx.x == 0)
            atomicAdd(total, v);
    }
}
