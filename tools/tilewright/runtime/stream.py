"""A queue of commands on a device: copies and dispatches, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from tilewright.runtime.errors import refusal

if TYPE_CHECKING:
    from tilewright.runtime.buffer import BufferView
    from tilewright.runtime.device import Device


class Command(Protocol):
    """Anything a stream can be given."""

    def encode(self, stream: Stream) -> None: ...


@dataclass(frozen=True)
class Copy:
    """Between a view and an array, which has to stay as it is until the stream was synchronised."""

    view: BufferView
    host: NDArray[Any]
    to_device: bool

    def encode(self, stream: Stream) -> None:
        driver, address = stream.device.driver, self.view.address
        if self.view.buffer.device is not stream.device:
            raise refusal("the buffer belongs to another Device", "foreign-buffer")
        if self.to_device:
            driver.upload(address, self.host.ctypes.data, self.host.nbytes, stream.handle)
        else:
            driver.download(self.host.ctypes.data, address, self.host.nbytes, stream.handle)


class Stream:
    """`stream << a.copy_from(x) << shader(a, b).dispatch() << b.copy_to(y)`, then `stream.synchronize()`.

    With a `handle` the queue is somebody else's, who also ends it.
    """

    def __init__(self, device: Device, handle: int | None = None) -> None:
        self.device = device
        self.is_owned = handle is None
        self._pending: dict[int, Command] = {}
        self.handle = device.driver.new_stream() if handle is None else handle

    def submit(self, *commands: Command) -> Stream:
        """Commands in order. Their shaders, buffers and arrays are kept alive until the stream is synchronised."""
        for command in commands:
            command.encode(self)
            self._pending[id(command)] = command
        return self

    def __lshift__(self, command: Command) -> Stream:
        return self.submit(command)

    def synchronize(self) -> None:
        """Waits until everything submitted is done."""
        self.device.driver.synchronize(self.handle)
        self._pending.clear()

    def close(self) -> None:
        handle, self.handle = self.handle, 0
        if handle and self.is_owned:
            self.device.driver.end_stream(handle)
