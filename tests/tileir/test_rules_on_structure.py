"""V1 to V6: graphs that no text can spell, corrupted by hand."""

from __future__ import annotations

import pytest

from tileir import kernels
from tileir.broken import words
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import Axis, Dim, IndexSpace
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Block, Function, Module, Use, Value
from tilewright.tileir.types import F32, TileType
from tilewright.tileir.verifier import verify
from tilewright.tileir.vocabulary import Opcode


def broken(rule: str, function: Function) -> str:
    """Checks that the function breaks that rule and no other, and gives the words."""
    problems = verify.verify(function)
    assert {problem.rule for problem in problems} == {rule}, problems
    return words(problems)


def small() -> tuple[Function, Value, Value]:
    """f() { a = 1.0; b = -a }"""
    module = Module()
    build = Builder(module.function("f"))
    first = build.constant(1.0, F32)
    return build.function, first, build.elementwise(Opcode.NEG, first)


def test_valid_kernels_break_nothing():
    for kernel in kernels.ALL:
        assert verify.verify(kernel()) == []


@pytest.mark.parametrize("field", ["name", "id"])
def test_two_functions_of_one_name_or_id(field):
    """V1."""
    module = Module()
    first, second = module.function("f"), module.function("g")
    setattr(second, field, getattr(first, field))
    (problem,) = verify.verify_module(module)
    assert problem.rule == "function-repeated"


def test_a_function_without_a_name():
    """V1."""
    function, *_ = small()
    function.name = ""
    assert "empty name" in broken("function-unnamed", function)


def test_a_function_detached_from_its_module():
    """V1, B30."""
    function, *_ = small()
    function.module.functions.clear()
    assert "owning module" in broken("detached-function", function)


@pytest.mark.parametrize("count", [0, 2])
def test_a_body_that_is_not_one_block(count):
    """A.1."""
    function = Module().function("f")
    function.body.blocks = [Block(function.body) for _ in range(count)]
    assert f"has {count} blocks" in broken("several-blocks", function)


@pytest.mark.parametrize("part", ["operation", "block", "region"])
def test_a_parent_pointer_that_points_elsewhere(part):
    """V1."""
    function = Module().function("f")
    Builder(function).constant(1.0, F32)
    other, *_ = small()
    if part == "operation":
        function.body.block.operations[0].parent = None
    elif part == "block":
        function.body.block.region = other.body
    else:
        function.body.owner = other
    assert "does not point to" in broken("parent-broken", function)


def test_two_values_with_one_id():
    """V2."""
    function, first, second = small()
    second.id = first.id
    assert "several values have id 0" in broken("id-repeated", function)


def test_two_operations_with_one_id():
    """V2."""
    function, first, second = small()
    second.owner.id = first.owner.id
    assert "several operations have id 0" in broken("id-repeated", function)


def test_a_result_that_does_not_know_its_operation():
    """V2."""
    function, first, _ = small()
    first.index = 3
    assert "does not point back" in broken("definition-broken", function)


def test_an_argument_that_does_not_know_its_block():
    """V2."""
    function = kernels.axpb()
    function.parameters[0].index = 1
    assert "argument 0" in broken("definition-broken", function)


def test_a_dim_of_another_module():
    """V3."""
    function, *_ = small()
    foreign = Dim("m")
    Builder(function).constant(0.0, TileType(F32.element, IndexSpace.of((foreign, 4))))
    assert "belongs to another module" in broken("foreign-dim", function)


def test_a_dynamic_extent_of_another_module():
    """V3."""
    function, *_ = small()
    own = function.module.dim("m")
    Builder(function).view("x", F32.element, (Dim("size"),))
    assert "`size`" in broken("foreign-dim", function)
    assert own in function.module.dims


@pytest.mark.parametrize("extent", [-1, 2**64])
def test_an_extent_out_of_range(extent):
    """A.1."""
    function, *_ = small()
    Builder(function).view("x", F32.element, (extent,))
    assert "not between 0 and 2**64-1" in broken("malformed-space", function)


def test_a_dim_twice_in_one_space():
    """A.1."""
    function, *_ = small()
    axis = Axis(function.module.dim("m"), 4)
    Builder(function).constant(0.0, TileType(F32.element, IndexSpace((axis, axis))))
    assert "stands twice" in broken("malformed-space", function)


def test_a_use_that_its_value_does_not_list():
    """V4."""
    function, first, _ = small()
    first.uses.clear()
    assert "missing in the uses" in broken("use-broken", function)


def test_a_use_with_another_position():
    """V4."""
    function, first, _ = small()
    first.uses[0].index = 1
    assert "another user or position" in broken("use-broken", function)


def test_a_value_that_lists_a_use_which_is_no_operand():
    """V4."""
    function, first, second = small()
    Use(first, second.owner, 5)
    assert "not an operand" in broken("use-broken", function)


def test_an_operand_of_another_function():
    """V4."""
    function, first, second = small()
    _, foreign, _ = small()
    second.owner.uses[0].set(foreign)
    assert "foreign operand" in broken("foreign-operand", function)
    assert first.uses == []


def test_a_use_before_its_definition():
    """V5."""
    function, *_ = small()
    function.body.block.operations.reverse()
    assert "not defined where it is used" in broken("not-dominated", function)


def test_a_value_used_after_the_nest_it_was_made_in():
    """V5."""
    function = kernels.axpb()
    nest = function.body.block.operations[0]
    build = Builder(function)
    build.elementwise(Opcode.NEG, nest.body.operations[2].result)
    assert "carry it out of its nest" in broken("not-dominated", function)


def test_a_result_used_inside_its_own_nest():
    """V5."""
    function = kernels.gemm()
    loop = next(operation for operation in function.walk() if operation.kind.value == "pipeline")
    build = Builder(function)
    build.block = loop.body
    build.elementwise(Opcode.NEG, loop.results[0])
    loop.body.operations.insert(0, loop.body.operations.pop())
    broken("not-dominated", function)


@pytest.mark.parametrize(
    ("name", "value"), [("", 1), ("a b", 1), ("a", None), ("a", 2**64), ("a", -(2**63) - 1), ("a", (1,))]
)
def test_a_malformed_attribute(name, value):
    """V6."""
    function, first, _ = small()
    first.owner.attributes[name] = value
    broken("malformed-attribute", function)


@pytest.mark.parametrize("value", [True, 2**64 - 1, -(2**63), 0.5, "text"])
def test_attributes_that_fit(value):
    """V6: the edges."""
    function, first, _ = small()
    first.owner.attributes["a"] = value
    assert verify.verify(function) == []


def test_an_opcode_on_an_operation_of_another_kind():
    """V11."""
    function, first, _ = small()
    first.owner.opcode = Opcode.NEG
    assert "opcode" in broken("malformed-elementwise", function)


def test_ensure_carries_every_problem():
    function, first, second = small()
    first.owner.attributes["value"] = 1
    second.owner.opcode = Opcode.NOT
    with pytest.raises(TileIRError) as caught:
        verify.ensure(function)
    assert {problem.rule for problem in caught.value.problems} == {"constant-without-value", "logic-on-other-than-bool"}


def test_verification_changes_nothing():
    from tilewright.tileir.text.printer import print_function

    for kernel in kernels.ALL:
        function = kernel()
        before = print_function(function)
        verify.verify(function)
        assert print_function(function) == before
