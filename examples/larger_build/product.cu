// A Tile C++ program of the product that calls the library.
#include "clamp_tile.h"

#include <cstdio>

namespace ct = cuda::tiles;

__tile__ auto whole(float* data) {
    return ct::partition_view{ct::tensor_span{data, ct::shape<128>{}}, ct::shape<128>{}};
}

[[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void clamp_all(float* x, float* result) {
    auto results = whole(result);
    results.store(clamp::clamp(whole(x).load(0), results.load(0)), 0);
}

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("skipping: no CUDA device was found\n");
        return 0;
    }
    float host[128], *x, *result;
    for (int i = 0; i < 128; ++i) host[i] = i;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&result, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    clamp_all<<<1, 1>>>(x, result);
    cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost);
    const bool right = host[3] == 3.0f && host[127] == host[100] && host[100] < 100.0f;
    std::printf("%s product\n", right ? "PASS" : "FAIL");
    return right ? 0 : 1;
}
