"""What a target offers: execution scopes, memory resources, and which scope reaches which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.tileir.vocabulary import Resource, Scope


@dataclass(frozen=True)
class TargetModel:
    """`contains[s]`: scopes that may nest in scope s, whose keys are all known scopes; `loads[s]` and `stores[s]`:
    resource classes instances of scope s may read and write; `resources`: the classes there are."""

    name: str
    contains: Mapping[Scope, frozenset[Scope]]
    resources: frozenset[Resource]
    loads: Mapping[Scope, frozenset[Resource]]
    stores: Mapping[Scope, frozenset[Resource]]
