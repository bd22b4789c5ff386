"""The head of an exported function: its name, parameters and result. Spec: Parameters and the ABI."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter
from tilewright.problem import Problem
from tilewright.sources.rust.attribute import integer_literal
from tilewright.sources.rust.grammar import COMMENTS, RustFile, plain_name
from tilewright.sources.rust.types import F16_HINT, F16_REASON, element_named, hint_for
from tilewright.sources.tree import faults

UNREADABLE = "unreadable-head"
_QUALIFIERS = {
    "async": "a tile kernel calls it and waits for nothing: write an ordinary function",
    "unsafe": "its caller is a tile kernel, which promises nothing: write a safe function around it",
    "extern": "the native implementation is added by the attribute: write an ordinary function",
    "default": "write an ordinary function",
    "gen": "write an ordinary function",
}


@dataclass
class Signature:
    """A function's head as far as it could be read, and the problems on the way."""

    name: str
    parameters: list[Parameter] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class _Type:
    element: ElementType
    access: Access = Access.IN
    footprint: int = 1
    by_value: bool = False


def read_signature(file: RustFile, function: Node, *, nightly_f16: bool) -> Signature:
    """Reads a `function_item`. `nightly_f16` admits `f16`."""
    name_node = function.child_by_field_name("name")
    signature = Signature(plain_name(file.words(name_node)) if name_node is not None else "")
    head = [child for child in function.children if child.type != "block"]
    if fault := next(faults(head), None):
        what = "cannot read the head of this tile export"
        signature.problems.append(file.problem(fault, what, rule=UNREADABLE))
        return signature
    signature.problems += _qualifiers(file, function)
    signature.problems += _generics(file, function)
    reader = _TypeReader(file, nightly_f16)
    parameters = function.child_by_field_name("parameters")
    for child in parameters.named_children if parameters is not None else ():
        if child.type not in COMMENTS:
            _read_parameter(child, reader, signature)
    result = function.child_by_field_name("return_type")
    if result is not None and result.type != "unit_type":
        element = reader.returned(result, signature.parameters)
        if element is not None:
            slot = Parameter(f"{signature.name}_out", element, Access.OUT, is_return=True, where=file.place(result))
            signature.parameters.append(slot)
    signature.problems += reader.problems
    return signature


def _qualifiers(file: RustFile, function: Node) -> Iterator[Problem]:
    modifiers = next((child for child in function.children if child.type == "function_modifiers"), None)
    for modifier in modifiers.children if modifiers is not None else ():
        word = file.words(modifier).split()[0]
        if word in _QUALIFIERS:
            yield file.problem(modifier, f"this tile export is an `{word}` function", _QUALIFIERS[word])


def _generics(file: RustFile, function: Node) -> Iterator[Problem]:
    generics = function.child_by_field_name("type_parameters")
    for one in generics.named_children if generics is not None else ():
        if one.type == "lifetime_parameter":
            if one.child_by_field_name("bounds") is not None:
                yield file.problem(one, "a lifetime of this tile export has bounds", "leave the lifetimes out")
        elif one.type == "const_parameter":
            hint = "write the number: one implementation is shipped for each export"
            yield file.problem(one, f"this tile export has the constant parameter `{file.words(one)}`", hint)
        elif one.type not in (*COMMENTS, "attribute_item"):
            hint = "export a function for each type you need, and call the generic one from there"
            yield file.problem(one, f"this tile export is generic over `{file.words(one)}`", hint)
    clause = next((child for child in function.children if child.type == "where_clause"), None)
    if clause is not None:
        yield file.problem(clause, "this tile export has a `where` clause", "leave it out: the types are known")


def _read_parameter(node: Node, reader: _TypeReader, signature: Signature) -> None:
    file = reader.file
    if node.type == "attribute_item":
        what = "a parameter of this tile export has an attribute"
        reader.problems.append(
            file.problem(node, what, "leave it out: the description is made before conditions are evaluated")
        )
    elif node.type == "self_parameter":
        hint = "export a free function that calls the method"
        reader.problems.append(file.problem(node, "this tile export takes `self`", hint))
    elif node.type != "parameter":
        what = f"`{file.words(node)}` is not a parameter of the form name: type"
        reader.problems.append(file.problem(node, what, "x: f32"))
    else:
        pattern, written = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        if pattern is None or written is None:
            return
        mutable = any(child.type == "mutable_specifier" for child in node.children)
        if pattern.type != "identifier" or mutable:
            reader.problems.append(_pattern(file, node, pattern, mutable))
            return
        name = plain_name(file.words(pattern))
        kind = reader.parameter(name, written)
        if kind is not None:
            where = file.place(node)
            passed = Parameter(name, kind.element, kind.access, kind.footprint, kind.by_value, where=where)
            signature.parameters.append(passed)


def _pattern(file: RustFile, node: Node, pattern: Node, mutable: bool) -> Problem:
    text = file.words(pattern)
    if mutable and pattern.type == "identifier":
        hint = f"write `{text}`, and `let mut {text} = {text};` in the body"
        return file.problem(node, f"the parameter `mut {text}` is a pattern, not a plain name", hint)
    if pattern.type == "_":
        return file.problem(pattern, "a parameter of this tile export has no name", "give it one")
    inner = next((child for child in pattern.named_children if child.type == "identifier"), None)
    hint = (
        f"write a plain name such as `{file.words(inner) if inner is not None else 'x'}`, and take it apart in the body"
    )
    return file.problem(pattern, f"the parameter `{text}` is a pattern, not a plain name", hint)


@dataclass
class _TypeReader:
    file: RustFile
    nightly_f16: bool
    problems: list[Problem] = field(default_factory=list)

    def parameter(self, name: str, node: Node) -> _Type | None:
        """`T`, `&T`, `&[T; F]`, `&mut T`, `&mut [T; F]`; anything else is a problem."""
        if node.type == "reference_type":
            return self.reference(name, node)
        if node.type == "array_type":
            length = node.child_by_field_name("length")
            what = f"the array `{self.file.words(node)}` is passed by value"
            written = self.file.words(node) if length is not None else f"[{self.element_words(node)}; 4]"
            self.refuse(node, what, f"write `{name}: &{written}`")
            return None
        if node.type == "pointer_type":
            mutable = "mut " if any(child.type == "mutable_specifier" for child in node.children) else ""
            pointee = node.child_by_field_name("type")
            hint = f"write `{name}: &{mutable}{self.file.words(pointee) if pointee is not None else 'f32'}`"
            self.refuse(node, f"`{self.file.words(node)}` is a raw pointer", hint)
            return None
        element = self.element(node)
        return _Type(element, by_value=True) if element else None

    def reference(self, name: str, node: Node) -> _Type | None:
        inner = node.child_by_field_name("type")
        mutable = any(child.type == "mutable_specifier" for child in node.children)
        access = Access.INOUT if mutable else Access.IN
        lifetime = next((child for child in node.children if child.type == "lifetime"), None)
        if lifetime is not None and self.file.words(lifetime) == "'static":
            hint = f"leave the lifetime out: `{name}` lives as long as the call"
            self.refuse(lifetime, "a parameter of a tile export is never `'static`", hint)
            return None
        if inner is None:
            return None
        if inner.type != "array_type":
            element = self.element(inner)
            return _Type(element, access) if element else None
        length = inner.child_by_field_name("length")
        if length is None:
            shape = f"&{'mut ' if mutable else ''}[{self.element_words(inner)}; 4]"
            self.refuse(node, f"`{self.file.words(node)}` is a slice, whose length is not known", f"write `{shape}`")
            return None
        inside = inner.child_by_field_name("element")
        element = self.element(inside) if inside is not None else None
        count = integer_literal(self.file.words(length).removesuffix("usize").rstrip("_"))
        if count is None:
            hint = "write the number itself: the description is made before constants are known"
            self.refuse(length, f"the length `{self.file.words(length)}` is not an integer literal", hint)
            return None
        return _Type(element, access, count) if element else None

    def returned(self, node: Node, parameters: list[Parameter]) -> ElementType | None:
        """The element of `-> T`."""
        if node.type in ("reference_type", "array_type", "pointer_type", "tuple_type"):
            used = {parameter.name for parameter in parameters}
            name = next(candidate for candidate in ("out", "result", "out_2", "result_2") if candidate not in used)
            shape = "[f32; 4]" if node.type == "tuple_type" else self.file.words(node).lstrip("&*").removeprefix("mut ")
            hint = f"return nothing and write the results through `{name}: &mut {shape}`"
            self.refuse(node, f"`{self.file.words(node)}` is returned, and a tile export returns one element", hint)
            return None
        if node.type == "never_type" or self.file.words(node) == "!":
            self.refuse(node, "this tile export never returns", "return an element")
            return None
        return self.element(node)

    def element(self, node: Node) -> ElementType | None:
        """The element type a node names, or None and a problem."""
        words = self.file.words(node)
        element = element_named(words)
        if element is ElementType.F16 and not self.nightly_f16:
            self.refuse(node, F16_REASON, F16_HINT)
            return None
        if element is None:
            self.refuse(node, f"`{words}` is not an element type", self.hint(node, words))
        return element

    def hint(self, node: Node, words: str) -> str:
        if node.type == "tuple_type":
            return "write one parameter for each member, or an array `&[f32; 4]`"
        if node.type == "type_identifier" and words and words[0].isupper():
            choices = hint_for("").removeprefix("the element types are ")
            return f"write the type out, no name for it: the description is made from the text; one of {choices}"
        if "::" in words and element_named(words.rpartition("::")[2]):
            return f"write {words.rpartition('::')[2]}"
        return hint_for(words)

    def element_words(self, array: Node) -> str:
        inside = array.child_by_field_name("element")
        return self.file.words(inside) if inside is not None else "f32"

    def refuse(self, node: Node, what: str, hint: str) -> None:
        self.problems.append(self.file.problem(node, what, hint))
