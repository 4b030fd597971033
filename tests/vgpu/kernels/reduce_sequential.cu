// Sum of each block, two elements a thread; the upper half is added to the lower one.
__global__ void reduce(const float* x, float* sums, int n) {
    extern __shared__ float s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
    float mine = i < n ? x[i] : 0;
    if (i + blockDim.x < n)
        mine += x[i + blockDim.x];
    s[t] = mine;
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
        if (t < d)
            s[t] = mine = mine + s[t + d];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = mine;
}
