// Shortest paths between all pairs, one launch for each vertex on the way.
__global__ void relax(int* d, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) {
        int through = d[i * n + k] + d[k * n + j];
        if (through < d[i * n + j])
            d[i * n + j] = through;
    }
}
