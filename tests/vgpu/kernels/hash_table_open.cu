// A hash table without locks: a slot belongs to whose compare-and-swap came first.
#define EMPTY 0xffffffffu

__global__ void insert(const unsigned* keys, const unsigned* values, int n, unsigned* slots,
                       unsigned* sums, int capacity) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned at = keys[i] * 2654435761u >> 7;
    while (true) {
        at &= capacity - 1;
        unsigned old = atomicCAS(&slots[at], EMPTY, keys[i]);
        if (old == EMPTY || old == keys[i]) {
            atomicAdd(&sums[at], values[i]);
            return;
        }
        at++;
    }
}
