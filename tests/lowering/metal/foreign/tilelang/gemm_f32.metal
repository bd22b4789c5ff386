// Function: main_kernel
#include <metal_stdlib>
#include <metal_simdgroup>
#define TILELANG_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")
using namespace metal;

union __TVMArgUnion {
 int v_int[2];
};

[[kernel, max_total_threads_per_threadgroup(128)]] void main_kernel(  const device float4* __restrict a [[ buffer(0) ]],
  const device float4* __restrict b [[ buffer(1) ]],
  device float* __restrict c [[ buffer(2) ]],
  uint3 blockIdx [[threadgroup_position_in_grid]],
  uint3 __gridDim [[threadgroups_per_grid]],
  uint3 threadIdx [[thread_position_in_threadgroup]],
  uint __simd_group_id [[simdgroup_index_in_threadgroup]]
) {
  simdgroup_float8x8 total[16];
  threadgroup float left[516];
  threadgroup float right[516];
  total[0] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[1] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[2] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[3] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[4] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[5] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[6] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[7] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[8] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[9] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[10] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[11] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[12] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[13] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[14] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  total[15] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);
  for (int step = 0; step < 3; ++step) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    *(threadgroup float4*)(left + (((int)threadIdx.x) * 4)) = a[(((((((int)threadIdx.x) >> 2) * 48) + (step * 16)) + ((((int)threadIdx.x) & 3) * 4)) / 4)];
    *(threadgroup float4*)(right + (((int)threadIdx.x) * 4)) = b[(((((step * 1024) + ((((int)threadIdx.x) >> 3) * 64)) + (((int)blockIdx.x) * 32)) + ((((int)threadIdx.x) & 7) * 4)) / 4)];
    simdgroup_float8x8 A_local[2];
    simdgroup_float8x8 B_local[2];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int ki = 0; ki < 2; ++ki) {
      for (int i = 0; i < 2; ++i) {
        simdgroup_load(A_local[i], (&(left[((((((int)__simd_group_id) & 1) * 256) + (i * 128)) + (ki * 8))])), 16, 0, (bool)0);
      }
      for (int j = 0; j < 2; ++j) {
        simdgroup_load(B_local[j], (&(right[(((ki * 256) + ((((int)__simd_group_id) >> 1) * 16)) + (j * 8))])), 32, 0, (bool)0);
      }
      for (int i_1 = 0; i_1 < 2; ++i_1) {
        for (int j_1 = 0; j_1 < 2; ++j_1) {
          simdgroup_multiply_accumulate(total[((i_1 * 2) + j_1)], A_local[i_1], B_local[j_1], total[((i_1 * 2) + j_1)]);
        }
      }
    }
  }
  simdgroup_store(total[0], (&(c[((((((int)__simd_group_id) & 1) * 1024) + (((int)blockIdx.x) * 32)) + ((((int)__simd_group_id) >> 1) * 16))])), 64, 0, (bool)0);
  simdgroup_store(total[1], (&(c[(((((((int)__simd_group_id) & 1) * 1024) + (((int)blockIdx.x) * 32)) + ((((int)__simd_group_id) >> 1) * 16)) + 8)])), 64, 0, (bool)0);
  simdgroup_store(total[2], (&(c[(((((((int)__simd_group_id) & 1) * 1024) + (((int)blockIdx.x) * 32)) + ((((int)__simd_group_id) >> 1) * 16)) + 512)])), 64, 0, (bool)0);
  simdgroup_store(total[3], (&(c[(((((((int)__simd_group_id) & 1) * 1024) + (((int)blockIdx.x) * 32)) + ((((int)__simd_group_id) >> 1) * 16)) + 520)])), 64, 0, (bool)0);
}


