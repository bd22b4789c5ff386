"""The static form of a tile library: two description modules and one LTOIR in one file. Spec: Building the library."""

from __future__ import annotations

import os
from pathlib import Path

from tilewright.bytecode.module import dotted
from tilewright.exports.model import ExportSet
from tilewright.library.archive import PayloadKind, payload_kind, read_library
from tilewright.library.errors import LibraryError
from tilewright.library.process import private_folder, run_tool
from tilewright.problem import Place, Problem
from tilewright.toolchain.assembler import FIRST_PACKING_VERSION
from tilewright.toolchain.shadow import tool_environment
from tilewright.toolchain.toolkit import INSTALL, Assembler, Toolkit, missing


def shipped(exports: ExportSet, *, sizes: str = "tile_shapes=[64, 128]", provider: str = "provider=1") -> ExportSet:
    """The exports that a static library ships, those with a tile size or listed ones; LibraryError for none at all.

    `sizes` and `provider` are how the caller's user lists sizes and asks for the provider form.
    """
    sized = exports.sized()
    if sized.exports:
        return sized
    raise LibraryError(
        [
            Problem(
                what=f"the static library of `{exports.library}` would be empty: no export has a tile size",
                where=exports.exports[0].where if exports.exports else None,
                hint=f"give an export its size, tile_shape = 128, or list sizes for the build, {sizes}\n"
                f"or build the provider form, which serves every size: {provider}",
            )
        ]
    )


def pack_command(toolkit: Toolkit, interface: Path, implementation: Path, ltoir: Path, output: Path) -> list[str]:
    """The `tileiras` invocation that makes `output`; a plain `tileiras` where the resolved one cannot pack."""
    assembler = toolkit.assembler
    return [
        str(assembler.path) if assembler and assembler.can_pack else "tileiras",
        "--preview-create-tile-lib",
        f"--preview-interface={interface}",
        f"--preview-implementation={implementation}",
        f"--preview-implementation={ltoir}",
        "-o",
        str(output),
    ]


def pack(interface: bytes, implementation: bytes, ltoir: bytes, *, stem: str, toolkit: Toolkit) -> bytes:
    """The bytes of `<stem>.tilelib`; they depend on the three inputs and the assembler, on no path.

    The assembler looks into none of its inputs but the interface, so the code must be LTOIR and the result is read
    back: each implementation must belong to a declaration, and every declaration must have one.
    """
    assembler = _packer(toolkit)
    if (kind := payload_kind(ltoir)) is not PayloadKind.LTOIR:
        what = f"the code of a tile library must be LTOIR, and this is {kind.value}"
        raise LibraryError([Problem(what=what, where=Place(f"{stem}.ltoir"))])
    files = {f"{stem}.iface.tilebc": interface, f"{stem}.impl.tilebc": implementation, f"{stem}.ltoir": ltoir}
    library = f"{stem}.tilelib"
    with private_folder(files) as folder:
        run_tool(
            pack_command(toolkit, *(Path(name) for name in (*files, library))),
            folder=folder,
            environment=tool_environment(toolkit, os.environ),
            fault=f"tileiras could not make `{library}`",
            identity=f"tileiras {assembler.version} ({assembler.path}, from {assembler.origin})",
        )
        try:
            data = (folder / library).read_bytes()
        except OSError as failure:
            what = f"tileiras reported success but wrote no `{library}` ({failure.strerror})"
            raise LibraryError([Problem(what=what)]) from failure
    contents = read_library(data, library)
    if (contents.interface_data, contents.payload.data) != (interface, ltoir):
        raise LibraryError([Problem(what=f"tileiras wrote a `{library}` that does not hold what it was given")])
    if problems := contents.mismatches():
        raise LibraryError(problems)
    return data


def _packer(toolkit: Toolkit) -> Assembler:
    assembler = toolkit.assembler
    if assembler is None:
        raise LibraryError([missing(toolkit, "assembler")])
    if not assembler.can_pack:
        oldest = dotted(FIRST_PACKING_VERSION)
        what = f"{assembler.path} {assembler.listed}; packing a tile library needs {oldest} or newer"
        raise LibraryError([Problem(what=what, hint=INSTALL)])
    return assembler
