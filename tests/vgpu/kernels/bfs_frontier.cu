// One step of a breadth-first search: neighbours that nobody has reached go to the next frontier.
__global__ void expand(const int* starts, const int* edges, int* depth, const int* frontier,
                       int size, int* following, int* count, int level) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    int v = frontier[i];
    for (int e = starts[v]; e < starts[v + 1]; e++)
        if (atomicCAS(&depth[edges[e]], -1, level) == -1)
            following[atomicAdd(count, 1)] = edges[e];
}

// The same from all vertices, without a frontier: many threads may set one flag to one value.
__global__ void sweep(const int* starts, const int* edges, const int* old, int* depth, int* changed,
                      int n, int level) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < n && old[v] == level - 1)
        for (int e = starts[v]; e < starts[v + 1]; e++)
            if (old[edges[e]] < 0) {
                depth[edges[e]] = level;
                *changed = 1;
            }
}
