// Function: gemm_kernel
#include <metal_stdlib>
using namespace metal;

union __TVMArgUnion {
 int v_int[2];
};

kernel void gemm_kernel(  device float* a_ptr [[ buffer(0) ]],
  device float* b_ptr [[ buffer(1) ]],
  device float* c_ptr [[ buffer(2) ]],
  uint2 blockIdx [[threadgroup_position_in_grid]],
  uint2 threadIdx [[thread_position_in_threadgroup]]
) {
  thread float c_local[4];
  threadgroup float a_shared[128];
  threadgroup float b_shared[128];
  int cse_v1 = (((int)blockIdx.y) * 2);
  int cse_v2 = (((int)blockIdx.x) * 4);
  int cse_v7 = ((((int)blockIdx.y) * 2) + (((int)threadIdx.y) >> 2));
  int cse_v8 = ((((int)blockIdx.x) * 4) + (((int)threadIdx.x) >> 1));
  for (int i_2_init = 0; i_2_init < 2; ++i_2_init) {
    for (int j_2_init = 0; j_2_init < 2; ++j_2_init) {
      if ((((((int)blockIdx.y) * 2) + (((int)threadIdx.y) >> 2)) < 5) && (((((int)blockIdx.x) * 4) + (((int)threadIdx.x) >> 1)) < 9)) {
        c_local[((i_2_init * 2) + j_2_init)] = 0.000000e+00f;
      }
    }
  }
  int cse_v5 = (((int)blockIdx.x) * 16);
  int cse_v6 = (((int)threadIdx.x) * 2);
  for (int k_0 = 0; k_0 < 3; ++k_0) {
    int cse_v3 = (((int)threadIdx.y) * 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int ax0_ax1_fused_0 = 0; ax0_ax1_fused_0 < 2; ++ax0_ax1_fused_0) {
      if (((((int)blockIdx.y) * 2) + ax0_ax1_fused_0) < 5) {
        a_shared[(((ax0_ax1_fused_0 * 64) + (((int)threadIdx.y) * 8)) + ((int)threadIdx.x))] = a_ptr[(((((((int)blockIdx.y) * 384) + (ax0_ax1_fused_0 * 192)) + (((int)threadIdx.y) * 24)) + (k_0 * 8)) + ((int)threadIdx.x))];
      }
    }
    for (int ax0_ax1_fused_0_1 = 0; ax0_ax1_fused_0_1 < 2; ++ax0_ax1_fused_0_1) {
      int cse_v4 = (((int)threadIdx.y) & 1);
      if ((((((int)blockIdx.x) * 4) + ((((int)threadIdx.y) & 1) * 2)) + (((int)threadIdx.x) >> 2)) < 9) {
        b_shared[(((ax0_ax1_fused_0_1 * 64) + (((int)threadIdx.y) * 8)) + ((int)threadIdx.x))] = b_ptr[((((((k_0 * 288) + (ax0_ax1_fused_0_1 * 144)) + ((((int)threadIdx.y) >> 1) * 36)) + (((int)blockIdx.x) * 16)) + ((((int)threadIdx.y) & 1) * 8)) + ((int)threadIdx.x))];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (int k_1 = 0; k_1 < 8; ++k_1) {
      for (int i_2 = 0; i_2 < 2; ++i_2) {
        for (int j_2 = 0; j_2 < 2; ++j_2) {
          if ((((((int)blockIdx.y) * 2) + (((int)threadIdx.y) >> 2)) < 5) && (((((int)blockIdx.x) * 4) + (((int)threadIdx.x) >> 1)) < 9)) {
            int cse_v9 = ((i_2 * 2) + j_2);
            c_local[((i_2 * 2) + j_2)] = (c_local[((i_2 * 2) + j_2)] + (a_shared[(((((int)threadIdx.y) * 16) + (i_2 * 8)) + k_1)] * b_shared[(((k_1 * 16) + (((int)threadIdx.x) * 2)) + j_2)]));
          }
        }
      }
    }
  }
  for (int ax0 = 0; ax0 < 2; ++ax0) {
    for (int ax1 = 0; ax1 < 2; ++ax1) {
      if ((((((int)blockIdx.y) * 2) + (((int)threadIdx.y) >> 2)) < 5) && (((((int)blockIdx.x) * 4) + (((int)threadIdx.x) >> 1)) < 9)) {
        c_ptr[((((((((int)blockIdx.y) * 576) + (((int)threadIdx.y) * 72)) + (ax0 * 36)) + (((int)blockIdx.x) * 16)) + (((int)threadIdx.x) * 2)) + ax1)] = c_local[((ax0 * 2) + ax1)];
      }
    }
  }
}


