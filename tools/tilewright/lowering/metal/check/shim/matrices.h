// Matrices of 8 x 8 over the lanes of a simdgroup: two elements a lane, which ones is opaque and depends on the seed. A
// matrix starts as NaN. Every lane takes part in every operation; memory is read and written by the lane that owns.
#pragma once
#include <metal_stdlib>

namespace metal {

template <class T> struct tw_matrix_element { static constexpr bool legal = false; };
template <> struct tw_matrix_element<float> { static constexpr bool legal = true; };
template <> struct tw_matrix_element<half> { static constexpr bool legal = true; };
template <> struct tw_matrix_element<bfloat> { static constexpr bool legal = __METAL_VERSION__ >= 310; };

template <class T, int Columns, int Rows>
struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "a simdgroup matrix is 8 x 8");
  static_assert(tw_matrix_element<T>::legal, "no simdgroup matrix of this element type");
  T tw_held[2] = {T(NAN), T(NAN)};
};

typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
#if __METAL_VERSION__ >= 310
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
#endif

// Row * 8 + column of an element that a lane owns.
inline unsigned tw_owned(unsigned lane, unsigned at) {
  return ((2 * lane + at) * (2 * tw::seed() + 1) + 7 * tw::seed()) % 64;
}

inline void tw_whole(const char *what, int line) {
  if (tw::here().lanes != 32) { tw::fail("%s at line %d in a simdgroup of %u lanes", what, line, tw::here().lanes); }
  tw::meet(tw::simdgroup_scope, what, false, line);
}

// Calls visit(at, offset in memory) for the elements of this lane.
template <class Visit>
inline void tw_each(ulong per_row, ulong2 origin, bool transposed, Visit visit) {
  for (unsigned at = 0; at < 2; ++at) {
    const unsigned owned = tw_owned(tw::here().lane, at), row = owned / 8, column = owned % 8;
    visit(at, (origin.y + (transposed ? column : row)) * per_row + origin.x + (transposed ? row : column));
  }
}

template <class T, int Columns, int Rows>
inline simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
  return {{value, value}};
}

template <class T, int Columns, int Rows, class Stored>
inline void simdgroup_load(thread simdgroup_matrix<T, Columns, Rows> &matrix, Stored *source, ulong per_row = Columns,
                           ulong2 origin = 0, bool transposed = false, int line = __builtin_LINE()) {
  static_assert(tw_same<T, typename tw_plain<Stored>::type>::value, "simdgroup_load converts no types");
  static_assert(tw_plain<Stored>::shared, "simdgroup_load reads device or threadgroup memory");
  tw_whole("simdgroup_load", line);
  tw_each(per_row, origin, transposed, [&](unsigned at, ulong offset) { matrix.tw_held[at] = T(source[offset]); });
}

template <class T, int Columns, int Rows, class Stored>
inline void simdgroup_store(simdgroup_matrix<T, Columns, Rows> matrix, Stored *target, ulong per_row = Columns,
                            ulong2 origin = 0, bool transposed = false, int line = __builtin_LINE()) {
  typedef typename tw_plain<Stored>::type Element;
  static_assert(tw_same<T, Element>::value, "simdgroup_store converts no types");
  static_assert(tw_plain<Stored>::shared, "simdgroup_store writes device or threadgroup memory");
  tw_whole("simdgroup_store", line);
  tw_each(per_row, origin, transposed, [&](unsigned at, ulong offset) { target[offset] = Element(matrix.tw_held[at]); });
}

// result = left * right + sum; a sum in float, rounded once.
template <class D, class L, class R, class S, int Columns, int Depth, int Rows>
inline void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, Columns, Rows> &result,
                                          simdgroup_matrix<L, Depth, Rows> left,
                                          simdgroup_matrix<R, Columns, Depth> right,
                                          simdgroup_matrix<S, Columns, Rows> sum, int line = __builtin_LINE()) {
  struct { L left[2]; R right[2]; } mine = {{left.tw_held[0], left.tw_held[1]}, {right.tw_held[0], right.tw_held[1]}};
  decltype(mine) all[32];
  tw::exchange(&mine, sizeof mine, all, "simdgroup_multiply_accumulate", line);
  float a[64], b[64];
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned at = 0; at < 2; ++at) {
      a[tw_owned(lane, at)] = float(all[lane].left[at]);
      b[tw_owned(lane, at)] = float(all[lane].right[at]);
    }
  }
  for (unsigned at = 0; at < 2; ++at) {
    const unsigned owned = tw_owned(tw::here().lane, at);
    float total = float(sum.tw_held[at]);
    for (unsigned k = 0; k < 8; ++k) { total += a[owned / 8 * 8 + k] * b[k * 8 + owned % 8]; }
    result.tw_held[at] = D(total);
  }
}

template <class D, class L, class R, int Columns, int Depth, int Rows>
inline void simdgroup_multiply(thread simdgroup_matrix<D, Columns, Rows> &result,
                               simdgroup_matrix<L, Depth, Rows> left, simdgroup_matrix<R, Columns, Depth> right,
                               int line = __builtin_LINE()) {
  const auto zero = make_filled_simdgroup_matrix<D, Columns, Rows>(D(0));
  simdgroup_multiply_accumulate(result, left, right, zero, line);
}

}  // namespace metal
