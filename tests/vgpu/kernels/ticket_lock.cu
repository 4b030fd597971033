// A fair lock: take a ticket, wait until it is served.
__device__ unsigned next_ticket = 0, now_serving = 0;

__global__ void append(int* list, int* length) {
    if (threadIdx.x % 32 != 0)
        return;
    unsigned mine = atomicAdd(&next_ticket, 1u);
    while (*(volatile unsigned*)&now_serving != mine) {}
    __threadfence();
    list[*length] = blockIdx.x * blockDim.x + threadIdx.x;
    *length += 1;
    __threadfence();
    *(volatile unsigned*)&now_serving = mine + 1;
}
