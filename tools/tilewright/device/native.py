"""The toolkit's own compiler libraries, opened by path.

Opening them ourselves is what makes them the toolkit's: a binding that searches for its library takes the first one it
finds in the environment, and only one of a name in a process.  Called from worker processes only.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tilewright.device.module import DeviceError
from tilewright.problem import Problem


@functools.cache
def opened(path: str) -> ctypes.CDLL:
    """The shared library at `path`; `DeviceError` with the loader's text when it does not open.

    NVRTC looks for its built-in headers in `libnvrtc-builtins` by bare name, so the one beside it is opened first.
    """
    file = Path(path)
    beside = file.resolve().parent.glob("libnvrtc-builtins.so.*") if file.name.startswith("libnvrtc.") else ()
    try:
        for builtins in sorted(beside):
            ctypes.CDLL(str(builtins))
        return ctypes.CDLL(path)
    except OSError as error:
        raise DeviceError(
            [Problem(f"cannot open the native library {file.name}", detail=str(error), hint=f"look at {path}")]
        ) from None


def entry(path: str, name: str) -> Callable[..., int]:
    """The function `name` of the library at `path`, returning its status code; `DeviceError` when it is too old."""
    try:
        found: Callable[..., int] = getattr(opened(path), name)
    except AttributeError:
        raise DeviceError(
            [Problem(f"{Path(path).name} is too old: it has no `{name}`", hint="install the CUDA 13.5 toolkit")]
        ) from None
    return found


def strings(values: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """`const char* []` of the values, alive as long as the array is."""
    return (ctypes.c_char_p * len(values))(*[value.encode() for value in values])


def sized(size_of: Callable[..., int], copy: Callable[..., int], handle: ctypes.c_void_p) -> bytes:
    """What the pair of calls "how long" and "copy to here" gives; empty when either refuses."""
    size = ctypes.c_size_t()
    if size_of(handle, ctypes.byref(size)) or not size.value:
        return b""
    buffer: Any = ctypes.create_string_buffer(size.value)
    return b"" if copy(handle, buffer) else bytes(buffer.raw)


def text_of(data: bytes) -> str:
    """A log as text, without its closing NUL and outer blank lines."""
    return data.rstrip(b"\0").decode(errors="replace").strip()
