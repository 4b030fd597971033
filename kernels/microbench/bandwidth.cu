// How many bytes a second, and what do they depend on?
//
// Idea: copy what does not fit into the caches, read what does; read with gaps between threads; read
// with more or fewer threads in flight.
// Shapes: grid-stride loops over `n` vectors of 16 bytes (or elements of 4), any grid and block.
// Hazard: a read whose result nobody uses is removed by the compiler, so sums are kept, and written
// if they are a value that they never are.

__global__ void copy(const float4* from, float4* to, long long n) {
    long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride)
        to[i] = from[i];
}

// Reads the same `n` vectors `repeats` times, past the L1 cache.
__global__ void read_again(const float4* from, long long n, int repeats, float* sum) {
    long long stride = (long long)gridDim.x * blockDim.x;
    float total = 0;
    for (int r = 0; r < repeats; r++)
#pragma unroll 4
        for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride) {
            float4 v = __ldcg(from + i);
            total += v.x + v.y + v.z + v.w;
        }
    if (total == 1e30f) *sum = total;
}

// Neighbouring threads read elements `gap` apart: `n` elements of `n * gap` in all.
__global__ void read_apart(const float* from, long long n, int gap, float* sum) {
    long long stride = (long long)gridDim.x * blockDim.x;
    float total = 0;
#pragma unroll 4
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride)
        total += from[i * gap];
    if (total == 1e30f) *sum = total;
}

// One load in flight for each thread: Little's law says how many threads a bandwidth needs.
__global__ void read_one_at_a_time(const unsigned* zeros, long long n, unsigned* sum) {
    long long stride = (long long)gridDim.x * blockDim.x;
    unsigned at = 0;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += stride)
        at = __ldcg(zeros + i + at);  // the next address waits for this value, which is 0
    if (at) *sum = at;
}
