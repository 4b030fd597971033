// y = a x + y in half precision, two elements a thread, an odd one at the end.
#include <cuda_fp16.h>

__global__ void axpy(__half a, const __half* x, __half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 < n) {
        __half2 v = ((const __half2*)x)[i], w = ((__half2*)y)[i];
        ((__half2*)y)[i] = __hfma2(__half2half2(a), v, w);
    } else if (2 * i < n) {
        y[2 * i] = __hfma(a, x[2 * i], y[2 * i]);
    }
}

// The sum of all, in halves: one lane of a pair may have nothing to load.
__global__ void sum(const __half* x, float* total, int n) {
    float v = 0;
    for (int i = threadIdx.x; 2 * i < n; i += blockDim.x) {
        __half2 pair;
        pair.x = x[2 * i];
        pair.y = 2 * i + 1 < n ? x[2 * i + 1] : __float2half(0);
        v += __low2float(pair) + __high2float(pair);
    }
    atomicAdd(total, v);
}
