// y = A x, one block a row, float4 where the row allows it.
__global__ void gemv(const float* a, const float* x, float* y, int columns) {
    __shared__ float warps[8];
    const float* row = a + blockIdx.x * (size_t)columns;
    float sum = 0;
    int quads = (columns % 4 == 0) ? columns / 4 : 0;
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        float4 v = __ldg((const float4*)row + i), w = ((const float4*)x)[i];
        sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
    }
    for (int i = 4 * quads + threadIdx.x; i < columns; i += blockDim.x)
        sum += row[i] * x[i];
#pragma unroll
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, d, 32);
    if ((threadIdx.x & 31) == 0)
        warps[threadIdx.x >> 5] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < (blockDim.x + 31) / 32; w++)
            sum += warps[w];
        y[blockIdx.x] = sum;
    }
}
