"""Properties of the rules and of descriptions over arbitrary exports and arbitrary bytes."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exports.hints import PROSE, after
from exports.strategies import broad_exports, export_sets, nearly_legal_sets
from tilewright.exports.abi import native_parameters
from tilewright.exports.description import parse_description, write_description
from tilewright.exports.model import Access, ExportSet, Sync, TileExport
from tilewright.exports.naming import CPP_KEYWORDS, RUST_KEYWORDS
from tilewright.exports.rules import ExportError, check
from tilewright.exports.spelling import record
from tilewright.problem import Problem

quick = settings(max_examples=100, deadline=None, derandomize=True)


def legal_name(name: str) -> bool:
    return re.match(r"(?!__|_?$|_[A-Z])\w+\Z", name, re.ASCII) is not None and not (
        name[0].isdigit() or name in CPP_KEYWORDS or name in RUST_KEYWORDS
    )


def legal_export(export: TileExport) -> bool:
    """The rules on one export, said in another way than the rules say them."""
    letters = "".join("o" if parameter.access is not Access.IN else "i" for parameter in export.parameters)
    footprints = {parameter.footprint for parameter in export.parameters}
    names = [parameter.name for parameter in export.parameters]
    slots = [parameter for parameter in export.parameters if parameter.is_return]
    rest = [parameter for parameter in export.parameters if not parameter.is_return]
    lanes = 32 if export.sync is Sync.WARP else 1
    legal_sizes = [2**exponent for exponent in range(25)]
    sizes = legal_sizes[-1:] if export.tile_shape is None else [export.tile_shape]
    listed = [lanes * footprint * count for footprint in footprints if footprint > 0 for count in legal_sizes]
    return (
        re.fullmatch("i*o+i*", letters) is not None
        and len(footprints) == 1
        and sizes[0] in legal_sizes
        and any(
            lanes * footprint * count == sizes[0] for footprint in footprints if footprint > 0 for count in legal_sizes
        )
        and not (export.tile_shape is not None and export.tile_shapes)
        and {*export.tile_shapes} <= {*listed} & {*legal_sizes}
        and len({*export.tile_shapes}) == len(export.tile_shapes)
        and len(set(names)) == len(names)
        and all(map(legal_name, names))
        and slots in ([], list(export.parameters[-1:]))
        and all(
            (slot.name, slot.access, slot.footprint, slot.by_value) == (f"{export.function}_out", Access.OUT, 1, False)
            for slot in slots
        )
        and all(parameter.access is not Access.OUT and parameter.name != f"{export.function}_out" for parameter in rest)
        and not (export.tile_shape is None and "N" in names)
        and all(
            parameter.access is Access.IN and parameter.footprint == 1
            for parameter in export.parameters
            if parameter.by_value
        )
        and all(re.fullmatch(r"sm_\d\d\d?[af]?", name) for name in export.arch)
        and len(set(export.arch)) == len(export.arch)
        and (export.max_ulps is None or export.max_ulps in range(2**64))
        and "\a" not in export.doc
        and "\u202e" not in export.doc
    )


def legal_set(exports: ExportSet) -> bool:
    names = [export.name for export in exports.exports]
    symbols = [export.symbol for export in exports.exports]
    functions = [export.function for export in exports.exports]
    bases = [text for export in exports.parametric() for text in (export.name, export.symbol)]
    every = names + symbols + functions
    return (
        bool(names)
        and all(map(legal_name, [exports.library, *names, *symbols, *functions]))
        and not any(name.startswith("cuda_oxide_") for name in names + symbols)
        and max(Counter(names + symbols).values()) == 1
        and not set(symbols) & set(functions)
        and not any(re.fullmatch(re.escape(base) + "__N[0-9]+", name) for base in bases for name in every)
        and all(map(legal_export, exports.exports))
    )


@given(export_sets())
@quick
def test_the_legal_strategy_breaks_no_rule(exports: ExportSet) -> None:
    assert check(exports) == []
    assert legal_set(exports)


@given(nearly_legal_sets())
@settings(quick, max_examples=250)
def test_the_rules_agree_with_their_restatement(exports: ExportSet) -> None:
    assert (check(exports) == []) == legal_set(exports), check(exports)


@given(nearly_legal_sets())
@settings(quick, max_examples=150)
def test_a_single_fault_is_repaired_by_doing_what_its_hint_says(exports: ExportSet) -> None:
    document = unchecked(exports)
    problems = refused(document)
    if len(problems) == 1 and problems[0].rule not in PROSE:
        assert refused(after(document, problems[0])) == ()


def unchecked(exports: ExportSet) -> dict[str, Any]:
    """The description of a set that no rule has seen."""
    members = []
    for export in exports.exports:
        parameters = [record(parameter) for parameter in export.parameters]
        fields = {"name": export.name, "symbol": export.symbol, "function": export.function, "doc": export.doc}
        fields |= {"tile_shape": export.tile_shape, "sync": export.sync.value, "arch": list(export.arch)}
        fields |= {"tile_shapes": list(export.tile_shapes)} if export.tile_shapes else {}
        members.append({**fields, "parameters": parameters})
    return {"schema": 1, "library": exports.library, "exports": members}


def refused(document: dict[str, Any]) -> tuple[Problem, ...]:
    try:
        parse_description(json.dumps(document).encode(), "f.json")
    except ExportError as error:
        return error.problems
    return ()


@given(st.lists(broad_exports(), max_size=3), st.sampled_from(["example", "x){}; evil(", "\x1b"]))
@quick
def test_any_set_of_exports_is_judged_in_printable_words(members: list[TileExport], library: str) -> None:
    exports = ExportSet(library, tuple(members))
    problems = check(exports)
    assert (problems == []) == legal_set(exports)
    for problem in problems:
        assert problem.rule
        assert problem.hint
        assert (problem.what + problem.hint.replace("\n", "")).isprintable()


@given(export_sets())
@quick
def test_a_description_reads_back_as_the_same_value_and_the_same_bytes(exports: ExportSet) -> None:
    data = write_description(exports)
    assert parse_description(data, "f.json") == exports
    assert write_description(parse_description(data, "f.json")) == data
    assert write_description(replace(exports)) == data


@given(export_sets())
@quick
def test_a_legal_export_has_one_native_parameter_each_and_whole_invocations(exports: ExportSet) -> None:
    for export in exports.exports:
        assert [native.name for native in native_parameters(export)] == [item.name for item in export.parameters]
        if export.invocations is not None and export.tile_shape is not None:
            assert export.invocations * export.participants * export.footprint == export.tile_shape


@given(st.binary(max_size=200))
@quick
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ExportError, match=r"^f\.json"):
        parse_description(data, "f.json")


PIECES = [
    b"",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"null",
    b"-1",
    b"1e9",
    b"\\u0000",
    b"\xff",
    b"9" * 30,
    b'"name":1,',
    b"x){}; ",
]


@given(export_sets(max_size=2), st.data())
@settings(quick, max_examples=150)
def test_a_damaged_description_is_read_or_refused_and_never_raises_anything_else(
    exports: ExportSet, data: st.DataObject
) -> None:
    text = write_description(exports)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    read, refused = read_or_refused(text)
    assert check(read) == [] if read else refused.replace("\n", "").isprintable()


def read_or_refused(text: bytes) -> tuple[ExportSet | None, str]:
    try:
        return parse_description(text, "f.json"), ""
    except ExportError as error:
        return None, str(error)
