"""The tools that make what is in a library, by which a manifest names them."""

from __future__ import annotations

from tilewright.toolchain.toolkit import Toolkit

MAKERS = ("assembler", "nvrtc", "nvvm", "libdevice")


def tools_of(toolkit: Toolkit) -> dict[str, str]:
    """The identity of each that there is, without its path."""
    return {name: toolkit.identity(name) for name in MAKERS if toolkit.component(name)}
