// Sum of each block: the first threads add, at strided places (with bank conflicts).
__global__ void reduce(const float* x, float* sums, int n) {
    extern __shared__ float s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
        unsigned at = 2 * d * t;
        if (at < blockDim.x)
            s[at] += s[at + d];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = s[0];
}
