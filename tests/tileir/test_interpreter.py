"""The interpreter operation by operation, and what it refuses. Evidence: interpreter FP64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tileir import kernels
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Module
from tilewright.tileir.interpreter.nests import chunks
from tilewright.tileir.interpreter.run import evaluate, execute
from tilewright.tileir.types import BOOL, F32, Element, ScalarType, TileType
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.vocabulary import Bounds, Opcode


def start():
    module = Module()
    return module, Builder(module.function("f"))


def apply(opcode, element, *columns, result=None):
    """The opcode on arrays of one element type, element by element."""
    module, build = start()
    size = len(columns[0])
    space = IndexSpace.of((module.dim("n"), size))
    views = [build.view(f"x{place}", element, (size,)) for place in range(len(columns))]
    kind = result or element
    out = build.view("out", kind, (size,))
    loaded = [build.load(view, [build.index(0)], space) for view in views]
    build.store(out, [build.index(0)], build.elementwise(opcode, *loaded, type=TileType(kind, space)))
    dtypes = {Element.I32: np.int32, Element.U8: np.uint8, Element.F32: np.float32, Element.BOOL: np.bool_}
    arguments = [np.array(column, dtypes[element]) for column in columns]
    return list(evaluate(build.function, [*arguments, np.zeros(size, dtypes[kind])])[-1])


@pytest.mark.parametrize(
    ("opcode", "wanted"),
    [
        (Opcode.ADD, [-5, -9, 9, 2**31 - 8]),
        (Opcode.SUB, [-9, -5, 5, 2**31 - 6]),
        (Opcode.MUL, [-14, 14, 14, -(2**31) + 7]),
        (Opcode.DIV, [-3, 3, 3, 0]),
        (Opcode.MOD, [-1, -1, 1, -7]),
        (Opcode.MIN, [-7, -7, 2, -7]),
        (Opcode.MAX, [2, -2, 7, 2**31 - 1]),
    ],
)
def test_integer_arithmetic_wraps_and_truncates(opcode, wanted):
    left, right = [-7, -7, 7, -7], [2, -2, 2, 2**31 - 1]
    assert apply(opcode, Element.I32, left, right) == wanted


def test_unsigned_arithmetic_wraps():
    assert apply(Opcode.SUB, Element.U8, [1, 0], [2, 255]) == [255, 1]
    assert apply(Opcode.DIV, Element.U8, [200], [7]) == [28]
    assert apply(Opcode.MOD, Element.U8, [200], [7]) == [4]


def test_the_smallest_and_the_largest_drop_a_nan():
    nan = math.nan
    assert apply(Opcode.MAX, Element.F32, [nan, 1.0, -math.inf], [2.0, nan, -3.0]) == [2.0, 1.0, -3.0]
    assert apply(Opcode.MIN, Element.F32, [nan, 1.0, math.inf], [2.0, nan, -3.0]) == [2.0, 1.0, -3.0]


@pytest.mark.parametrize(
    ("opcode", "function"),
    [(Opcode.EXP, np.exp), (Opcode.LOG, np.log), (Opcode.SQRT, np.sqrt), (Opcode.TANH, np.tanh), (Opcode.ABS, np.abs)],
)
def test_functions_are_computed_in_float64(opcode, function):
    assert apply(opcode, Element.F32, [0.25, 2.0]) == list(function(np.array([0.25, 2.0])))


@pytest.mark.parametrize(
    ("opcode", "wanted"),
    [
        (Opcode.EQ, [False, True, False]),
        (Opcode.NE, [True, False, True]),
        (Opcode.LT, [True, False, False]),
        (Opcode.LE, [True, True, False]),
        (Opcode.GT, [False, False, False]),
        (Opcode.GE, [False, True, False]),
    ],
)
def test_comparisons_of_a_nan_are_false_except_unequal(opcode, wanted):
    assert apply(opcode, Element.F32, [1.0, 2.0, math.nan], [2.0, 2.0, 2.0], result=Element.BOOL) == wanted


def test_logic():
    left, right = [False, False, True, True], [False, True, False, True]
    assert apply(Opcode.AND, Element.BOOL, left, right) == [False, False, False, True]
    assert apply(Opcode.OR, Element.BOOL, left, right) == [False, True, True, True]
    assert apply(Opcode.NOT, Element.BOOL, left) == [True, True, False, False]


def test_casts_truncate_towards_zero():
    assert apply(Opcode.CAST, Element.F32, [-1.75, 1.75, 0.0], result=Element.I32) == [-1, 1, 0]
    assert apply(Opcode.CAST, Element.F32, [-0.5, 0.0, 2.0], result=Element.BOOL) == [True, False, True]
    assert apply(Opcode.CAST, Element.BOOL, [True, False], result=Element.F32) == [1.0, 0.0]


def edge(bounds, fill=None):
    """Copies 4 elements from origin -1 of a view of 2."""
    module, build = start()
    x, y = build.view("x", Element.F32, (2,)), build.view("y", Element.F32, (4,))
    space = IndexSpace.of((module.dim("n"), 4))
    filled = None if fill is None else build.constant(fill, F32)
    build.store(y, [build.index(0)], build.load(x, [build.index(-1)], space, fill=filled, bounds=bounds))
    return build.function


@pytest.mark.parametrize("fill", [None, -math.inf])
def test_a_guarded_load_fills(fill):
    outside = 0.0 if fill is None else fill
    _, y = evaluate(edge(Bounds.ZERO, fill), [np.array([3.0, 5.0]), np.zeros(4)])
    assert list(y) == [outside, 3.0, 5.0, outside]


def test_a_load_that_promised_to_be_inside():
    with pytest.raises(TileIRError, match=r"index \(-1,\) is outside `x` of shape \(2,\)"):
        evaluate(edge(Bounds.ASSUME), [np.array([3.0, 5.0]), np.zeros(4)])


def test_a_guarded_store_drops_and_an_assumed_one_is_refused():
    module, build = start()
    y = build.view("y", Element.F32, (3,))
    ones = build.constant(1.0, TileType(Element.F32, IndexSpace.of((module.dim("n"), 4))))
    store = build.store(y, [build.index(1)], ones)
    assert list(evaluate(build.function, [np.zeros(3)])[0]) == [0.0, 1.0, 1.0]
    store.bounds = Bounds.ASSUME
    with pytest.raises(TileIRError, match=r"index \(3,\) is outside `y`"):
        evaluate(build.function, [np.zeros(3)])


def test_loads_of_a_view_without_elements_are_all_fill():
    module, build = start()
    x, y = build.view("x", Element.F32, (0,)), build.view("y", Element.F32, (4,))
    space = IndexSpace.of((module.dim("n"), 4))
    build.store(y, [build.index(0)], build.load(x, [build.index(0)], space))
    assert list(evaluate(build.function, [np.zeros(0), np.full(4, np.nan)])[1]) == [0.0] * 4


def test_a_view_of_rank_zero():
    _, build = start()
    x, y = build.view("x", Element.F32, ()), build.view("y", Element.F32, ())
    loaded = build.load(x, [], IndexSpace())
    build.store(y, [], build.elementwise(Opcode.ADD, loaded, build.load_element(x, [])))
    assert evaluate(build.function, [np.array(2.0), np.array(np.nan)])[1] == 4.0


def test_an_element_outside_its_view():
    function = kernels.gather(5, 8)
    label = np.zeros(5, np.int32)
    with pytest.raises(TileIRError, match="argument-shape"):
        execute(function, [np.zeros((5, 8)), label[:4], np.zeros(5)])


def element_at(index, predicate):
    _, build = start()
    x, y = build.view("x", Element.F32, (2,)), build.view("y", Element.F32, (1,))
    guard = [] if predicate is None else [build.constant(predicate, BOOL), build.constant(9.0, F32)]
    build.store_element(y, [build.index(0)], build.load_element(x, [build.index(index)], *guard))
    return build.function


def test_a_predicate_that_holds_outside_the_view_is_refused():
    arguments = [np.array([3.0, 5.0]), np.zeros(1)]
    assert evaluate(element_at(7, False), arguments)[1] == 9.0
    assert evaluate(element_at(1, True), arguments)[1] == 5.0
    with pytest.raises(TileIRError, match=r"a predicate for an element"):
        evaluate(element_at(7, True), arguments)
    with pytest.raises(TileIRError, match=r"index \(7,\)"):
        evaluate(element_at(7, None), arguments)


def test_an_extract_outside_its_tile():
    module, build = start()
    tile = build.constant(1.0, TileType(Element.F32, IndexSpace.of((module.dim("n"), 4))))
    build.extract(tile, [build.index(4)])
    with pytest.raises(TileIRError, match=r"index 4 is outside 0\.\.3"):
        evaluate(build.function, [])


def test_instances_that_race_in_a_store():
    module, build = start()
    y = build.view("y", Element.F32, (1,))
    with build.parallel(IndexSpace.of((module.dim("i"), 2))) as nest:
        build.store_element(y, [build.index(0)], build.cast(nest.coordinates[0], Element.F32))
    with pytest.raises(TileIRError, match="racing-stores"):
        evaluate(build.function, [np.zeros(1)])


def test_instances_that_store_the_same_value_do_not_race():
    module, build = start()
    y = build.view("y", Element.F32, (1,))
    with build.parallel(IndexSpace.of((module.dim("i"), 2))):
        build.store_element(y, [build.index(0)], build.constant(math.nan, F32))
    assert np.isnan(evaluate(build.function, [np.zeros(1)])[0])


def test_an_ordered_nest_runs_its_flattened_domain_last_axis_fastest():
    module, build = start()
    y = build.view("y", Element.F32, (1,))
    space = IndexSpace.of((module.dim("i"), 2), (module.dim("j"), 3))
    with build.serial(space, [build.constant(0.0, F32)]) as nest:
        ten = build.elementwise(Opcode.MUL, nest.carried[0], build.constant(10.0, F32))
        build.yield_(build.elementwise(Opcode.ADD, ten, build.cast(nest.coordinates[1], Element.F32)))
    build.store_element(y, [build.index(0)], nest.results[0])
    assert evaluate(build.function, [np.zeros(1)])[0] == 12012.0


def test_a_parallel_without_instances_does_nothing():
    module, build = start()
    y = build.view("y", Element.F32, (1,))
    with build.parallel(IndexSpace.of((module.dim("i"), 0))):
        build.store_element(y, [build.index(0)], build.constant(1.0, F32))
    assert np.isnan(evaluate(build.function, [np.full(1, np.nan)])[0])


def test_overlapping_arguments_keep_snapshot_semantics():
    module, build = start()
    x, y = build.view("x", Element.F64, (4,)), build.view("y", Element.F64, (4,))
    space = IndexSpace.of((module.dim("n"), 4))
    loaded = build.load(x, [build.index(0)], space)
    build.store(y, [build.index(0)], build.elementwise(Opcode.MUL, loaded, loaded))
    build.store(x, [build.index(0)], loaded)
    shared = np.arange(5.0)
    execute(build.function, [shared[:4], shared[1:]])
    assert list(shared) == [0.0, 1.0, 2.0, 3.0, 9.0]


def test_dynamic_extents_take_the_size_of_the_argument():
    module, build = start()
    size = module.dim("size")
    x, y = build.view("x", Element.F32, (size,)), build.view("y", Element.F32, (size,))
    with build.parallel(IndexSpace.of((module.dim("i"), size))) as nest:
        build.store_element(y, nest.coordinates, build.load_element(x, nest.coordinates))
    assert list(evaluate(build.function, [np.arange(3.0), np.zeros(3)])[1]) == [0.0, 1.0, 2.0]
    with pytest.raises(TileIRError, match="`y` has size 4 along axis 0, not 3"):
        evaluate(build.function, [np.arange(3.0), np.zeros(4)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([np.zeros(64)], "argument count is 1, not 2"),
        ([np.zeros(63), np.zeros(64)], "`x` has size 63 along axis 0, not 64"),
        ([np.zeros((8, 8)), np.zeros(64)], "not rank 1"),
        ([np.zeros(64, np.int32), np.zeros(64)], "`x` has type int32, not float"),
    ],
)
def test_arguments_that_do_not_fit(arguments, words):
    with pytest.raises(TileIRError) as caught:
        evaluate(kernels.axpb(64), arguments)
    assert words in str(caught.value)


def test_all_arguments_that_do_not_fit_are_named_at_once():
    with pytest.raises(TileIRError) as caught:
        evaluate(kernels.gather(), [np.zeros((5, 8)), np.zeros(5), np.zeros(6)])
    assert [problem.rule for problem in caught.value.problems] == ["argument-type", "argument-shape"]


def test_a_parameter_that_is_no_view():
    _, build = start()
    build.function.body.block.add_argument(ScalarType(Element.F32), "n")
    with pytest.raises(TileIRError, match="only views can be passed"):
        evaluate(build.function, [np.array(1.0)])


def test_a_function_that_does_not_verify_is_not_executed():
    _, build = start()
    build.constant(1, F32)
    with pytest.raises(TileIRError, match="constant-without-value"):
        evaluate(build.function, [])


def test_an_extension_has_no_meaning():
    _, build = start()
    build.custom("fancy")
    with pytest.raises(TileIRError, match="'fancy' has no meaning"):
        evaluate(build.function, [])


@pytest.mark.parametrize("room", [1, 2, 5, 12, 100])
def test_chunks_cover_every_instance_once_within_their_room(room):
    points = []
    for rows, columns in chunks((4, 6), room):
        assert len(rows) * len(columns) <= room
        points += [(row, column) for row in rows for column in columns]
    assert sorted(points) == [(row, column) for row in range(4) for column in range(6)]
    assert len(points) == 24


def test_usages_follow_from_the_effects():
    assert usages(kernels.axpb()) == (Usage.READ, Usage.WRITE)
    assert usages(kernels.recurrence()) == (Usage.READ | Usage.WRITE, Usage.WRITE)
    _, build = start()
    build.view("unused", Element.F32, (4,))
    assert usages(build.function) == (Usage.NONE,)


def test_a_view_that_is_used_by_something_else_than_an_access():
    """B139."""
    _, build = start()
    build.custom("fancy", [build.view("x", Element.F32, (4,))])
    with pytest.raises(TileIRError, match=r"unknown argument effect: `x` is operand 0 of `custom`"):
        usages(build.function)
