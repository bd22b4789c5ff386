"""The artifact of a Metal kernel and the files of a build: `<name>.metal` and `<name>.json`.

Every fact in the JSON comes from a field. It says that Apple's compiler has not seen the text when it is written; the
record of a library that is made of it says by which compiler.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import Enum

from tilewright.lowering.artifact import DeviceArtifact, usage_words
from tilewright.lowering.metal.device import METAL4_FAMILY, METAL4_OS, MSL3_OS, SIMD_WIDTH, SUBGROUP_FAMILY

ABI = "tile-direct-buffers-v1"
SAFE_MATH = ("-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise")


class Form(Enum):
    """How a kernel is written."""

    REFERENCE = "reference"
    ROWS = "simd-group rows"
    MPP = "native mpp"


@dataclass(frozen=True, slots=True)
class MetalArtifact(DeviceArtifact):
    """A device artifact with what only Metal needs: its form, and bytes of static threadgroup memory."""

    form: Form = Form.REFERENCE
    threadgroup_memory: int = 0

    @property
    def language(self) -> str:
        """The MSL version, as the compiler is told: `3.0` or `4.0`."""
        return "4.0" if self.requires_metal4 else "3.0"

    @property
    def required_os(self) -> int:
        """The oldest macOS whose compiler takes that version."""
        return METAL4_OS if self.requires_metal4 else MSL3_OS

    @property
    def required_family(self) -> int:
        """The oldest Apple GPU family with the operations used; 0 = any that the system supports."""
        return {Form.REFERENCE: 0, Form.ROWS: SUBGROUP_FAMILY, Form.MPP: METAL4_FAMILY}[self.form]

    @property
    def math_flags(self) -> tuple[str, ...]:
        """Options of the offline compiler; without them its default is fast math."""
        if self.fast_math:
            return ("-fmetal-math-mode=fast", "-fmetal-math-fp32-functions=fast")
        return SAFE_MATH if self.fmad else (*SAFE_MATH, "-ffp-contract=off")

    @property
    def compile_key(self) -> str:
        """What a compiled library of this text is stored under. Facts with a default of their own join the key only
        when they differ from it, so that keys of older artifacts stay (B201)."""
        facts: dict[str, object] = {
            "source": self.source_sha256,
            "entry": self.entry,
            "abi": ABI,
            "block": self.block,
            "fast_math": self.fast_math,
        }
        if self.requires_metal4:
            facts["language"] = self.language
        if not self.fmad:
            facts["fmad"] = False
        if self.debug:
            facts["debug"] = True
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> bytes:
        """Everything but source and TileIR; deterministic, final newline."""
        record = {
            "format": self.format.value,
            "form": self.form.value,
            "entry": self.entry,
            "grid": self.grid,
            "block": self.block,
            "dispatch_size": self.dispatch_size,
            "buffers": [
                {"slot": slot, "parameter": place, "name": self.arguments[place].name}
                for slot, place in enumerate(self.buffer_arguments)
            ],
            "arguments": [
                {
                    "name": argument.name,
                    "element": argument.element.label,
                    "minimum_bytes": argument.minimum_bytes,
                    "usage": usage_words(argument.usage),
                }
                for argument in self.arguments
            ],
            "disjoint_writes": True,
            "language": self.language,
            "requires_metal4": self.requires_metal4,
            "required_family": self.required_family,
            "required_os": self.required_os,
            "thread_width": 0 if self.form is Form.REFERENCE else SIMD_WIDTH,
            "threadgroup_memory": self.threadgroup_memory,
            "fast_math": self.fast_math,
            "fmad": self.fmad,
            "debug": self.debug,
            "math_flags": self.math_flags,
            "source_sha256": self.source_sha256,
            "compile_key": self.compile_key,
            "compiled_by_apple": False,
            "run_on_hardware": False,
            "note": NOTE + FP32_NOTE * (self.form is Form.MPP),
            "realization": self.realization,
        }
        return (json.dumps(record, indent=2) + "\n").encode()


NOTE = "written without Apple's compiler, not run on a Mac; a library's .metallib.json says what it compiled since"
FP32_NOTE = "; matmul2d of FP32 follows public reports from macOS 26.5, older headers list no FP32 input"


def metal_files(artifact: MetalArtifact, name: str) -> dict[str, bytes]:
    """The files of a build by name; `metal_files(a, "softmax")` has `softmax.metal` and `softmax.json`."""
    return {f"{name}.metal": artifact.source.encode(), f"{name}.json": artifact.to_json()}
