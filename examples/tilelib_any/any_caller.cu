// A Tile C++ program with one kernel that calls each export of tilelib_any for tiles of several sizes.
#include "tilelib_any_tile.h"

#include <cstdio>
#include <cstring>

namespace ct = cuda::tiles;

constexpr int kLarge = 256, kMiddle = 128, kSmall = 64, kWarp = 32;

template <int N>
__tile__ auto whole(float* data) {
    return ct::partition_view{ct::tensor_span{data, ct::shape<N>{}}, ct::shape<N>{}};
}

// `large` holds 256 elements, `middle` 128 and `small` 64; each result has the size of its input.
extern "C" [[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void call_any(
    float* large, float* middle, float* small, float* large_result, float* middle_result, float* small_result) {
    auto large_results = whole<kLarge>(large_result);
    auto rectified = tilelib_any::relu_any<kLarge>(whole<kLarge>(large).load(0), large_results.load(0));
    large_results.store(tilelib_any::scale_any<kLarge>(rectified, whole<kLarge>(large).load(0)), 0);

    auto middle_results = whole<kMiddle>(middle_result);
    middle_results.store(tilelib_any::relu_any<kMiddle>(whole<kMiddle>(middle).load(0), middle_results.load(0)), 0);

    auto small_results = whole<kSmall>(small_result);
    small_results.store(tilelib_any::warp_sum_any<kSmall>(whole<kSmall>(small).load(0), small_results.load(0)), 0);
}

static bool same(const char* name, int elements, const float* expected, const float* found) {
    for (int i = 0; i < elements; ++i) {
        if (std::memcmp(&expected[i], &found[i], sizeof(float)) != 0) {
            std::printf("FAIL %s: element %d of %d is %g, expected %g\n", name, i, elements, found[i], expected[i]);
            return false;
        }
    }
    std::printf("PASS %s: %d elements through the tile library\n", name, elements);
    return true;
}

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("skipping: no CUDA device was found\n");
        return 0;
    }
    constexpr int kAll = kLarge + kMiddle + kSmall;
    float given[kAll], expected[kAll], found[kAll];
    for (int i = 0; i < kAll; ++i) given[i] = (i % 128 - 64) / 16.0f;
    float *x, *result;
    cudaMalloc(&x, sizeof given);
    cudaMalloc(&result, sizeof found);
    cudaMemcpy(x, given, sizeof given, cudaMemcpyHostToDevice);
    cudaMemset(result, 0xff, sizeof found);

    // A tile kernel's block size is the compiler's: it is launched with one thread a block.
    float *middle = x + kLarge, *small = middle + kMiddle;
    call_any<<<1, 1>>>(x, middle, small, result, result + kLarge, result + kLarge + kMiddle);
    if (cudaMemcpy(found, result, sizeof found, cudaMemcpyDeviceToHost) != cudaSuccess) {
        std::printf("FAIL: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }

    for (int i = 0; i < kLarge + kMiddle; ++i) expected[i] = given[i] > 0.0f ? given[i] : 0.0f;
    for (int i = 0; i < kLarge; ++i) expected[i] *= given[i];
    // The butterfly of warp_sum_any, step by step, so that every rounding is the same.
    float* sums = expected + kLarge + kMiddle;
    std::memcpy(sums, given + kLarge + kMiddle, kSmall * sizeof(float));
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        float before[kSmall];
        std::memcpy(before, sums, sizeof before);
        for (int i = 0; i < kSmall; ++i) sums[i] = before[i] + before[i ^ offset];
    }

    int passed = same("relu_any and scale_any", kLarge, expected, found);
    passed += same("relu_any", kMiddle, expected + kLarge, found + kLarge);
    passed += same("warp_sum_any", kSmall, sums, found + kLarge + kMiddle);
    std::printf("%s: %d/3 tile sizes called from one Tile C++ kernel\n", passed == 3 ? "SUCCESS" : "FAILURE", passed);
    return passed == 3 ? 0 : 1;
}
