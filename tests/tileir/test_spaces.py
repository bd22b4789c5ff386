"""Index spaces, broadcasting, contraction and index maps, against NumPy where it has the notion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.tileir.broadcast import broadcasts, contraction, union
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.graph import Module
from tilewright.tileir.index_map import (
    Coordinate,
    IndexBinary,
    IndexConstant,
    IndexMap,
    IndexOperator,
    evaluate,
    row_major,
)
from tilewright.tileir.interpreter.run import evaluate as run
from tilewright.tileir.types import Element, TileType
from tilewright.tileir.vocabulary import Opcode

M, N, K, B = (Dim(name) for name in "mnkb")


def space(**extents):
    return IndexSpace.of(*(({"m": M, "n": N, "k": K, "b": B}[name], extent) for name, extent in extents.items()))


def test_two_dims_of_one_name_are_two_dims():
    twin = Dim("m")
    assert space(m=4).position(twin) is None
    assert space(m=4) != IndexSpace.of((twin, 4))


def test_facts_of_a_space():
    both = space(m=4, n=8)
    assert (both.rank, both.shape, both.static_volume(), both.strides()) == (2, (4, 8), 32, (8, 1))
    assert both.without([M]) == space(n=8)
    assert both.extent_of(N) == 8
    assert both.extent_of(K) is None
    assert str(both) == "[m=4, n=8]"


def test_a_dynamic_extent_has_no_volume():
    dynamic = IndexSpace.of((M, K))
    assert dynamic.static_volume() is None
    assert list(dynamic.mentioned()) == [M, K]


def test_the_space_of_one_element():
    assert (IndexSpace().static_volume(), IndexSpace().strides()) == (1, ())


@pytest.mark.parametrize(
    ("spaces", "wanted"),
    [
        ([space(m=4, n=1), space(n=8)], space(m=4, n=8)),
        ([space(n=8), space(m=4, n=1)], space(m=4, n=8)),
        ([space(m=4), space(n=8)], space(m=4, n=8)),
        ([space(m=4), space(m=5)], None),
        ([space(m=1), space(m=0)], space(m=0)),
        ([], IndexSpace()),
    ],
)
def test_the_union_of_spaces(spaces, wanted):
    assert union(spaces) == wanted


def test_broadcasting_goes_one_way():
    assert broadcasts(space(n=1), space(m=4, n=8))
    assert not broadcasts(space(n=8), space(m=4, n=1))
    assert not broadcasts(space(k=1), space(m=4))


def test_the_roles_of_a_batched_contraction():
    roles = contraction(space(b=2, m=3, k=4), space(k=4, b=2, n=5), space(n=5, m=3, b=2))
    assert roles is not None
    assert (roles.batch, roles.rows, roles.columns, roles.contracted) == ((B,), (M,), (N,), (K,))


def test_a_contraction_of_a_space_with_itself():
    same = space(m=3, k=4)
    assert contraction(same, same, space(m=3)) is not None


DIMS = st.permutations([M, N, K, B])


@st.composite
def operands(draw):
    """Two tiles over some dims, extents agreeing or 1, in any order, and the extent of every dim."""
    extents = {dim: draw(st.integers(1, 3)) for dim in (M, N, K, B)}
    chosen = []
    for _ in range(2):
        dims = draw(DIMS)[: draw(st.integers(0, 4))]
        chosen.append(IndexSpace.of(*((dim, draw(st.sampled_from([1, extents[dim]]))) for dim in dims)))
    return chosen


def build_kernel(name, spaces, result, record):
    """A kernel that loads a tile over each space, combines them, and stores over the result space."""
    module = Module()
    module.dims.extend([M, N, K, B])
    build = Builder(module.function(name))
    views = [build.view(f"x{place}", Element.F64, each.shape) for place, each in enumerate(spaces)]
    out = build.view("out", Element.F64, result.shape)
    zero = build.index(0)
    tiles = [build.load(view, [zero] * each.rank, each) for view, each in zip(views, spaces, strict=True)]
    build.store(out, [zero] * result.rank, record(build, *tiles))
    return build.function


@settings(deadline=None)
@given(operands())
def test_elementwise_broadcasting_is_einsum_over_dims(spaces):
    result = union(spaces)
    assert result is not None
    generator = np.random.default_rng(3)
    arrays = [generator.standard_normal(each.shape) for each in spaces]
    function = build_kernel("f", spaces, result, lambda build, a, b: build.elementwise(Opcode.MUL, a, b))
    *_, out = run(function, [*arrays, np.full(result.shape, np.nan)])
    wanted = np.ones(result.shape)
    for array, each in zip(arrays, spaces, strict=True):
        order = [dim for dim in result.dims if dim in each.dims]
        moved = array.transpose([each.dims.index(dim) for dim in order])
        wanted = wanted * moved.reshape([each.extent_of(dim) or 1 for dim in result.dims])
    np.testing.assert_allclose(out, wanted)


@settings(deadline=None)
@given(DIMS, DIMS, DIMS, st.data())
def test_contraction_in_any_order_of_dims_is_einsum(first, second, third, data):
    extents = {dim: data.draw(st.integers(0, 3)) for dim in (M, N, K, B)}

    def over(order, *dims):
        return IndexSpace.of(*((dim, extents[dim]) for dim in order if dim in dims))

    a, b, c = over(first, B, M, K), over(second, B, K, N), over(third, B, M, N)
    generator = np.random.default_rng(5)
    arrays = [generator.standard_normal(each.shape) for each in (a, b, c)]
    *_, out = run(build_kernel("f", (a, b, c), c, Builder.mma), [*arrays, np.full(c.shape, np.nan)])
    letters = {M: "m", N: "n", K: "k", B: "b"}
    spelled = ["".join(letters[dim] for dim in each.dims) for each in (a, b, c)]
    wanted = arrays[2] + np.einsum(f"{spelled[0]},{spelled[1]}->{spelled[2]}", *arrays[:2])
    np.testing.assert_allclose(out, wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("operator", "wanted"),
    [
        (IndexOperator.ADD, [3, 4, 5, 6]),
        (IndexOperator.SUB, [-3, -2, -1, 0]),
        (IndexOperator.MUL, [0, 3, 6, 9]),
        (IndexOperator.FLOORDIV, [0, 0, 0, 1]),
        (IndexOperator.MOD, [0, 1, 2, 0]),
        (IndexOperator.XOR, [3, 2, 1, 0]),
        (IndexOperator.AND, [0, 1, 2, 3]),
        (IndexOperator.SHL, [0, 8, 16, 24]),
        (IndexOperator.SHR, [0, 0, 0, 0]),
    ],
)
def test_index_operators(operator, wanted):
    expression = IndexBinary(operator, Coordinate(0), IndexConstant(3))
    assert list(evaluate(expression, [np.arange(4)])) == wanted


def test_a_row_major_layout_is_one_to_one_and_onto():
    facts = row_major(space(m=4, n=8), space(k=32)).analyze_finite()
    assert facts is not None
    assert (facts.total, facts.in_bounds, facts.injective, facts.surjective) == (True, True, True, True)


def test_a_padded_layout_is_not_onto():
    facts = row_major(space(m=4, n=8), space(k=33)).analyze_finite()
    assert facts is not None
    assert (facts.injective, facts.surjective) == (True, False)


def test_a_swizzle_is_one_to_one():
    swizzle = IndexBinary(IndexOperator.XOR, Coordinate(1), Coordinate(0))
    facts = IndexMap(space(m=4, n=4), space(m=4, n=4), (Coordinate(0), swizzle)).analyze_finite()
    assert facts is not None
    assert facts.injective
    assert facts.surjective


def test_a_map_too_large_to_enumerate_has_no_facts():
    assert row_major(space(m=2**21), space(k=2**21)).analyze_finite() is None
    assert IndexMap(IndexSpace.of((M, K)), space(n=4), (Coordinate(0),)).analyze_finite() is None


def test_the_largest_map_that_is_enumerated():
    layout = row_major(space(m=8), space(k=8))
    assert layout.analyze_finite(limit=8) is not None
    assert layout.analyze_finite(limit=7) is None


def test_an_empty_domain_has_facts():
    facts = row_major(space(m=0), space(k=4)).analyze_finite()
    assert facts is not None
    assert facts.injective
    assert not facts.surjective


def test_types_compare_by_element_and_dims():
    assert TileType(Element.F32, space(m=4)) == TileType(Element.F32, space(m=4))
    assert TileType(Element.F32, space(m=4)) != TileType(Element.F32, IndexSpace.of((Dim("m"), 4)))
