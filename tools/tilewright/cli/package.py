"""`tilewright package`: libraries, bindings and licence texts as archives, for build systems other than SCons."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.files import read_file
from tilewright.problem import Problem

if TYPE_CHECKING:
    from tilewright.packages.assembly import Artifact
    from tilewright.packages.naming import PackageSpec

VERB = Verb(
    "package",
    "Packs libraries into archives that other builds install. What `build` and `bindings` wrote beside a library goes "
    "in with it.",
    "tilewright package relu --version 1.0 --library sm_120=build/relu.tilelib --source relu.cu --add LICENSE",
    (
        Option("--version", "version of the package; required", "VERSION"),
        Option("--library", "a library and its architecture; may be repeated", "ARCH=FILE", repeated=True),
        Option(
            "--source",
            "a source that the libraries were built from here: the manifest names its compilers; may be repeated",
            "FILE",
            repeated=True,
        ),
        Option("--add", "a licence text or any other file; may be repeated", "FILE", repeated=True),
        Option("--format", "zip, tar.gz or wheel; may be repeated; default: zip", "FORMAT", repeated=True),
        Option("--license", "SPDX expression of the licence", "EXPRESSION"),
        Option("--output", "folder of the archives; default: the working directory", "DIR", short="-o"),
    ),
    file="NAME",
)

BESIDE = (".tileexports.json", ".iface.tilebc", "_tile.h", "_tile.py", "_tile.rs")
"""What goes in with a library when it stands beside it, by what follows the library's name."""


def run(options: Namespace) -> int:
    """Write every archive, or none, and name them."""
    from tilewright.library.publish import publish
    from tilewright.packages.assembly import write_package
    from tilewright.packages.naming import PackageSpec, check_spec

    if options.version is None:
        raise UsageError([Problem("`tilewright package` needs a version", hint="--version 1.0")])
    spec = PackageSpec(options.file, options.version, tuple(options.format) or ("zip",), options.license or "")
    check_spec(spec)
    artifacts = list(_artifacts(options, spec))
    tools = _tools(options.source, artifacts)
    folder = Path(options.output or ".")
    files = {folder / name: data for name, data in write_package(spec, artifacts, tools).items()}
    publish(files)
    for path in files:
        print(f"Package written to {path}")
    return 0


def _artifacts(options: Namespace, spec: PackageSpec) -> Iterator[Artifact]:
    from tilewright.packages.assembly import Artifact
    from tilewright.packages.layout import needs_architecture, path_of

    for each in options.library:
        arch, _, file = each.partition("=")
        library = Path(file)
        if not file or not file.endswith(".tilelib"):
            what = f"`--library {each}` names no architecture and file"
            raise UsageError([Problem(what, hint="--library sm_120=build/relu.tilelib")])
        beside = (library.with_name(library.name.removesuffix(".tilelib") + suffix) for suffix in BESIDE)
        for path in (library, *(path for path in beside if path.is_file())):
            yield Artifact(path_of(path.name, _normal(arch), identifier=spec.identifier), read_file(path), str(path))
    for file in options.add:
        if needs_architecture(file):
            raise UsageError([Problem(f"`{file}` is of one architecture", hint=f"--library sm_120={file}")])
        yield Artifact(path_of(Path(file).name, identifier=spec.identifier), read_file(Path(file)), file)


def _tools(sources: Sequence[str], artifacts: Sequence[Artifact]) -> dict[str, str]:
    """The tools that are here of those that pack such libraries, and that compile such sources."""
    from importlib.metadata import version

    from tilewright.library.provider.c_compiler import find_c_compiler
    from tilewright.library.provider.identity import version_of
    from tilewright.packages.contents import is_provider
    from tilewright.packages.tools import C_COMPILER, FRONT_ENDS, LLVMLITE, RUSTC, tools_of
    from tilewright.sources.languages import language_of
    from tilewright.sources.rust.rustc import find_rustc
    from tilewright.toolchain.toolkit import resolve

    steps = ["library", *("provider" for each in artifacts if is_provider(each.data, each.path))]
    for source in sources:
        if not Path(source).exists():
            raise UsageError([Problem(f"`--source {source}`: there is no such file")])
        steps += FRONT_ENDS[language_of(Path(source), source).device]
    others = {
        RUSTC: lambda: find_rustc(os.environ, folder=Path.cwd()).identity.partition("\n")[0],
        LLVMLITE: lambda: f"llvmlite {version('llvmlite')}",
        C_COMPILER: lambda: version_of(find_c_compiler(os.environ)),
    }
    return tools_of(steps, resolve(os.environ), others)


def _normal(arch: str) -> str:
    from tilewright.toolchain.architectures import normalize

    return normalize(arch)
