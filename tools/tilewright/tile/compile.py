"""The way from a captured kernel to a shader. The device brings the lowering; nothing here knows one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tilewright.tile.kernel import Kernel

UNAVAILABLE = "tile kernels are unavailable on this device: it has no `create_tile_kernel`"


class Metadata(Protocol):
    """What is known of a compiled kernel; `error` is empty when there is one."""

    @property
    def error(self) -> str: ...


class Shader(Protocol):
    """A handle that is falsy, with `metadata.error`, where the kernel or an option was refused."""

    @property
    def metadata(self) -> Metadata: ...

    def __bool__(self) -> bool: ...

    def __call__(self, *arguments: Any) -> Any: ...


@dataclass(frozen=True)
class NoFactoryMetadata:
    """Of the shader of a device that compiles no tile kernels."""

    error: str = UNAVAILABLE
    source: str = ""


@dataclass(frozen=True)
class NoFactory:
    """The falsy shader of such a device."""

    metadata: NoFactoryMetadata = NoFactoryMetadata()

    def __bool__(self) -> bool:
        return False

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(self.metadata.error)


def compile(device: object, kernel: Kernel, options: object | None = None, **named: Any) -> Shader:
    """A shader for a device, such as `tilewright.runtime.open_device()`; options as that device's value, or by name.

    It is falsy, with `metadata.error`, where anything is refused; no other route is tried.
    """
    factory: Callable[..., Shader] | None = getattr(device, "create_tile_kernel", None)
    return NoFactory() if factory is None else factory(kernel, options, **named)
