// Sum of each block; the last warp goes on without __syncthreads, by __syncwarp.
__device__ void sum_warp(volatile float* s, unsigned t) {
    float v = s[t];
#pragma unroll
    for (int d = 32; d > 0; d /= 2) {
        v += s[t + d];
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
}

__global__ void reduce(const float* x, float* sums, int n) {
    extern __shared__ float s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 32; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t < 32)
        sum_warp(s, t);
    if (t == 0)
        sums[blockIdx.x] = s[0];
}
