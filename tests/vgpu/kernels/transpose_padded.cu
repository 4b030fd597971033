// A transposed matrix by tiles of 32 x 32, a padded column against bank conflicts.
__global__ void transpose(const float* a, float* b, int rows, int columns) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns)
            b[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}
