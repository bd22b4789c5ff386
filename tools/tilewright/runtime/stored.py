"""A built shader read back: `<name>.json`, and the PTX or MSL beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.lowering.artifact import Argument, DeviceArtifact, Format, usage_words
from tilewright.lowering.metal.artifact import Form, MetalArtifact
from tilewright.runtime.errors import refusal
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage

ELEMENTS = {element.label: element for element in Element}
USAGES = {usage_words(usage): usage for usage in (Usage.NONE, Usage.READ, Usage.WRITE, Usage.READ | Usage.WRITE)}


def stored_format(record: bytes, file: str) -> Format:
    """What a build stored beside this description: PTX, or MSL. ShaderError for any other text."""
    with described(file):
        return Format.METAL_SOURCE if json.loads(record)["format"] == Format.METAL_SOURCE.value else Format.PTX


def stored_artifact(record: bytes, source: bytes, file: str) -> DeviceArtifact:
    """The artifact that `to_json` described, with that PTX or MSL as its source; ShaderError for any other text."""
    if stored_format(record, file) is Format.METAL_SOURCE:
        return metal_artifact(record, source, file)
    with described(file):
        found: dict[str, Any] = json.loads(record)
        return DeviceArtifact(
            format=Format.PTX,
            source=source.decode(),
            buffer_arguments=slots(found, found["buffer_arguments"]),
            **common_fields(found),
        )


def metal_artifact(record: bytes, source: bytes, file: str) -> MetalArtifact:
    """The same for MSL, which has to be the text that was described."""
    with described(file):
        found: dict[str, Any] = json.loads(record)
        artifact = MetalArtifact(
            format=Format.METAL_SOURCE,
            source=source.decode(),
            buffer_arguments=slots(found, [each["parameter"] for each in found["buffers"]]),
            fast_math=bool(found["fast_math"]),
            fmad=bool(found["fmad"]),
            debug=bool(found["debug"]),
            requires_metal4=bool(found["requires_metal4"]),
            form=Form(found["form"]),
            threadgroup_memory=int(found["threadgroup_memory"]),
            **common_fields(found),
        )
        key = found["compile_key"]
    if artifact.compile_key != key:
        what = f"`{file}` describes another text than the MSL beside it"
        raise refusal(what, "stored-shader", "build the shader again; both files come from one step")
    return artifact


def slots(found: dict[str, Any], places: list[Any]) -> tuple[int, ...]:
    """The parameter of each slot; ValueError for one that there is not."""
    parameters = tuple(map(int, places))
    if any(not 0 <= each < len(found["arguments"]) for each in parameters):
        raise ValueError(f"slots of parameters {list(parameters)}, and there are {len(found['arguments'])}")
    return parameters


def common_fields(found: dict[str, Any]) -> dict[str, Any]:
    """The fields that every description has."""
    gx, gy, gz = map(int, found["grid"])
    bx, by, bz = map(int, found["block"])
    arguments = tuple(
        Argument(str(each["name"]), ELEMENTS[each["element"]], int(each["minimum_bytes"]), USAGES[each["usage"]])
        for each in found["arguments"]
    )
    return {
        "entry": str(found["entry"]),
        "grid": (gx, gy, gz),
        "block": (bx, by, bz),
        "arguments": arguments,
        "realization": str(found["realization"]),
    }


@contextmanager
def described(file: str) -> Iterator[None]:
    """What is no description, or lacks a part of one, is a ShaderError that names the file."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as fault:
        hint = "name the .json file that the build wrote beside the .tile.ptx or .metal file"
        raise refusal(f"`{file}` does not describe a shader: {fault!r}", "stored-shader", hint) from None
