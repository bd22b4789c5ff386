"""The two modules of a tile library and their text, from the exports. Spec: Building the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.bytecode.attributes import Access, ConstParam, Synchronization
from tilewright.bytecode.expressions import Var
from tilewright.bytecode.fragments import fragment, tile
from tilewright.bytecode.module import Module, Version
from tilewright.bytecode.plain_types import PlainType
from tilewright.bytecode.records import Argument, Declaration, Implementation
from tilewright.bytecode.text import print_module
from tilewright.bytecode.types import Value
from tilewright.bytecode.writer import write_module
from tilewright.exports.model import ExportSet, Parameter, Sync, TileExport
from tilewright.exports.naming import EXTENT

_SYNCHRONIZATION = {Sync.NONE: None, Sync.WARP: Synchronization.WARP}
_CONST_PARAMS = (ConstParam(EXTENT, PlainType.INDEX),)
_CONST_ARGS = (Var(EXTENT),)


@dataclass(frozen=True, slots=True)
class Modules:
    """What a tile library's description consists of: two bytecode files and the readable text of both."""

    interface: bytes
    implementation: bytes
    text: str


def modules_of(exports: ExportSet, *, version: Version) -> Modules:
    """Both modules at that bytecode version. The exports passed the rules; parametric ones are written in `N`."""
    interface, implementation = interface_module(exports, version), implementation_module(exports, version)
    name = exports.library
    text = (
        f"// {name}.iface.tilebc: the interface a cuTile program calls\n{print_module(interface, name)}"
        f"// {name}.impl.tilebc: the implementations the LTOIR defines\n{print_module(implementation, name)}"
    )
    return Modules(write_module(interface), write_module(implementation), text)


def merged_module(exports: ExportSet, *, version: Version) -> bytes:
    """Declarations and implementations in one module: the form in which the disassembler compares them."""
    declarations = interface_module(exports, version).declarations
    return write_module(Module(version, declarations, implementation_module(exports, version).implementations))


def interface_module(exports: ExportSet, version: Version) -> Module:
    """One declaration an export: every parameter a tile, the results the `out` and `inout` tiles in order."""
    types: dict[object, Value] = {}
    return Module(version, declarations=tuple(declaration(export, types) for export in exports.exports))


def implementation_module(exports: ExportSet, version: Version) -> Module:
    """One implementation an export: every parameter a fragment."""
    types: dict[object, Value] = {}
    return Module(version, implementations=tuple(implementation(export, types) for export in exports.exports))


def declaration(export: TileExport, types: dict[object, Value]) -> Declaration:
    """The declaration of an export; equal types are taken from `types`, so that there is one object of each."""

    def tile_of(parameter: Parameter) -> Value:
        key = (export.tile_shape, parameter.element)
        return once(types, key, lambda: tile(export, parameter.element))

    arguments = tuple(argument(parameter, tile_of(parameter)) for parameter in export.parameters)
    results = tuple(tile_of(parameter) for parameter in export.outputs)
    return Declaration(export.name, arguments, results, const_params_of(export))


def implementation(export: TileExport, types: dict[object, Value]) -> Implementation:
    """The implementation of an export; an empty `arch` list, which means every architecture, is not written."""

    def fragment_of(parameter: Parameter) -> Value:
        key = (export.tile_shape, export.sync, export.footprint, parameter.element, parameter.by_value)
        return once(types, key, lambda: fragment(export, parameter.element, parameter.by_value))

    return Implementation(
        export.symbol,
        export.name,
        tuple(argument(parameter, fragment_of(parameter)) for parameter in export.parameters),
        const_params=const_params_of(export),
        const_args=_CONST_ARGS if export.tile_shape is None else (),
        arch=export.arch,
        synchronization=_SYNCHRONIZATION[export.sync],
    )


def argument(parameter: Parameter, kind: Value) -> Argument:
    """A parameter as the argument of either record."""
    return Argument(kind, Access[parameter.access.name], parameter.name)


def const_params_of(export: TileExport) -> tuple[ConstParam, ...]:
    """`N: index` for a parametric export."""
    return _CONST_PARAMS if export.tile_shape is None else ()


def once(types: dict[object, Value], key: object, make: Callable[[], Value]) -> Value:
    """The value kept under `key`, made when it is first asked for."""
    value = types.get(key)
    if value is None:
        value = types[key] = make()
    return value
