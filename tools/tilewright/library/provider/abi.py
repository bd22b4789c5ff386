"""Which declaration of the provider ABI a library is built with. Spec: The provider form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.library.errors import LibraryError
from tilewright.problem import Problem

OBSERVED = "observed"
"""The value of `provider_abi` that asks for our own declaration."""

OBSERVED_VERSION = "0.0.1"
HEADER_VARIABLE = "TILEIR_LINKAGE_PROVIDER_INCLUDE_DIR"
ENTRY = "tileir_create_linkage_provider"

_OBSERVED_HINT = (
    f"provider_abi={OBSERVED} builds against tilewright's own declaration of ABI {OBSERVED_VERSION}, found by watching "
    "tileiras 13.5.37: it is undocumented and may fail with any other assembler"
)


def choose_abi(requested: str, environ: Mapping[str, str]) -> str:
    """`OBSERVED` when that is asked for by name; LibraryError, with what can be done, in every other case.

    The vendor's header is part of the Tile IR compiler's sources, of no toolkit, and its names are not known here: a
    folder that has it is recognised and refused rather than taken for the observed declaration.
    """
    if requested == OBSERVED:
        return OBSERVED
    if requested:
        what = f"there is no provider ABI `{requested}`"
        raise LibraryError([Problem(what, hint=f"the one to ask for is provider_abi={OBSERVED}")])
    folder = environ.get(HEADER_VARIABLE, "")
    if not folder:
        what = (
            "the provider form needs the Tile IR compiler's linkage provider header, which is part of that compiler's "
            f"source tree and of no CUDA toolkit; {HEADER_VARIABLE}, the folder it is in, is not set"
        )
        raise LibraryError([Problem(what, hint=_OBSERVED_HINT)])
    header = vendor_header(Path(folder))
    if header is None:
        what = f"{HEADER_VARIABLE} names {folder}, in which no header declares `{ENTRY}`"
        raise LibraryError([Problem(what, hint=_OBSERVED_HINT)])
    what = f"{header} declares the provider ABI in names that this version of tilewright does not know"
    raise LibraryError([Problem(what, hint=_OBSERVED_HINT)])


def vendor_header(folder: Path) -> Path | None:
    """The header below the folder that declares the entry of a provider; None when there is none to be read."""
    try:
        candidates = sorted(path for path in folder.rglob("*.h*") if path.suffix in (".h", ".hpp") and path.is_file())
        return next((path for path in candidates if ENTRY.encode() in path.read_bytes()), None)
    except OSError:
        return None
