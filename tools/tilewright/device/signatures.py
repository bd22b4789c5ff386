"""Signatures of NVVM IR compared with the exports, since neither linker nor assembler compares any.

Pointees are not seen, opaque pointers have none; for those the description of the exports stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.device.module import DeviceError, DeviceModule
from tilewright.exports.abi import NativeParameter, llvm_prototype, native_parameters
from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, TileExport
from tilewright.problem import Place, Problem

PASSED_IN_MEMORY = ("byval", "sret", "inalloca", "preallocated")
"""Parameter attributes that change how an argument travels."""


@dataclass(frozen=True, slots=True)
class IrFunction:
    """What IR says of a symbol: `kind` is `define` or `declare`, then linkage, return and parameter types."""

    kind: str
    linkage: str
    result: str
    parameters: tuple[str, ...]

    def shown(self, symbol: str) -> str:
        """`define void @relu_impl(float, ptr)`, the linkage before the type when it is not external."""
        linkage = "" if self.linkage == "external" else f"{self.linkage} "
        return f"{self.kind} {linkage}{self.result} @{symbol}({', '.join(self.parameters)})"


def read_functions(module: DeviceModule, symbols: tuple[str, ...]) -> dict[str, IrFunction]:
    """Signatures of the symbols that NVVM IR has. To be run by a worker.

    Reads typed and opaque pointers, shows both as `ptr`.  `DeviceError` with the parser's text for anything else.
    """
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    try:
        parsed = llvm.parse_assembly(module.text)
    except RuntimeError as error:
        said = str(error).strip()
        what = f"the IR does not parse: {said.splitlines()[-1] if said else 'no reason given'}"
        raise DeviceError([Problem(what, Place(module.name), detail=said)]) from None
    found = {}
    for function in parsed.functions:
        if function.name in symbols:
            result, *types = (str(element) for element in function.global_value_type.elements)
            attributes = [[attribute.decode() for attribute in argument.attributes] for argument in function.arguments]
            shown = [_parameter(name, marks) for name, marks in zip(types, attributes, strict=True)]
            if "..." in str(function.global_value_type):
                shown.append("...")
            head = str(function).split("@", 1)[0]
            linkage = "ptx_kernel" if "ptx_kernel" in head else function.linkage.name
            kind = "declare" if function.is_declaration else "define"
            found[function.name] = IrFunction(kind, linkage, result, tuple(shown))
    return found


def problems_of(functions: Mapping[str, IrFunction], exports: ExportSet, source: str) -> list[Problem]:
    """One problem for every export whose symbol is absent or is not exactly what the ABI table says."""
    return [problem for export in exports.exports for problem in _differences(export, functions, source)]


def ensure(functions: Mapping[str, IrFunction], exports: ExportSet, source: str) -> None:
    """Raises `DeviceError` with `problems_of`, if any."""
    if problems := problems_of(functions, exports, source):
        raise DeviceError(problems)


def _differences(export: TileExport, functions: Mapping[str, IrFunction], source: str) -> Iterator[Problem]:
    where = export.where or Place(source)
    expected = native_parameters(export)
    found = functions.get(export.symbol)
    if found is None:
        what = f"`{export.name}`: the device code has no function `{export.symbol}`"
        yield Problem(what, where, hint=f"it needs: {llvm_prototype(export)}")
        return
    agrees = len(found.parameters) == len(expected) and all(map(_accepts, expected, found.parameters))
    if not agrees or (found.kind, found.linkage, found.result) != ("define", "external", "void"):
        what = (
            f"`{export.name}`: the device code has `{found.shown(export.symbol)}`, "
            f"the export needs `{llvm_prototype(export)}`"
        )
        yield Problem(what, where, hint=_advice(expected, found))


def _accepts(expected: NativeParameter, found: str) -> bool:
    """C++ passes `f16` by value as its 16 bits, IR as `half`; both are the same parameter."""
    half = expected.by_value and expected.element is ElementType.F16
    return found == expected.llvm or (half and found == "i16")


def _advice(expected: tuple[NativeParameter, ...], found: IrFunction) -> str:
    if found.kind == "declare":
        return "a declaration is not enough: define the function"
    if found.linkage != "external":
        return "it must be an external device function, which a linker sees"
    if found.result != "void":
        return "return nothing: results go through pointer parameters, the return slot last"
    if len(found.parameters) != len(expected):
        return f"it takes {len(expected)} parameters: {', '.join(parameter.name for parameter in expected)}"
    wrong = [
        f"parameter {number} (`{parameter.name}`, {parameter.element.label}) is {actual}, must be {parameter.llvm}"
        for number, (parameter, actual) in enumerate(zip(expected, found.parameters, strict=True), start=1)
        if not _accepts(parameter, actual)
    ]
    return "\n".join(wrong)


def _parameter(name: str, attributes: list[str]) -> str:
    marks = [mark for mark in attributes if mark.startswith(PASSED_IN_MEMORY)]
    return " ".join([name, *marks])
