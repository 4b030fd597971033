// A hash table of chains, one lock a bucket: threads of a warp wait for each other's locks.
__device__ unsigned bucket_of(unsigned key, int buckets) {
    return key * 2654435761u % buckets;
}

__global__ void insert(const unsigned* keys, int n, int* locks, int* heads, int* next, int buckets) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned b = bucket_of(keys[i], buckets);
        bool inserted = false;
        while (!inserted) {
            if (atomicCAS(&locks[b], 0, 1) == 0) {
                __threadfence();
                next[i] = heads[b];
                heads[b] = i;
                __threadfence();
                atomicExch(&locks[b], 0);
                inserted = true;
            }
        }
    }
}
