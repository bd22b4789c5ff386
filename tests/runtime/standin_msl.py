"""MSL compiled by clang through the shim of the Metal check, with the arithmetic that compile options of Metal mean."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from numpy.typing import NDArray

from tilewright.lowering.artifact import Extent3
from tilewright.lowering.metal.check import programs
from tilewright.lowering.metal.check.clang import Clang
from tilewright.lowering.metal.check.programs import Bound, Program, build, launch
from tilewright.lowering.metal.check.units import Msl

ENTRY = re.compile(r"^\s*kernel\s+void\s+(\w+)", re.MULTILINE)
FAST, FUSED = ("-ffast-math",), ("-ffp-contract=fast", "-mfma")


@dataclass(frozen=True)
class Function:
    """One kernel of a program, and the text that it was built from."""

    program: Program
    number: int
    source: str


@dataclass(frozen=True)
class Builder:
    """Builds each text once for each arithmetic."""

    clang: Clang
    folder: Path
    programs: dict[str, Program] = field(default_factory=dict)

    def functions(self, source: str, version: int, *, fast: bool, fused: bool) -> dict[str, Function]:
        """The kernels of a text by name. LoweringError with what clang says."""
        flags = (*(FUSED if fused and has_fma() else ()), *(FAST if fast else ()))
        names = ENTRY.findall(source)
        key = hashlib.sha256(repr((source, flags, version)).encode()).hexdigest()[:16]
        if key not in self.programs:
            self.programs[key] = self._built(
                [Msl(f"{name}.metal", source, name, version) for name in names], key, flags
            )
        return {name: Function(self.programs[key], number, source) for number, name in enumerate(names)}

    def _built(self, texts: list[Msl], key: str, flags: tuple[str, ...]) -> Program:
        folder = self.folder / key
        folder.mkdir(exist_ok=True)
        for first in list(self.programs.values())[:1]:
            shutil.copy2(first.path.with_name("fibers.o"), folder)  # the scheduler is the same for all
        with mock.patch.object(programs, "FLAGS", (*programs.FLAGS, *flags)):
            return build(self.clang, texts, folder)


def run(
    function: Function,
    groups: Extent3,
    threads: Extent3,
    slots: Sequence[tuple[NDArray[Any], int]],
    folder: Path,
) -> None:
    """One launch; `slots` are the bytes of each buffer with the offset of the view. What changed is put there."""
    before = [memory.copy() for memory, _ in slots]
    bound = [Bound(contents, offset) for contents, (_, offset) in zip(before, slots, strict=True)]
    outcome = launch(function.program, function.number, tuple(groups), tuple(threads), bound, folder)
    assert outcome.fault == "", outcome.fault
    for (memory, _), old, new in zip(slots, before, outcome.contents, strict=True):
        memory[old != new] = new[old != new]


def has_fma() -> bool:
    """Whether the CPU has a fused multiply-add, which stands for the contraction of a GPU."""
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and re.search(r"^flags.*\bfma\b", cpu.read_text(), re.MULTILINE) is not None
