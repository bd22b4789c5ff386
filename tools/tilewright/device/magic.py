"""The first bytes that tell the kinds of device code apart."""

from __future__ import annotations

LTOIR = b"\xed\x43\x4e\x7f"
FATBIN = b"\x50\xed\x55\xba"
ELF = b"\x7fELF"
"""A cubin, or a host's object file or library."""
