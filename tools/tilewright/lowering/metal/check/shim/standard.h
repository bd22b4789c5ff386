// The part of the MSL standard library that generated kernels use. Written from its public description.
#pragma once
#include "tw_runtime.h"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
typedef __bf16 bfloat;
typedef unsigned long size_t;

#define TW_VECTORS(type) \
  typedef type type##2 __attribute__((ext_vector_type(2))); \
  typedef type type##3 __attribute__((ext_vector_type(3))); \
  typedef type type##4 __attribute__((ext_vector_type(4)));
TW_VECTORS(float)
TW_VECTORS(half)
TW_VECTORS(int)
TW_VECTORS(uint)
TW_VECTORS(short)
TW_VECTORS(ushort)
TW_VECTORS(ulong)
TW_VECTORS(bool)

// A vector is made by a call of its type's name; clang's own vectors have no such call, braces do it.
template <class Vector, class First>
inline Vector tw_vector(First first) { return Vector(first); }
template <class Vector, class First, class Second, class... Rest>
inline Vector tw_vector(First first, Second second, Rest... rest) { return Vector{first, second, rest...}; }
#define float2(...) tw_vector<float2>(__VA_ARGS__)
#define float3(...) tw_vector<float3>(__VA_ARGS__)
#define float4(...) tw_vector<float4>(__VA_ARGS__)
#define int2(...) tw_vector<int2>(__VA_ARGS__)
#define int3(...) tw_vector<int3>(__VA_ARGS__)
#define uint2(...) tw_vector<uint2>(__VA_ARGS__)
#define uint3(...) tw_vector<uint3>(__VA_ARGS__)
#define ulong2(...) tw_vector<ulong2>(__VA_ARGS__)

#ifdef TW_CHECK
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#else
#define device
#define constant const
#define threadgroup
#endif
#define thread
#define kernel

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define FLT_MAX 3.402823466e+38f

template <class To, class From>
inline To as_type(From value) { return __builtin_bit_cast(To, value); }

namespace metal {

// A type without its qualifiers; `shared` where device or threadgroup memory holds it, which only the check pass knows.
#ifdef TW_CHECK
#define TW_PLAIN(qualifiers, in_shared) \
  template <class T> struct tw_plain<qualifiers T> { typedef T type; static constexpr bool shared = in_shared; };
template <class T> struct tw_plain { typedef T type; static constexpr bool shared = false; };
TW_PLAIN(const, false)
TW_PLAIN(device, true)
TW_PLAIN(const device, true)
TW_PLAIN(constant, false)
TW_PLAIN(threadgroup, true)
TW_PLAIN(const threadgroup, true)
#undef TW_PLAIN
#else
template <class T> struct tw_plain { typedef T type; static constexpr bool shared = true; };
template <class T> struct tw_plain<const T> { typedef T type; static constexpr bool shared = true; };
#endif
template <class A, class B> struct tw_same { static constexpr bool value = false; };
template <class A> struct tw_same<A, A> { static constexpr bool value = true; };

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
inline constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }

inline void threadgroup_barrier(mem_flags flags, int line = __builtin_LINE()) {
  tw::meet(tw::threadgroup_scope, "threadgroup_barrier", flags != mem_flags::mem_none, line);
}
inline void simdgroup_barrier(mem_flags flags, int line = __builtin_LINE()) {
  tw::meet(tw::simdgroup_scope, "simdgroup_barrier", flags != mem_flags::mem_none, line);
}

#define TW_UNARY(name, builtin) inline float name(float x) { return builtin(x); }
TW_UNARY(exp, __builtin_expf)
TW_UNARY(exp2, __builtin_exp2f)
TW_UNARY(log, __builtin_logf)
TW_UNARY(log2, __builtin_log2f)
TW_UNARY(sqrt, __builtin_sqrtf)
TW_UNARY(tanh, __builtin_tanhf)
TW_UNARY(sin, __builtin_sinf)
TW_UNARY(cos, __builtin_cosf)
TW_UNARY(fabs, __builtin_fabsf)
TW_UNARY(floor, __builtin_floorf)
TW_UNARY(ceil, __builtin_ceilf)
TW_UNARY(abs, __builtin_fabsf)
inline float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
inline float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
inline float fmin(float a, float b) { return __builtin_fminf(a, b); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float max(float a, float b) { return fmax(a, b); }
inline float min(float a, float b) { return fmin(a, b); }
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
inline uint max(uint a, uint b) { return a > b ? a : b; }
inline uint min(uint a, uint b) { return a < b ? a : b; }
namespace precise { using metal::exp; using metal::log; using metal::sqrt; using metal::tanh; }
namespace fast { using metal::max; using metal::min; }

template <class T, class Fold>
inline T simd_fold(T mine, Fold fold, const char *what, int line) {
  T all[32];
  tw::exchange(&mine, sizeof(T), all, what, line);
  for (unsigned width = 16; width > 0; width /= 2) {
    for (unsigned lane = 0; lane < width; ++lane) { all[lane] = fold(all[lane], all[lane + width]); }
  }
  return all[0];
}
template <class T>
inline T simd_sum(T x, int line = __builtin_LINE()) {
  return simd_fold(x, [](T a, T b) { return a + b; }, "simd_sum", line);
}
template <class T>
inline T simd_max(T x, int line = __builtin_LINE()) {
  return simd_fold(x, [](T a, T b) { return max(a, b); }, "simd_max", line);
}
template <class T>
inline T simd_min(T x, int line = __builtin_LINE()) {
  return simd_fold(x, [](T a, T b) { return min(a, b); }, "simd_min", line);
}
template <class T>
inline T simd_pick(T mine, unsigned from, const char *what, int line) {
  T all[32];
  tw::exchange(&mine, sizeof(T), all, what, line);
  return all[from < 32 ? from : tw::here().lane];
}
template <class T>
inline T simd_broadcast(T x, ushort lane, int line = __builtin_LINE()) {
  return simd_pick(x, lane, "simd_broadcast", line);
}
template <class T>
inline T simd_broadcast_first(T x, int line = __builtin_LINE()) {
  return simd_pick(x, 0, "simd_broadcast_first", line);
}
template <class T>
inline T simd_shuffle(T x, ushort lane, int line = __builtin_LINE()) {
  return simd_pick(x, lane, "simd_shuffle", line);
}
template <class T>
inline T simd_shuffle_xor(T x, ushort mask, int line = __builtin_LINE()) {
  return simd_pick(x, tw::here().lane ^ mask, "simd_shuffle_xor", line);
}
template <class T>
inline T simd_shuffle_down(T x, ushort delta, int line = __builtin_LINE()) {
  return simd_pick(x, tw::here().lane + delta, "simd_shuffle_down", line);
}

}  // namespace metal

#include <metal_simdgroup_matrix>

#pragma GCC poison double new delete goto throw try catch virtual dynamic_cast typeid
#pragma GCC poison expf logf sqrtf tanhf fmaxf fminf printf malloc free memcpy memset
