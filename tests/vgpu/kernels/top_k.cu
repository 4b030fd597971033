// The K largest of each row: each thread keeps its own K sorted, then pairs of lists merge.
#define K 4

__device__ void put(float* best, float v) {
    if (v <= best[K - 1])
        return;
    int at = K - 1;
    while (at > 0 && best[at - 1] < v) {
        best[at] = best[at - 1];
        at--;
    }
    best[at] = v;
}

__global__ void top_k(const float* x, float* y, int n) {
    __shared__ float lists[128][K];
    float best[K];
    for (int j = 0; j < K; j++)
        best[j] = -1e38f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        put(best, x[blockIdx.x * n + i]);
    for (int j = 0; j < K; j++)
        lists[threadIdx.x][j] = best[j];
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) {
            for (int j = 0; j < K; j++)
                put(best, lists[threadIdx.x + d][j]);
            for (int j = 0; j < K; j++)
                lists[threadIdx.x][j] = best[j];
        }
    }
    __syncthreads();
    if (threadIdx.x < K)
        y[blockIdx.x * K + threadIdx.x] = lists[0][threadIdx.x];
}
