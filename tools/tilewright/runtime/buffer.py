"""Memory on a device: buffers that own an allocation, and views of parts of one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright.runtime.errors import refusal
from tilewright.tileir.types import Element

if TYPE_CHECKING:
    from tilewright.runtime.device import Device
    from tilewright.runtime.stream import Copy

DTYPES: dict[Element, np.dtype[Any]] = {
    Element.BOOL: np.dtype(np.bool_),
    Element.I32: np.dtype(np.int32),
    Element.U32: np.dtype(np.uint32),
    Element.I64: np.dtype(np.int64),
    Element.F32: np.dtype(np.float32),
    Element.F64: np.dtype(np.float64),
}
"""Element types a buffer may have, and the arrays it is copied from and to."""


class Buffer:
    """`count` elements on a device; freed with `close` or when it is not referenced any more.

    `address` is given for memory that somebody else owns, a tensor of another library say.
    """

    def __init__(self, device: Device, element: Element, count: int, address: int | None = None) -> None:
        if element not in DTYPES:
            raise refusal(f"a buffer cannot hold {element}", "buffer-element", "f32")
        if count < 1:
            raise refusal(f"a buffer of {count} elements", "buffer-size", "1 or more")
        self.device = device
        self.element = element
        self.count = count
        self.is_owned = address is None
        self._address: int | None = device.driver.allocate(self.size) if address is None else address

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.element.size

    @property
    def address(self) -> int:
        if self._address is None:
            raise refusal("the buffer is closed", "buffer-closed")
        return self._address

    def close(self) -> None:
        """Gives the memory back; the GPU must be done with it."""
        address, self._address = self._address, None
        if address is not None and self.is_owned:
            self.device.driver.free(address)

    def __del__(self) -> None:
        if getattr(self, "_address", None) is not None and not sys.is_finalizing():
            self.close()

    def view(self, offset: int = 0, count: int | None = None) -> BufferView:
        """`count` elements from element `offset` on; by default all that follow."""
        return BufferView.of_elements(self, offset, self.count - offset if count is None else count)

    def copy_from(self, host: NDArray[Any]) -> Copy:
        """Command: the whole buffer from an array."""
        return self.view().copy_from(host)

    def copy_to(self, host: NDArray[Any]) -> Copy:
        """Command: the whole buffer into an array."""
        return self.view().copy_to(host)


@dataclass(frozen=True)
class BufferView:
    """A part of a buffer: `byte_offset` and `byte_size`, seen as elements of `element`."""

    buffer: Buffer
    byte_offset: int
    byte_size: int
    element: Element

    @classmethod
    def of_elements(cls, buffer: Buffer, offset: int, count: int) -> BufferView:
        """B187: the part has to lie in the buffer."""
        if offset < 0 or count < 1 or offset + count > buffer.count:
            what = f"Invalid buffer view: elements {offset}..{offset + count} of a buffer of {buffer.count}"
            raise refusal(what, "invalid-view")
        size = buffer.element.size
        return cls(buffer, offset * size, count * size, buffer.element)

    @property
    def address(self) -> int:
        return self.buffer.address + self.byte_offset

    @property
    def count(self) -> int:
        return self.byte_size // self.element.size

    def copy_from(self, host: NDArray[Any]) -> Copy:
        """Command: the part from an array of the same size."""
        from tilewright.runtime.stream import Copy

        return Copy(self, fitting(self, host), to_device=True)

    def copy_to(self, host: NDArray[Any]) -> Copy:
        """Command: the part into an array of the same size, which may be written."""
        from tilewright.runtime.stream import Copy

        if not host.flags.writeable:
            raise refusal(
                "an array that may only be read cannot take a copy", "copy-mismatch", "numpy.empty_like(array)"
            )
        return Copy(self, fitting(self, host), to_device=False)


def fitting(view: BufferView, host: NDArray[Any]) -> NDArray[Any]:
    """The array, if a copy to or from the view means what it says."""
    wanted = DTYPES[view.element]
    if host.dtype != wanted or host.nbytes != view.byte_size or not host.flags.c_contiguous:
        raise refusal(
            f"an array of {host.nbytes} bytes of {host.dtype} does not fit "
            f"a view of {view.byte_size} bytes of {wanted}",
            "copy-mismatch",
            "numpy.ascontiguousarray(array, dtype)",
        )
    return host
