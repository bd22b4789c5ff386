"""What the outcome of a check depends on besides the checked text, as one string for build signatures."""

from __future__ import annotations

import hashlib
from importlib import resources

from tilewright.lowering.metal.check.clang import Clang


def check_identity(clang: Clang) -> str:
    """`clang 19 0f3c...`: the compiler's version and a digest of the check's modules and headers, no path."""
    room = resources.files("tilewright.lowering.metal.check")
    digest = hashlib.sha256()
    for folder in (room, room.joinpath("shim")):
        for file in sorted(folder.iterdir(), key=lambda each: each.name):
            if file.name.endswith((".py", ".h")):
                data = file.read_bytes()
                digest.update(f"{file.name} {len(data)}\n".encode())
                digest.update(data)
    return f"clang {clang.version} {digest.hexdigest()}"
