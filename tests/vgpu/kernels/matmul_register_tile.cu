// C = A B, 64 x 64 a block and 4 x 4 a thread, float4 accesses; sizes are multiples of 64, 64 and 16.
#define M 64
#define K 16

__global__ void matmul(const float* a, const float* b, float* c, int n, int k) {
    __shared__ float as[K][M];
    __shared__ float4 bs[K][M / 4];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};
    a += blockIdx.y * M * k;
    b += blockIdx.x * M;
    for (int t = 0; t < k; t += K) {
        int row = threadIdx.x / 4, quad = threadIdx.x % 4;
        float4 v = *(const float4*)&a[row * k + t + 4 * quad];
        as[4 * quad][row] = v.x;
        as[4 * quad + 1][row] = v.y;
        as[4 * quad + 2][row] = v.z;
        as[4 * quad + 3][row] = v.w;
        bs[ty][tx] = *(const float4*)&b[(t + ty) * n + 4 * tx];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < K; j++) {
            float4 x = *(const float4*)&as[j][4 * ty], y = bs[j][tx];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int r = 0; r < 4; r++)
                for (int q = 0; q < 4; q++)
                    sum[r][q] += xs[r] * ys[q];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; r++) {
        float* to = &c[(blockIdx.y * M + 4 * ty + r) * n + blockIdx.x * M + 4 * tx];
        *(float4*)to = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
    }
}
