// A producing and a consuming warp pass tiles through two buffers, by named barriers.
#define BUFFERS 2
__device__ void wait(int barrier) { asm volatile("bar.sync %0, 64;" ::"r"(barrier) : "memory"); }
__device__ void arrive(int barrier) { asm volatile("bar.arrive %0, 64;" ::"r"(barrier) : "memory"); }

__global__ void reverse_tiles(const int* x, int* y, int tiles) {
    __shared__ int buffer[BUFFERS][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int t = 0; t < tiles; t++) {
        int b = t % BUFFERS, full = 1 + b, empty = 1 + BUFFERS + b;
        if (warp == 0) {
            if (t >= BUFFERS)
                wait(empty);
            buffer[b][lane] = x[32 * t + lane];
            arrive(full);
        } else {
            wait(full);
            y[32 * t + lane] = buffer[b][31 - lane];
            if (t + BUFFERS < tiles)
                arrive(empty);
        }
    }
}
