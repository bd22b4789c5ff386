// Function: softmax_kernel
#include <metal_stdlib>
using namespace metal;

union __TVMArgUnion {
 int v_int[2];
};

kernel void softmax_kernel(  device float* x_ptr [[ buffer(0) ]],
  device float* y_ptr [[ buffer(1) ]],
  uint blockIdx [[threadgroup_position_in_grid]],
  uint threadIdx [[thread_position_in_threadgroup]]
) {
  thread float in_thread_top_shared[1];
  threadgroup float red_result[1];
  threadgroup float top_shared[1];
  thread float in_thread_total_shared[1];
  threadgroup float red_result_1[1];
  threadgroup float total_shared[1];
  in_thread_top_shared[0] = -3.402823e+38f;
  int cse_v1 = (((int)threadIdx) >> 2);
  int cse_v2 = (((int)blockIdx) * 300);
  for (int ax1_0 = 0; ax1_0 < 3; ++ax1_0) {
    if (((ax1_0 * 32) + (((int)threadIdx) >> 2)) < 75) {
      in_thread_top_shared[0] = max(in_thread_top_shared[0], x_ptr[(((((int)blockIdx) * 300) + (ax1_0 * 128)) + ((int)threadIdx))]);
    }
  }
  threadgroup float red_buf_staging[8];
  thread float t0[1];
  thread float red_buf0[1];
  thread float t0_1[1];
  thread float red_buf0_1[1];
  red_buf0[0] = in_thread_top_shared[0];
  t0[0] = simd_shuffle_down(red_buf0[0], 8);
  red_buf0[0] = max(red_buf0[0], t0[0]);
  t0[0] = simd_shuffle_down(red_buf0[0], 4);
  red_buf0[0] = max(red_buf0[0], t0[0]);
  t0[0] = simd_shuffle_down(red_buf0[0], 2);
  red_buf0[0] = max(red_buf0[0], t0[0]);
  t0[0] = simd_shuffle_down(red_buf0[0], 1);
  red_buf0[0] = max(red_buf0[0], t0[0]);
  if ((((int)threadIdx) % 16) == 0) {
    red_buf_staging[(((int)threadIdx) >> 4)] = red_buf0[0];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx) < 8) {
    red_buf0_1[0] = red_buf_staging[((int)threadIdx)];
  }
  t0_1[0] = simd_shuffle_down(red_buf0_1[0], 4);
  red_buf0_1[0] = max(red_buf0_1[0], t0_1[0]);
  t0_1[0] = simd_shuffle_down(red_buf0_1[0], 2);
  red_buf0_1[0] = max(red_buf0_1[0], t0_1[0]);
  t0_1[0] = simd_shuffle_down(red_buf0_1[0], 1);
  red_buf0_1[0] = max(red_buf0_1[0], t0_1[0]);
  if (((int)threadIdx) == 0) {
    ((volatile threadgroup float*)red_result)[0] = red_buf0_1[0];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx) == 0) {
    top_shared[0] = ((volatile threadgroup float*)red_result)[0];
  }
  in_thread_total_shared[0] = 0.000000e+00f;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int ax1_0_1 = 0; ax1_0_1 < 3; ++ax1_0_1) {
    if (((ax1_0_1 * 32) + (((int)threadIdx) >> 2)) < 75) {
      in_thread_total_shared[0] = (in_thread_total_shared[0] + exp((x_ptr[(((((int)blockIdx) * 300) + (ax1_0_1 * 128)) + ((int)threadIdx))] - top_shared[0])));
    }
  }
  threadgroup float red_buf_staging_1[8];
  thread float t0_2[1];
  thread float red_buf0_2[1];
  thread float t0_3[1];
  thread float red_buf0_3[1];
  red_buf0_2[0] = in_thread_total_shared[0];
  t0_2[0] = simd_shuffle_down(red_buf0_2[0], 8);
  red_buf0_2[0] = (red_buf0_2[0] + t0_2[0]);
  t0_2[0] = simd_shuffle_down(red_buf0_2[0], 4);
  red_buf0_2[0] = (red_buf0_2[0] + t0_2[0]);
  t0_2[0] = simd_shuffle_down(red_buf0_2[0], 2);
  red_buf0_2[0] = (red_buf0_2[0] + t0_2[0]);
  t0_2[0] = simd_shuffle_down(red_buf0_2[0], 1);
  red_buf0_2[0] = (red_buf0_2[0] + t0_2[0]);
  if ((((int)threadIdx) % 16) == 0) {
    red_buf_staging_1[(((int)threadIdx) >> 4)] = red_buf0_2[0];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx) < 8) {
    red_buf0_3[0] = red_buf_staging_1[((int)threadIdx)];
  }
  t0_3[0] = simd_shuffle_down(red_buf0_3[0], 4);
  red_buf0_3[0] = (red_buf0_3[0] + t0_3[0]);
  t0_3[0] = simd_shuffle_down(red_buf0_3[0], 2);
  red_buf0_3[0] = (red_buf0_3[0] + t0_3[0]);
  t0_3[0] = simd_shuffle_down(red_buf0_3[0], 1);
  red_buf0_3[0] = (red_buf0_3[0] + t0_3[0]);
  if (((int)threadIdx) == 0) {
    ((volatile threadgroup float*)red_result_1)[0] = red_buf0_3[0];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (((int)threadIdx) == 0) {
    total_shared[0] = ((volatile threadgroup float*)red_result_1)[0];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int j_0 = 0; j_0 < 3; ++j_0) {
    if (((j_0 * 32) + (((int)threadIdx) >> 2)) < 75) {
      int cse_v3 = (((((int)blockIdx) * 300) + (j_0 * 128)) + ((int)threadIdx));
      y_ptr[(((((int)blockIdx) * 300) + (j_0 * 128)) + ((int)threadIdx))] = (exp((x_ptr[(((((int)blockIdx) * 300) + (j_0 * 128)) + ((int)threadIdx))] - top_shared[0])) / total_shared[0]);
    }
  }
}


