"""From a CUDA C++ file to its exports and its translation unit. Spec: Writing an export."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tilewright.exports.model import ExportSet
from tilewright.exports.rules import check
from tilewright.problem import Problem
from tilewright.sources.cuda.attribute import EXAMPLE, read_attribute
from tilewright.sources.cuda.bodies import Chain, body_problems, offenders
from tilewright.sources.cuda.directives import defined_words
from tilewright.sources.cuda.documentation import doc_before
from tilewright.sources.cuda.lexer import SourceText
from tilewright.sources.cuda.placement import (
    attribute_start,
    hidden_in_macros,
    in_header,
    misspelt,
    not_an_attribute,
    placement,
)
from tilewright.sources.cuda.signature import read_signature
from tilewright.sources.cuda.structure import Occurrence, Structure, macros, structure_of
from tilewright.sources.cuda.wrappers import WrittenFunction, device_text
from tilewright.sources.source import SourceError


@dataclass
class _Found:
    functions: list[WrittenFunction] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def read_cuda(
    source: SourceText, library: str, headers: Collection[SourceText] = (), problems: Collection[Problem] = ()
) -> tuple[ExportSet, str]:
    """The exports of a file and the text of its translation unit; SourceError with every problem of the file.

    `headers` are the user's headers that the file includes: an export in one of them is refused.  `problems` were
    found on the way here.
    """
    unreadable = list(source.lexical_problems())
    structure = structure_of(source)
    defined = _macro_words(structure, headers)
    found = _Found([], [*problems, *unreadable])
    if not unreadable:
        known = offenders(structure)
        for occurrence in structure.occurrences:
            _read_export(structure, occurrence, defined, known, found)
        found.problems += [*hidden_in_macros(source, structure), *misspelt(structure)]
    for header in headers:
        found.problems += in_header(header)
    exports = ExportSet(library, tuple(function.export for function in found.functions))
    if not found.problems and not exports.exports:
        found.problems.append(_no_export(source))
    if exports.exports:
        found.problems += check(exports, functions=structure.declared)
    if found.problems:
        raise SourceError(found.problems)
    return exports, device_text(source.text, source.file, library, found.functions, _macro_names(structure, headers))


def _read_export(
    structure: Structure,
    occurrence: Occurrence,
    defined: Mapping[str, Collection[str]],
    known: Mapping[str, Chain],
    found: _Found,
) -> None:
    """Reads one export, or says everything that is wrong with it."""
    tokens, source = structure.tokens, structure.source
    token = tokens[occurrence.index]
    where = source.place(token.start)
    opening = attribute_start(structure, occurrence)
    if opening is None:
        found.problems.append(not_an_attribute(structure, occurrence))
        return
    function = structure.function_at.get(occurrence.statement)
    prefix = tokens[occurrence.statement : opening]
    misplaced = [*placement(structure, occurrence, prefix, function)]
    if misplaced or function is None:
        found.problems += misplaced
        return
    signature = read_signature(source, prefix, tokens[opening : function.opening], defined)
    problems = [*signature.problems]
    reading = read_attribute(signature.fragment, signature.attributes[0]) if signature.attributes else None
    problems += reading.problems if reading else []
    name = signature.name
    problems += body_problems(
        structure, function, name or "this tile export", {parameter.name for parameter in signature.parameters}, known
    )
    found.problems += problems
    if signature.problems or reading is None:
        return
    export = reading.attribute().export_of(
        name, signature.parameters, doc=doc_before(source, tokens[occurrence.statement]), where=where
    )
    scope = tuple(part for scope in occurrence.scopes for part in scope.names)
    found.functions.append(WrittenFunction(export, scope, frozenset(signature.arrays)))


def _no_export(source: SourceText) -> Problem:
    what = "the file is empty" if not source.text.strip() else "the file has no tile export"
    return Problem(what, source.place(0), hint=f"put {EXAMPLE} in front of a __device__ function")


def _macro_names(structure: Structure, headers: Collection[SourceText]) -> set[str]:
    own = {macro.name for macro in macros(structure.directives)}
    return own | {name for header in headers for name, _ in defined_words(header.text)}


def _macro_words(structure: Structure, headers: Collection[SourceText]) -> dict[str, frozenset[str]]:
    """The words each macro without arguments stands for, those of all its definitions, macros among them replaced."""
    direct: dict[str, set[str]] = {}
    for macro in macros(structure.directives):
        if not macro.called:
            direct.setdefault(macro.name, set()).update(part.text for part in macro.body)
    for name, words in (row for header in headers for row in defined_words(header.text)):
        if words is not None:
            direct.setdefault(name, set()).update(words)
    return {name: _expanded(words, direct) for name, words in direct.items()}


def _expanded(words: set[str], direct: Mapping[str, set[str]]) -> frozenset[str]:
    plain: set[str] = set()
    seen: set[str] = set()
    waiting = list(words)
    while waiting:
        word = waiting.pop()
        if word in seen:
            continue
        seen.add(word)
        if word in direct:
            waiting += direct[word]
        else:
            plain.add(word)
    return frozenset(plain)
