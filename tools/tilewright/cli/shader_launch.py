"""One launch of a built shader on arrays, for `tilewright run --shader`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright.cli.arguments import UsageError
from tilewright.cli.files import read_file
from tilewright.problem import Problem

if TYPE_CHECKING:
    from tilewright.runtime import Device

DESCRIPTION, PTX, MSL = ".json", ".tile.ptx", ".metal"


def launch_shader(description: Path, values: Sequence[NDArray[Any]], *, verbose: bool = False) -> list[NDArray[Any]]:
    """Every array as it is after the launch that the shader was captured for."""
    from tilewright.lowering.artifact import Format
    from tilewright.runtime import open_device, open_metal_device
    from tilewright.runtime.stored import stored_artifact, stored_format

    if description.suffix != DESCRIPTION:
        hint = f"name its {DESCRIPTION} file; the {PTX} or {MSL} file stands beside it"
        raise UsageError([Problem(f"`{description}` does not describe a shader", hint=hint)])
    if scalars := [at for at, value in enumerate(values) if value.ndim == 0]:
        what = f"argument {scalars[0]} is a scalar, and a shader takes arrays"
        raise UsageError([Problem(what, hint="--arg 'f32[1024]=fill:2'")])
    record = read_file(description)
    is_metal = stored_format(record, str(description)) is Format.METAL_SOURCE
    source = read_file(description.with_suffix(MSL if is_metal else PTX))
    artifact = stored_artifact(record, source, str(description))
    device: Device = open_metal_device() if is_metal else open_device()
    if verbose:
        print(f"note: {device.description}, {artifact.realization}", file=sys.stderr)
    shader = device.shader(artifact)
    buffers = [device.buffer_of(value) for value in values]
    found = [np.empty_like(value) for value in values]
    stream = device.stream()
    stream << shader(*buffers).dispatch()
    for buffer, host in zip(buffers, found, strict=True):
        stream << buffer.copy_to(host)
    stream.synchronize()
    stream.close()
    return found
