// A histogram of bytes: each block counts in shared memory, then adds to the common one.
__global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
    __shared__ unsigned own[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x)
        if (own[b])
            atomicAdd(&counts[b], own[b]);
}
