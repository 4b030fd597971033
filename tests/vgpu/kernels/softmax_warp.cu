// Softmax of rows, one warp a row.
__global__ void softmax(const float* x, float* y, int rows, int n) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    x += row * n;
    y += row * n;
    float most = -__int_as_float(0x7f800000), sum = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        most = fmaxf(most, x[i]);
    for (int d = 16; d > 0; d /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
    for (int i = threadIdx.x; i < n; i += 32)
        sum += __expf(x[i] - most);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, d);
    for (int i = threadIdx.x; i < n; i += 32)
        y[i] = __expf(x[i] - most) / sum;
}
