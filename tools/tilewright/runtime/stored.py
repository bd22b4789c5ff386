"""A built shader read back: `<name>.json` and the PTX beside it."""

from __future__ import annotations

import json
from typing import Any

from tilewright.lowering.artifact import Argument, DeviceArtifact, Format, usage_words
from tilewright.runtime.errors import refusal
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage

ELEMENTS = {element.label: element for element in Element}
USAGES = {usage_words(usage): usage for usage in (Usage.NONE, Usage.READ, Usage.WRITE, Usage.READ | Usage.WRITE)}


def stored_artifact(record: bytes, ptx: bytes, file: str) -> DeviceArtifact:
    """The artifact that `DeviceArtifact.to_json` described, with PTX as its source; ShaderError for any other text."""
    try:
        found: dict[str, Any] = json.loads(record)
        gx, gy, gz = map(int, found["grid"])
        bx, by, bz = map(int, found["block"])
        return DeviceArtifact(
            format=Format.PTX,
            entry=str(found["entry"]),
            source=ptx.decode(),
            grid=(gx, gy, gz),
            block=(bx, by, bz),
            buffer_arguments=tuple(int(place) for place in found["buffer_arguments"]),
            arguments=tuple(
                Argument(
                    str(each["name"]),
                    ELEMENTS[each["element"]],
                    int(each["minimum_bytes"]),
                    USAGES[each["usage"]],
                )
                for each in found["arguments"]
            ),
            realization=str(found["realization"]),
        )
    except (ValueError, KeyError, TypeError) as fault:
        hint = "name the .json file that the build wrote beside the .tile.ptx file"
        raise refusal(f"`{file}` does not describe a shader: {fault!r}", "stored-shader", hint) from None
