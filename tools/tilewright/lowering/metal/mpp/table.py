"""Every kind of operation in a native matrix product: part of its realization, or why it is refused."""

from __future__ import annotations

from enum import Enum

from tilewright.lowering.rejection import Rejection
from tilewright.tileir.vocabulary import Kind


class Part(Enum):
    """What a kind of operation can be in the native form."""

    COORDINATE = "coordinate arithmetic or a zero tile"
    OPERAND = "an operand"
    PRODUCT = "a product"
    RESULT = "a result"
    NEST = "the group, or its subgroups"
    NOTHING = "no text"


EPILOGUE = Rejection(
    "B163", "a tile epilogue is unsupported by native MPP", "store the product; do the rest in another kernel"
)
WORKER = Rejection("B164", "worker-level computation is unsupported by native MPP", "use tile loads and stores")
MEMORY = Rejection("B165", "manual Memory is unsupported by native MPP, and never erased", "store the product directly")
LOOP = Rejection(
    "B159",
    "native MPP takes the complete K as one tile; pipelines and loops are not lowered, and never erased (B165)",
    "load tiles whose K extent is the whole K",
)

OPERATIONS: dict[Kind, Part | Rejection] = {
    Kind.CONSTANT: Part.COORDINATE,
    Kind.ELEMENTWISE: Part.COORDINATE,
    Kind.TILE_MAP: EPILOGUE,
    Kind.EXTRACT: EPILOGUE,
    Kind.MMA: Part.PRODUCT,
    Kind.LOAD_ELEMENT: WORKER,
    Kind.STORE_ELEMENT: WORKER,
    Kind.LOAD_TILE: Part.OPERAND,
    Kind.STORE_TILE: Part.RESULT,
    Kind.ALLOC: MEMORY,
    Kind.MEMORY_LOAD: MEMORY,
    Kind.MEMORY_STORE: MEMORY,
    Kind.PARALLEL: Part.NEST,
    Kind.SERIAL: LOOP,
    Kind.PIPELINE: LOOP,
    Kind.REDUCE: LOOP,
    Kind.STAGE: LOOP,
    Kind.YIELD: Part.NOTHING,
    Kind.CUSTOM: Rejection("B165", "an extension is unsupported by native MPP", "write it with TileIR operations"),
}

REJECTIONS: dict[Kind, Rejection] = {kind: row for kind, row in OPERATIONS.items() if isinstance(row, Rejection)}
