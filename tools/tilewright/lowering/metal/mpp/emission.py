"""The MSL 4 text of a native matrix product: a function an atom, and the kernel that calls them in order.

Interior tiles take static M and N slices with a dynamic K; edge tiles take dynamic slices, whose reads outside are
zero and whose writes outside are dropped. The destination is zeroed and accumulated into: that is right under either
reading of the mode `multiply`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.lowering.metal.emission import tile_space
from tilewright.lowering.metal.mpp.atoms import Atom, Selection
from tilewright.lowering.metal.msl import entry_symbol
from tilewright.lowering.metal.scalars import held_as
from tilewright.lowering.metal.signature import pointer_names, slots
from tilewright.tileir.graph import Function, Value

HEADER = """\
#include <metal_stdlib>
#if !defined(__HAVE_TENSOR__)
#error "this kernel needs MSL 4.0 and Metal Performance Primitives"
#endif
#include <metal_tensor>
#include <metal_cooperative_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
namespace ops = mpp::tensor_ops;
"""

RUN = """\
    auto sum = op.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    for (ushort i = 0; i < sum.get_capacity(); ++i) {
      if (sum.is_valid_element(i)) { sum[i] = 0.0f; }
    }
    op.run(left, right, sum);
    sum.store(result);"""


def emit_kernel(function: Function, selection: Selection, threads: int) -> str:
    """The source; group atoms run on every SIMD-group of the `threads`."""
    atoms = [
        "\n".join(atom_text(number, atom, 1 if atom.by_subgroup else threads // 32))
        for number, atom in enumerate(selection.atoms)
    ]
    return "\n".join([HEADER, *atoms, kernel(function, selection)])


def atom_text(number: int, atom: Atom, simdgroups: int) -> Iterator[str]:
    """One function: the product of one tile at (row, column). Every thread of its scope calls it, or none."""
    (m, n), k = tile_space(atom.store.view).shape, atom.depth
    rows, columns = atom.rows, atom.columns
    yield (
        f"static inline void atom{number}(device float *a, device float *b, device float *c, int row, int column) {{"
    )
    (_, last_row), (_, last_column) = (place.interval for place in atom.origin)
    if last_row >= m or last_column >= n:
        yield f"  if (row >= {m} || column >= {n}) {{ return; }}"
    yield tensor("ta", "a", *((m, k) if atom.transpose_left else (k, m)))
    yield tensor("tb", "b", *((k, n) if atom.transpose_right else (n, k)))
    yield tensor("tc", "c", n, m)
    left, right = (str(flag).lower() for flag in (atom.transpose_left, atom.transpose_right))
    yield (
        f"  constexpr auto shape = ops::matmul2d_descriptor({rows}, {columns}, ops::dynamic_length_v<int>, {left}, "
        f"{right}, false, ops::matmul2d_descriptor::mode::multiply_accumulate);"
    )
    yield f"  ops::matmul2d<shape, execution_simdgroups<{simdgroups}>> op;"
    interior = rows <= m and columns <= n
    always = interior and last_row <= m - rows and last_column <= n - columns
    if interior:
        yield "  {" if always else f"  if (row <= {m - rows} && column <= {n - columns}) {{"
        yield static_slice("left", "ta", (rows, "row"), transposed=not atom.transpose_left)
        yield static_slice("right", "tb", (columns, "column"), transposed=atom.transpose_right)
        yield f"    auto result = tc.slice<{columns}, {rows}>(column, row);"
        yield RUN
    if not always:
        yield "  } else {" if interior else "  {"
        yield f"    auto left = ta.slice({'row, 0' if atom.transpose_left else '0, row'});"
        yield f"    auto right = tb.slice({'0, column' if atom.transpose_right else 'column, 0'});"
        yield "    auto result = tc.slice(column, row);"
        yield RUN
    yield "  }\n}\n"


def tensor(name: str, pointer: str, columns: int, rows: int) -> str:
    """A row-major matrix; dimension 0 is the contiguous one."""
    return (
        f"  tensor<device float, dextents<int, 2>, tensor_inline> {name}({pointer}, "
        f"dextents<int, 2>({columns}, {rows}), array<int, 2>{{1, {columns}}});"
    )


def static_slice(name: str, source: str, tile: tuple[int, str], *, transposed: bool) -> str:
    """A slice with the tile's static extent and all of K; `transposed`: K is the contiguous dimension."""
    extent, origin = tile
    if transposed:
        return f"    auto {name} = {source}.slice<dynamic_extent, {extent}>(0, {origin});"
    return f"    auto {name} = {source}.slice<{extent}, dynamic_extent>({origin}, 0);"


def kernel(function: Function, selection: Selection) -> str:
    """The entry: it takes the buffers, finds its place, and calls the atoms."""
    names = pointer_names(function)
    buffers = [f"device float *p{place} [[buffer({slot})]]" for slot, place in enumerate(slots(function))]
    places = ["uint group_index [[threadgroup_position_in_grid]]"]
    if selection.subgroups:
        places.append("uint subgroup_index [[simdgroup_index_in_threadgroup]]")
    lines = [f"kernel void {entry_symbol(function.name)}(", "    " + ",\n    ".join([*buffers, *places]) + ") {"]
    lines.append("  const int group = int(group_index);")
    if selection.subgroups:
        lines.append("  const int subgroup = int(subgroup_index);")
    lines += [f"  {call(number, atom, names)}" for number, atom in enumerate(selection.atoms)]
    return "\n".join([*lines, "}", ""])


def call(number: int, atom: Atom, names: dict[Value, str]) -> str:
    views = (names[each] for each in (atom.left.view, atom.right.view, atom.store.view))
    row, column = (held_as(each, "int") for each in atom.origin)
    return f"atom{number}({', '.join(views)}, {row}, {column});"
