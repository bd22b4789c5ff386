"""The native ABI of an export: what its implementation looks like to a linker. Spec: Parameters and the ABI."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, Parameter, TileExport

C_NAMES = {
    ElementType.F16: "__half",
    ElementType.F32: "float",
    ElementType.F64: "double",
    ElementType.I8: "signed char",
    ElementType.I16: "short",
    ElementType.I32: "int",
    ElementType.I64: "long long",
    ElementType.U8: "unsigned char",
    ElementType.U16: "unsigned short",
    ElementType.U32: "unsigned int",
    ElementType.U64: "unsigned long long",
}

F16_BY_VALUE = "unsigned short"
"""C++ passes `__half` by value as an aggregate, which is another ABI: such a call links and is never inlined."""


@dataclass(frozen=True, slots=True)
class NativeParameter:
    """One parameter of the native function.

    `llvm` is its opaque-pointer NVVM IR type (`float`, `ptr`), `c` its CUDA C++ type (`float`, `const float*`).
    A by-value `f16` is `half` in IR and `unsigned short`, the same bits, in C++.
    """

    name: str
    element: ElementType
    by_value: bool
    llvm: str
    c: str

    @property
    def declaration(self) -> str:
        """The parameter as a C prototype spells it: `float x`, `const float *x`."""
        return f"{self.c[:-1]} *{self.name}" if self.c.endswith("*") else f"{self.c} {self.name}"


def native_parameters(export: TileExport) -> tuple[NativeParameter, ...]:
    """The parameters of the implementation in order, the return slot last; it returns `void`.

    Only an `in` scalar travels by value; everything else is a pointer to the invocation's own elements.
    """
    return tuple(native_parameter(parameter) for parameter in export.parameters)


def native_parameter(parameter: Parameter) -> NativeParameter:
    """One row of the ABI table: `x: &[f32; 4]` is `ptr` in IR and `const float*` in C++."""
    element = parameter.element
    if parameter.by_value:
        llvm = element.llvm
        c = F16_BY_VALUE if element is ElementType.F16 else C_NAMES[element]
    else:
        llvm = "ptr"
        c = ("const " if parameter.access is Access.IN else "") + C_NAMES[element] + "*"
    return NativeParameter(parameter.name, element, parameter.by_value, llvm, c)


def prototype(export: TileExport) -> str:
    """The implementation as a C prototype without semicolon: `void relu_impl(float x, float *relu_out)`."""
    return f"void {export.symbol}({', '.join(native.declaration for native in native_parameters(export))})"


def llvm_prototype(export: TileExport) -> str:
    """The implementation as IR must define it: `define void @relu_impl(float, ptr)`. Spec: Building the library."""
    return f"define void @{export.symbol}({', '.join(native.llvm for native in native_parameters(export))})"
