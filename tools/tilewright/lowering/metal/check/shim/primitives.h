// matmul2d as its public description has it: every thread of the scope computes the elements it owns. The owner map is
// opaque and depends on the seed; a destination starts as NaN.
#pragma once
#include <metal_tensor>
#if __METAL_VERSION__ < 400 || !defined(__HAVE_TENSOR__)
#error "Metal Performance Primitives need MSL 4.0"
#endif

namespace mpp {
namespace tensor_ops {

template <class T> constexpr T dynamic_length_v = T(0x7fffffff);

struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;
  constexpr matmul2d_descriptor(int m, int n, int k = dynamic_length_v<int>, bool transpose_left = false,
                                bool transpose_right = false, bool relaxed_precision = false,
                                mode matmul_mode = mode::multiply)
      : m(m), n(n), k(k), transpose_left(transpose_left), transpose_right(transpose_right),
        relaxed_precision(relaxed_precision), matmul_mode(matmul_mode) {}
  constexpr bool dynamic_k() const { return k == dynamic_length_v<int> || k == -1; }
};

template <class L, class R, class D> struct tw_types { static constexpr bool legal = false; };
template <> struct tw_types<float, float, float> { static constexpr bool legal = true; };
template <> struct tw_types<half, half, float> { static constexpr bool legal = true; };
template <> struct tw_types<half, half, half> { static constexpr bool legal = true; };

inline unsigned tw_divisor(unsigned a, unsigned b) { return b == 0 ? a : tw_divisor(b, a % b); }

template <class T, int M, int N, int Participants, bool Group>
class tw_cooperative {
 public:
  typedef T element_type;
  static constexpr int capacity = (M * N + Participants - 1) / Participants + 2;

  tw_cooperative() {
    for (int at = 0; at < capacity; ++at) { values_[at] = T(NAN); }
  }
  ushort get_capacity() const { return ushort(capacity); }
  bool is_valid_element(ushort at) const { return owned(at) >= 0; }
  T &operator[](ushort at) { return values_[at]; }
  T get(ushort at) const { return is_valid_element(at) ? values_[at] : T(0); }
  void set(ushort at, T value) {
    if (is_valid_element(at)) { values_[at] = value; }
  }
  metal::array<int, 2> get_multidimensional_index(ushort at) const {
    return metal::array<int, 2>{{owned(at) % N, owned(at) / N}};
  }
  template <class Target>
  void store(Target &target) const {
    static_assert(metal::tw_same<T, typename Target::element_type>::value, "store converts no types");
    each([&](int at, int column, int row) { target.write(column, row, values_[at]); });
  }
  template <class Source>
  void load(Source &source) {
    static_assert(metal::tw_same<T, typename Source::element_type>::value, "load converts no types");
    each([&](int at, int column, int row) { values_[at] = source.read(column, row); });
  }
  template <class Visit>
  void each(Visit visit) const {
    for (int at = 0; at < capacity; ++at) {
      const int flat = owned(at);
      if (flat >= 0) { visit(at, flat % N, flat / N); }
    }
  }
  void put(int at, T value) { values_[at] = value; }
  T held(int at) const { return values_[at]; }

 private:
  static int owned(int at) {
    const unsigned total = unsigned(capacity) * Participants;
    const unsigned mine = Group ? tw::here().linear : tw::here().lane;
    unsigned factor = 2 * tw::seed() + 1;
    while (tw_divisor(factor, total) != 1) { factor += 2; }
    const ulong flat = (ulong(at * Participants + mine) * factor + 7 * tw::seed()) % total;
    return flat < ulong(M * N) ? int(flat) : -1;
  }
  T values_[capacity];
};

template <matmul2d_descriptor Descriptor, class Scope>
class matmul2d {
  static constexpr int M = Descriptor.m, N = Descriptor.n;
  static constexpr bool group = Scope::count != 1;
  static constexpr int participants = 32 * Scope::count;
  static_assert(M % 8 == 0 && N % 8 == 0 && (M % 16 == 0 || N % 16 == 0),
                "m and n are multiples of 8, one of them of 16");
  static_assert(Descriptor.dynamic_k() || Descriptor.k % 16 == 0, "k is dynamic or a multiple of 16");

 public:
  template <class L, class R, class T>
  tw_cooperative<T, M, N, participants, group> get_destination_cooperative_tensor() const { return {}; }

  template <class L, class R, class D>
  void run(L &left, R &right, D &destination, int line = __builtin_LINE()) const {
    static_assert(tw_types<typename L::element_type, typename R::element_type, typename D::element_type>::legal,
                  "no matmul2d of these element types");
    static_assert(fits(Descriptor.transpose_left ? L::columns : L::rows, M), "left operand is smaller than the tile");
    static_assert(fits(Descriptor.transpose_right ? R::rows : R::columns, N), "right operand is smaller than the tile");
    if (group && unsigned(Scope::count) != tw::here().subgroups) {
      tw::fail("matmul2d at line %d runs on %d simdgroups of a threadgroup of %u", line, Scope::count,
               tw::here().subgroups);
    }
    tw::meet(group ? tw::threadgroup_scope : tw::simdgroup_scope, "matmul2d run", false, line);
    const int depth = left.get_extent(Descriptor.transpose_left ? 1 : 0);
    const int other = right.get_extent(Descriptor.transpose_right ? 0 : 1);
    if (Descriptor.dynamic_k() ? depth != other : (Descriptor.k > depth || Descriptor.k > other)) {
      tw::fail("matmul2d at line %d: K is %d on the left, %d on the right", line, depth, other);
    }
    const bool adds = Descriptor.matmul_mode == matmul2d_descriptor::mode::multiply_accumulate || tw::multiply_adds();
    computed(left, right, destination, adds, Descriptor.dynamic_k() ? depth : Descriptor.k);
  }

 private:
  static constexpr bool fits(size_t extent, int tile) {
    return extent == metal::dynamic_extent || extent == size_t(tile);
  }
  template <class L, class R>
  static float product(L &left, R &right, int column, int row, int depth, float sum) {
    for (int k = 0; k < depth; ++k) {
      const float a = Descriptor.transpose_left ? left.read(row, k) : left.read(k, row);
      const float b = Descriptor.transpose_right ? right.read(k, column) : right.read(column, k);
      sum += a * b;
    }
    return sum;
  }
  template <class L, class R, class T>
  static void computed(L &left, R &right, tw_cooperative<T, M, N, participants, group> &destination, bool adds,
                       int depth) {
    destination.each([&](int at, int column, int row) {
      const float start = adds ? float(destination.held(at)) : 0.0f;
      destination.put(at, T(product(left, right, column, row, depth, start)));
    });
  }
  template <class L, class R, class D>
  static void computed(L &left, R &right, D &destination, bool adds, int depth) {
    tw_cooperative<typename D::element_type, M, N, participants, group> owner;
    owner.each([&](int, int column, int row) {
      const float start = adds ? float(destination.read(column, row)) : 0.0f;
      destination.write(column, row, typename D::element_type(product(left, right, column, row, depth, start)));
    });
  }
};

}  // namespace tensor_ops
}  // namespace mpp
