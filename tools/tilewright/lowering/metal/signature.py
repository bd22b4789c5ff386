"""Slots, arguments and text of a kernel's signature: one pointer a used parameter. Spec: direct-buffer ABI."""

from __future__ import annotations

from math import prod

from tilewright.lowering.artifact import Argument, DeviceArtifact, Extent3, Format
from tilewright.lowering.metal.emission import element, tile_space
from tilewright.lowering.metal.msl import TYPES, entry_symbol
from tilewright.tileir.graph import Function, Value
from tilewright.tileir.usage import Usage, usages

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
    parameters = [
        f"device {'' if Usage.WRITE in used[place] else 'const '}{TYPES[element(function.parameters[place])]} *p{place} "
        f"[[buffer({slot})]]"
        for slot, place in enumerate(slots(function))
    ]
    head = f"kernel void {entry_symbol(function.name)}(\n    " + ",\n    ".join([*parameters, *places]) + ") {"
    return "\n".join([HEADER, head, *body, "}"]) + "\n"


def artifact_of(
    function: Function, source: str, grid: Extent3, block: Extent3, realization: str, *, metal4: bool = False
) -> DeviceArtifact:
    """The artifact of a function whose text and geometry are made. Fast math is off in every form (B174)."""
    arguments = [
        Argument(value.name, element(value), prod(tile_space(value).shape) * element(value).size, usage)
        for value, usage in zip(function.parameters, usages(function), strict=True)
    ]
    return DeviceArtifact(
        format=Format.METAL_SOURCE,
        entry=entry_symbol(function.name),
        source=source,
        grid=grid,
        block=block,
        buffer_arguments=slots(function),
        arguments=tuple(arguments),
        requires_metal4=metal4,
        realization=realization,
        function=function,
    )
