"""Slots, arguments and text of a kernel's signature: one pointer a used parameter. Spec: direct-buffer ABI."""

from __future__ import annotations

from math import prod
from typing import cast

from tilewright.lowering.artifact import Argument, Extent3, Format
from tilewright.lowering.metal.artifact import Form, MetalArtifact
from tilewright.lowering.metal.emission import element, tile_space
from tilewright.lowering.metal.msl import TYPES, entry_symbol
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.graph import Function, Value
from tilewright.tileir.ops.values import Mma
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.vocabulary import Kind

HEADER = "#include <metal_stdlib>\nusing namespace metal;\n"


def pointer_names(function: Function) -> dict[Value, str]:
    """`p0`, `p1`, ... by place in the signature."""
    return {parameter: f"p{place}" for place, parameter in enumerate(function.parameters)}


def slots(function: Function) -> tuple[int, ...]:
    """The parameter that each buffer slot takes; parameters that are not used have none."""
    return tuple(place for place, usage in enumerate(usages(function)) if usage is not Usage.NONE)


def kernel_text(function: Function, places: tuple[str, ...], body: list[str]) -> str:
    """A source file of one kernel; `places` are the parameters after the buffers, with their attributes."""
    used = usages(function)
    parameters = []
    for slot, place in enumerate(slots(function)):
        const = "" if Usage.WRITE in used[place] else "const "
        parameters.append(f"device {const}{TYPES[element(function.parameters[place])]} *p{place} [[buffer({slot})]]")
    head = f"kernel void {entry_symbol(function.name)}(\n    " + ",\n    ".join([*parameters, *places]) + ") {"
    return "\n".join([HEADER, head, *body, "}"]) + "\n"


def has_ordered_mma(function: Function) -> bool:
    """Whether a contraction has to keep its order; its roundings are then not contracted either."""
    return any(each.kind is Kind.MMA and not cast(Mma, each).allow_reassociation for each in function.walk())


def artifact_of(
    function: Function,
    options: CompileOptions,
    source: str,
    grid: Extent3,
    block: Extent3,
    realization: str,
    *,
    form: Form = Form.REFERENCE,
    threadgroup_memory: int = 0,
) -> MetalArtifact:
    """The artifact of a function whose text and geometry are made. Fast math is off unless it was asked for (B174)."""
    arguments = [
        Argument(value.name, element(value), prod(tile_space(value).shape) * element(value).size, usage)
        for value, usage in zip(function.parameters, usages(function), strict=True)
    ]
    return MetalArtifact(
        format=Format.METAL_SOURCE,
        entry=entry_symbol(function.name),
        source=source,
        grid=grid,
        block=block,
        buffer_arguments=slots(function),
        arguments=tuple(arguments),
        fast_math=options.fast_math,
        fmad=not has_ordered_mma(function) if options.fmad is None else options.fmad,
        debug=options.debug,
        requires_metal4=form is Form.MPP,
        realization=f"{realization}, fast math {'on' if options.fast_math else 'off'}",
        function=function,
        form=form,
        threadgroup_memory=threadgroup_memory,
    )
