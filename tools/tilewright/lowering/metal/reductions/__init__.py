"""Row programs on SIMD-groups: reductions by simd_sum, simd_max, simd_min. Spec: Native SIMD-group reductions."""
