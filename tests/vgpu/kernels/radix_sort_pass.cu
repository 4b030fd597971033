// One pass of a radix sort, 4 bits: counts of each block, their prefix sums, stable scattering.
#define DIGITS 16

__global__ void count(const unsigned* x, int* counts, int shift, int n) {
    __shared__ int own[DIGITS];
    if (threadIdx.x < DIGITS)
        own[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&own[x[i] >> shift & (DIGITS - 1)], 1);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

__global__ void prefix(int* counts, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int c = counts[i];
        counts[i] = sum;
        sum += c;
    }
}

__global__ void scatter(const unsigned* x, unsigned* y, const int* starts, int shift, int n) {
    __shared__ int warps[32][DIGITS];
    int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int d = lane; d < DIGITS; d += 32)
        warps[warp][d] = 0;
    __syncwarp();
    int digit = i < n ? x[i] >> shift & (DIGITS - 1) : -1;
    unsigned equal = __match_any_sync(0xffffffff, digit);
    int rank = __popc(equal & ((1u << lane) - 1));
    if (digit >= 0 && rank == 0)
        warps[warp][digit] = __popc(equal);
    __syncthreads();
    if (digit < 0)
        return;
    int at = starts[digit * gridDim.x + blockIdx.x] + rank;
    for (int w = 0; w < warp; w++)
        at += warps[w][digit];
    y[at] = x[i];
}
