// Points in the quarter circle, from a 64-bit congruential generator in each thread.
__global__ void count(unsigned long long seed, int draws, unsigned long long* inside) {
    unsigned long long state = seed + blockIdx.x * blockDim.x + threadIdx.x;
    unsigned own = 0;
    for (int k = 0; k < draws; k++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        unsigned long long x = state >> 40;
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        unsigned long long y = state >> 40;
        own += x * x + y * y < 1ull << 48;
    }
    atomicAdd(inside, (unsigned long long)own);
}
