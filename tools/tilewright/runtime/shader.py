"""Handles of compiled kernels: what is known of them, and how they are called."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tilewright.lowering.artifact import Argument, DeviceArtifact, Extent3
from tilewright.runtime.buffer import Buffer, BufferView
from tilewright.runtime.errors import ShaderError, refusal
from tilewright.runtime.invocation import as_view, call_problems

if TYPE_CHECKING:
    from tilewright.runtime.device import Device
    from tilewright.runtime.driver import LoadedKernel
    from tilewright.runtime.stream import Stream


@dataclass(frozen=True)
class KernelMetadata:
    """`dispatch_size` in threads; `arguments` in signature order; `disjoint_writes`: written arguments may overlap no
    other one; `error`: why there is no kernel ("" when there is one); `source`: what was compiled, not machine code.
    """

    dispatch_size: Extent3 = (0, 0, 0)
    arguments: tuple[Argument, ...] = ()
    disjoint_writes: bool = True
    error: str = ""
    source: str = ""
    realization: str = ""

    @classmethod
    def of(cls, artifact: DeviceArtifact) -> KernelMetadata:
        return cls(
            dispatch_size=artifact.dispatch_size,
            arguments=artifact.arguments,
            source=artifact.source,
            realization=artifact.realization,
        )


@dataclass(frozen=True)
class Dispatch:
    """Command: one launch. Everything was checked when the shader was called."""

    shader: Shader
    addresses: tuple[int, ...]
    views: tuple[BufferView, ...] = field(repr=False)

    def encode(self, stream: Stream) -> None:
        artifact = self.shader.artifact
        if stream.device is not self.shader.device:
            raise refusal("the stream belongs to another Device", "foreign-stream")
        if 0 in artifact.dispatch_size:
            return
        stream.device.driver.launch(self.shader.kernel, artifact.grid, artifact.block, self.addresses, stream.handle)


@dataclass(frozen=True)
class Invocation:
    """A shader with its arguments; `dispatch()` makes the command."""

    shader: Shader
    views: tuple[BufferView, ...]

    def dispatch(self, *size: object) -> Dispatch:
        """The launch that the kernel was captured for. Sizes and indirect arguments are refused (B25)."""
        if size:
            raise refusal(
                "a tile shader has a single static dispatch: its size comes from the captured nest",
                "dispatch-size",
                "shader(...).dispatch()",
            )
        addresses = tuple(self.views[parameter].address for parameter in self.shader.artifact.buffer_arguments)
        return Dispatch(self.shader, addresses, self.views)


Part = TypeVar("Part")


def usable(shader: Shader, part: Part | None) -> Part:
    """A part of a shader that has a kernel; ShaderError with its error otherwise (B186)."""
    if part is None or not shader:
        if shader.failure:
            raise shader.failure
        raise refusal(shader.metadata.error, "no-shader")
    return part


class Shader:
    """A kernel on a device, or, falsy, the reason why there is none in `metadata.error`.

    `failure` holds the parts of that reason. `moved` hands the kernel to a new handle; the old one is then unusable.
    """

    def __init__(
        self,
        metadata: KernelMetadata,
        *,
        device: Device | None = None,
        artifact: DeviceArtifact | None = None,
        kernel: LoadedKernel | None = None,
        failure: ShaderError | None = None,
    ) -> None:
        self.metadata = metadata
        self.failure = failure
        self._device = device
        self._artifact = artifact
        self._kernel = kernel

    @classmethod
    def refused(cls, failure: ShaderError) -> Shader:
        """The handle of a kernel that was not compiled."""
        return cls(KernelMetadata(error=str(failure)), failure=failure)

    def __bool__(self) -> bool:
        return self._kernel is not None

    def __call__(self, *arguments: Buffer | BufferView) -> Invocation:
        """The kernel with its arguments in signature order; ShaderError with every mismatch (B180 to B187)."""
        artifact, device = self.artifact, self.device
        problems = call_problems(artifact.entry, artifact.arguments, arguments, device)
        if problems:
            raise ShaderError(problems)
        return Invocation(self, tuple(as_view(each) for each in arguments))

    @property
    def artifact(self) -> DeviceArtifact:
        return usable(self, self._artifact)

    @property
    def device(self) -> Device:
        return usable(self, self._device)

    @property
    def kernel(self) -> LoadedKernel:
        return usable(self, self._kernel)

    def moved(self) -> Shader:
        """A new handle that owns the kernel."""
        fresh = Shader(self.metadata, device=self.device, artifact=self.artifact, kernel=self.kernel)
        self._kernel = None
        self.metadata = KernelMetadata(error="the shader was moved from")
        return fresh

    def close(self) -> None:
        """Unloads the kernel; the GPU must be done with it."""
        kernel, self._kernel = self._kernel, None
        if kernel is not None and self._device is not None:
            self._device.driver.unload(kernel)
            self.metadata = KernelMetadata(error="the shader is closed")

    def __del__(self) -> None:
        if getattr(self, "_kernel", None) is not None and not sys.is_finalizing():
            self.close()
