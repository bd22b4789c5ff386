"""A GPU: where buffers, streams and shaders come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.lowering.options import CompileOptions, DeviceLimits
from tilewright.runtime.buffer import DTYPES, Buffer
from tilewright.runtime.cache import Memory, Store
from tilewright.runtime.compilation import create
from tilewright.runtime.driver import CudaDriver, Driver
from tilewright.runtime.errors import refusal
from tilewright.runtime.nvrtc import Nvrtc, open_nvrtc
from tilewright.runtime.shader import Shader
from tilewright.runtime.stream import Stream
from tilewright.tileir.types import Element


class Device:
    """A driver, the two stores of compiled shaders, and the compiler, which is opened when it is first needed."""

    def __init__(
        self,
        driver: Driver,
        *,
        cache: Path | None = None,
        user_store: Path | None = None,
        nvrtc: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.driver = driver
        self.cache = Store(cache)
        self.user_store = Store(user_store)
        self.memory = Memory()
        self.environ = environ
        self._nvrtc_path = nvrtc

    @property
    def name(self) -> str:
        return self.driver.name

    @property
    def architecture(self) -> str:
        """Such as sm_90."""
        return self.driver.architecture

    @property
    def limits(self) -> DeviceLimits:
        return DeviceLimits(self.driver.max_threads_per_block)

    @cached_property
    def nvrtc(self) -> Nvrtc:
        return open_nvrtc(self._nvrtc_path)

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

    def create_tile_kernel(self, kernel: object, options: CompileOptions | None = None, **named: Any) -> Shader:
        """The factory behind `tile.compile`: a shader, falsy where the kernel or an option is refused."""
        return create(self, kernel, options, named)


def user_cache(environ: Mapping[str, str]) -> Path:
    """The folder of this user for compiled shaders: TILEWRIGHT_SHADER_CACHE, or below the cache folder."""
    chosen = environ.get("TILEWRIGHT_SHADER_CACHE")
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(chosen) if chosen else Path(base) / "tilewright" / "shaders"


def open_device(
    number: int = 0, *, cache: Path | None = None, user_store: Path | None = None, nvrtc: str | None = None
) -> Device:
    """GPU `number`. ShaderError without cuda-bindings, driver or GPU. Both stores default to the user's folder."""
    folder = user_cache(os.environ)
    return Device(CudaDriver(number), cache=cache or folder, user_store=user_store or folder / "named", nvrtc=nvrtc)
