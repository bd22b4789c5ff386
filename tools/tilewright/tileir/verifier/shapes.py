"""What each kind of operation is made of: counts of operands, results, regions and the attributes it needs.

After these hold, the named accessors of `ops/` work on every operation; the type rules come after.
"""

from __future__ import annotations

from tilewright.tileir.graph import Operation
from tilewright.tileir.types import INDEX, MemoryType, ScalarType, StateType, TileType, ViewType, is_scalar, space_of
from tilewright.tileir.verifier.faults import Problems, fault, listed
from tilewright.tileir.verifier.structure import block_types
from tilewright.tileir.vocabulary import NESTS, ORDERED_NESTS, Bounds, Kind

TILE_ACCESSES = frozenset({Kind.LOAD_TILE, Kind.STORE_TILE})
WITH_DOMAIN = NESTS | TILE_ACCESSES | {Kind.TILE_MAP}
WITH_REGION = NESTS | {Kind.TILE_MAP}
REQUIRED_ATTRIBUTES: dict[Kind, dict[str, type]] = {
    Kind.MMA: {"allow_reassociation": bool},
    Kind.PIPELINE: {"stages": int, "initiation_interval": int},
    Kind.STAGE: {"name": str},
}


def malformed_nest(operation: Operation) -> Problems:
    """V7: a nest has a domain and one region of one block, whose arguments are the coordinates, then the carries."""
    if operation.kind not in NESTS:
        return
    if operation.domain is None or len(operation.regions) != 1 or len(operation.regions[0].blocks) != 1:
        yield fault(operation, "needs a domain and exactly one region of one block")
        return
    carried = [value.type for value in operation.operands] if operation.kind in ORDERED_NESTS else []
    wanted = [INDEX] * operation.domain.rank + carried
    found = block_types(operation.body)
    if found != wanted:
        yield fault(operation, f"body arguments are {listed(found)}; coordinates and carries are {listed(wanted)}")
    results = [value.type for value in operation.results]
    if operation.kind in ORDERED_NESTS and len(results) == len(carried) and results != carried:
        yield fault(operation, f"results are {listed(results)}, carried are {listed(carried)}")


def parallel_with_values(operation: Operation) -> Problems:
    """V8: a parallel carries nothing."""
    if operation.kind is Kind.PARALLEL and (operation.uses or operation.results):
        yield fault(operation, "has operands or results; instances are independent and carry nothing")


def carry_count(operation: Operation) -> Problems:
    """V9: an ordered nest has one result an operand."""
    if operation.kind in ORDERED_NESTS and len(operation.uses) != len(operation.results):
        yield fault(operation, f"{len(operation.uses)} initial values but {len(operation.results)} results")


def malformed_constant(operation: Operation) -> Problems:
    """V10: a constant has no operands and at least one result, each a scalar or a tile."""
    if operation.kind is not Kind.CONSTANT:
        return
    typed = all(isinstance(value.type, ScalarType | TileType) for value in operation.results)
    if operation.uses or not operation.results or not typed:
        yield fault(operation, "takes no operands and gives at least one scalar or tile")


def malformed_elementwise(operation: Operation) -> Problems:
    """V11: opcode, as many operands as it takes, one result, all of them scalars or tiles."""
    if (operation.kind is Kind.ELEMENTWISE) != (operation.opcode is not None):
        yield fault(operation, "an opcode belongs to elementwise operations, and each of them has one")
        return
    if operation.opcode is None:
        return
    if len(operation.uses) != operation.opcode.arity or len(operation.results) != 1:
        yield fault(operation, f"takes {operation.opcode.arity} operands and gives one result")
        return
    for value in (*operation.operands, operation.result):
        if not is_scalar(value.type) and not isinstance(value.type, TileType):
            yield fault(operation, f"works on scalars and tiles, not on {value.type}")


def malformed_extract(operation: Operation) -> Problems:
    """V14: a tile and one index an axis of it give one result."""
    if operation.kind is not Kind.EXTRACT:
        return
    tile = operation.operands[0].type if operation.uses else None
    if not isinstance(tile, TileType):
        yield fault(operation, "the first operand has to be a tile")
    elif len(operation.uses) != tile.space.rank + 1 or len(operation.results) != 1:
        yield fault(operation, f"needs {tile.space.rank} indices into {tile} and gives one scalar")


def malformed_map(operation: Operation) -> Problems:
    """V15: no operands, one tile over the domain, one block with one index argument an axis, ended by a yield."""
    if operation.kind is not Kind.TILE_MAP:
        return
    if operation.domain is None or len(operation.regions) != 1 or len(operation.regions[0].blocks) != 1:
        yield fault(operation, "needs a domain and exactly one region of one block")
        return
    if operation.uses or len(operation.results) != 1 or space_of(operation.results[0].type) != operation.domain:
        yield fault(operation, f"takes no operands and gives one tile over its domain {operation.domain}")
    if block_types(operation.body) != [INDEX] * operation.domain.rank:
        yield fault(operation, f"the body takes {operation.domain.rank} indices, one an axis of the domain")
    last = operation.body.operations[-1:]
    if not last or last[0].kind is not Kind.YIELD:
        yield fault(operation, "the body has to end in a yield")


def malformed_mma(operation: Operation) -> Problems:
    """V17: three tiles give one of the type of the third."""
    if operation.kind is not Kind.MMA:
        return
    if len(operation.uses) != 3 or not all(isinstance(value.type, TileType) for value in operation.operands):
        yield fault(operation, "takes the tiles a, b and c")
    elif [value.type for value in operation.results] != [operation.operands[2].type]:
        yield fault(operation, f"gives one tile of the type of c, {operation.operands[2].type}")


def malformed_view_access(operation: Operation) -> Problems:
    """V18: a view first, then one index an axis, then what the access takes; a load has one result, a store none."""
    extra = {
        Kind.LOAD_TILE: (0, 1),
        Kind.STORE_TILE: (1,),
        Kind.LOAD_ELEMENT: (0, 1, 2),
        Kind.STORE_ELEMENT: (1,),
    }.get(operation.kind)
    if extra is None:
        return
    view = operation.operands[0].type if operation.uses else None
    if not isinstance(view, ViewType):
        yield fault(operation, "the first operand has to be a view")
        return
    results = 1 if operation.kind in (Kind.LOAD_TILE, Kind.LOAD_ELEMENT) else 0
    if len(operation.uses) - 1 - view.space.rank not in extra:
        yield fault(operation, f"has {len(operation.uses) - 1} operands after a view of rank {view.space.rank}")
    elif len(operation.results) != results:
        yield fault(operation, f"gives {results} results, not {len(operation.results)}")
    if operation.kind in TILE_ACCESSES and (operation.domain is None or operation.domain.rank != view.space.rank):
        yield fault(operation, f"needs a domain of the rank of the view, {view.space.rank}")


def predicate_without_fallback(operation: Operation) -> Problems:
    """V18: the guarded read of an element takes a predicate and a fallback, or neither."""
    if operation.kind is Kind.LOAD_ELEMENT and operation.uses:
        space = space_of(operation.operands[0].type)
        if space is not None and len(operation.uses) == space.rank + 2:
            yield fault(operation, "predicate and fallback belong together", "give both or neither")


def malformed_alloc(operation: Operation) -> Problems:
    """V19: an allocation has no operands and gives a memory and its first state."""
    types = [value.type for value in operation.results]
    if operation.kind is not Kind.ALLOC:
        return
    if operation.uses or len(types) != 2 or not isinstance(types[0], MemoryType) or not isinstance(types[1], StateType):
        yield fault(operation, "takes no operands and gives a memory and a state")


def malformed_memory_access(operation: Operation) -> Problems:
    """V20: memory.load takes (memory, state) and gives its tile; memory.store also takes the tile and gives a state."""
    if operation.kind not in (Kind.MEMORY_LOAD, Kind.MEMORY_STORE):
        return
    types = [value.type for value in operation.operands]
    memory = types[0] if types else None
    if not isinstance(memory, MemoryType) or not any(isinstance(each, StateType) for each in types[1:2]):
        yield fault(operation, "the first operands have to be a memory and a state")
        return
    tile = TileType(memory.element, memory.space)
    results = [value.type for value in operation.results]
    if operation.kind is Kind.MEMORY_LOAD and (types[2:] or results != [tile]):
        yield fault(operation, f"gives the whole object, {tile}")
    if operation.kind is Kind.MEMORY_STORE and (types[2:] != [tile] or results != [StateType()]):
        yield fault(operation, f"takes the whole object, {tile}, and gives a state")


def malformed_stage(operation: Operation) -> Problems:
    """V23: a stage has no operands, results or regions and stands directly in the body of a pipeline."""
    if operation.kind is not Kind.STAGE:
        return
    around = operation.parent_operation
    if operation.uses or operation.results or operation.regions:
        yield fault(operation, "takes and gives nothing")
    if around is None or around.kind is not Kind.PIPELINE:
        yield fault(operation, "stands outside the body of a pipeline")


def misplaced_field(operation: Operation) -> Problems:
    """V11, V18: domain, regions and bounds stand on the kinds that have them, and bounds on every tile access."""
    if operation.domain is not None and operation.kind not in WITH_DOMAIN:
        yield fault(operation, "has no domain")
    if operation.regions and operation.kind not in WITH_REGION:
        yield fault(operation, "has no region")
    if (operation.bounds is not None) != (operation.kind in TILE_ACCESSES):
        modes = " or ".join(mode.value for mode in Bounds)
        yield fault(operation, f"a bounds mode ({modes}) belongs to view.load and view.store, and each has one")


def missing_attribute(operation: Operation) -> Problems:
    """A.3: the attributes an operation is defined by are there and of their type."""
    for name, type in REQUIRED_ATTRIBUTES.get(operation.kind, {}).items():
        value = operation.attributes.get(name)
        if not isinstance(value, type) or (type is int and isinstance(value, bool)):
            yield fault(operation, f"needs the attribute `{name}`, a {type.__name__}")
    if operation.kind is Kind.PIPELINE:
        stages, interval = (operation.attributes.get(name) for name in ("stages", "initiation_interval"))
        if isinstance(stages, int) and isinstance(interval, int) and (stages < 0 or interval < 1):
            yield fault(operation, f"stages = {stages} has to be 0 or more, initiation_interval = {interval} 1 or more")


def misplaced_constraint(operation: Operation) -> Problems:
    """V24: a scope only on parallel, resource and layout only on memory.alloc."""
    if operation.scope is not None and operation.kind is not Kind.PARALLEL:
        yield fault(operation, f"scope {operation.scope.value} belongs to a parallel")
    if (operation.resource is not None or operation.layout is not None) and operation.kind is not Kind.ALLOC:
        yield fault(operation, "resource and layout belong to memory.alloc")


def unnamed_custom(operation: Operation) -> Problems:
    """V24: a custom operation has a name."""
    name = operation.attributes.get("name")
    if operation.kind is Kind.CUSTOM and (not isinstance(name, str) or not name):
        yield fault(operation, "needs a name")
