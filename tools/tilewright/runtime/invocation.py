"""Checks of one call: arguments against what the kernel was compiled for. Nothing is launched before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tilewright.lowering.artifact import Argument
from tilewright.problem import Problem
from tilewright.runtime.buffer import Buffer, BufferView

if TYPE_CHECKING:
    from tilewright.runtime.device import Device


def call_problems(
    name: str, arguments: Sequence[Argument], given: Sequence[Buffer | BufferView], device: Device
) -> list[Problem]:
    """B180 to B187: count, type, size, device, place, then overlap of what is written."""
    if len(given) != len(arguments):
        wanted = ", ".join(argument.name for argument in arguments)
        what = f"`{name}`: argument count is {len(given)}, not {len(arguments)}"
        return [Problem(what, hint=f"pass {wanted}", rule="argument-count")]
    foreign = [each for each in given if not isinstance(each, Buffer | BufferView)]
    if foreign:
        return [Problem(f"`{name}`: {each!r} is neither a buffer nor a view", rule="argument-type") for each in foreign]
    views = [as_view(each) for each in given]
    problems: list[Problem] = []
    for place, (argument, view) in enumerate(zip(arguments, views, strict=True)):
        problems += argument_problems(f"`{name}`: argument {place} `{argument.name}`", argument, view, device)
    return problems or list(overlaps(name, arguments, views))


def as_view(given: Buffer | BufferView) -> BufferView:
    return given.view() if isinstance(given, Buffer) else given


def argument_problems(where: str, argument: Argument, view: BufferView, device: Device) -> Iterator[Problem]:
    """B181, B182, B185, B187."""
    if view.element is not argument.element:
        yield Problem(f"{where} has type {view.element}, not {argument.element}", rule="argument-type")
    size, offset = view.byte_size, view.byte_offset
    inside = offset >= 0 and size > 0 and offset + size <= view.buffer.size
    if not inside or view.address % view.element.size or size % view.element.size:
        yield Problem(
            f"{where} is an Invalid buffer view: {size} bytes at byte {offset} of {view.buffer.size}",
            hint="views start and end at whole elements: buffer.view(offset, count)",
            rule="invalid-view",
        )
    elif size < argument.minimum_bytes:
        yield Problem(f"{where} has a size of {size} bytes, needs {argument.minimum_bytes}", rule="argument-size")
    if view.buffer.device is not device:
        yield Problem(f"{where} is a buffer of another Device", rule="foreign-buffer")


def overlaps(name: str, arguments: Sequence[Argument], views: Sequence[BufferView]) -> Iterator[Problem]:
    """B183: no written range may meet another range, by true addresses; B184: what is only read may."""
    for later, (argument, view) in enumerate(zip(arguments, views, strict=True)):
        for earlier in range(later):
            if not (argument.writes or arguments[earlier].writes):
                continue
            other = views[earlier]
            apart = view.address + view.byte_size <= other.address or other.address + other.byte_size <= view.address
            if not apart:
                yield Problem(
                    f"`{name}`: writable arguments {earlier} and {later} overlap "
                    f"(`{arguments[earlier].name}` and `{argument.name}`)",
                    hint="pass disjoint views, or a copy",
                    rule="arguments-overlap",
                )
