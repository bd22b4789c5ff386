"""What the DSL refuses of nests, scopes, cells and coordinates (B3 to B8, B11, B12); see refusals.py."""

from __future__ import annotations

import pytest

from tile.refusals import E_AXIS, copy_kernel, refused_body
from tilewright import tile
from tilewright.tile import f64


@pytest.mark.parametrize("shape", [(), ((),), ([],)])
def test_a_nest_without_a_shape(shape):
    """B3."""

    def body(x, y):
        for _ in tile.parallel(*shape):  # fault
            pass

    assert "non-empty shape" in refused_body("empty-nest-shape", body)


@pytest.mark.parametrize("extent", [1.5, "8", None, True])
def test_a_nest_over_something_that_is_no_extent(extent):
    """B3."""

    def body(x, y):
        for _ in tile.serial(extent):  # fault
            pass

    assert "integer" in refused_body("extent-not-an-integer", body)


def test_a_child_of_a_nest_that_is_not_the_innermost():
    """B4."""

    def body(x, y):
        for p in tile.parallel(4):
            for _ in p.serial(2):
                for _ in p.serial(2):  # fault
                    pass

    assert "active parent nest" in refused_body("inactive-parent", body)


def test_a_child_that_is_entered_deeper_than_it_was_made():
    """B4."""

    def body(x, y):
        for p in tile.parallel(4):
            child = p.serial(2)
            for _ in p.serial(2):
                for _ in child:  # fault
                    pass

    assert "active parent nest" in refused_body("inactive-parent", body)


def test_a_child_of_a_nest_that_has_ended():
    """B4."""

    def body(x, y):
        nest = tile.parallel(4)
        for _ in nest:
            pass
        nest.serial(2)  # fault

    assert "active parent nest" in refused_body("inactive-parent", body)


@pytest.mark.parametrize(("outer", "inner"), [("subgroup", "group"), ("group", "group"), ("vector", "device")])
def test_scopes_in_the_wrong_order(outer, inner):
    """B5."""

    def body(x, y):
        for p in tile.parallel(4, scope=outer):
            for _ in p.parallel(2, scope=inner):  # fault
                pass

    assert "containment order" in refused_body("scope-out-of-order", body)


def test_scopes_in_order_are_accepted():
    """B5: the near miss, with an automatic nest between."""

    def body(x, y):
        for p in tile.parallel(4, scope="group"):
            for q in p.parallel(2):
                for _ in q.parallel(2, scope="subgroup"):
                    pass

    assert "scope subgroup" in copy_kernel(body).capture((64,), (64,)).text()


def test_an_unknown_scope():
    """B5: the choices are listed."""

    def body(x, y):
        tile.parallel(4, scope="warp")  # fault

    assert "device, group, subgroup, worker, vector" in refused_body("unknown-scope", body)


def test_a_parallel_that_sets_a_cell_of_outside():
    """B6."""

    def body(x, y):
        acc = tile.var(tile.zeros(E_AXIS))
        for p in tile.parallel(4):
            acc += x[p.index(), E_AXIS]  # fault

    assert "parallel cannot mutate an outer value" in refused_body("outer-value-mutated", body)


def test_a_map_that_sets_a_cell_of_outside():
    """B6."""

    def body(x, y):
        last = tile.var(0)

        def element(i):
            last.set(i + 0)  # fault
            return i

        tile.map(E_AXIS, element)

    assert "tile.map cannot mutate an outer value" in refused_body("outer-value-mutated", body)


def test_a_serial_nest_inside_a_parallel_does_not_reach_around_it():
    """B6: the parallel stands between the cell and the nest that would carry it."""

    def body(x, y):
        acc = tile.var(tile.zeros(E_AXIS))
        for p in tile.parallel(4):
            for _ in p.serial(2):
                acc.set(x[0, E_AXIS])  # fault

    assert "cannot mutate" in refused_body("outer-value-mutated", body)


@pytest.mark.parametrize(
    "value",
    [lambda: tile.zeros(tile.axis("other", 8)), lambda: tile.zeros(E_AXIS, f64), lambda: 1.0],
    ids=["axes", "element", "scalar"],
)
def test_a_cell_that_changes_its_type(value):
    """B7."""

    def body(x, y):
        acc = tile.var(tile.zeros(E_AXIS))
        for _ in tile.serial(3):
            acc.set(value())  # fault

    assert "changed type" in refused_body("cell-changed-type", body)


def test_a_cell_that_becomes_invalid():
    """B7: nothing but a value of the kernel goes into a cell."""

    def body(x, y):
        tile.var(1.0).set(None)  # fault

    assert "foreign operand: NoneType" in refused_body("foreign-operand", body)


def test_a_nest_left_by_break():
    """B8."""

    def body(x, y):
        for _ in tile.parallel(4):  # fault
            break

    assert "unterminated parallel" in refused_body("unterminated-nest", body)


def test_a_nest_left_by_return_with_more_to_come():
    """B8: the nest is named, not the operation after it."""

    def leave():
        for _ in tile.serial(4):  # fault
            return

    def body(x, y):
        leave()
        tile.zeros(E_AXIS)

    assert "unterminated serial" in refused_body("unterminated-nest", body)


def test_a_nest_whose_iterator_is_never_finished():
    """B8."""
    kept = []

    def body(x, y):
        kept.append(iter(tile.pipeline(4)))
        next(kept[0])  # fault

    assert "unterminated pipeline" in refused_body("unterminated-nest", body)


def test_a_nest_that_runs_twice():
    """B8: one `for` a nest."""

    def body(x, y):
        nest = tile.serial(4)
        for _ in nest:
            pass
        for _ in nest:  # fault
            pass

    assert "runs once" in refused_body("nest-run-twice", body)


def test_a_stage_outside_of_a_pipeline():
    """B11."""

    def body(x, y):
        for loop in tile.serial(4):
            loop.stage("load")  # fault

    assert "active pipeline" in refused_body("stage-outside-pipeline", body)


def test_a_stage_in_a_nest_inside_the_pipeline():
    """B11."""

    def body(x, y):
        for loop in tile.pipeline(4):
            for _ in loop.serial(2):
                loop.stage("load")  # fault

    assert "active pipeline" in refused_body("stage-outside-pipeline", body)


def test_an_index_without_axis_of_a_nest_of_rank_two():
    """B12."""

    def body(x, y):
        for p in tile.parallel(4, 4):
            p.index()  # fault

    assert "rank-one" in refused_body("index-without-axis", body)


def test_a_coordinate_that_no_nest_defines():
    """B12."""

    def body(x, y):
        for p in tile.parallel(4):
            p[E_AXIS]  # fault

    assert "does not define" in refused_body("unknown-coordinate", body)


def test_a_coordinate_of_a_nest_around_is_found():
    """B12: the near miss."""
    g = tile.axis("g", 4)

    def body(x, y):
        for p in tile.parallel(g):
            for q in p.serial(2):
                x[q[g], E_AXIS]

    assert copy_kernel(body).capture((64,), (64,))


def test_a_coordinate_outside_its_nest():
    """B12."""

    def body(x, y):
        nest = tile.parallel(4)
        for _ in nest:
            pass
        nest.index()  # fault

    assert "in its body only" in refused_body("nest-not-open", body)
