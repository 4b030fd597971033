// The game of life on a torus of bytes, one thread a cell.
__global__ void step(const unsigned char* x, unsigned char* y, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * columns)
        return;
    int r = i / columns, c = i % columns, around = 0;
    for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++)
            if (dr || dc)
                around += x[(r + dr + rows) % rows * columns + (c + dc + columns) % columns];
    y[i] = around == 3 || (around == 2 && x[i]);
}
