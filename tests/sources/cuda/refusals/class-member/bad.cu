struct Ops {
    [[tile_export(tile_shape = 128)]]
    static __device__ float relu(float x) { return x; }
};
