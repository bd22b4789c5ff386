"""One launch of a built shader on arrays, for `tilewright run --shader`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.cli.arguments import UsageError
from tilewright.cli.files import read_file
from tilewright.problem import Problem

DESCRIPTION, PTX = ".json", ".tile.ptx"


def launch_shader(description: Path, values: Sequence[NDArray[Any]], *, verbose: bool = False) -> list[NDArray[Any]]:
    """Every array as it is after the launch that the shader was captured for."""
    from tilewright.runtime.device import open_device
    from tilewright.runtime.loading import Loader
    from tilewright.runtime.shader import KernelMetadata, Shader
    from tilewright.runtime.stored import stored_artifact

    if description.suffix != DESCRIPTION:
        hint = f"name its {DESCRIPTION} file; the {PTX} file stands beside it"
        raise UsageError([Problem(f"`{description}` does not describe a shader", hint=hint)])
    if scalars := [at for at, value in enumerate(values) if value.ndim == 0]:
        what = f"argument {scalars[0]} is a scalar, and a shader takes arrays"
        raise UsageError([Problem(what, hint="--arg 'f32[1024]=fill:2'")])
    ptx = read_file(description.with_name(description.name.removesuffix(DESCRIPTION) + PTX))
    artifact = stored_artifact(read_file(description), ptx, str(description))
    device = open_device()
    if verbose:
        print(f"note: {device.name} ({device.architecture}), {artifact.realization}", file=sys.stderr)
    kernel = Loader(device, artifact, None, os.environ).load()
    shader = Shader(KernelMetadata.of(artifact), device=device, artifact=artifact, kernel=kernel)
    buffers = [device.buffer_of(value) for value in values]
    found = [np.empty_like(value) for value in values]
    stream = device.stream()
    stream << shader(*buffers).dispatch()
    for buffer, host in zip(buffers, found, strict=True):
        stream << buffer.copy_to(host)
    stream.synchronize()
    stream.close()
    return found
