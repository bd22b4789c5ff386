"""Running tile shaders on a GPU: devices, buffers, streams, shader handles.

`open_device` gives a device; `tile.compile(device, kernel, ...)` or `device.create_tile_kernel(...)` a shader, which is
falsy with `shader.metadata.error` set where the kernel or an option is refused.
"""

from tilewright.lowering.options import CompileOptions, DeviceLimits, Lowering
from tilewright.runtime.buffer import Buffer, BufferView
from tilewright.runtime.compilation import compile
from tilewright.runtime.device import Device, open_device
from tilewright.runtime.errors import ShaderError
from tilewright.runtime.shader import Dispatch, KernelMetadata, Shader
from tilewright.runtime.stream import Stream

__all__ = [
    "Buffer",
    "BufferView",
    "CompileOptions",
    "Device",
    "DeviceLimits",
    "Dispatch",
    "KernelMetadata",
    "Lowering",
    "Shader",
    "ShaderError",
    "Stream",
    "compile",
    "open_device",
]
