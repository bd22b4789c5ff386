"""Every kind of operation on this backend: how it is emitted, or why it is refused."""

from __future__ import annotations

from tilewright.lowering.cuda.emission import Step
from tilewright.lowering.cuda.nests import emit_nothing, emit_ordered, emit_parallel
from tilewright.lowering.cuda.values import emit_constant, emit_elementwise, emit_extract, emit_map, emit_mma
from tilewright.lowering.cuda.views import emit_load_element, emit_load_tile, emit_store_element, emit_store_tile
from tilewright.lowering.rejection import NO_MEMORY, Rejection
from tilewright.tileir.vocabulary import Kind

OPERATIONS: dict[Kind, Step | Rejection] = {
    Kind.CONSTANT: emit_constant,
    Kind.ELEMENTWISE: emit_elementwise,
    Kind.TILE_MAP: emit_map,
    Kind.EXTRACT: emit_extract,
    Kind.MMA: emit_mma,
    Kind.LOAD_ELEMENT: emit_load_element,
    Kind.STORE_ELEMENT: emit_store_element,
    Kind.LOAD_TILE: emit_load_tile,
    Kind.STORE_TILE: emit_store_tile,
    Kind.ALLOC: NO_MEMORY,
    Kind.MEMORY_LOAD: NO_MEMORY,
    Kind.MEMORY_STORE: NO_MEMORY,
    Kind.PARALLEL: emit_parallel,
    Kind.SERIAL: emit_ordered,
    Kind.PIPELINE: emit_ordered,
    Kind.REDUCE: emit_ordered,
    Kind.STAGE: emit_nothing,
    Kind.YIELD: emit_nothing,
    Kind.CUSTOM: Rejection(
        "B48", "an extension is an unsupported operation here", "write it with the operations of TileIR"
    ),
}

STEPS: dict[Kind, Step] = {kind: row for kind, row in OPERATIONS.items() if not isinstance(row, Rejection)}
REJECTIONS: dict[Kind, Rejection] = {kind: row for kind, row in OPERATIONS.items() if isinstance(row, Rejection)}
