// Sum of each block, the block's size a template argument, so that the compiler unrolls all.
template <unsigned SIZE>
__global__ void reduce(const float* x, float* sums, int n) {
    __shared__ float s[SIZE];
    unsigned t = threadIdx.x;
    float mine = 0;
    for (unsigned i = blockIdx.x * SIZE + t; i < n; i += gridDim.x * SIZE)
        mine += x[i];
    s[t] = mine;
    __syncthreads();
    if (SIZE >= 512) { if (t < 256) s[t] += s[t + 256]; __syncthreads(); }
    if (SIZE >= 256) { if (t < 128) s[t] += s[t + 128]; __syncthreads(); }
    if (SIZE >= 128) { if (t < 64) s[t] += s[t + 64]; __syncthreads(); }
    if (t < 32) {
        mine = SIZE >= 64 ? s[t] + s[t + 32] : s[t];
        for (int d = 16; d > 0; d /= 2)
            mine += __shfl_down_sync(0xffffffff, mine, d);
        if (t == 0)
            sums[blockIdx.x] = mine;
    }
}
