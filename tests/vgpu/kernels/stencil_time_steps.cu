// Heat in a rod: several steps in one launch, a grid-wide barrier between them.
#include <cooperative_groups.h>

__global__ void diffuse(float* a, float* b, int n, int steps) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    for (int t = 0; t < steps; t++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            float left = i > 0 ? a[i - 1] : 0, right = i < n - 1 ? a[i + 1] : 0;
            b[i] = 0.5f * a[i] + 0.25f * (left + right);
        }
        grid.sync();
        float* old = a;
        a = b;
        b = old;
    }
}
