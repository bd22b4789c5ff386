"""Parameters and the return value of an exported function. Spec: Parameters and the ABI.

`T` is an `in` scalar by value, `const T&` and `const T(&)[F]` are `in` behind a pointer, `T&` and `T(&)[F]` are
`inout`, the return value is `out` in the trailing slot `<fn>_out`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter
from tilewright.exports.spelling import shown
from tilewright.problem import Problem
from tilewright.sources.cuda.attribute import integer_literal
from tilewright.sources.cuda.grammar import Fragment
from tilewright.sources.cuda.types import element_named, hint_for

_FORMS = "the forms are T, const T&, const T (&)[F], T& and T (&)[F]"
_QUALIFIERS = frozenset({"const", "volatile"})


@dataclass(frozen=True)
class Form:
    """A declared type taken apart: `float const (&x)[4]` is const, words `float`, marks `&[`, extent node `4`."""

    words: str
    constant: bool
    qualifiers: tuple[str, ...]
    marks: str
    name: str
    name_node: Node | None
    extents: tuple[Node | None, ...]


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter of the description, and whether C++ has it as a reference to an array."""

    parameter: Parameter
    is_array: bool


def form_of(fragment: Fragment, declaration: Node) -> Form:
    """Takes a parameter declaration (or the type of a return value) apart, outermost mark last."""
    qualifiers = [fragment.text(child) for child in declaration.children if child.type == "type_qualifier"]
    words, within = _words(fragment, declaration.child_by_field_name("type"))
    qualifiers += within
    node = declaration.child_by_field_name("declarator")
    marks, extents, name_node = "", [], None
    while node is not None:
        inner = node.child_by_field_name("declarator")
        if node.type in ("pointer_declarator", "abstract_pointer_declarator"):
            marks += "*"
        elif node.type in ("reference_declarator", "abstract_reference_declarator"):
            marks += fragment.text(node.children[0])
        elif node.type in ("array_declarator", "abstract_array_declarator"):
            marks += "["
            extents.append(node.child_by_field_name("size"))
        elif node.type in ("function_declarator", "abstract_function_declarator"):
            marks += "("
        elif node.type == "variadic_declarator":
            marks += "."
        elif node.type == "identifier":
            name_node = node
        if inner is None:
            inner = next(
                (child for child in node.named_children if "declarator" in child.type or child.type == "identifier"),
                None,
            )
        qualifiers += [
            fragment.text(child) for child in node.children if child.type == "type_qualifier" and "*" in marks
        ]
        node = inner
    name = fragment.text(name_node) if name_node else ""
    others = tuple(qualifier for qualifier in qualifiers if qualifier != "const")
    return Form(words, "const" in qualifiers, others, marks, name, name_node, tuple(extents))


def _words(fragment: Fragment, node: Node | None) -> tuple[str, list[str]]:
    """The name of a type, and the qualifiers the grammar leaves inside of it: `unsigned long const` is both."""
    words = fragment.text(node).split(" ") if node else []
    return " ".join(word for word in words if word not in _QUALIFIERS), [word for word in words if word in _QUALIFIERS]


def read_parameter(fragment: Fragment, node: Node, function: str, number: int) -> Declared | Problem:
    """One parameter, or the one thing that is wrong with it."""
    form = form_of(fragment, node)
    where = fragment.place(form.name_node or node)
    who = f"`{function}`: parameter `{form.name}`" if form.name else f"`{function}`: parameter {number}"
    text = fragment.text(node)
    if node.type == "variadic_parameter_declaration" or "." in form.marks:
        return Problem(f"{who} is a parameter pack", where, hint="write one parameter for each value")
    if node.type == "optional_parameter_declaration":
        hint = f"write `{text.split('=')[0].strip()}`: a tile kernel passes every argument"
        return Problem(f"{who} has a default argument", where, hint=hint)
    if not form.name:
        return Problem(f"{who} has no name", where, hint=f"write `{text} x`: the name is part of the description")
    element = element_named(form.words)
    shape = _shape(fragment, form, who, element)
    if isinstance(shape, Problem):
        return Problem(shape.what, where, hint=shape.hint)
    if element is None:
        return Problem(
            f"{who} has the type {shown(form.words)}, which is no element type", where, hint=hint_for(form.words)
        )
    access = Access.INOUT if "&" in form.marks and not form.constant else Access.IN
    parameter = Parameter(form.name, element, access, shape, by_value=not form.marks, where=where)
    return Declared(parameter, "[" in form.marks)


def _shape(fragment: Fragment, form: Form, who: str, element: ElementType | None) -> int | Problem:
    """The footprint of a permitted form."""
    type_name = form.words if element else "float"
    if form.qualifiers:
        return Problem(f"{who} is `{form.qualifiers[0]}`", hint=f"leave `{form.qualifiers[0]}` out; {_FORMS}")
    if form.marks in ("", "&"):
        return 1
    if form.marks in ("[&", "&["):
        extent = form.extents[0]
        footprint = integer_literal(fragment.text(extent)) if extent else None
        if footprint is None:
            written = shown(fragment.text(extent)) if extent else "nothing"
            return Problem(
                f"{who} has {written} as its number of elements, which is no integer literal",
                hint=f"write the number itself: {_array(form, type_name, '4')}",
            )
        return footprint
    if form.marks == "[":
        count = fragment.text(form.extents[0]) if form.extents[0] else "4"
        return Problem(
            f"{who} is an array without a reference, which C++ makes a pointer",
            hint=f"write {_array(form, type_name, count)}",
        )
    if "(" in form.marks:
        return Problem(f"{who} is a function", hint=_FORMS)
    if form.marks == "*":
        one = f"`const {type_name}& {form.name}`" if form.constant else f"`{type_name}& {form.name}`"
        return Problem(
            f"{who} is a pointer",
            hint=f"write {one} for one element, {_array(form, type_name, '4')} for four",
        )
    return Problem(f"{who} has a form that no tile argument has", hint=_FORMS)


def _array(form: Form, type_name: str, extent: str) -> str:
    const = "const " if form.constant else ""
    return f"`{const}{type_name} (&{form.name})[{extent}]`"


def read_result(fragment: Fragment, function_node: Node, declarator: Node, function: str) -> Parameter | Problem | None:
    """The return slot `<fn>_out`; None for `void`."""
    holder, form = _returned(fragment, function_node, declarator)
    where = fragment.place(holder.child_by_field_name("type") or holder)
    if form.marks:
        kind = "pointer" if "*" in form.marks else "reference"
        hint = f"return {form.words or 'float'} by value, or void"
        return Problem(f"`{function}` returns a {kind}", where, hint=hint)
    if form.qualifiers or form.constant:
        qualifier = "const" if form.constant else form.qualifiers[0]
        return Problem(f"`{function}` returns a `{qualifier}` value", where, hint=f"write {form.words or 'float'}")
    if form.words == "void":
        return None
    element = element_named(form.words)
    if element is None:
        what = f"`{function}` returns the type {shown(form.words)}, which is no element type"
        return Problem(what, where, hint=hint_for(form.words))
    return Parameter(f"{function}_out", element, Access.OUT, is_return=True, where=where)


def _returned(fragment: Fragment, function_node: Node, declarator: Node) -> tuple[Node, Form]:
    """The type that is returned, with the node that holds it: the one after `->`, else the one in front."""
    trailing = next((child for child in declarator.children if child.type == "trailing_return_type"), None)
    described = trailing.named_children[0] if trailing and trailing.named_children else None
    if described is not None:
        return described, form_of(fragment, described)
    words, qualifiers = _words(fragment, function_node.child_by_field_name("type"))
    qualifiers += [fragment.text(child) for child in function_node.children if child.type == "type_qualifier"]
    marks, node = "", function_node.child_by_field_name("declarator")
    while node is not None and node != declarator:
        marks += fragment.text(node.children[0])
        node = next((child for child in node.named_children if "declarator" in child.type), None)
    others = tuple(qualifier for qualifier in qualifiers if qualifier != "const")
    return function_node, Form(words, "const" in qualifiers, others, marks, "", None, ())
