// Inclusive prefix sums of one block in log2(n) steps, with two buffers.
__global__ void scan(const float* x, float* y, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x, from = 0;
    s[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        from = 1 - from;
        float* to = s + from * blockDim.x;
        const float* old = s + (1 - from) * blockDim.x;
        to[t] = t >= d ? old[t] + old[t - d] : old[t];
        __syncthreads();
    }
    if (t < n)
        y[t] = s[from * blockDim.x + t];
}
