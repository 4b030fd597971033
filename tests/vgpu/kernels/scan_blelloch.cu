// Exclusive prefix sums of 2 * blockDim.x elements: up the tree and down again, without bank conflicts.
#define SKEW(i) ((i) + ((i) >> 5))

__global__ void scan(const int* x, int* y, int n) {
    extern __shared__ int s[];
    int t = threadIdx.x, size = 2 * blockDim.x, step = 1;
    s[SKEW(t)] = t < n ? x[t] : 0;
    s[SKEW(t + size / 2)] = t + size / 2 < n ? x[t + size / 2] : 0;
    for (int d = size / 2; d > 0; d /= 2, step *= 2) {
        __syncthreads();
        if (t < d)
            s[SKEW(step * (2 * t + 2) - 1)] += s[SKEW(step * (2 * t + 1) - 1)];
    }
    if (t == 0)
        s[SKEW(size - 1)] = 0;
    for (int d = 1; d < size; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t < d) {
            int left = SKEW(step * (2 * t + 1) - 1), right = SKEW(step * (2 * t + 2) - 1);
            int old = s[left];
            s[left] = s[right];
            s[right] += old;
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x)
        y[i] = s[SKEW(i)];
}
