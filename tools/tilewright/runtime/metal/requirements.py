"""What an artifact asks of a GPU. Pure values: nothing here talks to one."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilewright.lowering.metal.artifact import Form, MetalArtifact
from tilewright.lowering.metal.device import MAX_BUFFERS, MetalDevice, device_problems
from tilewright.problem import Problem


def artifact_problems(artifact: MetalArtifact, device: MetalDevice) -> Iterator[Problem]:
    """B172, B173, and the buffers of a launch (C.4): what the artifact needs and the described GPU lacks."""
    yield from device_problems(
        artifact.entry,
        device,
        metal4=artifact.requires_metal4,
        subgroups=artifact.form is not Form.REFERENCE,
        threads=prod(artifact.block),
        memory=artifact.threadgroup_memory,
    )
    if len(artifact.buffer_arguments) > MAX_BUFFERS:
        what = f"`{artifact.entry}` binds {len(artifact.buffer_arguments)} buffers, {MAX_BUFFERS} at most"
        yield Problem(what, rule="buffer-count")
