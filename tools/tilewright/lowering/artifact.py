"""What a lowering gives: source text, launch geometry and argument map as fields. Nothing reads the text back.

Spec: CUDA device artifact and PTX ABI.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import Enum

from tilewright.tileir.graph import Function
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage

Extent3 = tuple[int, int, int]


class Format(Enum):
    """What `source` is. `PTX` is final text that no other architecture can be compiled from."""

    CUDA_SOURCE = "cuda"
    PTX = "ptx"
    METAL_SOURCE = "metal"


@dataclass(frozen=True, slots=True)
class Argument:
    """One parameter in signature order: element type, bytes a bound view needs at least, what the kernel does."""

    name: str
    element: Element
    minimum_bytes: int
    usage: Usage

    @property
    def reads(self) -> bool:
        return Usage.READ in self.usage

    @property
    def writes(self) -> bool:
        return Usage.WRITE in self.usage


@dataclass(frozen=True, slots=True)
class DeviceArtifact:
    """One kernel for one launch of `grid` times `block` threads.

    `buffer_arguments[slot]` is the index of the parameter whose address slot `slot` takes; parameters that are not
    used have no slot. `function` is the TileIR it was made from. `fast_math` and `fmad` are how `source` has to be
    compiled. `realization` is one line for people.
    """

    format: Format
    entry: str
    source: str
    grid: Extent3
    block: Extent3
    buffer_arguments: tuple[int, ...]
    arguments: tuple[Argument, ...]
    fast_math: bool = False
    fmad: bool = True
    debug: bool = False
    max_registers: int = 0
    requires_metal4: bool = False
    realization: str = ""
    function: Function | None = field(default=None, compare=False, repr=False)

    @property
    def dispatch_size(self) -> Extent3:
        """Threads a launch has, along each axis."""
        (gx, gy, gz), (bx, by, bz) = self.grid, self.block
        return gx * bx, gy * by, gz * bz

    @property
    def source_sha256(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()

    def to_json(self) -> bytes:
        """Everything but source and TileIR, for the file beside a built shader; deterministic, final newline."""
        record = {
            "format": self.format.value,
            "entry": self.entry,
            "grid": self.grid,
            "block": self.block,
            "dispatch_size": self.dispatch_size,
            "buffer_arguments": self.buffer_arguments,
            "arguments": [
                {
                    "name": argument.name,
                    "element": argument.element.label,
                    "minimum_bytes": argument.minimum_bytes,
                    "usage": usage_words(argument.usage),
                }
                for argument in self.arguments
            ],
            "fast_math": self.fast_math,
            "fmad": self.fmad,
            "debug": self.debug,
            "max_registers": self.max_registers,
            "requires_metal4": self.requires_metal4,
            "source_sha256": self.source_sha256,
            "realization": self.realization,
        }
        return (json.dumps(record, indent=2) + "\n").encode()


def usage_words(usage: Usage) -> str:
    """`none`, `read`, `write` or `read-write`."""
    words = [word for flag, word in ((Usage.READ, "read"), (Usage.WRITE, "write")) if flag in usage]
    return "-".join(words) or "none"
