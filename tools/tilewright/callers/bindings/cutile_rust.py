"""The cuTile Rust module: a foreign declaration an export, after the public description of that form.

It is generated, not compiled: no release of cuTile Rust that reads such declarations was at hand, and the file says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.callers.bindings.words import banner, doc_lines, unlike
from tilewright.callers.templates import rendered
from tilewright.exports.model import ExportSet, Parameter, TileExport
from tilewright.exports.naming import EXTENT, RUST_KEYWORDS


@dataclass(frozen=True, slots=True)
class Declaration:
    """An export as the template shows it; `extent` is empty when the tile size is fixed."""

    name: str
    doc: list[str]
    extent: str
    parameters: list[str]
    result: str


def cutile_rust_module(exports: ExportSet) -> bytes:
    """`<lib>_tile.rs`: a module with a `#[cutile::foreign]` declaration of every export."""
    text = rendered(
        "bindings/cutile_rust.rs.j2",
        banner=banner(exports.library),
        library=exports.library,
        module=unlike(exports.library, RUST_KEYWORDS | {"cutile", "core", "std"}),
        declarations=[_declaration(export) for export in exports.exports],
    )
    return text.encode()


def _declaration(export: TileExport) -> Declaration:
    extent = ""
    if export.tile_shape is None:
        extent = unlike(EXTENT, {export.name, *(parameter.name for parameter in export.parameters)})
    size = extent or str(export.tile_shape)
    results = [_tile(parameter, size) for parameter in export.outputs]
    return Declaration(
        name=export.name,
        doc=doc_lines(export),
        extent=extent,
        parameters=[f"{parameter.name}: {_tile(parameter, size)}" for parameter in export.parameters],
        result=results[0] if len(results) == 1 else f"({', '.join(results)})",
    )


def _tile(parameter: Parameter, size: str) -> str:
    return f"Tile<{parameter.element.label}, {{ [{size}] }}>"
