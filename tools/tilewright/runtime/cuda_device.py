"""A GPU of NVIDIA: the driver, the stores of compiled shaders, and NVRTC."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from tilewright.lowering.artifact import DeviceArtifact
from tilewright.lowering.cuda.lower import lower
from tilewright.lowering.options import CompileOptions, DeviceLimits
from tilewright.runtime.cache import Memory, Store
from tilewright.runtime.device import Device
from tilewright.runtime.driver import CudaDriver, LoadedKernel, PtxDriver
from tilewright.runtime.identity import user_file_name
from tilewright.runtime.loading import Loader
from tilewright.runtime.nvrtc import Nvrtc, open_nvrtc
from tilewright.tileir.graph import Function


class CudaDevice(Device):
    """A driver, the two stores of compiled shaders, and the compiler, which is opened when it is first needed."""

    def __init__(
        self,
        driver: PtxDriver,
        *,
        cache: Path | None = None,
        user_store: Path | None = None,
        nvrtc: str | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._driver = driver
        self.cache = Store(cache)
        self.user_store = Store(user_store)
        self.memory: Memory[bytes] = Memory()
        self.environ = environ
        self._nvrtc_path = nvrtc

    @property
    def driver(self) -> PtxDriver:
        return self._driver

    @property
    def description(self) -> str:
        return f"{self.name} ({self.architecture})"

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

    def lower(self, function: Function, options: CompileOptions) -> DeviceArtifact:
        if options.name is not None:
            user_file_name(options.name)
        return lower(function, options, self.limits)

    def load(self, artifact: DeviceArtifact, name: str | None = None) -> LoadedKernel:
        return Loader(self, artifact, name, self.environ).load()


def user_cache(environ: Mapping[str, str]) -> Path:
    """The folder of this user for compiled shaders: TILEWRIGHT_SHADER_CACHE, or below the cache folder."""
    chosen = environ.get("TILEWRIGHT_SHADER_CACHE")
    base = environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(chosen) if chosen else Path(base) / "tilewright" / "shaders"


def open_device(
    number: int = 0, *, cache: Path | None = None, user_store: Path | None = None, nvrtc: str | None = None
) -> CudaDevice:
    """GPU `number`. ShaderError without cuda-bindings, driver or GPU. Both stores default to the user's folder."""
    folder = user_cache(os.environ)
    return CudaDevice(CudaDriver(number), cache=cache or folder, user_store=user_store or folder / "named", nvrtc=nvrtc)
