"""Stands in for cuTile's preview package, which is published only as an empty placeholder.

It supplies what `cuda.tile` 1.7 looks for, the operation `PreviewForeignCall`, and the two names that callers use; all
else, from reading the kernel to the bytecode and the assembler's command line, is cuTile's own.
"""

import dataclasses
from pathlib import Path

from cuda.tile import _bytecode as bc
from cuda.tile._bytecode.attribute import TaggedAttribute
from cuda.tile._bytecode.basic import encode_signed_varint, encode_varint
from cuda.tile._exception import TileTypeError
from cuda.tile._execution import stub
from cuda.tile._ir.ir import MemoryEffect, Operation, Var, add_operation_variadic, attribute, operand
from cuda.tile._ir.op_impl import require_constant_str
from cuda.tile._ir.ops import build_tuple, tile_impl_registry
from cuda.tile._ir.type import TileTy, TokenTy, TupleTy
from cuda.tile._ir2bytecode import typeid

EXPR_INT = 209


@dataclasses.dataclass(frozen=True)
class Tilelib:
    """A library's file and version; a global of the module that a kernel is in."""

    path: str
    version: str


@stub
def foreign_call(tilelibs, symbol_name, constant_params, inputs, output_types):
    """Calls a declaration of a tile library: its results as a tuple of tiles."""


@dataclasses.dataclass
class ExprInt(TaggedAttribute):
    """A constant argument as a Tile IR expression."""

    value: int

    def encode_tagged(self, string_table, buf):
        encode_varint(EXPR_INT, buf)
        encode_signed_varint(self.value, buf)


@dataclasses.dataclass(eq=False)
class PreviewForeignCall(Operation, opcode="preview_foreign_call", memory_effect=MemoryEffect.STORE):
    """`preview$call`: two tokens before the operands, two before the results."""

    symbol_name: str = attribute()
    tilelibs: tuple = attribute()
    constants: tuple = attribute()
    inputs: tuple[Var, ...] = operand()
    token: Var | None = operand(default=None)  # noqa: RUF009 (a field, as dataclasses.field makes one)

    def generate_bytecode(self, ctx):
        token = ctx.type_table.Token
        types = [typeid(ctx.type_table, var.get_type()) for var in self.result_vars[:-1]]
        before = ctx.get_value(self.token)
        first, second, *tiles = bc.encode_PreviewCallOp(
            ctx.builder,
            (token, token, *types),
            (before, before, *map(ctx.get_value, self.inputs)),
            self.symbol_name,
            tuple(map(ExprInt, self.constants)),
            None,
            None,
        )
        return (*tiles, bc.encode_JoinTokensOp(ctx.builder, token, (first, second)))


@tile_impl_registry.impl(foreign_call)
def foreign_call_impl(tilelibs, symbol_name, constant_params, inputs, output_types):
    """What cuTile runs where a kernel calls `foreign_call`."""
    tiles = _items(inputs)
    for tile in tiles:
        if not isinstance(tile.get_type(), TileTy):
            raise TileTypeError(f"an input of a foreign call must be a tile, not {tile.get_type()}")
    results = []
    for output in _items(output_types):
        element, shape = _items(output)
        results.append(TileTy(element.get_constant(), tuple(one.get_constant() for one in _items(shape))))
    *outputs, _token = add_operation_variadic(
        PreviewForeignCall,
        (*results, TokenTy()),
        symbol_name=require_constant_str(symbol_name),
        tilelibs=tuple(
            (
                Path(library.get_aggregate().get_field("path").get_constant()),
                library.get_aggregate().get_field("version").get_constant(),
            )
            for library in _items(tilelibs)
        ),
        constants=tuple(one.get_constant() for one in _items(constant_params)),
        inputs=tiles,
    )
    return build_tuple(outputs)


def _items(value):
    if not isinstance(value.get_type(), TupleTy):
        raise TileTypeError(f"a foreign call takes a tuple here, not {value.get_type()}")
    return value.get_aggregate().items
