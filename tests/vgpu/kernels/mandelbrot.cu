// How many steps a point takes to leave the circle: threads of a warp leave at different times.
__global__ void mandelbrot(int* steps, int width, int height, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    double re = -2.0 + 3.0 * x / width, im = -1.0 + 2.0 * y / height, a = re, b = im;
    int n = 0;
    while (n < most && a * a + b * b <= 4) {
        double t = a * a - b * b + re;
        b = 2 * a * b + im;
        a = t;
        n++;
    }
    steps[y * width + x] = n;
}
