"""The provider form of `tilewright build`. Spec: The provider form."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.arguments import UsageError
from tilewright.problem import Problem

if TYPE_CHECKING:
    from tilewright.device.module import DeviceModule
    from tilewright.device.workers import Workers
    from tilewright.exports.model import ExportSet
    from tilewright.library.provider.c_compiler import CCompiler
    from tilewright.toolchain.toolkit import Toolkit


def check_abi(options: Namespace) -> None:
    """LibraryError with the specified explanation unless `--provider` comes with the ABI that is wanted."""
    from tilewright.library.errors import LibraryError
    from tilewright.library.provider.abi import choose_abi

    if not options.provider:
        if options.provider_abi is not None:
            raise UsageError([Problem("--provider-abi is about the provider form", hint="add --provider")])
        return
    try:
        choose_abi(options.provider_abi or "", os.environ)
    except LibraryError as error:
        raise LibraryError(
            replace(problem, hint=problem.hint.replace("provider_abi=", "--provider-abi "))
            for problem in error.problems
        ) from error


def provider_command(toolkit: Toolkit, interface: Path, library: Path) -> list[str]:
    """What packs the library, with the paths of the artifacts; the shared object itself is not kept."""
    from tilewright.library.provider.making import provider_pack_command, shared_object_name

    assembler = str(toolkit.require("assembler").path)
    shared = interface.with_name(shared_object_name(interface.name.partition(".")[0]))
    return provider_pack_command(assembler, interface, shared, library)


def _c_compiler() -> CCompiler:
    from tilewright.library.provider.c_compiler import find_c_compiler

    return find_c_compiler(os.environ)


@dataclass(frozen=True, slots=True)
class ProviderForm:
    """How one source's libraries are made; LibraryError at once where there is no C compiler."""

    module: DeviceModule
    exports: ExportSet
    toolkit: Toolkit
    compiler: CCompiler = field(default_factory=_c_compiler)

    def pack(self, ltoir: bytes, arch: str, workers: Workers) -> bytes:
        """The library of the code that `make_ltoir` gave for `arch`."""
        from tilewright.exports.sizes import without_sizes
        from tilewright.library.provider.making import make_provider, provider_code

        code = provider_code(self.module, self.exports, ltoir, arch=arch, toolkit=self.toolkit, workers=workers)
        return make_provider(without_sizes(self.exports), code, toolkit=self.toolkit, compiler=self.compiler)
