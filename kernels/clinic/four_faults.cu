// Four kernels with one fault each: patients for the debugging lesson of lecture 05.
//
// Idea: each does something sensible, and each has a mistake that a test may well overlook.
// Shapes: one block of 128 threads. `main` runs one of them by its number, for compute-sanitizer:
//     nvcc -arch=sm_90 -lineinfo four_faults.cu -o four_faults
//     compute-sanitizer --tool racecheck ./four_faults 1
// Hazard: the first three may well give the right result.

// 0: the last thread reads behind the end.
extern "C" __global__ void difference(const float* x, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = x[i + 1] - x[i];
}

// 1: a thread reads what another warp may not have written yet.
extern "C" __global__ void reverse(const float* x, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[t];
    out[t] = tile[127 - t];
}

// 2: places of the tile that no thread has written are added up.
extern "C" __global__ void total(const float* x, float* out, int n) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    if (t < n) tile[t] = x[t];
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (t < step) tile[t] += tile[t + step];
        __syncthreads();
    }
    if (t == 0) *out = tile[0];
}

// 3: half of a warp waits at one barrier, the other half at the next.
extern "C" __global__ void halves(float* x) {
    int t = threadIdx.x;
    if (t % 32 < 16) {
        x[t] += 1;
        __syncthreads();
    }
    x[t] *= 2;
    __syncthreads();
    float other = x[127 - t];
    __syncthreads();
    x[t] += other;
}

#ifndef __CUDACC_RTC__
#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
    float *x, *out;
    cudaMalloc(&x, 100 * sizeof(float));
    cudaMalloc(&out, 128 * sizeof(float));
    cudaMemset(x, 0, 100 * sizeof(float));
    cudaMemset(out, 0, 128 * sizeof(float));
    float* wide;
    cudaMalloc(&wide, 128 * sizeof(float));
    cudaMemset(wide, 0, 128 * sizeof(float));
    switch (count > 1 ? atoi(words[1]) : -1) {
    case 0: difference<<<1, 128>>>(x, out, 100); break;
    case 1: reverse<<<1, 128>>>(wide, out); break;
    case 2: total<<<1, 128>>>(x, out, 100); break;
    case 3: halves<<<1, 128>>>(wide); break;
    default: puts("which fault, 0 to 3?"); return 2;
    }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
#endif
