// A Tile C++ program that calls the three exports of tilelib_relu and checks every element of the results.
#include "tilelib_relu_tile.h"

#include <cstdio>
#include <cstring>

namespace ct = cuda::tiles;

constexpr int kElements = 128;
constexpr int kWarp = 32;

__tile__ auto whole(float* data) {
    return ct::partition_view{ct::tensor_span{data, ct::shape<kElements>{}}, ct::shape<kElements>{}};
}

[[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void call_relu(float* x, float* result) {
    auto results = whole(result);
    results.store(tilelib_relu::relu(whole(x).load(0), results.load(0)), 0);
}

[[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void call_scale(float* x, float* factor, float* result) {
    whole(result).store(tilelib_relu::scale_in_place(whole(x).load(0), whole(factor).load(0)), 0);
}

[[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void call_warp_sum(float* x, float* result) {
    auto results = whole(result);
    results.store(tilelib_relu::warp_sum(whole(x).load(0), results.load(0)), 0);
}

static bool same(const char* name, const float* expected, const float* found, const char* remark) {
    for (int i = 0; i < kElements; ++i) {
        if (std::memcmp(&expected[i], &found[i], sizeof(float)) != 0) {
            std::printf("FAIL %s: element %d is %g, expected %g\n", name, i, found[i], expected[i]);
            return false;
        }
    }
    std::printf("PASS %s: %d elements through the tile library%s\n", name, kElements, remark);
    return true;
}

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("skipping: no CUDA device was found\n");
        return 0;
    }
    float ramp[kElements], half[kElements], expected[kElements], found[kElements];
    float *x, *factor, *result;
    cudaMalloc(&x, sizeof ramp);
    cudaMalloc(&factor, sizeof half);
    cudaMalloc(&result, sizeof found);
    for (int i = 0; i < kElements; ++i) {
        ramp[i] = (i - 64) / 16.0f;
        half[i] = 0.5f;
    }
    cudaMemcpy(x, ramp, sizeof ramp, cudaMemcpyHostToDevice);
    cudaMemcpy(factor, half, sizeof half, cudaMemcpyHostToDevice);

    int passed = 0;
    auto run = [&](const char* name, const char* remark = "") {
        if (cudaMemcpy(found, result, sizeof found, cudaMemcpyDeviceToHost) != cudaSuccess) {
            std::printf("FAIL %s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
            return;
        }
        passed += same(name, expected, found, remark);
        cudaMemset(result, 0xff, sizeof found);
    };

    // A tile kernel's block size is the compiler's: it is launched with one thread a block.
    cudaMemset(result, 0xff, sizeof found);
    call_relu<<<1, 1>>>(x, result);
    for (int i = 0; i < kElements; ++i) expected[i] = ramp[i] > 0.0f ? ramp[i] : 0.0f;
    run("relu");

    call_scale<<<1, 1>>>(x, factor, result);
    for (int i = 0; i < kElements; ++i) expected[i] = ramp[i] * 0.5f;
    run("scale_in_place");

    // The butterfly of warp_sum, step by step, so that every rounding is the same.
    call_warp_sum<<<1, 1>>>(x, result);
    std::memcpy(expected, ramp, sizeof ramp);
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        float before[kElements];
        std::memcpy(before, expected, sizeof before);
        for (int i = 0; i < kElements; ++i) expected[i] = before[i] + before[i ^ offset];
    }
    run("warp_sum", ", every lane holding its warp's total");

    std::printf("%s: %d/3 tile exports called from a Tile C++ kernel\n", passed == 3 ? "SUCCESS" : "FAILURE", passed);
    return passed == 3 ? 0 : 1;
}
