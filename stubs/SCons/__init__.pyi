"""The part of SCons that tilewright uses; SCons itself ships no types."""

__version__: str
