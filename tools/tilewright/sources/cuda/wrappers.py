"""The native implementations that are appended to the user's translation unit. Spec: Parameters and the ABI."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilewright.device.module import NAMESPACE, WRAPPERS
from tilewright.exports.abi import C_NAMES, native_parameters
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter, TileExport

HEADER = "// Written by tilewright from {origin}; do not edit."
_PRELUDE = f"""\
namespace {NAMESPACE} {{
template <typename Function> __host__ __device__ constexpr bool is_exactly(Function *) {{ return true; }}
template <typename Function> __host__ __device__ constexpr bool is_exactly(...) {{ return false; }}
}}
"""
_WRAPPER_WORDS = "unsigned short static_assert extern void const reinterpret_cast __device__ __ushort_as_half"


@dataclass(frozen=True, slots=True)
class WrittenFunction:
    """An export together with the user's function as it was found.

    `scope` holds the namespaces around it, `arrays` the parameters written as `T (&)[F]` (F may be 1).
    """

    export: TileExport
    scope: tuple[str, ...] = ()
    arrays: frozenset[str] = frozenset()

    @property
    def qualified(self) -> str:
        """`::ns::relu`: the name that no other scope can capture."""
        return "::" + "::".join((*self.scope, self.export.function))


def device_text(
    text: str, origin: str, library: str, functions: Sequence[WrittenFunction], macros: Collection[str] = ()
) -> str:
    """The translation unit: the user's source untouched under a `#line`, then the wrappers under their own name.

    `macros` are the names the user defines; those that would change the wrappers are undefined before them.
    """
    undefined = "".join(f"#undef {name}\n" for name in _capturing(functions, macros))
    parts = [f"// The native implementations of the tile exports of {origin}.\n{undefined}{_PRELUDE}"]
    for function in functions:
        line = function.export.where.line if function.export.where else 1
        parts.append(f'\n#line {line} "{quoted(origin)}"\n{_assertion(function)}')
        parts.append(f'#line 1 "{quoted(library)}{WRAPPERS}"\n{_wrapper(function)}')
    head = f'{HEADER.format(origin=origin)}\n#line 1 "{quoted(origin)}"\n'
    return f'{head}{text}\n\n#line 1 "{quoted(library)}{WRAPPERS}"\n{"".join(parts)}'


def quoted(path: str) -> str:
    """A path as it stands between the quotes of `#line`."""
    return path.replace("\\", "\\\\").replace('"', '\\"')


def _assertion(function: WrittenFunction) -> str:
    """That the compiler sees the type that the description says; also picks the one of several overloads."""
    message = f"the type of {function.export.function} is not what its declaration shows: a macro or typedef changes it"
    return (
        f"static_assert({NAMESPACE}::is_exactly<{_type_of(function)}>(&{function.qualified}),\n"
        f'              "{message}");\n'
    )


def _wrapper(function: WrittenFunction) -> str:
    export = function.export
    result = next((parameter for parameter in export.parameters if parameter.is_return), None)
    native = ", ".join(parameter.declaration for parameter in native_parameters(export))
    arguments = ", ".join(_argument(parameter, function.arrays) for parameter in _inputs(export))
    call = f"(({_type_of(function, '(*)')})&{function.qualified})({arguments})"
    return (
        f'extern "C" __device__ void {export.symbol}({native})\n'
        "{\n"
        f"    {f'*{result.name} = ' if result else ''}{call};\n"
        "}\n"
    )


def _inputs(export: TileExport) -> list[Parameter]:
    return [parameter for parameter in export.parameters if not parameter.is_return]


def _type_of(function: WrittenFunction, pointer: str = "") -> str:
    """The type of the user's function, `float(const float &)`, or of a pointer to it."""
    export = function.export
    result = next((C_NAMES[parameter.element] for parameter in export.parameters if parameter.is_return), "void")
    types = ", ".join(_user_type(parameter, function.arrays) for parameter in _inputs(export))
    return f"{result}{pointer}({types})"


def _user_type(parameter: Parameter, arrays: Collection[str]) -> str:
    """The parameter's type in the user's function: `const float (&)[4]`."""
    name = C_NAMES[parameter.element]
    if parameter.by_value:
        return name
    const = "const " if parameter.access is Access.IN else ""
    return f"{const}{name} (&)[{parameter.footprint}]" if parameter.name in arrays else f"{const}{name} &"


def _argument(parameter: Parameter, arrays: Collection[str]) -> str:
    """What the wrapper passes on. A half by value travels as its bits: `__half` would be an aggregate."""
    if parameter.by_value:
        return f"__ushort_as_half({parameter.name})" if parameter.element is ElementType.F16 else parameter.name
    if parameter.name in arrays:
        const = "const " if parameter.access is Access.IN else ""
        return f"*reinterpret_cast<{const}{C_NAMES[parameter.element]} (*)[{parameter.footprint}]>({parameter.name})"
    return f"*{parameter.name}"


def _capturing(functions: Collection[WrittenFunction], macros: Collection[str]) -> list[str]:
    """Macros of the user that the wrappers' own words would fall to."""
    words = set(re.findall(r"\w+", " ".join([*C_NAMES.values(), _PRELUDE, _WRAPPER_WORDS])))
    for function in functions:
        words |= {function.export.symbol, *(parameter.name for parameter in function.export.parameters)}
        words -= {function.export.function, *function.scope}
    return sorted(words.intersection(macros))
