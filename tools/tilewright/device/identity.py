"""What the bytes of LTOIR depend on besides its source, as one string for build signatures."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from tilewright.device.module import Language
from tilewright.toolchain.toolkit import Toolkit

COMPONENTS: dict[Language, tuple[str, ...]] = {"cuda": ("nvrtc",), "nvvm": ("nvvm", "libdevice")}
"""The toolkit's components that make LTOIR of a language. The probe link's others only read it."""


def ltoir_identity(toolkit: Toolkit, language: Language) -> str:
    """`nvrtc 13.5.37; device 0f3c...`: the compilers' versions and a digest of this room, no path and no date.

    The whole room counts, its checks too: LTOIR that a stricter check would refuse must not come from a cache.
    """
    versions = [toolkit.identity(name) for name in COMPONENTS[language]]
    return "; ".join([*versions, f"device {_digest()}"])


@functools.cache
def _digest() -> str:
    """SHA-256 over names and contents of this room's own modules, in order of name."""
    room = Path(__file__).parent
    digest = hashlib.sha256()
    for name in sorted(source.relative_to(room).as_posix() for source in room.rglob("*.py")):
        data = (room / name).read_bytes()
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()
