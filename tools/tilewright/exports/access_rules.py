"""The rules about parameters and what an implementation does with them; then architectures and the doc text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter, TileExport
from tilewright.exports.naming import EXTENT, free_name, plain
from tilewright.exports.shape_rules import fitting_footprint
from tilewright.exports.spelling import argument, at, in_description, parameter, shown
from tilewright.problem import Place, Problem

ARCHITECTURE = re.compile(r"sm_[1-9][0-9]{1,2}[af]?")
_NEARLY_ARCHITECTURE = re.compile(r"(?:sm|compute)?_?([1-9][0-9]{1,2}[af]?)", re.IGNORECASE)
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def no_output(export: TileExport) -> Iterator[Problem]:
    """An export has no output: no return value and no parameter that is written. Spec: Rules the tooling enforces."""
    if export.outputs:
        return
    what = f"{shown(export.name)} has no output"
    last = export.parameters[-1] if export.parameters else Parameter("x", ElementType.F32, Access.IN)
    name, footprint = plain(last.name, "x"), fitting_footprint(export)
    written = replace(last, name=name, access=Access.INOUT, footprint=footprint, by_value=False)
    hint = f"write it through a parameter: {parameter(last.where or export.where, written)}"
    if not in_description(export.where):
        hint = f"return the result, or {hint}"
    yield Problem(what, at(export.where, "parameters"), hint)


def split_outputs(export: TileExport) -> Iterator[Problem]:
    """An input stands between two outputs (`out`, `inout`, the return slot). Spec: Rules the tooling enforces."""
    stray: Parameter | None = None
    for left, right in pairwise(export.parameters):
        if left.access.writes and not right.access.writes:
            stray = stray or right
        elif stray and right.access.writes:
            what = f"{shown(export.name)}: input {shown(stray.name)} stands between two outputs"
            inputs_first = sorted(export.parameters, key=lambda written: written.access.writes)
            hint = f"write the inputs first: {_order(inputs_first, slot=in_description(export.where))}"
            yield Problem(what, stray.where or export.where, hint)
            return


def out_without_return(export: TileExport) -> Iterator[Problem]:
    """A parameter has access `out` and is not the return slot; what a parameter writes is `inout`.
    Spec: Parameters and the ABI.
    """
    for written in export.parameters:
        if written.access is Access.OUT and not written.is_return:
            where = written.where or export.where
            what = f"{shown(export.name)}: {shown(written.name)} has access `out` and is not the return slot"
            yield Problem(what, at(where, "access"), f"write {argument(where, 'access', 'inout')}")


def value_not_scalar_input(export: TileExport) -> Iterator[Problem]:
    """A parameter travels by value and is not an `in` scalar. Spec: Parameters and the ABI."""
    for written in export.parameters:
        if written.by_value and (written.access.writes or written.footprint != 1):
            where = written.where or export.where
            what = f"{shown(export.name)}: {shown(written.name)} travels by value and is not an input of one element"
            yield Problem(what, at(where, "passing"), f"write {argument(where, 'passing', 'pointer')}")


def return_slot_not_last(export: TileExport) -> Iterator[Problem]:
    """A return slot is not the last parameter, or there are two. Spec: Parameters and the ABI."""
    slots = [written for written in export.parameters if written.is_return]
    for written in export.parameters[:-1]:
        if written.is_return:
            what = f"{shown(export.name)}: return slot {shown(written.name)} is not the last parameter"
            hint = f"write it last: {_order(sorted(export.parameters, key=lambda other: other.is_return), slot=True)}"
            if len(slots) > 1:
                hint = "keep one return slot, the last"
            yield Problem(what, written.where or export.where, hint)


def return_slot_misnamed(export: TileExport) -> Iterator[Problem]:
    """A return slot is not called after its function, `<fn>_out`. Spec: Parameters and the ABI."""
    for written in export.parameters:
        if written.is_return and written.name != f"{export.function}_out":
            where = written.where or export.where
            expected = f"{plain(export.function, 'function')}_out"
            what = f"{shown(export.name)}: return slot {shown(written.name)} is not called `{expected}`"
            yield Problem(what, at(where, "name"), f"write {argument(where, 'name', expected)}")


def return_slot_not_out(export: TileExport) -> Iterator[Problem]:
    """A return slot is not an `out` pointer to one element. Spec: Parameters and the ABI."""
    for written in export.parameters:
        if written.is_return and (written.access is not Access.OUT or written.by_value or written.footprint != 1):
            where = written.where or export.where
            what = f"{shown(export.name)}: return slot {shown(written.name)} is not an `out` pointer to one element"
            name = f"{plain(export.function, 'function')}_out"
            slot = replace(written, name=name, access=Access.OUT, footprint=1, by_value=False)
            others = {other.footprint for other in export.parameters if not other.is_return}
            if others - {1}:
                footprint = fitting_footprint(replace(export, parameters=_without_return(export)))
                slot = replace(slot, name=_result(export), access=Access.INOUT, footprint=footprint, is_return=False)
            yield Problem(what, where, f"write {parameter(where, slot)}")


def duplicate_parameter(export: TileExport) -> Iterator[Problem]:
    """Two parameters of one export have one name. Spec: Parameters and the ABI."""
    names = _parameter_names(export)
    seen: set[str] = set()
    for written in _without_return(export):
        if written.name in seen:
            what = f"{shown(export.name)}: two parameters are called {shown(written.name)}"
            yield _renamed(export, written, what, free_name(plain(written.name, "x"), names | seen))
        seen.add(written.name)


def parameter_takes_return_slot(export: TileExport) -> Iterator[Problem]:
    """A parameter is called `<fn>_out`, the name of the return slot. Spec: Parameters and the ABI."""
    for written in _without_return(export):
        if written.name == f"{export.function}_out":
            what = f"{shown(export.name)}: parameter {shown(written.name)} has the name of the return slot"
            yield _renamed(export, written, what, _result(export))


def parameter_takes_extent(export: TileExport) -> Iterator[Problem]:
    """A parameter of a parametric export is called `N`, the extent in its declaration. Spec: The provider form."""
    for written in _without_return(export):
        if export.tile_shape is None and written.name == EXTENT:
            what = f"{shown(export.name)}: parameter `{EXTENT}` has the name of the extent that the call supplies"
            yield _renamed(export, written, what, free_name("count", _parameter_names(export)))


def arch_malformed(export: TileExport) -> Iterator[Problem]:
    """An architecture is not written `sm_120`, `sm_120a` or `sm_120f`. Spec: Attribute arguments."""
    for index, name in enumerate(export.arch):
        if not ARCHITECTURE.fullmatch(name):
            what = f"{shown(export.name)}: {shown(name)} is not an architecture"
            yield Problem(what, _arch_place(export, index), _sound_arch(export))


def duplicate_arch(export: TileExport) -> Iterator[Problem]:
    """An architecture is listed twice. Spec: Attribute arguments."""
    seen: set[str] = set()
    for index, name in enumerate(export.arch):
        if name in seen:
            what = f"{shown(export.name)}: architecture {shown(name)} is listed twice"
            yield Problem(what, _arch_place(export, index), _sound_arch(export))
        seen.add(name)


def doc_control_character(export: TileExport) -> Iterator[Problem]:
    """A doc text holds a control, line-separator or text-direction character other than newline and tab; it is copied
    into comments of generated code. Spec: Writing an export.
    """
    for index, character in enumerate(export.doc):
        if is_unsafe_in_comments(character):
            name = unicodedata.name(character, "")
            what = f"{shown(export.name)}: the doc text holds U+{ord(character):04X} at character {index + 1}"
            hint = "delete it from the doc text" + (f" ({name})" if name else "")
            yield Problem(what, at(export.where, "doc"), hint)
            return


def is_unsafe_in_comments(character: str) -> bool:
    """Characters that end a line for some tool, steer a terminal, reorder text, or are no text at all."""
    category = unicodedata.category(character)
    return (category in ("Cc", "Cs", "Zl", "Zp") and character not in "\n\t") or character in _BIDIRECTIONAL


def _renamed(export: TileExport, written: Parameter, what: str, offer: str) -> Problem:
    where = written.where or export.where
    hint = (
        f"write {argument(where, 'name', offer)}" if in_description(where) else f"rename it, for example to `{offer}`"
    )
    return Problem(what, at(where, "name"), hint)


def _without_return(export: TileExport) -> tuple[Parameter, ...]:
    return tuple(written for written in export.parameters if not written.is_return)


def _parameter_names(export: TileExport) -> set[str]:
    return {written.name for written in export.parameters} | {f"{export.function}_out"}


def _result(export: TileExport) -> str:
    return free_name(f"{plain(export.function, 'function')}_result", _parameter_names(export))


def _order(parameters: list[Parameter], *, slot: bool) -> str:
    return ", ".join(plain(written.name, "x") for written in parameters if slot or not written.is_return)


def _arch_place(export: TileExport, index: int) -> Place | None:
    where = at(export.where, "arch")
    return replace(where, path=f"{where.path}[{index}]") if where and where.path else where


def _sound_arch(export: TileExport) -> str:
    found = (_NEARLY_ARCHITECTURE.fullmatch(name.strip()) for name in export.arch)
    names = list(dict.fromkeys(f"sm_{match[1].lower()}" for match in found if match))
    return f"write {argument(export.where, 'arch', names or ['sm_120'])}"
