// Accelerations of bodies that attract each other, the bodies by tiles through shared memory.
__global__ void accelerate(const float4* bodies, float4* result, int n) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float3 a = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += blockDim.x) {
        if (start + threadIdx.x < n)
            tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
        int count = min(n - start, (int)blockDim.x);
#pragma unroll 4
        for (int j = 0; j < count; j++) {
            float4 b = tile[j];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float pull = b.w * inverse * inverse * inverse;
            a.x += dx * pull;
            a.y += dy * pull;
            a.z += dz * pull;
        }
        __syncthreads();
    }
    if (i < n)
        result[i] = make_float4(a.x, a.y, a.z, 0);
}
