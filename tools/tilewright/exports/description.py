"""`<lib>.tileexports.json`: the description of a library's exports as a file, written and read back.

It holds no positions, no paths and nothing that depends on a function's body, so that editing a body leaves every
consumer of the interface alone. Spec: Building the library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from tilewright.exports.access_rules import ARCHITECTURE
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport
from tilewright.exports.rules import ExportError, check, ensure
from tilewright.exports.shape_rules import LARGEST_TILE
from tilewright.exports.spelling import printable, shown
from tilewright.problem import Place, Problem

__all__ = ["SCHEMA_VERSION", "ExportError", "json_schema", "parse_description", "read_description", "write_description"]

SCHEMA_VERSION: Literal[1] = 1
LONGEST_REASON = 200

_ELEMENTS = {element.label: element for element in ElementType}


def _schema(description: str, **bounds: object) -> msgspec.Meta:
    # Bounds are for the schema only: reading leaves them to the rules, which give a name and a hint.
    return msgspec.Meta(description=description, extra_json_schema=bounds)


Identifier = Annotated[str, _schema("An ASCII identifier, no keyword.", pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Architecture = Annotated[str, _schema("Such as sm_120 or sm_120a.", pattern=f"^{ARCHITECTURE.pattern}$")]
MaxUlps = Annotated[int, _schema("In units of the last place.", minimum=0)]
TileShape = Annotated[int, _schema("A power of two.", minimum=1, maximum=LARGEST_TILE)]


class ParameterRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter of the implementation, the return slot included."""

    name: Identifier
    element: Annotated[str, _schema("The element type.", enum=list(_ELEMENTS))]
    access: Annotated[Access, _schema("What the implementation does with the elements.")]
    footprint: Annotated[int, _schema("Contiguous elements one invocation owns.", minimum=1)]
    passing: Annotated[Literal["value", "pointer"], _schema("How the native function takes it.")]
    is_return: Annotated[bool, _schema("Whether it is the return slot.")] = msgspec.field(name="return")


class ExportRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One exported function."""

    name: Annotated[Identifier, _schema("The declaration that a tile kernel calls.")]
    symbol: Annotated[Identifier, _schema("The implementation in the device code.")]
    function: Annotated[Identifier, _schema("The user's own function.")]
    tile_shape: Annotated[TileShape | None, _schema("Elements of a tile; null when the call supplies the size.")]
    sync: Annotated[Sync, _schema("The threads that call the implementation together.")]
    arch: Annotated[list[Architecture], _schema("Architectures it supports; empty means every one.", uniqueItems=True)]
    doc: Annotated[str, _schema("The doc comment.")]
    parameters: Annotated[list[ParameterRecord], _schema("In the order of the native function.", minItems=1)]
    max_ulps: Annotated[MaxUlps | None, _schema("How far off a result may be; absent when undeclared.")] = None
    tile_shapes: Annotated[
        list[TileShape],
        _schema("Sizes that a static library carries of an export without one; absent when none.", uniqueItems=True),
    ] = msgspec.field(default_factory=list)


class LibraryRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The exports of one tile library."""

    schema: Annotated[Literal[1], _schema("The version of this format.")]
    library: Annotated[Identifier, _schema("The name of the module.")]
    exports: Annotated[list[ExportRecord], _schema("In the order of the source.", minItems=1)]


_DECODER = msgspec.json.Decoder(LibraryRecord)
_LOCATED = re.compile(r"(?P<what>.*) - at `(?P<path>\$(?:\.[a-z_]+|\[[0-9]+\])*)`", re.DOTALL)
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_AS_JSON = (
    "JSON has double quotes, no comma after the last item, no comments and no byte order mark;\n"
    "or build the library again, which writes the description"
)
_BUILD_AGAIN = "build the library again, so that this release writes its description"
_CHOICES: dict[str, tuple[str, ...]] = {
    "access": tuple(access.value for access in Access),
    "sync": tuple(sync.value for sync in Sync),
    "passing": ("value", "pointer"),
}


def write_description(exports: ExportSet) -> bytes:
    """The description as bytes, equal for equal sets: UTF-8, two-space indent, fixed order of keys, one final newline.

    Raises `ExportError` for a set that breaks a rule: what is written can be read back.
    """
    ensure(exports)
    record = LibraryRecord(SCHEMA_VERSION, exports.library, [_export_record(export) for export in exports.exports])
    return msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"


def read_description(path: Path) -> ExportSet:
    """`parse_description` of a file, named in messages as given."""
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"cannot read the description: {error.strerror}"
        raise ExportError([Problem(what, Place(str(path)), hint="name a LIB.tileexports.json file")]) from None
    return parse_description(data, str(path))


def parse_description(data: bytes, file: str) -> ExportSet:
    """The exports of a description, each with its JSON path as position; every rule has been applied.

    Raises `ExportError`, and nothing else, for any other bytes.
    """
    _refuse_duplicate_keys_and_versions(data, file)
    try:
        record = _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise ExportError([_translated(str(error), file)]) from None
    except msgspec.DecodeError as error:
        what = f"the description is not JSON: {printable(str(error), LONGEST_REASON)}"
        raise ExportError([Problem(what, Place(file), _AS_JSON)]) from None
    if problems := list(_unknown_elements(record, file)):
        raise ExportError(problems)
    exports = ExportSet(record.library, tuple(_export(item, file, at) for at, item in enumerate(record.exports)))
    if problems := check(exports):
        root = Place(file, path="$.exports")
        raise ExportError(replace(problem, where=problem.where or root) for problem in problems)
    return exports


def json_schema() -> bytes:
    """The JSON Schema of a description, as stored in `docs/tileexports.schema.json`."""
    schema = {
        "$comment": "Written by tilewright; rewrite with: ./sconsw golden",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **msgspec.json.schema(LibraryRecord),
    }
    return json.dumps(schema, indent=2).encode() + b"\n"


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it stands in the file, with repeated keys."""


def _refuse_duplicate_keys_and_versions(data: bytes, file: str) -> None:
    """What the typed decoder does not see: a repeated key (it keeps the last), another version (it stumbles first)."""
    try:
        tree = json.loads(data.decode("utf-8"), object_pairs_hook=_Pairs, parse_int=_small_integer, parse_float=str)
    except UnicodeDecodeError as error:
        what = f"the description is not UTF-8: byte {error.start}"
        raise ExportError([Problem(what, Place(file), "save it as UTF-8")]) from None
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno)
        what = f"the description is not JSON: {printable(error.msg)}"
        raise ExportError([Problem(what, place, _AS_JSON)]) from None
    except RecursionError:
        raise ExportError([Problem("the description is nested too deeply", Place(file), _BUILD_AGAIN)]) from None
    if problems := list(_duplicate_keys(tree, file)):
        raise ExportError(problems)
    version = dict(tree).get("schema") if isinstance(tree, _Pairs) else None
    if isinstance(version, int) and not isinstance(version, bool) and version != SCHEMA_VERSION:
        what = f"the description has schema version {version}; this release reads version {SCHEMA_VERSION}"
        raise ExportError([Problem(what, Place(file, path="$.schema"), _BUILD_AGAIN)])


def _small_integer(digits: str) -> int | str:
    return int(digits) if len(digits) < 20 else digits


def _duplicate_keys(tree: object, file: str) -> Iterator[Problem]:
    pending: list[tuple[str, object]] = [("$", tree)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, _Pairs):
            seen: set[str] = set()
            for key, value in node:
                if key in seen:
                    yield Problem(f"the key {shown(key)} is given twice", Place(file, path=path), "keep one of them")
                seen.add(key)
                pending.append((f"{path}.{printable(key)}", value))
        elif isinstance(node, list):
            pending += ((f"{path}[{index}]", value) for index, value in enumerate(node))


def _translated(message: str, file: str) -> Problem:
    """The typed decoder's message as a Problem: its path as position, the choices as hint."""
    located = _LOCATED.fullmatch(message)
    what, path = (located["what"], located["path"]) if located else (message, "$")
    place = Place(file, path=path)
    if unknown := _UNKNOWN_FIELD.fullmatch(what):
        record = ParameterRecord if ".parameters[" in path else ExportRecord if ".exports[" in path else LibraryRecord
        hint = _nearest(unknown["field"], record.__struct_encode_fields__)
        return Problem(f"unknown field {shown(unknown['field'])}", place, hint)
    choices = _CHOICES.get(path.rpartition(".")[2], ())
    hint = f"one of {', '.join(choices)}" if choices else ""
    return Problem(printable(what[:1].lower() + what[1:], LONGEST_REASON), place, hint)


def _nearest(word: str, choices: Sequence[str]) -> str:
    close = get_close_matches(word[:60], choices, n=1)
    return f"did you mean `{close[0]}`?" if close else f"one of {', '.join(choices)}"


def _unknown_elements(record: LibraryRecord, file: str) -> Iterator[Problem]:
    for first, export in enumerate(record.exports):
        for second, parameter in enumerate(export.parameters):
            if parameter.element not in _ELEMENTS:
                place = Place(file, path=f"$.exports[{first}].parameters[{second}].element")
                hint = f"one of {', '.join(_ELEMENTS)}"
                yield Problem(f"unknown element type {shown(parameter.element)}", place, hint)


def _export(record: ExportRecord, file: str, index: int) -> TileExport:
    path = f"$.exports[{index}]"
    parameters = tuple(
        _parameter(parameter, Place(file, path=f"{path}.parameters[{position}]"))
        for position, parameter in enumerate(record.parameters)
    )
    return TileExport(
        name=record.name,
        symbol=record.symbol,
        function=record.function,
        parameters=parameters,
        tile_shape=record.tile_shape,
        sync=record.sync,
        arch=tuple(record.arch),
        doc=record.doc,
        max_ulps=record.max_ulps,
        tile_shapes=tuple(record.tile_shapes),
        where=Place(file, path=path),
    )


def _parameter(record: ParameterRecord, where: Place) -> Parameter:
    return Parameter(
        name=record.name,
        element=_ELEMENTS[record.element],
        access=record.access,
        footprint=record.footprint,
        by_value=record.passing == "value",
        is_return=record.is_return,
        where=where,
    )


def _export_record(export: TileExport) -> ExportRecord:
    return ExportRecord(
        name=export.name,
        symbol=export.symbol,
        function=export.function,
        tile_shape=export.tile_shape,
        sync=export.sync,
        arch=list(export.arch),
        doc=export.doc,
        parameters=[_parameter_record(parameter) for parameter in export.parameters],
        max_ulps=export.max_ulps,
        tile_shapes=list(export.tile_shapes),
    )


def _parameter_record(parameter: Parameter) -> ParameterRecord:
    return ParameterRecord(
        name=parameter.name,
        element=parameter.element.label,
        access=parameter.access,
        footprint=parameter.footprint,
        passing="value" if parameter.by_value else "pointer",
        is_return=parameter.is_return,
    )
