"""A GPU: where buffers, streams and shaders come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.lowering.artifact import DeviceArtifact
from tilewright.lowering.options import CompileOptions
from tilewright.runtime.buffer import DTYPES, Buffer
from tilewright.runtime.compilation import create
from tilewright.runtime.driver import Driver, LoadedKernel
from tilewright.runtime.errors import refusal
from tilewright.runtime.shader import KernelMetadata, Shader
from tilewright.runtime.stream import Stream
from tilewright.tileir.graph import Function
from tilewright.tileir.types import Element


class Device(ABC):
    """What holds for every GPU; `CudaDevice` and `MetalDevice` say how a kernel gets onto theirs."""

    @property
    @abstractmethod
    def driver(self) -> Driver:
        """Memory, queues and launches."""

    @property
    @abstractmethod
    def description(self) -> str:
        """Name and kind of the GPU, for people."""

    @abstractmethod
    def lower(self, function: Function, options: CompileOptions) -> DeviceArtifact:
        """The artifact of a function for this GPU; a ProblemError says all that is refused."""

    @abstractmethod
    def load(self, artifact: DeviceArtifact, name: str | None = None) -> LoadedKernel:
        """The kernel of an artifact, ready to launch; `name` is a stable name for where it is kept. ShaderError."""

    @property
    def name(self) -> str:
        return self.driver.name

    def buffer(self, count: int, element: Element = Element.F32) -> Buffer:
        """New memory, contents undefined."""
        return Buffer(self, element, count)

    def external(self, address: int, count: int, element: Element = Element.F32) -> Buffer:
        """Memory of somebody else, who keeps it alive; that no other resource aliases it is the caller's duty."""
        return Buffer(self, element, count, address)

    def buffer_of(self, array: NDArray[Any]) -> Buffer:
        """New memory with the contents of an array."""
        elements = {dtype: element for element, dtype in DTYPES.items()}
        if array.dtype not in elements:
            raise refusal(f"a buffer cannot hold {array.dtype}", "buffer-element", "float32")
        made = self.buffer(array.size, elements[array.dtype])
        stream = self.stream()
        stream.submit(made.copy_from(np.ascontiguousarray(array))).synchronize()
        stream.close()
        return made

    def stream(self, handle: int | None = None) -> Stream:
        """A new queue, or the driver's queue of that handle."""
        return Stream(self, handle)

    def shader(self, artifact: DeviceArtifact, name: str | None = None) -> Shader:
        """The handle of an artifact that is made already, that of a build say. ShaderError as of `load`."""
        kernel = self.load(artifact, name)
        return Shader(KernelMetadata.of(artifact), device=self, artifact=artifact, kernel=kernel)

    def create_tile_kernel(self, kernel: object, options: CompileOptions | None = None, **named: Any) -> Shader:
        """The factory behind `tile.compile`: a shader, falsy where the kernel or an option is refused."""
        return create(self, kernel, options, named)
