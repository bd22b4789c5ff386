// Tensors of rank 2 over plain pointers, as MSL 4 describes them: dimension 0 is the contiguous one.
#pragma once
#include <metal_stdlib>
#if __METAL_VERSION__ < 400
#error "metal_tensor needs MSL 4.0"
#endif

namespace metal {

constexpr size_t dynamic_extent = ~size_t(0);

struct tensor_inline {};
struct tensor_handle {};
struct tensor_offset {};

template <class T, size_t N>
struct array {
  T items[N];
  T &operator[](size_t at) { return items[at]; }
  const T &operator[](size_t at) const { return items[at]; }
};

template <class I, size_t Rank>
struct dextents {
  static_assert(Rank == 2, "the shim has tensors of rank 2");
  I sizes[2];
  dextents(I columns, I rows) : sizes{columns, rows} {}
};

// What an operation reads and writes: the rest of a tensor from an origin, or a window of promised size.
template <class E, size_t Columns, size_t Rows>
class tw_window {
 public:
  typedef E stored;
  typedef typename tw_plain<E>::type element_type;
  static constexpr size_t columns = Columns, rows = Rows;

  tw_window(E *base, const int *origin, const int *sizes, const int *strides)
      : base_(base), origin_{origin[0], origin[1]}, sizes_{sizes[0], sizes[1]}, strides_{strides[0], strides[1]} {}

  int get_extent(int dimension) const { return sizes_[dimension]; }

  element_type read(int column, int row) const {
    return inside(column, row) ? element_type(base_[offset(column, row)]) : element_type(0);
  }
  void write(int column, int row, element_type value) const {
    if (inside(column, row)) { base_[offset(column, row)] = value; }
  }

 private:
  bool inside(int column, int row) const {
    return (Columns != dynamic_extent || (column >= 0 && column < sizes_[0])) &&
           (Rows != dynamic_extent || (row >= 0 && row < sizes_[1]));
  }
  long offset(int column, int row) const {
    return long(origin_[0] + column) * strides_[0] + long(origin_[1] + row) * strides_[1];
  }
  E *base_;
  int origin_[2], sizes_[2], strides_[2];
};

template <class E, class Extents, class Descriptor = tensor_handle>
class tensor {
  static_assert(tw_same<Descriptor, tensor_inline>::value, "the shim has inline tensors only");

 public:
  typedef E stored;
  typedef typename tw_plain<E>::type element_type;
  static constexpr size_t columns = dynamic_extent, rows = dynamic_extent;

  tensor(E *base, Extents extents) : tensor(base, extents, array<int, 2>{{1, extents.sizes[0]}}) {}
  tensor(E *base, Extents extents, array<int, 2> strides)
      : base_(base), sizes_{extents.sizes[0], extents.sizes[1]}, strides_{strides.items[0], strides.items[1]} {
    if (sizes_[0] <= 0 || sizes_[1] <= 0) { tw::fail("an inline tensor of extent 0: undefined behaviour in MSL"); }
    if (strides_[0] != 1) { tw::fail("an inline tensor whose inner stride is not 1"); }
  }

  int get_extent(int dimension) const { return sizes_[dimension]; }

  tw_window<E, dynamic_extent, dynamic_extent> slice(int column, int row) const {
    const int origin[2] = {column, row}, sizes[2] = {sizes_[0] - column, sizes_[1] - row};
    if (column < 0 || row < 0 || sizes[0] <= 0 || sizes[1] <= 0) {
      tw::fail("slice at (%d, %d) starts outside a tensor of %d x %d", column, row, sizes_[0], sizes_[1]);
    }
    return {base_, origin, sizes, strides_};
  }
  template <size_t Columns, size_t Rows>
  tw_window<E, Columns, Rows> slice(int column, int row, int line = __builtin_LINE()) const {
    const int origin[2] = {column, row};
    const size_t wanted[2] = {Columns, Rows};
    int sizes[2];
    for (int at = 0; at < 2; ++at) {
      const bool open = wanted[at] == dynamic_extent;
      sizes[at] = open ? sizes_[at] - origin[at] : int(wanted[at]);
      if (!open && (origin[at] < 0 || origin[at] + sizes[at] > sizes_[at])) {
        tw::fail("static slice of %d at offset %d of extent %d at line %d: undefined behaviour in MSL", sizes[at],
                 origin[at], sizes_[at], line);
      }
    }
    return {base_, origin, sizes, strides_};
  }
  element_type read(int column, int row) const { return slice(0, 0).read(column, row); }
  void write(int column, int row, element_type value) const { slice(0, 0).write(column, row, value); }

 private:
  E *base_;
  int sizes_[2], strides_[2];
};

template <int N> struct execution_simdgroups { static constexpr int count = N; };
typedef execution_simdgroups<1> execution_simdgroup;

}  // namespace metal
