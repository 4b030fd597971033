// A bitonic sort: short distances within a block in shared memory, long ones by one launch a step.
__device__ void order(int& a, int& b, bool up) {
    if ((a > b) == up) {
        int t = a;
        a = b;
        b = t;
    }
}

__global__ void sort_block(int* x, int first_size, int last_size) {
    extern __shared__ int s[];
    int t = threadIdx.x, base = blockIdx.x * 2 * blockDim.x;
    s[t] = x[base + t];
    s[t + blockDim.x] = x[base + t + blockDim.x];
    for (int size = first_size; size <= last_size; size *= 2)
        for (int d = min(size / 2, (int)blockDim.x); d > 0; d /= 2) {
            __syncthreads();
            int i = 2 * t - (t & (d - 1));
            order(s[i], s[i + d], ((base + i) & size) == 0);
        }
    __syncthreads();
    x[base + t] = s[t];
    x[base + t + blockDim.x] = s[t + blockDim.x];
}

__global__ void merge_step(int* x, int size, int d) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 2 * t - (t & (d - 1));
    order(x[i], x[i + d], (i & size) == 0);
}
