"""What the text of an artifact depends on besides its TileIR, as one string for build signatures."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

NO_PART = ("check", "offline.py")
"""What the package of a backend holds beside its lowering: it looks at artifacts or compiles them, and writes none."""


@functools.cache
def lowering_identity(backend: str) -> str:
    """`cuda 0f3c...`: SHA-256 over names and contents of the modules that make an artifact, no path and no date.

    They are those of the backend's package, of this room itself, and of TileIR.
    """
    package = Path(__file__).parents[1]
    room = package / "lowering"
    own = (each for each in (room / backend).rglob("*.py") if each.relative_to(room / backend).parts[0] not in NO_PART)
    sources = [*room.glob("*.py"), *own, *(package / "tileir").rglob("*.py")]
    digest = hashlib.sha256()
    for name in sorted(source.relative_to(package).as_posix() for source in sources):
        data = (package / name).read_bytes()
        digest.update(f"{name} {len(data)}\n".encode())
        digest.update(data)
    return f"{backend} {digest.hexdigest()}"
