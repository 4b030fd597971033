// How long does one load take, from each level of the memory?
//
// Idea: pointer chasing. Each load's address is what the load before it returned, so no two overlap,
// and the cycles of the chain divided by its length are the latency of one load.
// Shapes: one thread. `next` holds one cycle through places 16 elements (128 bytes) apart: the byte
// offset of the next place at each. How many bytes it walks through decides which level holds them.
// Hazard: a chain in order of addresses shares pages and prefetched sectors: shuffle it.

typedef unsigned long long Address;

// Turns offsets into addresses, so that a step is a load and nothing else.
__global__ void anchor(Address* next, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        next[i] += (Address)next;
}

template <bool past_l1>
__device__ Address load(Address at) {
    Address next;
    if (past_l1) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(next) : "l"(at));
    else asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(at));
    return next;
}

// Walks `warm_up` and then `steps` places; notes its last place, and cycles and nanoseconds.
template <bool past_l1>
__device__ void walk(const Address* next, int warm_up, int steps, Address* end, long long* took) {
    Address at = (Address)next;
    for (int i = 0; i < warm_up; i++) at = load<past_l1>(at);
    Address now, then;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(then));
    long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i < steps; i++) at = load<past_l1>(at);
    took[0] = clock64() - begin;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    took[1] = now - then;
    *end = at;
}

template <bool past_l1>
__global__ void chase(const Address* next, int warm_up, int steps, Address* end, long long* took) {
    walk<past_l1>(next, warm_up, steps, end, took);
}

// The same in shared memory: `places` elements, each the byte offset of the next.
__global__ void chase_shared(const unsigned* next, int places, int steps, unsigned* end,
                             long long* took) {
    extern __shared__ unsigned box[];
    unsigned base = __cvta_generic_to_shared(box), at = base;
    for (int i = 0; i < places; i++) box[i] = base + next[i];
    long long begin = clock64();
#pragma unroll 16
    for (int i = 0; i < steps; i++) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(at));
    took[0] = clock64() - begin;
    *end = at - base;
}
