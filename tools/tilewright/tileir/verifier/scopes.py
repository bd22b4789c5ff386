"""V25: execution scopes and memory resources against a target model."""

from __future__ import annotations

from typing import cast

from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.ops.memory import Alloc, MemoryLoad
from tilewright.tileir.target import TargetModel
from tilewright.tileir.verifier.faults import Problems, fault, listed
from tilewright.tileir.vocabulary import Kind, Resource, Scope


def unknown_scope(function: Function, target: TargetModel) -> Problems:
    """V25: the target knows the scope of every parallel."""
    for operation in function.walk():
        if operation.scope is not None and operation.scope not in target.contains:
            known = listed(scope.value for scope in target.contains)
            yield fault(operation, f"target {target.name} has no scope {operation.scope.value}", f"it has {known}")


def scope_not_contained(function: Function, target: TargetModel) -> Problems:
    """V25: a nested scope is one that the active scope contains."""
    for operation in function.walk():
        outer = active_scope(operation)
        if operation.scope is None or outer is None or outer not in target.contains:
            continue
        if operation.scope in target.contains and operation.scope not in target.contains[outer]:
            yield fault(operation, f"target {target.name} has no {operation.scope.value} inside {outer.value}")


def unknown_resource(function: Function, target: TargetModel) -> Problems:
    """V25: the target has the resource class of every allocation."""
    for operation in function.walk():
        if operation.resource is not None and operation.resource not in target.resources:
            yield fault(operation, f"target {target.name} has no {operation.resource.value} memory")


def unreachable_memory(function: Function, target: TargetModel) -> Problems:
    """V25: the active scope may load or store the class of the memory."""
    for operation in function.walk():
        scope = active_scope(operation)
        if operation.kind not in (Kind.MEMORY_LOAD, Kind.MEMORY_STORE) or scope is None:
            continue
        resource = resource_of(cast(MemoryLoad, operation).memory)
        table = target.loads if operation.kind is Kind.MEMORY_LOAD else target.stores
        if resource is None or resource not in target.resources:
            continue
        if resource not in table.get(scope, frozenset()):
            yield fault(operation, f"scope {scope.value} of {target.name} does not reach {resource.value} memory")


def active_scope(operation: Operation) -> Scope | None:
    """The innermost concrete scope around an operation; None where all nests are automatic."""
    return next((each.scope for each in operation.ancestors() if each.scope is not None), None)


def resource_of(memory: Value) -> Resource | None:
    definition = memory.definition
    return definition.resource if isinstance(definition, Alloc) else None
