"""The rules about names, each on the whole set: single names first, then names that meet each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.exports.model import ExportSet, TileExport
from tilewright.exports.naming import (
    RESERVED_PREFIX,
    free_name,
    is_compiler_name,
    is_identifier,
    keyword_languages,
    repaired,
    sized_base,
)
from tilewright.exports.spelling import argument, at, in_description, shown
from tilewright.problem import Place, Problem


@dataclass(frozen=True, slots=True)
class Name:
    """A name of the set: `role` is what it names, `key` its field in a description, `owner` where that record is."""

    role: str
    key: str
    text: str
    owner: Place | None
    export: TileExport | None = None

    @property
    def where(self) -> Place | None:
        return at(self.owner, self.key)

    def __str__(self) -> str:
        owner = f"{shown(self.export.name)}: " if self.export and self.role != "declaration name" else ""
        return f"{owner}{self.role} {shown(self.text)}"

    def instead(self, taken: Mapping[str, frozenset[str]], wanted: str = "", count: int = 1) -> str:
        """A hint that offers another name, free and sound; the `count`th namesake is offered a number from there on."""
        fallback = "tiles" if self.role == "library" else self.role.split()[-1]
        offer = free_name(repaired(wanted or self.text, fallback), taken[self.role], count)
        if self.role in ("declaration name", "symbol"):
            return f"write {argument(self.where, self.key, offer)}"
        if not in_description(self.where):
            return f"rename the {self.role}, for example to `{offer}`"
        lines = [f"write {argument(self.where, self.key, offer)}"]
        if self.key == "function" and self.export and any(parameter.is_return for parameter in self.export.parameters):
            lines.append(f'and call the return slot `"name": "{offer}_out"`')
        return "\n".join(lines)


def names_of(exports: ExportSet) -> Iterator[Name]:
    """Every name of the set; a return slot that is named after its function has no name of its own."""
    yield Name("library", "library", exports.library, library_place(exports))
    for export in exports.exports:
        where = export.where
        yield Name("declaration name", "name", export.name, where, export)
        yield Name("symbol", "symbol", export.symbol, where, export)
        yield Name("function", "function", export.function, where, export)
        for parameter in export.parameters:
            if not (parameter.is_return and parameter.name == f"{export.function}_out"):
                yield Name("parameter", "name", parameter.name, parameter.where or where, export)


def namesakes(exports: ExportSet, role: str) -> Iterator[tuple[Name, TileExport, int]]:
    """Each name of that role that an earlier export has, with the first such export and the number of this one."""
    seen: dict[str, list[TileExport]] = {}
    for name in names_of(exports):
        if name.role == role and name.export:
            same = seen.setdefault(name.text, [])
            same.append(name.export)
            if len(same) > 1:
                yield name, same[0], len(same)


def library_place(exports: ExportSet) -> Place | None:
    """Where the library's own record is: in the file of its first export that knows its file."""
    where = next((export.where for export in exports.exports if export.where), None)
    return where and Place(where.file, path="$" if where.path else "")


def taken_names(exports: ExportSet, functions: frozenset[str]) -> dict[str, frozenset[str]]:
    """By role, what a new name of that role had better not be."""
    declarations = frozenset(export.name for export in exports.exports)
    symbols = frozenset(export.symbol for export in exports.exports)
    written = functions | {export.function for export in exports.exports}
    slots = frozenset(f"{function}_out" for function in written)
    parameters = frozenset(parameter.name for export in exports.exports for parameter in export.parameters)
    return {
        "library": frozenset(),
        "declaration name": declarations | symbols,
        "symbol": declarations | symbols | written,
        "function": symbols | written,
        "parameter": parameters | slots,
    }


def not_an_identifier(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A library, declaration, symbol, function or parameter name is no ASCII identifier.
    Spec: Rules the tooling enforces.
    """
    taken = taken_names(exports, functions)
    for name in names_of(exports):
        if not is_identifier(name.text):
            what = f"{name} is not an ASCII identifier"
            yield Problem(what, name.where, name.instead(taken))


def reserved_prefix(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A declaration name or symbol starts with the reserved `cuda_oxide_`. Spec: Rules the tooling enforces."""
    taken = taken_names(exports, functions)
    for name in names_of(exports):
        if name.role in ("declaration name", "symbol") and name.text.startswith(RESERVED_PREFIX):
            what = f"{name} starts with the reserved prefix `{RESERVED_PREFIX}`"
            yield Problem(what, name.where, name.instead(taken))


def keyword_name(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A name is a keyword of C++ or Rust, so that a caller or wrapper in that language cannot spell it.
    Spec: Parameters and the ABI.
    """
    taken = taken_names(exports, functions)
    for name in names_of(exports):
        if languages := keyword_languages(name.text):
            what = f"{name} is a keyword of {' and '.join(languages)}"
            yield Problem(what, name.where, name.instead(taken))


def compiler_name(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A name starts with two underscores, or one and a capital: C++ keeps those for the compiler (`__device__`).
    Spec: Parameters and the ABI.
    """
    taken = taken_names(exports, functions)
    for name in names_of(exports):
        if is_compiler_name(name.text):
            what = f"{name} belongs to the C++ compiler"
            yield Problem(what, name.where, name.instead(taken))


def empty_library(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A library exports nothing. Spec: Building the library."""
    if not exports.exports:
        what = f"library {shown(exports.library)} exports nothing"
        hint = "put `[[tile_export(tile_shape = 128)]]` on a `__device__` function\n"
        hint += "or `#[tile_export(tile_shape = 128)]` on one in Rust"
        yield Problem(what, None, hint)


def duplicate_name(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """Two exports have one declaration name. Spec: Attribute arguments."""
    taken = taken_names(exports, functions)
    for name, other, count in namesakes(exports, "declaration name"):
        pair = f"functions {shown(other.function)} and {shown(name.export.function if name.export else '')}"
        what = f"{shown(name.text)} is the declaration name of two exports, {pair}"
        yield Problem(what, name.where, name.instead(taken, count=count))


def duplicate_symbol(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """Two exports have one implementation symbol. Spec: Attribute arguments."""
    taken = taken_names(exports, functions)
    for name, other, count in namesakes(exports, "symbol"):
        pair = f"{shown(other.name)} and {shown(name.export.name if name.export else '')}"
        what = f"{shown(name.text)} is the symbol of two exports, {pair}"
        yield Problem(what, name.where, name.instead(taken, count=count))


def symbol_is_a_declaration(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A symbol equals a declaration name: at a call both stand in one Tile IR module. Spec: Attribute arguments."""
    taken = taken_names(exports, functions)
    declarations = {export.name for export in exports.exports}
    for name in names_of(exports):
        if name.role == "symbol" and name.text in declarations:
            what = f"{name} is also a declaration name"
            yield Problem(what, name.where, name.instead(taken, f"{name.text}_impl"))


def symbol_is_a_function(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A symbol equals one of the user's own functions, which stays as written beside the implementation.
    Spec: Writing an export.
    """
    taken = taken_names(exports, functions)
    written = functions | {export.function for export in exports.exports}
    for name in names_of(exports):
        if name.role == "symbol" and name.text in written:
            what = f"{name} is already a function of the source"
            yield Problem(what, name.where, name.instead(taken, f"{name.text}_impl"))


def name_of_a_size(exports: ExportSet, functions: frozenset[str]) -> Iterator[Problem]:
    """A name has the form in which the compiler asks for one size of a parametric export (`relu_any_impl__N128`).
    Spec: The provider form.
    """
    taken = taken_names(exports, functions)
    bases = {text: export for export in exports.parametric() for text in (export.name, export.symbol)}
    for name in names_of(exports):
        parametric = bases.get(sized_base(name.text))
        if name.role in ("declaration name", "symbol") and parametric:
            what = f"{name} is what the compiler calls one size of {shown(parametric.name)}"
            wanted = name.text.replace("__", "_")
            yield Problem(what, name.where, name.instead(taken, wanted))
    for function in sorted(functions | {export.function for export in exports.exports}):
        if parametric := bases.get(sized_base(function)):
            what = f"function {shown(function)} is what the compiler calls one size of {shown(parametric.name)}"
            yield Problem(
                what, parametric.where, f"rename the function, for example to `{function.replace('__', '_')}`"
            )
