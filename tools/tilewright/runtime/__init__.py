"""Running tile shaders on a GPU: devices, buffers, streams, shader handles.

`open_device` gives a GPU of NVIDIA, `open_metal_device` that of a Mac; `tile.compile(device, kernel, ...)` or
`device.create_tile_kernel(...)` a shader, which is falsy with `shader.metadata.error` set where the kernel or an option
is refused. What a call checks, and how streams and buffers are used, is the same for both. Metal: not run on hardware.
"""

from tilewright.lowering.metal.device import MetalDevice as MetalLimits
from tilewright.lowering.options import CompileOptions, DeviceLimits, Lowering
from tilewright.runtime.buffer import Buffer, BufferView
from tilewright.runtime.compilation import compile
from tilewright.runtime.cuda_device import CudaDevice, open_device
from tilewright.runtime.device import Device
from tilewright.runtime.errors import ShaderError
from tilewright.runtime.metal.device import MetalDevice, open_metal_device
from tilewright.runtime.shader import Dispatch, KernelMetadata, Shader
from tilewright.runtime.stored import stored_artifact
from tilewright.runtime.stream import Stream

__all__ = [
    "Buffer",
    "BufferView",
    "CompileOptions",
    "CudaDevice",
    "Device",
    "DeviceLimits",
    "Dispatch",
    "KernelMetadata",
    "Lowering",
    "MetalDevice",
    "MetalLimits",
    "Shader",
    "ShaderError",
    "Stream",
    "compile",
    "open_device",
    "open_metal_device",
    "stored_artifact",
]
