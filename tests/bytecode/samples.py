"""The exports behind the golden modules, and small builders for the values that the tests write and read."""

from __future__ import annotations

from pathlib import Path

from tilewright.bytecode.attributes import Access, MemorySpace
from tilewright.bytecode.expressions import Expression, Int, Layout, SymbolicTuple
from tilewright.bytecode.module import Module
from tilewright.bytecode.plain_types import PlainType
from tilewright.bytecode.records import Argument, Declaration, Implementation
from tilewright.bytecode.types import Fragment, Tile
from tilewright.exports import model
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Parameter, Sync, TileExport

GOLDEN = Path(__file__).parents[1] / "golden"
VERSION = (13, 5)


def parameter(
    name: str, access: model.Access = model.Access.IN, element: ElementType = ElementType.F32, footprint: int = 1
) -> Parameter:
    """An input travels by value when it can; every other parameter is a pointer."""
    return Parameter(name, element, access, footprint, by_value=access is model.Access.IN and footprint == 1)


def export(name: str, *parameters: Parameter, size: int | None = 128, sync: Sync = Sync.NONE) -> TileExport:
    return TileExport(name, f"{name}_impl", name, parameters, size, sync)


RELU = export("relu", parameter("x"), parameter("relu_out", model.Access.OUT))
SCALE = export("scale_in_place", parameter("x", model.Access.INOUT), parameter("factor"))
WARP_SUM = export("warp_sum", parameter("x"), parameter("warp_sum_out", model.Access.OUT), sync=Sync.WARP)
RELU_ANY = export("relu_any", parameter("x"), parameter("relu_any_out", model.Access.OUT), size=None)

EXPORTS_OF = {
    "relu": ExportSet("relu", (RELU,)),
    "three": ExportSet("tilelib_relu", (RELU, SCALE, WARP_SUM)),
    "relu_any": ExportSet("relu_any", (RELU_ANY,)),
}


def parts(*values: int | Expression) -> SymbolicTuple:
    return SymbolicTuple(tuple(Int(value) if isinstance(value, int) else value for value in values))


def tile(*extents: int | Expression, element: PlainType = PlainType.F32) -> Tile:
    return Tile(element, parts(*extents))


SCALAR = Fragment(
    parts(1), PlainType.F32, MemorySpace.LOCAL, Layout(parts(), parts()), Layout(parts(128, 1, 1), parts(1, 0, 0))
)


def declaration(*types: Tile, name: str = "f") -> Declaration:
    """All arguments `out`."""
    return Declaration(name, tuple(Argument(kind, Access.OUT) for kind in types), types)


def implementation(*fragments: Fragment, **optional: object) -> Implementation:
    arguments = tuple(Argument(fragment, Access.IN) for fragment in fragments or (SCALAR,))
    return Implementation("f_impl", "f", arguments, **optional)  # type: ignore[arg-type]


def module_of(record: Declaration | Implementation) -> Module:
    if isinstance(record, Declaration):
        return Module(VERSION, declarations=(record,))
    return Module(VERSION, implementations=(record,))


def full_spelling(disassembly: str) -> str:
    """The disassembler's text as ours has it, with the dialect written out: `#cuda_tile<x<…>>` is `#cuda_tile.x<…>`."""
    for opening in ("#cuda_tile<", "!cuda_tile<"):
        while (at := disassembly.find(opening)) >= 0:
            inside = at + len(opening)
            depth, end = 1, inside
            while depth:
                depth += {"<": 1, ">": -1}.get(disassembly[end], 0) if disassembly[end - 1] != "-" else 0
                end += 1
            disassembly = f"{disassembly[:at]}{opening[:-1]}.{disassembly[inside : end - 1]}{disassembly[end:]}"
    for short, full in (
        (": tile<", ": !cuda_tile.tile<"),
        ("> tile<", "> !cuda_tile.tile<"),
        ("(tile<", "(!cuda_tile.tile<"),
        (", tile<", ", !cuda_tile.tile<"),
        (": preview$fragment<", ": !cuda_tile.preview$fragment<"),
        ("mem_layout = <", "mem_layout = #cuda_tile.preview$layout<"),
        ("fragmap = <", "fragmap = #cuda_tile.preview$layout<"),
        (" (%arg0", "(%arg0"),
        ("preview$func extern", "cuda_tile.preview$func extern"),
        ("preview$extern_impl", "cuda_tile.preview$extern_impl"),
    ):
        disassembly = disassembly.replace(short, full)
    return "\n".join(line.rstrip() for line in disassembly.splitlines() if line.strip())
