"""Lets a checkout say `tools=["tilelib"]`; the tool itself is `tilewright.scons`."""

from tilewright.scons import exists, generate, options

__all__ = ["exists", "generate", "options"]
