// Softmax of rows, one block a row, maximum and sum in one pass over the row.
struct Part {
    float most, sum;
};

__device__ Part merge(Part a, Part b) {
    float most = fmaxf(a.most, b.most);
    float sum = 0;
    if (a.sum > 0)
        sum += a.sum * expf(a.most - most);
    if (b.sum > 0)
        sum += b.sum * expf(b.most - most);
    return {most, sum};
}

__global__ void softmax(const float* x, float* y, int n) {
    __shared__ Part parts[256];
    x += blockIdx.x * n;
    y += blockIdx.x * n;
    Part mine = {-1e38f, 0};
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        mine = merge(mine, {x[i], 1});
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        if (threadIdx.x < d)
            parts[threadIdx.x] = merge(parts[threadIdx.x], parts[threadIdx.x + d]);
        __syncthreads();
    }
    Part all = parts[0];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = expf(x[i] - all.most) / all.sum;
}
