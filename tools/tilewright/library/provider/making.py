"""From exports and device code to a library in the provider form. Spec: The provider form."""

from __future__ import annotations

import os
from pathlib import Path

from tilewright.bytecode.module import dotted
from tilewright.bytecode.modules import modules_of
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.exports.rules import ensure
from tilewright.exports.sizes import without_sizes
from tilewright.library.archive import PayloadKind, read_library
from tilewright.library.errors import LibraryError
from tilewright.library.process import private_folder, run_tool
from tilewright.library.provider.abi import OBSERVED
from tilewright.library.provider.bodies import DeviceCode, code_of_ir, code_of_ltoir
from tilewright.library.provider.c_compiler import CCompiler, compile_shared
from tilewright.library.provider.embedding import embedded_source
from tilewright.problem import Problem
from tilewright.toolchain.assembler import FIRST_PACKING_VERSION
from tilewright.toolchain.shadow import tool_environment
from tilewright.toolchain.toolkit import INSTALL, Assembler, Toolkit, missing

RUNTIME = Path(__file__).with_name("runtime")


def make_provider(
    exports: ExportSet, code: str | bytes, *, toolkit: Toolkit, compiler: CCompiler, abi: str = OBSERVED
) -> bytes:
    """The bytes of `<library>.tilelib`, all exports in it, with a tile size and without.

    `code` is NVVM IR text, whose signatures are checked here, or LTOIR, which was checked when it was made.  `abi` is
    what `choose_abi` gave.  The bytes depend on the arguments, the C compiler and the assembler, on no path.  Raises
    ExportError for exports that break a rule, since their names become C; LibraryError for everything else.
    """
    if abi != OBSERVED:
        raise LibraryError([Problem(f"a provider cannot be built for the ABI `{abi}`")])
    if not exports.exports:
        raise LibraryError([Problem(f"the provider of `{exports.library}` would be empty: there are no exports")])
    ensure(exports)
    assembler = _packer(toolkit)
    made = code_of_ir(exports, code) if isinstance(code, str) else code_of_ltoir(exports, code)
    version = toolkit.bytecode_version()
    shared = compile_shared(
        provider_sources(exports.library, made, version),
        shared_object_name(exports.library),
        compiler=compiler,
        environ=os.environ,
    )
    return _pack(modules_of(exports, version=version).interface, shared, exports.library, toolkit, assembler)


def provider_code(
    module: DeviceModule, exports: ExportSet, ltoir: bytes, *, arch: str, toolkit: Toolkit, workers: Workers
) -> str | bytes:
    """The code of `make_provider`: NVVM IR as it stands, of CUDA C++ the LTOIR of the bodies alone.

    `ltoir` is what `make_ltoir` made of these arguments.  Where sizes are listed it has a symbol for each, which the
    provider would define a second time, so the bodies are compiled once more without them.
    """
    if module.language == "nvvm":
        return module.text
    bodies = without_sizes(exports)
    if bodies == exports:
        return ltoir
    return make_ltoir(module, bodies, arch=arch, toolkit=toolkit, workers=workers)


def shared_object_name(library: str) -> str:
    """`libtilelib_relu_provider.so`. Spec: The provider form."""
    return f"lib{library}_provider.so"


def provider_sources(library: str, code: DeviceCode, version: tuple[int, int]) -> dict[str, bytes]:
    """Everything the C compiler gets, by file name: the runtime, and the one file written for this library."""
    runtime = {path.name: path.read_bytes() for path in sorted(RUNTIME.iterdir()) if path.suffix in (".c", ".h")}
    return {**runtime, "embedded.c": embedded_source(library, code, version).encode()}


def provider_pack_command(assembler: str, interface: Path, shared: Path, output: Path) -> list[str]:
    """The `tileiras` invocation that makes `output`."""
    return [
        assembler,
        "--preview-create-tile-lib",
        f"--preview-interface={interface}",
        f"--preview-implementation={shared}",
        "-o",
        str(output),
    ]


def _pack(interface: bytes, shared: bytes, stem: str, toolkit: Toolkit, assembler: Assembler) -> bytes:
    names = (f"{stem}.iface.tilebc", shared_object_name(stem), f"{stem}.tilelib")
    with private_folder({names[0]: interface, names[1]: shared}) as folder:
        run_tool(
            provider_pack_command(str(assembler.path), *map(Path, names)),
            folder=folder,
            environment=tool_environment(toolkit, os.environ),
            fault=f"tileiras could not make `{names[2]}`",
            identity=f"tileiras {assembler.version} ({assembler.path}, from {assembler.origin})",
        )
        try:
            data = (folder / names[2]).read_bytes()
        except OSError as failure:
            what = f"tileiras reported success but wrote no `{names[2]}` ({failure.strerror})"
            raise LibraryError([Problem(what)]) from failure
    contents = read_library(data, names[2])
    if (contents.interface_data, contents.payload.kind) != (interface, PayloadKind.PROVIDER):
        raise LibraryError([Problem(f"tileiras wrote a `{names[2]}` that does not hold what it was given")])
    return data


def _packer(toolkit: Toolkit) -> Assembler:
    assembler = toolkit.assembler
    if assembler is None:
        raise LibraryError([missing(toolkit, "assembler")])
    if not assembler.can_pack:
        oldest = dotted(FIRST_PACKING_VERSION)
        what = f"{assembler.path} {assembler.listed}; packing a tile library needs {oldest} or newer"
        raise LibraryError([Problem(what, hint=INSTALL)])
    return assembler
