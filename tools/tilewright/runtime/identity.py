"""What a compiled shader is called and what stands beside it. Spec: CUDA device artifact and PTX ABI.

The name depends on the artifact; architecture and compiler version stand in the sidecar, so that a folder shared
between machines is found stale rather than loaded.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import PurePath

from tilewright.lowering.artifact import DeviceArtifact, usage_words
from tilewright.runtime.errors import refusal

ABI = "cuda-tile-direct-buffers-v1"
SIDECAR_PREFIX = "// METADATA: "
SIDECAR_SUFFIX = ".metadata"


def identity(artifact: DeviceArtifact) -> str:
    """16 hexadecimal digits of source, entry, numerical switches, geometry and the ABI."""
    parts = (
        ABI,
        artifact.source,
        artifact.entry,
        artifact.fast_math,
        artifact.fmad,
        artifact.block,
        artifact.grid,
    )
    return hashlib.sha256("\0".join(map(repr, parts)).encode()).hexdigest()[:16]


def file_name(artifact: DeviceArtifact) -> str:
    """`kernel_<identity>.tile.ptx`."""
    return f"kernel_{identity(artifact)}.tile.ptx"


def user_file_name(name: str) -> str:
    """The file of a stable name given by the user: `.ptx` is added where it is missing."""
    if not name or PurePath(name).name != name or name in (".", ".."):
        raise refusal(f"{name!r} is no file name for a shader", "shader-name", 'name="softmax"')
    return name if name.endswith(".ptx") else f"{name}.ptx"


@dataclass(frozen=True, slots=True)
class Record:
    """The sidecar: what a stored image has to be to be used."""

    checksum: str
    kind: str
    debug: bool
    max_registers: int
    block: tuple[int, int, int]
    arguments: tuple[tuple[str, str], ...]
    arch: str
    nvrtc_version: str
    fmad: bool
    fast_math: bool

    def text(self) -> str:
        """`// METADATA: ` with the record, then an empty line."""
        return f"{SIDECAR_PREFIX}{json.dumps(asdict(self), sort_keys=True)}\n\n"


def record(artifact: DeviceArtifact, arch: str, nvrtc_version: str) -> Record:
    """What the sidecar of this artifact says for this architecture and compiler."""
    return Record(
        checksum=identity(artifact),
        kind="TILE",
        debug=artifact.debug,
        max_registers=min(255, max(0, artifact.max_registers)),
        block=artifact.block,
        arguments=tuple((each.element.label, usage_words(each.usage)) for each in artifact.arguments),
        arch=arch,
        nvrtc_version=nvrtc_version,
        fmad=artifact.fmad,
        fast_math=artifact.fast_math,
    )
