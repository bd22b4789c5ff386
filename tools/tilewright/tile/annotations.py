"""How a kernel declares its parameters: `x: tile.In[tile.f32, 2]`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from tilewright.problem import Place
from tilewright.tile.errors import fail
from tilewright.tile.views import Access
from tilewright.tileir.types import Element


@dataclass(frozen=True)
class ParameterType:
    """Access, element type and rank of a view parameter."""

    access: Access
    element: Element
    rank: int


class Declaration:
    """`tile.In`, `tile.Out`, `tile.InOut`: subscripted with element type and rank."""

    def __init__(self, access: Access) -> None:
        self.access = access

    def __getitem__(self, item: tuple[Element, int]) -> ParameterType:
        element, rank = item if isinstance(item, tuple) and len(item) == 2 else (None, None)
        if not isinstance(element, Element) or not isinstance(rank, int) or rank < 0:
            word = self.access.value
            fail(
                f"tile.{word} takes an element type and a rank, not {item!r}",
                rule="parameter-type",
                hint=f"tile.{word}[tile.f32, 2]",
            )
        return ParameterType(self.access, element, rank)


In = Declaration(Access.IN)
Out = Declaration(Access.OUT)
InOut = Declaration(Access.INOUT)

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameters_of(function: Callable[..., None]) -> dict[str, ParameterType]:
    """Name and type of every parameter, in signature order. `Annotated[View, In[f32, 2]]` declares as well."""
    code = function.__code__
    where = Place(code.co_filename, code.co_firstlineno)
    try:
        local_names = dict(inspect.getclosurevars(function).nonlocals)
        signature = inspect.signature(function, eval_str=True, locals=local_names)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        fail(f"`{function.__name__}`: an annotation cannot be read: {error}", rule="parameter-type", where=where)
    found: dict[str, ParameterType] = {}
    for parameter in signature.parameters.values():
        if parameter.kind not in POSITIONAL or parameter.default is not parameter.empty:
            fail(
                f"`{function.__name__}`: `{parameter.name}` has no place in the signature order of a kernel",
                rule="parameter-kind",
                hint="parameters of a kernel are positional and have no defaults",
                where=where,
            )
        declared = _declared(parameter.annotation)
        if declared is None:
            fail(
                f"`{function.__name__}`: `{parameter.name}` is not declared",
                rule="parameter-type",
                hint=f"{parameter.name}: tile.In[tile.f32, 1]",
                where=where,
            )
        found[parameter.name] = declared
    return found


def _declared(annotation: Any) -> ParameterType | None:
    candidates = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return next((each for each in candidates if isinstance(each, ParameterType)), None)
