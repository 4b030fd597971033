// A 2-D convolution (5 x 5, zero beyond the edge): a tile with its halo in shared memory.
#define R 2
#define T 16
__constant__ float weights[2 * R + 1][2 * R + 1] = {
    {1, 2, 3, 2, 1}, {0, 1, -4, 1, 0}, {2, 0, 5, 0, -2}, {1, 1, 1, 1, 1}, {-1, 3, 0, 2, 4}};

__global__ void convolve(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[T + 2 * R][T + 2 * R];
    int row0 = blockIdx.y * T, column0 = blockIdx.x * T;
    for (int i = threadIdx.y; i < T + 2 * R; i += blockDim.y)
        for (int j = threadIdx.x; j < T + 2 * R; j += blockDim.x) {
            int r = row0 + i - R, c = column0 + j - R;
            bool inside = r >= 0 && r < rows && c >= 0 && c < columns;
            tile[i][j] = inside ? x[r * columns + c] : 0;
        }
    __syncthreads();
    int row = row0 + threadIdx.y, column = column0 + threadIdx.x;
    if (row >= rows || column >= columns)
        return;
    float sum = 0;
    for (int i = 0; i <= 2 * R; i++)
        for (int j = 0; j <= 2 * R; j++)
            sum += weights[i][j] * tile[threadIdx.y + i][threadIdx.x + j];
    y[row * columns + column] = sum;
}
