"""Tilewright: an SCons plugin that builds tile libraries and tile shaders."""

__version__ = "0.1.0"
