// Layer normalisation of rows: mean and squared deviation by Welford's update, merged by shuffles.
struct Moments {
    float mean, m2, count;
};

__device__ Moments merge(Moments a, Moments b) {
    float count = a.count + b.count;
    if (count == 0)
        return a;
    float delta = b.mean - a.mean;
    return {a.mean + delta * b.count / count,
            a.m2 + b.m2 + delta * delta * a.count * b.count / count, count};
}

__global__ void layernorm(const float* x, const float* gain, const float* bias, float* y, int n) {
    __shared__ Moments warps[32];
    x += (long long)blockIdx.x * n;
    y += (long long)blockIdx.x * n;
    Moments v = {0, 0, 0};
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        float delta = x[i] - v.mean;
        v.count += 1;
        v.mean += delta / v.count;
        v.m2 += delta * (x[i] - v.mean);
    }
    for (int d = 16; d > 0; d /= 2)
        v = merge(v, {__shfl_down_sync(~0u, v.mean, d), __shfl_down_sync(~0u, v.m2, d),
                      __shfl_down_sync(~0u, v.count, d)});
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; w++)
            v = merge(v, warps[w]);
        warps[0] = v;
    }
    __syncthreads();
    float mean = warps[0].mean, scale = rsqrtf(warps[0].m2 / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}
