"""Hypothesis strategies for the tests of every room: sets of exports that keep all rules, and sets that may not."""

from __future__ import annotations

import string
from dataclasses import fields, replace

from hypothesis import strategies as st

from tilewright.exports.access_rules import is_unsafe_in_comments
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport
from tilewright.exports.naming import is_compiler_name, is_identifier, keyword_languages

FOOTPRINTS = (1, 2, 4, 8, 16)
ARCHITECTURES = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_120", "sm_120a", "sm_120f")
LARGEST_EXPONENT = 24

_letters = string.ascii_letters + "_"


def identifiers() -> st.SearchStrategy[str]:
    """Names that every language takes, short, and never in the form of a default symbol or of one size of it."""
    parts = st.builds(str.__add__, st.sampled_from(_letters), st.text(_letters + string.digits, max_size=6))
    return parts.filter(
        lambda name: (
            is_identifier(name)
            and not is_compiler_name(name)
            and not keyword_languages(name)
            and "__" not in name
            and not name.endswith(("_impl", "_fn"))
        )
    )


def docs() -> st.SearchStrategy[str]:
    """Doc texts, with newlines, tabs, quotes, comment marks and letters of any script."""
    characters = st.characters(exclude_categories=["Cs"]).filter(lambda character: not is_unsafe_in_comments(character))
    return st.one_of(
        st.just(""), st.sampled_from(['*/ // \\ "quoted" \\', "a\n\tb\n"]), st.text(characters, max_size=20)
    )


@st.composite
def exports(draw: st.DrawFn, name: str, symbol: str, function: str) -> TileExport:
    """One export that keeps every rule: sized or not, `none` or warp, every element type, access and footprint."""
    sync = draw(st.sampled_from(Sync))
    footprint = draw(st.sampled_from(FOOTPRINTS))
    least = footprint * (32 if sync is Sync.WARP else 1)
    exponents = st.integers(least.bit_length() - 1, LARGEST_EXPONENT)
    tile_shape = draw(st.one_of(st.none(), exponents.map(lambda exponent: 2**exponent)))

    returns = footprint == 1 and draw(st.booleans())
    inputs = st.lists(st.just(Access.IN), max_size=2)
    outputs = st.lists(st.just(Access.INOUT), min_size=0 if returns else 1, max_size=2)
    accesses = draw(inputs) + draw(outputs) + ([] if returns else draw(inputs))

    free = identifiers().filter(lambda text: text != f"{function}_out" and (text != "N" or tile_shape is not None))
    names = draw(st.lists(free, min_size=len(accesses), max_size=len(accesses), unique=True))
    parameters = [
        Parameter(
            text,
            draw(st.sampled_from(ElementType)),
            access,
            footprint,
            by_value=access is Access.IN and footprint == 1 and draw(st.booleans()),
        )
        for text, access in zip(names, accesses, strict=True)
    ]
    if returns:
        parameters.append(
            Parameter(f"{function}_out", draw(st.sampled_from(ElementType)), Access.OUT, 1, is_return=True)
        )
    arch = draw(st.lists(st.sampled_from(ARCHITECTURES), max_size=3, unique=True))
    bound = draw(st.none() | st.integers(0, 2**40))
    listed = draw(st.lists(exponents, max_size=3, unique=True)) if tile_shape is None else []
    sizes = tuple(2**exponent for exponent in listed)
    return TileExport(
        name, symbol, function, tuple(parameters), tile_shape, sync, tuple(arch), draw(docs()), bound, sizes
    )


@st.composite
def export_sets(draw: st.DrawFn, max_size: int = 4) -> ExportSet:
    """A library that keeps every rule, of 1 to `max_size` exports."""
    size = draw(st.integers(1, max_size))
    bases = draw(st.lists(identifiers(), min_size=2 * size + 1, max_size=2 * size + 1, unique=True))
    library = bases.pop()
    result = []
    for name, other in zip(bases[:size], bases[size:], strict=True):
        symbol = draw(st.sampled_from([f"{name}_impl", other]))
        function = draw(st.sampled_from([name, f"{name}_fn"]))
        result.append(draw(exports(name, symbol, function)))
    return ExportSet(library, tuple(result))


def _broken_names() -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            "f",
            "g",
            "g_impl",
            "f_out",
            "N",
            "x",
            "_",
            "",
            "x){}; evil(",
            "int",
            "fn",
            "__f",
            "cuda_oxide_f",
            "f__N8",
            "ä",
        ]
    )


@st.composite
def broad_exports(draw: st.DrawFn) -> TileExport:
    """Any export, legal or not, from small pools of names and sizes, so that every rule is met and broken."""
    parameters = st.builds(
        Parameter,
        _broken_names(),
        st.sampled_from(ElementType),
        st.sampled_from(Access),
        st.sampled_from((-1, 0, 1, 1, 2, 3, 4, 2**24, 2**25)),
        st.booleans(),
        st.booleans(),
    )
    return draw(
        st.builds(
            TileExport,
            _broken_names(),
            _broken_names(),
            _broken_names(),
            st.lists(parameters, max_size=4).map(tuple),
            st.sampled_from((None, -8, 0, 1, 2, 32, 64, 96, 128, 2**24, 2**24 + 1, 2**25)),
            st.sampled_from(Sync),
            st.lists(st.sampled_from(("sm_90", "sm_120a", "sm_1", "SM_120", "")), max_size=2).map(tuple),
            st.sampled_from(("", "text\n", "bell\a", "\u202e")),
            st.sampled_from((None, -1, 0, 4)),
            st.lists(st.sampled_from((-8, 0, 1, 32, 64, 96, 2**24 + 1, 2**25)), max_size=3).map(tuple),
        )
    )


@st.composite
def nearly_legal_sets(draw: st.DrawFn) -> ExportSet:
    """A legal set with one or two fields of an export, a parameter or the library taken from an arbitrary one."""
    good = draw(export_sets(max_size=2))
    wild = draw(broad_exports())
    members = list(good.exports)
    library = good.library
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.integers(0, len(members) - 1))
        members[at] = _with_one_field_of(draw, members[at], wild)
    if draw(st.integers(0, 9)) == 0:
        library = wild.name
    return ExportSet(library, tuple(members))


def _with_one_field_of(draw: st.DrawFn, export: TileExport, wild: TileExport) -> TileExport:
    if wild.parameters and draw(st.booleans()):
        at = draw(st.integers(0, len(export.parameters) - 1))
        donor = draw(st.sampled_from(wild.parameters))
        field = draw(st.sampled_from([item.name for item in fields(Parameter) if item.name != "where"]))
        changed = replace(export.parameters[at], **{field: getattr(donor, field)})
        return replace(export, parameters=(*export.parameters[:at], changed, *export.parameters[at + 1 :]))
    field = draw(st.sampled_from([item.name for item in fields(TileExport) if item.name != "where"]))
    return replace(export, **{field: getattr(wild, field)})
