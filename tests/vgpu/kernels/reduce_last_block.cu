// Sum of everything in one launch: the block that finishes last adds what the others left.
__device__ unsigned finished = 0;

__device__ float sum_block(float v, float* s) {
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    return s[0];
}

__global__ void reduce(const float* x, volatile float* partial, float* total, int n) {
    extern __shared__ float s[];
    __shared__ bool last;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += x[i];
    v = sum_block(v, s);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        v = 0;
        for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x)
            v += partial[b];
        v = sum_block(v, s);
        if (threadIdx.x == 0) {
            *total = v;
            finished = 0;
        }
    }
}
