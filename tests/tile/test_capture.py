"""What a capture records: nests, carries, broadcasting, stores, constants. Text forms and interpreter values."""

from __future__ import annotations

import linecache
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tile import kernels
from tilewright import tile
from tilewright.tile import f32, f64, i32, i64
from tilewright.tileir.interpreter.run import evaluate
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.vocabulary import Kind

N = tile.axis("n", 4)


def kernel_of(body):
    """A kernel with one output of rank one around a body."""

    @tile.kernel
    def kernel(y: tile.Out[f32, 1]):
        body(y)

    return kernel.capture((4,))


def value_of(body):
    """What the body stores into four elements."""
    (y,) = evaluate(kernel_of(body).function, [np.full(4, np.nan)])
    return list(y)


def operations(kernel, kind):
    return [operation for operation in kernel.function.walk() if operation.kind is kind]


def test_the_text_of_a_small_kernel():
    assert (
        kernels.axpb.capture((64,), (64,)).text()
        == """tileir 1
dim x.0
dim y.0
dim p0
dim e

func "axpb" candidate (%0 "x": view<f32, [x.0=64]>, %1 "y": view<f32, [y.0=64]>) {
  parallel() [p0=1] {
  ^(%2 "p0": index):
    %3 = constant() {value = 64} : i64
    %4 = mul(%2, %3) : i64
    %5 = view.load(%0, %4) [e=64] bounds zero : tile<f32, [e=64]>
    %6 = constant() {value = 0.0} : f32
    %7 = gt(%5, %6) : tile<bool, [e=64]>
    %8 = constant() {value = 1.25} : f32
    %9 = mul(%5, %8) : tile<f32, [e=64]>
    %10 = constant() {value = 0.5} : f32
    %11 = sub(%9, %10) : tile<f32, [e=64]>
    %12 = neg(%5) : tile<f32, [e=64]>
    %13 = select(%7, %11, %12) : tile<f32, [e=64]>
    view.store(%1, %4, %13) [e=64] bounds zero
  }
}
"""
    )


def test_operations_know_the_line_they_were_written_on():
    kernel = kernels.axpb.capture((64,), (64,))
    places = {operation.place.file for operation in kernel.function.walk()}
    assert places == {kernels.__file__}
    store = operations(kernel, Kind.STORE_TILE)[0]
    assert "y[o, e] = tile.where" in linecache.getline(kernels.__file__, store.place.line)


def test_usages_follow_from_effects_not_from_declarations():
    @tile.kernel
    def unused(x: tile.In[f32, 1], y: tile.InOut[f32, 1], z: tile.Out[f32, 1]):
        y[0, N] = x[0, N]

    assert usages(unused.capture((4,), (4,), (4,)).function) == (Usage.READ, Usage.WRITE, Usage.NONE)


def test_shapes_by_name_in_any_order():
    kernel = kernels.row_sum.capture(y=(3,), x=(3, 5))
    assert [value.name for value in kernel.function.parameters] == ["x", "y"]
    assert [name for name, _ in kernel.parameters] == ["x", "y"]


def test_annotations_may_name_what_surrounds_the_function():
    element = f64

    def build():
        depth = 2

        @tile.kernel
        def local(x: tile.In[element, 1], y: tile.Out[element, 1]):
            y[0, N] = x[0, N] * float(depth) if element.is_float else x[0, N]

        return local

    (declared,) = {each.element for each in build().parameters.values()}
    assert declared is f64


def test_the_name_is_that_of_the_function_or_the_given_one():
    @tile.kernel(name="given")
    def written(y: tile.Out[f32, 1]):
        """Documented."""

    assert written.capture((4,)).function.name == "given"
    assert written.__doc__ == "Documented."


def test_only_changed_cells_are_carried():
    def body(y):
        changed, kept = tile.var(tile.full(N, 0.0)), tile.var(tile.full(N, 2.0))
        for _ in tile.serial(3):
            changed += kept
        y[0, N] = changed

    kernel = kernel_of(body)
    (loop,) = operations(kernel, Kind.SERIAL)
    assert len(loop.operands) == len(loop.results) == 1
    assert value_of(body) == [6.0] * 4


def test_two_cells_of_one_initial_value_are_carried_apart():
    def body(y):
        zero = tile.zeros(N)
        first, second = tile.var(zero), tile.var(zero)
        for _ in tile.serial(3):
            first.set(first + 1.0)
            second.set(second + first + zero)
        y[0, N] = second

    assert value_of(body) == [6.0] * 4


def test_a_cell_that_takes_the_value_of_an_unchanged_one():
    def body(y):
        source, target = tile.var(tile.full(N, 5.0)), tile.var(tile.zeros(N))
        for _ in tile.serial(2):
            target.set(source)
        y[0, N] = target

    assert value_of(body) == [5.0] * 4


def test_a_cell_set_back_to_its_own_value_is_not_carried():
    def body(y):
        cell = tile.var(tile.full(N, 5.0))
        for _ in tile.serial(2):
            before = cell.get()
            cell.set(cell + 1.0)
            cell.set(before)
        y[0, N] = cell

    (loop,) = operations(kernel_of(body), Kind.SERIAL)
    assert loop.results == []
    assert value_of(body) == [5.0] * 4


def test_cells_are_carried_through_nests_in_nests():
    def body(y):
        total, outer_only = tile.var(tile.zeros(N)), tile.var(tile.zeros(N))
        for outer in tile.serial(3):
            for inner in outer.pipeline(2, 2):
                scale = tile.cast(inner.index(inner.axes[1]), f32) + 1.0
                total += scale + outer_only
            outer_only += 10.0
        y[0, N] = total

    expected, extra = 0.0, 0.0
    for _ in range(3):
        for _ in range(2):
            for j in range(2):
                expected += j + 1.0 + extra
        extra += 10.0
    assert value_of(body) == [expected] * 4
    pipeline = operations(kernel_of(body), Kind.PIPELINE)[0]
    assert len(pipeline.results) == 1


def test_a_cell_made_inside_a_nest_starts_anew_each_time():
    def body(y):
        total = tile.var(tile.zeros(N))
        for outer in tile.serial(3):
            inner_total = tile.var(tile.zeros(N))
            for _ in outer.serial(2):
                inner_total += 1.0
            total += inner_total
        y[0, N] = total

    assert value_of(body) == [6.0] * 4


def test_a_nest_without_trips_leaves_the_initial_value():
    def body(y):
        cell = tile.var(tile.full(N, 5.0))
        for _ in tile.reduce_nest(0):
            cell += 1.0
        y[0, N] = cell

    assert value_of(body) == [5.0] * 4


def test_a_scalar_cell():
    def body(y):
        cell = tile.var(1.0)
        for loop in tile.serial(4):
            cell *= tile.cast(loop.index(), f32) + 1.0
        for p in tile.parallel(4):
            y.elem(p.index()).store(cell.get())

    assert value_of(body) == [24.0] * 4


def test_augmented_assignment_of_every_kind():
    def body(y):
        cell = tile.var(tile.full(N, 7.0))
        cell += 1.0
        cell -= 2.0
        cell *= 4.0
        cell /= 8.0
        y[0, N] = cell

    assert value_of(body) == [3.0] * 4


def test_plain_extents_share_axes_by_position_from_the_right():
    def body(y):
        column, row = tile.full((4, 1), 3.0), tile.full(4, 2.0)
        y[0, N] = tile.sum(column * row, -2)

    assert value_of(body) == [24.0] * 4


def test_named_axes_of_one_name_do_not_meet():
    def body(y):
        first, second = tile.axis("a", 2), tile.axis("a", 4)
        y[0, N] = tile.sum(tile.full(first, 2.0) * tile.full(second, 3.0), first)

    assert value_of(body) == [12.0] * 4


def test_python_operators_on_scalars_and_tiles():
    def body(y):
        i = tile.iota(N)
        whole = (i + 7) // 2 % 3 - (1 - i) * 2
        real = tile.cast(whole, f32)
        y[0, N] = tile.where((i >= 1) & ~(i == 3) | (i < 0), -real / 2.0, 2.0 / (tile.abs(real) + 1.0))

    wanted = []
    for i in range(4):
        whole = (i + 7) // 2 % 3 - (1 - i) * 2
        wanted.append(-whole / 2 if (i >= 1 and i != 3) or i < 0 else 2 / (abs(whole) + 1))
    np.testing.assert_allclose(value_of(body), wanted)


def test_reflected_operators():
    def body(y):
        i = tile.cast(tile.iota(N), f32)
        n = tile.iota(N) + 1
        whole = 7 // n + 7 % n
        y[0, N] = 1.0 - i + (2.0 * i) + tile.cast(whole, f32) + tile.cast(True | (False & (i > 1.0)), f32)

    assert value_of(body) == [1.0 - i + 2.0 * i + 7 // (i + 1) + 7 % (i + 1) + 1.0 for i in range(4)]


def test_a_number_takes_the_element_of_its_neighbour():
    def body(y):
        value = tile.full(N, 1.0) * 2 + np.float64(0.5) + np.int32(1)
        y[0, N] = tile.maximum(tile.minimum(value, 3), 0) + tile.where(tile.iota(N) < 2, 1.0, 0)

    assert value_of(body) == [4.0, 4.0, 3.0, 3.0]


def test_a_store_relabels_broadcasts_and_fills():
    def body(y):
        other = tile.axis("other", 4)
        y[0, N] = tile.cast(tile.iota(other), f32)
        y[2, tile.axis("two", 2)] = tile.full((), 9.0)
        y[1, tile.axis("one", 1)] = 5

    assert value_of(body) == [0.0, 5.0, 9.0, 9.0]


def test_a_transpose_is_a_broadcast_to_the_axes_in_another_order():
    @tile.kernel
    def transpose(x: tile.In[f32, 2], y: tile.Out[f32, 2]):
        m, n = tile.axis("m", 2), tile.axis("n", 3)
        y[(0, 0), (n, m)] = x[(0, 0), (m, n)]

    x = np.arange(6.0).reshape(2, 3)
    _, y = evaluate(transpose.capture((2, 3), (3, 2)).function, [x, np.zeros((3, 2))])
    np.testing.assert_array_equal(y, x.T)


def test_a_fill_for_loads_outside():
    @tile.kernel
    def filled(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
        y[0, N] = tile.max(x.at(0, tile.axis("wide", 6), fill=-math.inf).load(), 0) + tile.zeros(N)

    _, y = evaluate(filled.capture((2,), (4,)).function, [np.array([-3.0, -2.0]), np.zeros(4)])
    assert list(y) == [-2.0] * 4


def test_bounds_can_be_promised():
    def body(y):
        y.at(0, N, bounds="assume").store(1.0)

    assert "bounds assume" in kernel_of(body).text()


def test_a_gather_by_extract():
    @tile.kernel
    def gather(x: tile.In[f32, 1], index: tile.In[i32, 1], y: tile.Out[f32, 1]):
        table, wanted = x[0, tile.axis("t", 5)], index[0, N]
        y[0, N] = tile.map(N, lambda i: table.at(wanted.at(i)))

    x, index = np.arange(5.0) * 10, np.array([4, 0, 2, 2], np.int32)
    *_, y = evaluate(gather.capture((5,), (4,), (4,)).function, [x, index, np.zeros(4)])
    assert list(y) == [40.0, 0.0, 20.0, 20.0]


@pytest.mark.parametrize(("reducer", "wanted"), [(tile.sum, 6), (tile.max, 3), (tile.min, 0)])
def test_reductions_of_integers(reducer, wanted):
    def body(y):
        y[0, N] = tile.cast(reducer(tile.iota(N), N), f32) + tile.zeros(N)

    assert value_of(body) == [float(wanted)] * 4


def test_a_reduction_over_several_axes_and_one_of_your_own():
    product = tile.Reducer(tile.MAXIMUM.opcode.__class__.MUL, lambda element: 1.0)

    def body(y):
        m = tile.axis("m", 2)
        y[0, N] = tile.reduce(tile.full((m, N), 2.0), (m, N), product) + tile.zeros(N)

    assert value_of(body) == [256.0] * 4


def test_matrices_of_plain_extents_multiply():
    @tile.kernel
    def product(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
        left, right = a[(0, 0), (2, 3)], b[(0, 0), (3, 4)]
        c[(0, 0), (2, 4)] = tile.mma(left, right, tile.zeros((2, 4)))

    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    kernel = product.capture((2, 3), (3, 4), (2, 4))
    *_, c = evaluate(kernel.function, [a, b, np.zeros((2, 4))])
    np.testing.assert_array_equal(c, a @ b)
    assert "dim mma.k" in kernel.text()


def test_square_matrices_of_plain_extents_multiply_too():
    @tile.kernel
    def square(a: tile.In[f32, 2], c: tile.Out[f32, 2]):
        left = a[(0, 0), (3, 3)]
        c[(0, 0), (3, 3)] = tile.mma(left, left, tile.zeros((3, 3)))

    a = np.arange(9.0).reshape(3, 3)
    _, c = evaluate(square.capture((3, 3), (3, 3)).function, [a, np.zeros((3, 3))])
    np.testing.assert_array_equal(c, a @ a)


def test_the_policies_reach_the_operations():
    kernel = kernels.make_gemm(2, 2, 2, ordered=True).capture((4, 4), (4, 4), (4, 4))
    (product,) = operations(kernel, Kind.MMA)
    (pipeline,) = operations(kernel, Kind.PIPELINE)
    assert product.attributes == {"allow_reassociation": False}
    assert pipeline.attributes == {"stages": 2, "initiation_interval": 1}
    assert [each.attributes["name"] for each in operations(kernel, Kind.STAGE)] == ["load", "compute"]


def test_a_view_of_rank_zero():
    @tile.kernel
    def scaled(factor: tile.In[f32, 0], y: tile.Out[f32, 1]):
        y[0, N] = factor[(), ()] * 2.0

    _, y = evaluate(scaled.capture((), (4,)).function, [np.array(3.0), np.zeros(4)])
    assert list(y) == [6.0] * 4


def test_a_load_is_a_snapshot():
    @tile.kernel
    def swap(x: tile.InOut[f32, 1], y: tile.InOut[f32, 1]):
        first, second = x[0, N], y[0, N]
        x[0, N] = second
        y[0, N] = first

    x, y = evaluate(swap.capture((4,), (4,)).function, [np.arange(4.0), -np.arange(4.0)])
    assert list(x) == [0.0, -1.0, -2.0, -3.0]
    assert list(y) == [0.0, 1.0, 2.0, 3.0]


def test_python_control_flow_is_metaprogramming():
    def body(y):
        total = tile.zeros(N)
        for step in range(3):
            if step != 1:
                total = total + float(step)
        y[0, N] = total

    assert value_of(body) == [2.0] * 4


def test_sigmoid_is_silu_over_x():
    def body(y):
        x = tile.cast(tile.iota(N), f32) + 1.0
        y[0, N] = tile.sigmoid(x) - tile.silu(x) / x + tile.sigmoid(tile.full(N, 0.0))

    np.testing.assert_allclose(value_of(body), [0.5] * 4)


def test_log_sum_exp_does_not_overflow():
    def body(y):
        y[0, N] = tile.log_sum_exp(tile.full(N, 1000.0), N) + tile.zeros(N)

    np.testing.assert_allclose(value_of(body), 1000.0 + math.log(4.0))


def test_handles_show_their_type_and_hash_by_identity():
    shown = []

    def body(y):
        t = tile.zeros(N, i64)
        shown.extend([repr(t), repr(t.at(0)), repr(tile.var(1.0)), repr(y), t.shape, t.at(0).shape, len({t, t})])

    kernel_of(body)
    assert shown == ["<tile tile<i64, [n=4]>>", "<scalar i64>", "<var f32>", "<Out y: view<f32, [y.0=4]>>", (4,), (), 1]


def test_the_dsl_pulls_in_no_other_room():
    """B191: importing the DSL loads the IR and nothing of a backend."""
    script = (
        "import sys; from tilewright import tile; "
        "print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('tilewright.')}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tile.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "['problem', 'tile', 'tileir']"
