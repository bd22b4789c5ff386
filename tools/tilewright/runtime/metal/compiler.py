"""MSL to a pipeline by the compiler of the operating system; Xcode is not needed.

Exact math is asked for in the options, and measured: a flag that is lost would be silent, as the default is fast math.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.lowering.artifact import Format
from tilewright.lowering.metal.artifact import MetalArtifact
from tilewright.lowering.metal.device import MetalDevice
from tilewright.problem import Problem
from tilewright.runtime.driver import LoadedKernel
from tilewright.runtime.errors import ShaderError, refusal
from tilewright.runtime.metal.requirements import artifact_problems
from tilewright.runtime.metal.system import System, error_text

LOG = logging.getLogger("tilewright.runtime")

SAFE, FAST = 0, 2
"""MTLMathMode."""
FAST_FUNCTIONS, PRECISE_FUNCTIONS = 0, 1
"""MTLMathFloatingPointFunctions."""
NO_CONTRACTION = "#pragma METAL fp contract(off)\n#line 1\n"
"""Compile options have no switch for it; line numbers stay those of the artifact."""

PROBE = """\
#include <metal_stdlib>
using namespace metal;

kernel void tilewright_math_probe(
    device const float *x [[buffer(0)]],
    device float *y [[buffer(1)]],
    uint i [[thread_position_in_grid]]) {
  if (i == 0) {
    y[0] = (x[0] + x[1]) - x[0];
    y[1] = x[2] != x[2] ? 1.0f : 0.0f;
    y[2] = x[3] * x[3] - x[4];
  }
}
"""
PROBE_INPUT = (2.0**27, 1.0, float("nan"), 1 + 2.0**-12, 1 + 2.0**-11)
"""The sum rounds back to x[0]; the NaN differs from itself; the square rounds to x[4], but not within a fused one."""


def math_probe(*, fmad: bool) -> MetalArtifact:
    """A kernel whose results tell safe math from fast math, and a fused multiply-subtract from two roundings."""
    return MetalArtifact(
        format=Format.METAL_SOURCE,
        entry="tilewright_math_probe",
        source=PROBE,
        grid=(1, 1, 1),
        block=(32, 1, 1),
        buffer_arguments=(0, 1),
        arguments=(),
        fmad=fmad,
    )


def probe_problems(found: Sequence[float], *, fmad: bool) -> list[Problem]:
    """B174: what the results of `math_probe` say against the compiler; a contraction counts without `fmad` only."""
    faults = []
    if found[0] != 0.0 or found[1] != 1.0:
        faults.append("it compiles with fast math where safe math was asked for")
    if not fmad and found[2] != 0.0:
        faults.append("it fuses products and sums where separate roundings were asked for")
    hint = "update macOS; fast_math=True, or fmad=True, accept such numbers"
    return [
        Problem(f"the Metal compiler of this system is not exact: {fault}", hint=hint, rule="fast-math-found")
        for fault in faults
    ]


def source_library(system: System, gpu: Any, artifact: MetalArtifact) -> Any:
    """The library of the source, compiled in this process. ShaderError with the compiler's whole text."""
    source = artifact.source if artifact.fmad else NO_CONTRACTION + artifact.source
    options = compile_options(system, artifact)
    library, error = gpu.newLibraryWithSource_options_error_(source, options, None)
    if library is None:
        what = f"`{artifact.entry}`: the Metal compiler refuses the source (MSL {artifact.language})"
        offline = "Xcode's compiler may take it: device.prebuilt(artifact, Path('x.metallib'))"
        hint = offline if artifact.requires_metal4 else ""
        raise ShaderError([Problem(what, hint=hint, rule="msl-rejected", detail=error_text(error))])
    if error is not None:
        LOG.warning("%s: the Metal compiler says: %s", artifact.entry, error_text(error))
    return library


def compile_options(system: System, artifact: MetalArtifact) -> Any:
    """Language version and math of the artifact; before macOS 15 one switch stands for both halves of the math."""
    options = system.metal.MTLCompileOptions.alloc().init()
    major, minor = map(int, artifact.language.split("."))
    options.setLanguageVersion_((major << 16) + minor)
    fast = artifact.fast_math
    if options.respondsToSelector_("setMathMode:"):
        options.setMathMode_(FAST if fast else SAFE)
        options.setMathFloatingPointFunctions_(FAST_FUNCTIONS if fast else PRECISE_FUNCTIONS)
    else:
        options.setFastMathEnabled_(fast)
    return options


def file_library(system: System, gpu: Any, file: Path) -> Any:
    """The library of a `.metallib` file. ShaderError where it cannot be loaded."""
    url = system.foundation.NSURL.fileURLWithPath_(str(file.absolute()))
    library, error = gpu.newLibraryWithURL_error_(url, None)
    if library is None:
        raise ShaderError([Problem(f"cannot load `{file}`", rule="metallib-not-loaded", detail=error_text(error))])
    return library


def pipeline(
    system: System, gpu: Any, artifact: MetalArtifact, described: MetalDevice, library_of: Callable[[], Any]
) -> LoadedKernel:
    """The kernel of a library, if the limits that its pipeline states allow the launch (B173)."""
    with system.calls(f"make a pipeline of `{artifact.entry}`"):
        library = library_of()
        function = library.newFunctionWithName_(artifact.entry)
        if function is None:
            names = ", ".join(map(str, library.functionNames())) or "none"
            raise refusal(f"the Metal library has no function `{artifact.entry}`", "no-function", f"it has: {names}")
        made, error = gpu.newComputePipelineStateWithFunction_error_(function, None)
        if made is None:
            what = f"`{artifact.entry}`: Metal makes no pipeline of the kernel"
            raise ShaderError([Problem(what, rule="no-pipeline", detail=error_text(error))])
        stated = replace(
            described,
            thread_width=int(made.threadExecutionWidth()),
            max_threads=int(made.maxTotalThreadsPerThreadgroup()),
        )
        memory = int(made.staticThreadgroupMemoryLength())
    problems = list(artifact_problems(replace(artifact, threadgroup_memory=memory), stated))
    if problems:
        raise ShaderError(problems)
    return LoadedKernel(library, made)
