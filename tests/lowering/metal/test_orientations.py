"""The matrix operation in every orientation of A, B, C and D = A B + C, as the MSL a Mac would get (B203).

Operands that are stored by columns are row-major views with a transpose; C and D by columns go through the coordinates
of the cooperative tensor. Evidence: "MSL, CPU-emulated".
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tilewright.lowering.metal.check.programs import Bound, Order, build, launch, type_check
from tilewright.lowering.metal.check.units import Msl
from tilewright.lowering.metal.mpp.emission import HEADER

ROWS, COLUMNS, DEPTH = 37, 53, 23
TILE = (16, 32)
GRID = (-(-ROWS // TILE[0]) * -(-COLUMNS // TILE[1]), 1, 1)
ORIENTATIONS = tuple(product((False, True), repeat=4))
"""Whether A, B, C and D are stored by columns."""


def matrix_operation(flips: tuple[bool, ...]) -> Msl:
    """One tile a threadgroup of four SIMD-groups."""
    a, b, c, d = flips
    bm, bn = TILE
    left, right = ((ROWS, DEPTH) if a else (DEPTH, ROWS)), ((DEPTH, COLUMNS) if b else (COLUMNS, DEPTH))

    def at(flip: bool) -> str:
        return f"s * {ROWS} + r" if flip else f"r * {COLUMNS} + s"

    source = f"""{HEADER}
kernel void combined(device float *pa [[buffer(0)]], device float *pb [[buffer(1)]], device float *pc [[buffer(2)]],
                     device float *pd [[buffer(3)]], uint group [[threadgroup_position_in_grid]]) {{
  const int row = int(group) / {-(-COLUMNS // bn)} * {bm}, column = int(group) % {-(-COLUMNS // bn)} * {bn};
  tensor<device float, dextents<int, 2>, tensor_inline> ta(pa, dextents<int, 2>({left[0]}, {left[1]}));
  tensor<device float, dextents<int, 2>, tensor_inline> tb(pb, dextents<int, 2>({right[0]}, {right[1]}));
  constexpr auto shape = ops::matmul2d_descriptor({bm}, {bn}, ops::dynamic_length_v<int>, {str(a).lower()},
      {str(b).lower()}, false, ops::matmul2d_descriptor::mode::multiply_accumulate);
  ops::matmul2d<shape, execution_simdgroups<4>> op;
  auto left = ta.slice({"row, 0" if a else "0, row"});
  auto right = tb.slice({"0, column" if b else "column, 0"});
  auto sum = op.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
  for (ushort i = 0; i < sum.get_capacity(); ++i) {{
    if (sum.is_valid_element(i)) {{
      const auto place = sum.get_multidimensional_index(i);
      const int r = row + place[1], s = column + place[0];
      sum[i] = r < {ROWS} && s < {COLUMNS} ? pc[{at(c)}] : 0.0f;
    }}
  }}
  op.run(left, right, sum);
  for (ushort i = 0; i < sum.get_capacity(); ++i) {{
    if (sum.is_valid_element(i)) {{
      const auto place = sum.get_multidimensional_index(i);
      const int r = row + place[1], s = column + place[0];
      if (r < {ROWS} && s < {COLUMNS}) {{ pd[{at(d)}] = sum[i]; }}
    }}
  }}
}}
"""
    name = "".join("t" if flip else "n" for flip in flips)
    return Msl(f"{name}.metal", source, "combined", 400)


@pytest.fixture(scope="module")
def operations(clang, tmp_path_factory):
    folder = tmp_path_factory.mktemp("orientations")
    sources = [matrix_operation(flips) for flips in ORIENTATIONS]
    type_check(clang, sources, folder)
    return build(clang, sources, folder), folder


def test_all_sixteen_orientations_are_right(operations):
    """At three layouts of the cooperative tensor; each buffer ends at an inaccessible page."""
    program, folder = operations
    draw = np.random.default_rng(3)
    a, b, c = (draw.standard_normal(shape) for shape in ((ROWS, DEPTH), (DEPTH, COLUMNS), (ROWS, COLUMNS)))
    a, b, c = (each.astype(np.float32) for each in (a, b, c))
    want = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    for number, flips in enumerate(ORIENTATIONS):
        stored = [np.ascontiguousarray(each.T if flip else each) for each, flip in zip((a, b, c), flips, strict=False)]
        empty = np.full((COLUMNS, ROWS) if flips[3] else (ROWS, COLUMNS), np.nan, np.float32)
        for seed in range(3):
            buffers = [Bound(each) for each in (*stored, empty)]
            outcome = launch(program, number, GRID, (128, 1, 1), buffers, folder, order=Order.PERMUTED, seed=seed)
            assert outcome.fault == "", flips
            got = outcome.contents[3].T if flips[3] else outcome.contents[3]
            assert np.abs(got - want).max() < 1e-4, flips


def test_strides_in_another_order_are_no_way_to_transpose(clang, tmp_path):
    """Numerically wrong on systems where it was tried, so the check does not let it pass."""
    source = matrix_operation((False, False, False, False))
    permuted = source.source.replace(
        f"dextents<int, 2>({DEPTH}, {ROWS}))", f"dextents<int, 2>({DEPTH}, {ROWS}), array<int, 2>{{{ROWS}, 1}})"
    )
    assert permuted != source.source
    program = build(clang, [Msl("permuted.metal", permuted, "combined", 400)], tmp_path)
    buffers = [Bound(np.zeros(ROWS * COLUMNS, np.float32)) for _ in range(4)]
    outcome = launch(program, 0, GRID, (128, 1, 1), buffers, tmp_path)
    assert "an inline tensor whose inner stride is not 1" in outcome.fault
