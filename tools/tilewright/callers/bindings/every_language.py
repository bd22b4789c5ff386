"""The table of bindings: a row a language, with the suffix of its file and how far it was proved."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tilewright.callers.bindings.cutile_python import cutile_python_module
from tilewright.callers.bindings.cutile_rust import cutile_rust_module
from tilewright.callers.bindings.tile_cpp import tile_cpp_header
from tilewright.exports.model import ExportSet


@dataclass(frozen=True, slots=True)
class Binding:
    """One language: its name on the command line, the suffix after the library's name, what proves the file."""

    language: str
    title: str
    suffix: str
    write: Callable[[ExportSet], bytes]
    proof: str


BINDINGS = (
    Binding("tile-cpp", "Tile C++", "_tile.h", tile_cpp_header, "compiled by nvcc, linked and inlined by tileiras"),
    Binding(
        "cutile-python",
        "cuTile Python",
        "_tile.py",
        cutile_python_module,
        "type-checked; compiled by cuTile 1.7 with a stand-in for its unpublished preview package",
    ),
    Binding("cutile-rust", "cuTile Rust", "_tile.rs", cutile_rust_module, "generated, not compiled"),
)
LANGUAGES = tuple(binding.language for binding in BINDINGS)


def bindings_of(exports: ExportSet, languages: Collection[str] = LANGUAGES) -> dict[str, bytes]:
    """File name to content for the chosen languages; they follow from the description alone, not from any body."""
    chosen = (binding for binding in BINDINGS if binding.language in languages)
    return {f"{exports.library}{binding.suffix}": binding.write(exports) for binding in chosen}


def file_names(library: str, languages: Collection[str] = LANGUAGES) -> tuple[str, ...]:
    """The names that `bindings_of` gives for a library, without its description."""
    return tuple(f"{library}{binding.suffix}" for binding in BINDINGS if binding.language in languages)


def bindings_reference() -> str:
    """The bindings as a Markdown table."""
    lines = ["| language | file | how far it is proved |", "| --- | --- | --- |"]
    lines += [f"| {row.title} (`{row.language}`) | `<library>{row.suffix}` | {row.proof} |" for row in BINDINGS]
    return "\n".join(lines) + "\n"
