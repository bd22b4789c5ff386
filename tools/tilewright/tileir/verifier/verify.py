"""The table of every rule of TileIR, and the one place that applies them.

Rules come in stages. A stage is looked at only when the ones before found nothing, so that a rule may rely on them.
The name of a rule states the fault; its docstring carries the number in the catalogue (V1 to V25).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tilewright.problem import Problem
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Function, Module, Operation
from tilewright.tileir.target import TargetModel
from tilewright.tileir.verifier import memory, nests, scopes, shapes, structure, values, views


@dataclass(frozen=True, slots=True)
class ModuleRule:
    """A rule on the module as a whole."""

    name: str
    check: Callable[[Module], Iterator[Problem]]


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """A rule on one function."""

    name: str
    check: Callable[[Function], Iterator[Problem]]


@dataclass(frozen=True, slots=True)
class OperationRule:
    """A rule on one operation, whatever its kind."""

    name: str
    check: Callable[[Operation], Iterator[Problem]]


@dataclass(frozen=True, slots=True)
class TargetRule:
    """A rule on one function for one target."""

    name: str
    check: Callable[[Function, TargetModel], Iterator[Problem]]


MODULE_RULES = (ModuleRule("function-repeated", structure.function_repeated),)

STRUCTURE_RULES = (
    FunctionRule("function-unnamed", structure.function_unnamed),
    FunctionRule("detached-function", structure.detached_function),
    FunctionRule("several-blocks", structure.several_blocks),
    FunctionRule("parent-broken", structure.parent_broken),
    FunctionRule("id-repeated", structure.id_repeated),
    FunctionRule("definition-broken", structure.definition_broken),
    FunctionRule("use-broken", structure.use_broken),
    FunctionRule("foreign-operand", structure.foreign_operand),
    FunctionRule("foreign-dim", structure.foreign_dim),
    FunctionRule("malformed-space", structure.malformed_space),
    FunctionRule("malformed-attribute", structure.malformed_attribute),
)

DOMINANCE_RULES = (FunctionRule("not-dominated", structure.not_dominated),)

SHAPE_RULES = (
    OperationRule("malformed-nest", shapes.malformed_nest),
    OperationRule("parallel-with-values", shapes.parallel_with_values),
    OperationRule("carry-count", shapes.carry_count),
    OperationRule("malformed-constant", shapes.malformed_constant),
    OperationRule("malformed-elementwise", shapes.malformed_elementwise),
    OperationRule("malformed-extract", shapes.malformed_extract),
    OperationRule("malformed-map", shapes.malformed_map),
    OperationRule("malformed-mma", shapes.malformed_mma),
    OperationRule("malformed-view-access", shapes.malformed_view_access),
    OperationRule("predicate-without-fallback", shapes.predicate_without_fallback),
    OperationRule("malformed-alloc", shapes.malformed_alloc),
    OperationRule("malformed-memory-access", shapes.malformed_memory_access),
    OperationRule("malformed-stage", shapes.malformed_stage),
    OperationRule("misplaced-field", shapes.misplaced_field),
    OperationRule("missing-attribute", shapes.missing_attribute),
    OperationRule("misplaced-constraint", shapes.misplaced_constraint),
    OperationRule("unnamed-custom", shapes.unnamed_custom),
    OperationRule("misplaced-yield", nests.misplaced_yield),
    OperationRule("missing-yield", nests.missing_yield),
)

TYPE_RULES = (
    OperationRule("constant-without-value", values.constant_without_value),
    OperationRule("cast-changes-shape", values.cast_changes_shape),
    OperationRule("select-mismatch", values.select_mismatch),
    OperationRule("logic-on-other-than-bool", values.logic_on_other_than_bool),
    OperationRule("comparison-mismatch", values.comparison_mismatch),
    OperationRule("arithmetic-mismatch", values.arithmetic_mismatch),
    OperationRule("arithmetic-on-bool", values.arithmetic_on_bool),
    OperationRule("not-a-float", values.not_a_float),
    OperationRule("not-an-integer", values.not_an_integer),
    OperationRule("not-broadcastable", values.not_broadcastable),
    OperationRule("extract-mismatch", values.extract_mismatch),
    OperationRule("effect-in-map", values.effect_in_map),
    OperationRule("no-contraction", values.no_contraction),
    OperationRule("mma-mismatch", values.mma_mismatch),
    OperationRule("index-not-an-integer", views.index_not_an_integer),
    OperationRule("access-mismatch", views.access_mismatch),
    OperationRule("guard-mismatch", views.guard_mismatch),
    OperationRule("unusable-layout", memory.unusable_layout),
    OperationRule("foreign-state", memory.foreign_state),
    OperationRule("yield-mismatch", nests.yield_mismatch),
    OperationRule("scope-out-of-order", nests.scope_out_of_order),
)

FLOW_RULES = (FunctionRule("memory-flow", memory.memory_flow),)

TARGET_RULES = (
    TargetRule("unknown-scope", scopes.unknown_scope),
    TargetRule("scope-not-contained", scopes.scope_not_contained),
    TargetRule("unknown-resource", scopes.unknown_resource),
    TargetRule("unreachable-memory", scopes.unreachable_memory),
)


def verify_module(module: Module, target: TargetModel | None = None) -> list[Problem]:
    """Every violation in the module; empty when it is valid."""
    problems = [replace(problem, rule=rule.name) for rule in MODULE_RULES for problem in rule.check(module)]
    for function in module.functions:
        problems += verify(function, target)
    return problems


def verify(function: Function, target: TargetModel | None = None) -> list[Problem]:
    """Every violation in one function, of the first stage that has any; V25 is checked when a target is given."""
    stages: tuple[Callable[[], Iterator[Problem]], ...] = (
        lambda: _function_rules(STRUCTURE_RULES, function),
        lambda: _function_rules(DOMINANCE_RULES, function),
        lambda: _operation_rules(SHAPE_RULES, function),
        lambda: _operation_rules(TYPE_RULES, function),
        lambda: _function_rules(FLOW_RULES, function),
        lambda: _target_rules(function, target),
    )
    for stage in stages:
        problems = list(stage())
        if problems:
            return problems
    return []


def verify_operation(operation: Operation) -> list[Problem]:
    """Violations of the rules on single operations; it stands in its block, and its regions, if any, are complete."""
    for rules in (SHAPE_RULES, TYPE_RULES):
        problems = [replace(problem, rule=rule.name) for rule in rules for problem in rule.check(operation)]
        if problems:
            return problems
    return []


def ensure(function: Function, target: TargetModel | None = None) -> None:
    """Raises TileIRError with every problem of a function that is not valid."""
    problems = verify(function, target)
    if problems:
        raise TileIRError(problems)


def _function_rules(rules: tuple[FunctionRule, ...], function: Function) -> Iterator[Problem]:
    for rule in rules:
        for problem in rule.check(function):
            yield replace(problem, rule=rule.name)


def _operation_rules(rules: tuple[OperationRule, ...], function: Function) -> Iterator[Problem]:
    for operation in function.walk():
        for rule in rules:
            for problem in rule.check(operation):
                yield replace(problem, rule=rule.name)


def _target_rules(function: Function, target: TargetModel | None) -> Iterator[Problem]:
    if target is None:
        return
    for rule in TARGET_RULES:
        for problem in rule.check(function, target):
            yield replace(problem, rule=rule.name)
