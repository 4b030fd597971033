// Inclusive prefix sums in one pass: each block looks back at what the blocks before it have published.
enum { NOTHING, SUM, PREFIX };

__global__ void scan(const int* x, int* y, int* ticket, int* state, volatile int* sums,
                     volatile int* prefixes, int n) {
    extern __shared__ int s[];
    __shared__ int tile, before;
    int t = threadIdx.x;
    if (t == 0)
        tile = atomicAdd(ticket, 1);  // blocks that started earlier have lower tiles
    __syncthreads();
    int i = tile * blockDim.x + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == blockDim.x - 1) {
        int own = s[t], sum = 0;
        sums[tile] = own;
        __threadfence();
        atomicExch(&state[tile], SUM);
        for (int p = tile - 1; p >= 0; p--) {
            int seen;
            while ((seen = *(volatile int*)&state[p]) == NOTHING) {}
            __threadfence();
            if (seen == PREFIX) {
                sum += prefixes[p];
                break;
            }
            sum += sums[p];
        }
        prefixes[tile] = sum + own;
        __threadfence();
        atomicExch(&state[tile], PREFIX);
        before = sum;
    }
    __syncthreads();
    if (i < n)
        y[i] = s[t] + before;
}
