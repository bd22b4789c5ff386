"""Where each artifact stands in a package."""

from __future__ import annotations

import re

LIBRARIES = "lib/tilelib"
HEADERS = "include"
DESCRIPTIONS = "share/tilelib"
LICENCES = "licenses"

_LICENCE = re.compile(r"(licen[cs]e|copying|notice|copyright)([._-].*)?", re.IGNORECASE)
_PLACES = (
    (".tilelib", f"{LIBRARIES}/{{arch}}"),
    ("_tile.py", f"{LIBRARIES}/{{arch}}"),  # it looks for its library beside itself
    ("_tile.h", HEADERS),
    ("_tile.rs", f"{DESCRIPTIONS}/rust"),
    (".tileexports.json", DESCRIPTIONS),
    (".iface.tilebc", DESCRIPTIONS),
)


def path_of(name: str, arch: str = "", *, identifier: str) -> str:
    """The path of an artifact by its file name: `relu.tilelib` of sm_90 is `lib/tilelib/sm_90/relu.tilelib`.

    Licence texts stand in `licenses/`, what no row knows in `share/<identifier>/`, by architecture where it has one.
    """
    for suffix, folder in _PLACES:
        if name.endswith(suffix):
            return f"{folder.format(arch=arch)}/{name}"
    if _LICENCE.fullmatch(name):
        return f"{LICENCES}/{name}"
    return "/".join(filter(None, ("share", identifier, arch, name)))


def needs_architecture(name: str) -> bool:
    """Whether an artifact stands in the folder of an architecture."""
    return any(name.endswith(suffix) and "{arch}" in folder for suffix, folder in _PLACES)
