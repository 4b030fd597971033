// A sparse matrix (CSR) times a vector: one thread a row, and one warp a row.
__global__ void scalar(const int* starts, const int* columns, const float* values, const float* x,
                       float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0;
        for (int j = starts[row]; j < starts[row + 1]; j++)
            sum += values[j] * x[columns[j]];
        y[row] = sum;
    }
}

__global__ void vector(const int* starts, const int* columns, const float* values, const float* x,
                       float* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int j = starts[row] + lane; j < starts[row + 1]; j += 32)
        sum += values[j] * x[columns[j]];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0)
        y[row] = sum;
}
