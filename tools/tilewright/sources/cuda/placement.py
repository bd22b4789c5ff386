"""Where `tile_export` stands: as an attribute of a plain function, or somewhere no export can be made of it.

The compiler ignores attributes that it does not know, so whatever is not read here is refused, never passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from tilewright.problem import Problem
from tilewright.sources.cuda.attribute import EXAMPLE
from tilewright.sources.cuda.lexer import SourceText, Token
from tilewright.sources.cuda.structure import ATTRIBUTE, Function, Occurrence, Structure

_SIMILAR = 0.8


def attribute_start(structure: Structure, occurrence: Occurrence) -> int | None:
    """The index of the first `[` when the name stands in `[[...]]` as an attribute of its own."""
    brackets, tokens = occurrence.brackets, structure.tokens
    if len(brackets) < 2 or brackets[-1] != brackets[-2] + 1:
        return None
    if tokens[brackets[-1]].text != "[" or tokens[brackets[-2]].text != "[":
        return None
    before = tokens[occurrence.index - 1].text
    return brackets[-2] if before in ("[", ",") else None


def placement(
    structure: Structure, occurrence: Occurrence, prefix: tuple[Token, ...], function: Function | None
) -> Iterator[Problem]:
    """Faults of where the attribute stands; with one of them the declaration is not read."""
    source, tokens = structure.source, structure.tokens
    where = source.place(tokens[occurrence.index].start)
    kinds = [scope.kind for scope in occurrence.scopes]
    words = [token.text for token in prefix]
    if occurrence.conditionals:
        line = source.place(tokens[occurrence.conditionals[-1]].start).line
        yield Problem(
            f"this tile export stands inside the `#{tokens[occurrence.conditionals[-1]].directive}` of line {line}",
            where,
            hint="move the function out of the block and put the condition into its body: "
            "the description is made before the preprocessor runs",
        )
    elif "class" in kinds:
        yield Problem(
            "this tile export is a member of a class", where, hint="export a free function that calls the member"
        )
    elif "other" in kinds:
        yield Problem("this tile export stands inside a function", where, hint="move it out, to a namespace")
    elif "template" in words:
        yield Problem(
            "this tile export is a template",
            where,
            hint="export a function for each type you need, and call the template from there",
        )
    elif not _closed(tokens, occurrence):
        yield Problem("the brackets of this attribute do not match", where, hint=f"for example {EXAMPLE}")
    elif any(
        other.statement == occurrence.statement and other.index > occurrence.index for other in structure.occurrences
    ):
        yield Problem("tile_export is given twice for one function", where, hint="keep one of the two")
    elif function is None:
        yield Problem(
            "tile_export stands on something that is no function with a body",
            where,
            hint="put the attribute on the definition, the declaration that is followed by {...}",
        )
    elif line := _split_by(structure, function):
        yield Problem(
            f"a preprocessor line cuts this tile export in two (line {line})",
            where,
            hint="keep conditions inside the body, each `#if` together with its `#endif`",
        )


def _closed(tokens: tuple[Token, ...], occurrence: Occurrence) -> bool:
    """Whether every bracket from the attribute's `[[` on is closed by its like."""
    pairs = {")": "(", "]": "[", "}": "{"}
    stack = ["[", "["]
    for token in tokens[occurrence.index :]:
        if token.kind == "mark" and token.text in pairs:
            if stack.pop() != pairs[token.text]:
                return False
            if not stack:
                return True
        elif token.kind == "mark" and token.text in pairs.values():
            stack.append(token.text)
    return False


def _split_by(structure: Structure, function: Function) -> int:
    """The line of a directive inside the declaration, or of a conditional that the body does not hold whole; or 0."""
    head = structure.tokens[function.head : function.opening]
    stray = next((token for token in head if token.kind == "directive"), None)
    if stray is None and (function.closing is None or function.closing_conditionals != function.conditionals):
        conditional = ("if", "ifdef", "ifndef", "elif", "else", "endif")
        stray = next((token for token in structure.body(function) if token.directive in conditional), None)
    return structure.source.place(stray.start).line if stray else 0


def not_an_attribute(structure: Structure, occurrence: Occurrence) -> Problem:
    """What to say of the name outside of `[[...]]`, or with a namespace in front."""
    tokens = structure.tokens
    token = tokens[occurrence.index]
    before = tokens[occurrence.index - 1].text if occurrence.index else ""
    if before in ("::", ":"):
        return Problem("tile_export has no prefix", structure.source.place(token.start), hint=f"write {EXAMPLE}")
    return Problem(
        "tile_export stands outside of an attribute, so no export can be made of it",
        structure.source.place(token.start),
        hint=f"write the attribute out in front of the function: {EXAMPLE} __device__ ...",
    )


def hidden_in_macros(source: SourceText, structure: Structure) -> Iterator[Problem]:
    """`#define EXPORT [[tile_export(...)]]`: the description is made before the preprocessor runs."""
    names = [token for token in structure.tokens if token.kind == "name"]
    halves = [left for left, right in pairwise(names) if left.text + right.text == ATTRIBUTE]
    defines = [token for token in structure.directives if token.directive in ("define", "undef")]
    words = {token: [part.text for part in token.inner] for token in defines}
    for token in [*halves, *(token for token in defines if ATTRIBUTE in words[token] or _pasted(words[token]))]:
        yield Problem(
            "tile_export is hidden in a macro",
            source.place(token.start),
            hint=f"write the attribute out at each function: {EXAMPLE}",
        )


def _pasted(words: list[str]) -> bool:
    """Whether `##` glues the attribute's name: `tile_##what`, `a##_export`."""
    parts = [
        other
        for at, word in enumerate(words)
        if word == "##"
        for other in (*words[at - 1 : at], *words[at + 1 : at + 2])
    ]
    return any(len(part) > 3 and (ATTRIBUTE.startswith(part) or ATTRIBUTE.endswith(part)) for part in parts)


def misspelt(structure: Structure) -> Iterator[Problem]:
    """Attributes that look like tile_export: the compiler ignores attributes that it does not know."""
    for token in _attribute_names(structure.tokens):
        alike = SequenceMatcher(None, token.text.lower(), ATTRIBUTE).ratio() >= _SIMILAR
        if token.text != ATTRIBUTE and alike:
            where = structure.source.place(token.start)
            yield Problem(f"there is no attribute `{token.text}`", where, hint=f"did you mean `{ATTRIBUTE}`?")


def _attribute_names(tokens: tuple[Token, ...]) -> Iterator[Token]:
    """The names of all attributes: `a` and `b` of `[[a, b(1, 2)]]`."""
    depth = 0
    for before, token in pairwise(tokens):
        if depth == 0:
            depth = 2 if before.text == token.text == "[" else 0
        elif token.kind == "mark":
            depth += (token.text in "([{") - (token.text in ")]}")
        elif token.kind == "name" and depth == 2 and before.text in ("[", ","):
            yield token


def in_header(header: SourceText) -> Iterator[Problem]:
    """Every `tile_export` of a header, in code or in a macro."""
    if ATTRIBUTE not in header.text:
        return
    for token in header.tokens:
        if token.text == ATTRIBUTE or any(part.text == ATTRIBUTE for part in token.inner):
            yield Problem(
                "tile_export stands in a header",
                header.place(token.start),
                hint="export from the .cu file: a function there can call the one in the header",
            )
