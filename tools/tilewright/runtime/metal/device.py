"""The GPU of a Mac: memory, streams and shaders as on any device. Spec: direct-buffer ABI; B172 to B174."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from tilewright.lowering.artifact import DeviceArtifact
from tilewright.lowering.metal import device as described
from tilewright.lowering.metal.artifact import MetalArtifact
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.options import CompileOptions
from tilewright.runtime.buffer import Buffer
from tilewright.runtime.cache import Memory
from tilewright.runtime.device import Device
from tilewright.runtime.driver import LoadedKernel
from tilewright.runtime.errors import ShaderError, refusal
from tilewright.runtime.metal.compiler import (
    PROBE_INPUT,
    file_library,
    math_probe,
    pipeline,
    probe_problems,
    source_library,
)
from tilewright.runtime.metal.driver import MetalDriver
from tilewright.runtime.metal.requirements import artifact_problems
from tilewright.runtime.shader import KernelMetadata, Shader
from tilewright.runtime.stream import Stream
from tilewright.tileir.graph import Function
from tilewright.tileir.types import Element


class MetalDevice(Device):
    """A Metal GPU; pipelines are kept in this process, by the compile key of their artifact.

    `limits` is what kernels are made for: what the GPU says, or a description by hand. What that does not allow is
    refused before the GPU is touched, which is opened when it is first needed then and has to allow the kernel, too.
    """

    def __init__(self, number: int = 0, *, limits: described.MetalDevice | None = None) -> None:
        self._number = number
        self._exact: set[bool] = set()
        self.memory: Memory[LoadedKernel] = Memory()
        self.limits = limits or self.driver.limits

    @cached_property
    def driver(self) -> MetalDriver:
        return MetalDriver(self._number)

    @property
    def description(self) -> str:
        found = self.driver.limits
        family = f"Apple{found.family}" if found.family else "no Apple GPU"
        return f"{self.name} ({family}, macOS {found.os})"

    def lower(self, function: Function, options: CompileOptions) -> MetalArtifact:
        return lower(function, options, self.limits)

    def load(self, artifact: DeviceArtifact, name: str | None = None) -> LoadedKernel:
        """Compiles the source, unless a pipeline of the same compile key is kept (C.9). No store takes a `name`."""
        if name is not None:
            what = f"the name {name!r} was given, and pipelines of Metal are kept in the process only"
            raise refusal(what, "shader-name", "leave `name` out")
        checked = self._allowed(artifact)
        key = (checked.compile_key,)
        kernel = self.memory.get(key)
        if kernel is None:
            if not checked.fast_math:
                self._check_math(fmad=checked.fmad)
            kernel = self._compiled(checked)
            self.memory.put(key, kernel)
        return kernel

    def prebuilt(self, artifact: DeviceArtifact, library: Path) -> Shader:
        """The handle of an artifact whose `.metallib` was made by Apple's offline compiler, with its `math_flags`.

        That the file was made of this artifact, and so, is the caller's duty: nothing in it can be compared.
        """
        checked = self._allowed(artifact)
        driver = self.driver
        kernel = pipeline(
            driver.system,
            driver.gpu,
            checked,
            driver.limits,
            lambda: file_library(driver.system, driver.gpu, library),
        )
        return Shader(KernelMetadata.of(checked), device=self, artifact=checked, kernel=kernel)

    def external(self, address: int, count: int, element: Element = Element.F32) -> Buffer:
        """Part of a buffer of this device, by its address; Metal binds no other memory."""
        self.driver.memory_at(address, count * element.size)
        return super().external(address, count, element)

    def gpu_seconds(self, stream: Stream) -> float:
        """Seconds that the GPU worked on the launches of a stream, as far as they were waited for."""
        return self.driver.queue(stream.handle).gpu_seconds

    def _allowed(self, artifact: DeviceArtifact) -> MetalArtifact:
        """The artifact, if it is one of Metal that the limits and the GPU allow, asked in that order."""
        if not isinstance(artifact, MetalArtifact):
            raise refusal(f"Unsupported artifact format {artifact.format.value!r} on a Metal device", "artifact-format")
        problems = list(artifact_problems(artifact, self.limits))
        problems = problems or list(artifact_problems(artifact, self.driver.limits))
        if problems:
            raise ShaderError(problems)
        return artifact

    def _compiled(self, artifact: MetalArtifact) -> LoadedKernel:
        driver = self.driver
        return pipeline(
            driver.system,
            driver.gpu,
            artifact,
            driver.limits,
            lambda: source_library(driver.system, driver.gpu, artifact),
        )

    def _check_math(self, *, fmad: bool) -> None:
        """B174: runs the probe once for each way to compile; ShaderError where its results are those of fast math."""
        if fmad in self._exact:
            return
        probe = math_probe(fmad=fmad)
        kernel = self._compiled(probe)
        given, found = self.buffer_of(np.array(PROBE_INPUT, np.float32)), self.buffer(3)
        results = np.empty(3, np.float32)
        stream = self.stream()
        self.driver.launch(kernel, probe.grid, probe.block, (given.address, found.address), stream.handle)
        stream.submit(found.copy_to(results)).synchronize()
        stream.close()
        problems = probe_problems([float(each) for each in results], fmad=fmad)
        if problems:
            raise ShaderError(problems)
        self._exact.add(fmad)


def open_metal_device(number: int = 0, *, limits: described.MetalDevice | None = None) -> MetalDevice:
    """GPU `number` of this Mac, 0 = the default one. ShaderError without macOS, PyObjC or GPU.

    With `limits`, a description by hand, all of that is found out when the GPU is first needed.
    """
    return MetalDevice(number, limits=limits)
