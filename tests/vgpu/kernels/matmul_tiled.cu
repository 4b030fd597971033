// C = A B by tiles of 16 x 16 in shared memory, any sizes.
#define T 16

__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += T) {
        as[threadIdx.y][threadIdx.x] =
            row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.f;
        bs[threadIdx.y][threadIdx.x] =
            column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + column] : 0.f;
        __syncthreads();
        for (int j = 0; j < T; j++)
            sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
