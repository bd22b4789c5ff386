"""The declaration that an attribute stands on: what kind of function, its name, parameters and result."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from tilewright.exports.model import Parameter
from tilewright.problem import Problem
from tilewright.sources.cuda.grammar import Fragment, parse
from tilewright.sources.cuda.lexer import SourceText, Token
from tilewright.sources.cuda.parameters import read_parameter, read_result
from tilewright.sources.tree import descendants, faults

SPACES = frozenset({"__device__", "__host__", "__global__"})
_SPECIFIERS = SPACES | {
    *("static", "extern", "inline", "__inline__", "__forceinline__", "__noinline__", "constexpr", "consteval"),
    *("__nv_pure__", "__launch_bounds__", "__maxnreg__", "__attribute__", "__align__"),
}
_RESTRICT = frozenset({"__restrict__", "__restrict"})
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration")


@dataclass
class Signature:
    """As much of a declaration as could be read. `attributes` are the grammar's nodes of `tile_export`."""

    fragment: Fragment
    attributes: list[Node] = field(default_factory=list)
    name: str = ""
    parameters: list[Parameter] = field(default_factory=list)
    arrays: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def read_signature(
    source: SourceText, prefix: tuple[Token, ...], tokens: tuple[Token, ...], macros: Mapping[str, Collection[str]]
) -> Signature:
    """Reads the declaration made of `tokens` (attribute first, up to the body's brace); `prefix` stands before it.

    `macros` are the object-like macros of the file and the words they stand for: one that stands for nothing but
    specifiers, such as `#define HD __host__ __device__`, counts as these.
    """
    specifiers = {name for name, words in macros.items() if _SPECIFIERS.issuperset(words)}
    attribute_end = _after_group(tokens, 0)
    head_end = _parameter_list(tokens, attribute_end)
    words = {token.text for token in (*prefix, *tokens[attribute_end:head_end]) if token.kind == "name"}
    spaces = {space for word in words for space in (word, *macros.get(word, ())) if space in SPACES}
    text = _without_specifiers(source, tokens, attribute_end, head_end, specifiers)
    signature = Signature(parse(source, tokens[0].start, text + "{}"))
    root = signature.fragment.root
    signature.attributes = [
        node for node in descendants(root) if node.type == "attribute" and _is_ours(signature.fragment, node)
    ]
    signature.problems += _declaration(signature, root)
    signature.problems += _space_problems(signature, spaces, source, tokens[0])
    return signature


def _is_ours(fragment: Fragment, node: Node) -> bool:
    return any(child.type == "identifier" and fragment.text(child) == "tile_export" for child in node.children)


def _declaration(signature: Signature, root: Node) -> Iterator[Problem]:
    fragment = signature.fragment
    functions = [child for child in root.named_children if child.type == "function_definition"]
    function = functions[0] if len(functions) == 1 and root.named_child_count == 1 + _comments(root) else None
    declarator = _function_declarator(function) if function else None
    broken = [node for node in faults([root]) if not _inside(node, "attribute")]
    named = declarator.child_by_field_name("declarator") if declarator else None
    if named is not None and not broken:
        signature.name = fragment.text(named)
    if function is None or declarator is None or named is None or broken or not function.child_by_field_name("type"):
        place = fragment.place(broken[0]) if broken else fragment.place(root)
        yield Problem(
            "cannot read the declaration of this tile export",
            place,
            hint="write the attribute first, then `__device__`, the type and the name: "
            "[[tile_export(tile_shape = 128)]] __device__ float relu(float x) {...}",
        )
        return
    if named.type != "identifier":
        yield Problem(
            f"`{signature.name}` is not a plain function name",
            fragment.place(named),
            hint="export a free function that calls it",
        )
        return
    yield from _parameters(signature, declarator)
    result = read_result(fragment, function, declarator, signature.name)
    if isinstance(result, Problem):
        yield result
    elif result is not None:
        signature.parameters.append(result)


def _parameters(signature: Signature, declarator: Node) -> Iterator[Problem]:
    fragment = signature.fragment
    listed = declarator.child_by_field_name("parameters")
    nodes = [child for child in listed.children if child.type in _PARAMETERS] if listed else []
    if [fragment.text(node) for node in nodes] == ["void"]:
        nodes = []
    for number, node in enumerate(nodes, 1):
        read = read_parameter(fragment, node, signature.name, number)
        if isinstance(read, Problem):
            yield read
        else:
            signature.parameters.append(read.parameter)
            signature.arrays |= {read.parameter.name} if read.is_array else set()
    ellipsis = next((child for child in listed.children if fragment.text(child) == "..."), None) if listed else None
    if ellipsis is not None:
        yield Problem(
            f"`{signature.name}` takes a variable number of arguments",
            fragment.place(ellipsis),
            hint="write every parameter out",
        )


def _space_problems(signature: Signature, spaces: set[str], source: SourceText, first: Token) -> Iterator[Problem]:
    """A tile kernel calls device code: `__device__`, with or without `__host__`, and no kernel."""
    who = f"`{signature.name}`" if signature.name else "this tile export"
    where = source.place(first.start)
    if "__global__" in spaces:
        yield Problem(
            f"{who} is a `__global__` kernel; a tile export is a function that a tile kernel calls",
            where,
            hint="write __device__ instead of __global__",
        )
    elif "__device__" not in spaces:
        told = "is a `__host__` function" if "__host__" in spaces else "is not marked `__device__`"
        yield Problem(f"{who} {told}", where, hint="write __device__ before the return type")


def _after_group(tokens: tuple[Token, ...], start: int) -> int:
    """The index after the bracket group that opens at `start`."""
    depth = 0
    for index in range(start, len(tokens)):
        if tokens[index].kind == "mark":
            depth += (tokens[index].text in "([{") - (tokens[index].text in ")]}")
        if depth == 0:
            return index + 1
    return len(tokens)


def _parameter_list(tokens: tuple[Token, ...], start: int) -> int:
    """The index of the `(` that opens the parameters, the end when there is none."""
    index = start
    while index < len(tokens):
        specified = tokens[index].text == "(" and tokens[index - 1].text in _SPECIFIERS
        if tokens[index].text == "[" or specified:
            index = _after_group(tokens, index)
        elif tokens[index].text == "(":
            return index
        else:
            index += 1
    return index


def _without_specifiers(source: SourceText, tokens: tuple[Token, ...], start: int, stop: int, macros: set[str]) -> str:
    """The declaration with everything blanked that says nothing about its type, so that the grammar cannot stumble."""
    first = tokens[0].start
    text = list(source.text[first : tokens[-1].end])
    for token in tokens:
        if token.text in _RESTRICT:
            text[token.start - first : token.end - first] = " " * len(token.text)
    index = start
    while index < stop:
        token = tokens[index]
        end = index + 1
        if token.text in _SPECIFIERS or token.text in macros:
            if token.text in _SPECIFIERS and end < stop and tokens[end].text in ("(",):
                end = _after_group(tokens, end)
            last = tokens[end - 1].end
            if token.text == "extern" and end < stop and tokens[end].kind == "string":
                last = tokens[end].end
            text[token.start - first : last - first] = " " * (last - token.start)
        index = end
    return "".join(text)


def _function_declarator(function: Node | None) -> Node | None:
    """The declarator that carries the parameter list: the innermost one around the name."""
    node = function.child_by_field_name("declarator") if function else None
    while node is not None and node.type != "function_declarator":
        node = node.child_by_field_name("declarator") or next(
            (child for child in node.named_children if "declarator" in child.type), None
        )
    return node


def _inside(node: Node, kind: str) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type == kind:
            return True
        parent = parent.parent
    return False


def _comments(root: Node) -> int:
    return sum(child.type == "comment" for child in root.named_children)
