"""Which kernel of an executed file is meant, and which shapes it is captured with."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.shaders.errors import KernelFileError
from tilewright.shaders.request import Request, Spelling
from tilewright.tile import KernelDefinition


def chosen_kernel(
    module: ModuleType, source: bytes, request: Request, file: str, spelling: Spelling
) -> tuple[KernelDefinition, dict[str, tuple[int, ...]]]:
    """The kernel and its shapes by parameter; KernelFileError when the file or the request leaves that open.

    A name may be that of a kernel, or of a function that makes one of the specialisations called like its parameters.
    """
    kernels = kernels_of(module, source, file)
    values = dict(request.specialisations)
    definition = _found(kernels, module, request, file, spelling)
    if not isinstance(definition, KernelDefinition):
        definition = _made(definition, values, spelling)
    return definition, _shapes(definition, values, spelling)


def kernels_of(module: ModuleType, source: bytes, file: str) -> dict[str, KernelDefinition]:
    """The kernels that the module holds, by name; KernelFileError where two have one name."""
    found: dict[str, KernelDefinition] = {}
    problems = list(_replaced(source, file))
    for value in list(vars(module).values()):
        if not isinstance(value, KernelDefinition):
            continue
        before = found.setdefault(value.name, value)
        if before is not value:
            problems.append(_twice(value.name, value.where, before.where.line))
    if problems:
        raise KernelFileError(problems)
    return found


def _replaced(source: bytes, file: str) -> Iterator[Problem]:
    """Kernels that a later function of the same name replaces."""
    lines: dict[str, int] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            if node.name in lines:
                yield _twice(node.name, Place(file, node.lineno), lines[node.name])
            if any(_is_kernel_decorator(each) for each in node.decorator_list):
                lines[node.name] = node.lineno


def _is_kernel_decorator(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "kernel"


def _twice(name: str, where: Place, first: int) -> Problem:
    what = f"two kernels of one name: `{name}` is also the kernel of line {first}"
    return Problem(what, where, '@tile.kernel(name="...") names one of them otherwise', "kernel-names")


def _found(
    kernels: Mapping[str, KernelDefinition], module: ModuleType, request: Request, file: str, spelling: Spelling
) -> KernelDefinition | Callable[..., Any]:
    name = request.kernel or request.name
    if name in kernels:
        return kernels[name]
    function = vars(module).get(name)
    if isinstance(function, KernelDefinition) or inspect.isfunction(function):
        return function
    if not request.kernel and len(kernels) == 1:
        return next(iter(kernels.values()))
    listing = ", ".join(kernels)
    near = get_close_matches(name, kernels, n=1)
    hint = f"did you mean `{near[0]}`?\n" if near else ""
    choice = f"its kernels are: {listing}; {spelling.kernel} chooses one"
    hint += choice if kernels else "decorate a function: @tile.kernel"
    raise KernelFileError([Problem(f"the file has no kernel `{name}`", Place(file), hint, "kernel-not-found")])


def _made(function: Callable[..., Any], values: dict[str, Any], spelling: Spelling) -> KernelDefinition:
    """Calls the function that makes the kernel; the values it takes leave `values`."""
    where = Place(function.__code__.co_filename, function.__code__.co_firstlineno)
    parameters = inspect.signature(function).parameters
    given = {name: values.pop(name) for name in parameters if name in values}
    missing = [
        name
        for name, parameter in parameters.items()
        if name not in given
        and parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        what = f"`{function.__name__}` makes the kernel and needs a specialisation for {', '.join(missing)}"
        raise KernelFileError([Problem(what, where, spelling.specialisations(*missing), "specialisation-missing")])
    made = function(**given)
    if not isinstance(made, KernelDefinition):
        what = f"`{function.__name__}` gives a {type(made).__name__} and no kernel"
        raise KernelFileError([Problem(what, where, "return the function decorated with @tile.kernel", "no-kernel")])
    return made


def _shapes(definition: KernelDefinition, values: Mapping[str, Any], spelling: Spelling) -> dict[str, tuple[int, ...]]:
    where = definition.where
    problems = []
    shapes: dict[str, tuple[int, ...]] = {}
    for name, value in values.items():
        if name not in definition.parameters:
            near = get_close_matches(name, definition.parameters, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"its parameters: {', '.join(definition.parameters)}"
            what = f"`{definition.name}` has no parameter `{name}`"
            problems.append(Problem(what, where, hint, "specialisation-unknown"))
            continue
        shape = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(extent, int) and not isinstance(extent, bool) for extent in shape):
            what = f"the specialisation `{name}` is {value!r}, and a shape is made of integers"
            hint = spelling.specialisations(name, value="(1003,)")
            problems.append(Problem(what, where, hint, "specialisation-type"))
            continue
        shapes[name] = shape
    missing = [name for name in definition.parameters if name not in values]
    if missing:
        what = f"`{definition.name}` needs a specialisation for {', '.join(missing)}: the shape"
        hint = spelling.specialisations(*missing, value="(...)")
        problems.append(Problem(what, where, hint, "specialisation-missing"))
    if problems:
        raise KernelFileError(problems)
    return shapes
