"""The whole package from its artifacts: the tree of files, and the archive of each format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tilewright import __version__
from tilewright.packages import sbom
from tilewright.packages.archives import write_tar_gz, write_zip, zipped
from tilewright.packages.build_systems import build_system_files
from tilewright.packages.contents import bytecode_versions, content_problems, libraries_in
from tilewright.packages.error import PackageError
from tilewright.packages.manifest import FILE, SCHEMA, Manifest, record_of, write_manifest
from tilewright.packages.naming import PackageSpec, check_spec, path_problems
from tilewright.packages.wheel import MODULE, module_of, wheel_files
from tilewright.problem import Place, Problem


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file that goes into a package: its path there, its bytes, and the file that it comes from."""

    path: str
    data: bytes
    origin: str


def write_package(spec: PackageSpec, artifacts: Iterable[Artifact], tools: Mapping[str, str]) -> dict[str, bytes]:
    """The archive of every format by its file name; `tools` are the identities of what made the artifacts, by name.

    Equal input gives equal bytes. PackageError for a bad name, a path taken twice, and libraries that are none.
    """
    check_spec(spec)
    files = _by_path(artifacts)
    return {spec.file_name(format): _written(spec, format, files, tools) for format in spec.formats}


def _written(spec: PackageSpec, format: str, files: Mapping[str, bytes], tools: Mapping[str, str]) -> bytes:
    tree = package_tree(spec, files, tools, as_module=format == "wheel")
    match format:
        case "wheel":
            return zipped(wheel_files(spec, tree))
        case "zip":
            return write_zip({f"{spec.root}/{path}": data for path, data in tree.items()})
        case _:
            return write_tar_gz({f"{spec.root}/{path}": data for path, data in tree.items()})


def package_tree(
    spec: PackageSpec, files: Mapping[str, bytes], tools: Mapping[str, str], *, as_module: bool = False
) -> dict[str, bytes]:
    """Every file of the package by path: `files`, what CMake and pkg-config read, bill of materials, manifest."""
    libraries, architectures, version = _libraries(spec, files)
    tree = dict(files) | build_system_files(spec, libraries, architectures)
    if as_module:
        tree[MODULE] = module_of(spec, libraries, architectures)
    tree[sbom.FILE] = sbom.write_sbom(spec, tree, tools, __version__)
    manifest = Manifest(
        schema=SCHEMA,
        name=spec.identifier,
        version=spec.version,
        licence=spec.licence,
        libraries=libraries,
        architectures=architectures,
        bytecode_version=version,
        tools={"tilewright": __version__, **dict(sorted(tools.items()))},
        sbom=sbom.FILE,
        files={path: record_of(data) for path, data in sorted(tree.items())},
    )
    return tree | {FILE: write_manifest(manifest)}


def _by_path(artifacts: Iterable[Artifact]) -> dict[str, bytes]:
    found: dict[str, Artifact] = {}
    problems = []
    for artifact in artifacts:
        first = found.setdefault(artifact.path, artifact)
        if first.data != artifact.data:
            what = f"{first.origin} and {artifact.origin} are both to be `{artifact.path}` of the package, and differ"
            problems.append(Problem(what, hint="give one of them another file name"))
    problems += [Problem(what) for what in path_problems(found)]
    if problems:
        raise PackageError(problems)
    return {path: artifact.data for path, artifact in found.items()}


def _libraries(spec: PackageSpec, files: Mapping[str, bytes]) -> tuple[list[str], list[str], str]:
    """The names of the libraries, their architectures and their bytecode version."""
    by_arch: dict[str, set[str]] = {}
    for _, name, arch in libraries_in(files):
        by_arch.setdefault(arch, set()).add(name)
    problems = [replace(problem, where=Place(path)) for path, problem in content_problems(files)]
    versions = bytecode_versions(files)
    if not by_arch:
        problems.append(Problem(f"the package `{spec.name}` holds no tile library", hint="give it a TileLibrary"))
    names = sorted(set().union(*by_arch.values()))
    for arch, own in sorted(by_arch.items()):
        problems += [
            Problem(f"the library `{name}` of the package `{spec.name}` is not built for {arch}", hint=f"arch={arch}")
            for name in names
            if name not in own
        ]
    if len(set(versions.values())) > 1:
        listing = ", ".join(f"{path} of {version}" for path, version in sorted(versions.items()))
        problems.append(Problem(f"the libraries are of different bytecode versions: {listing}"))
    if problems:
        raise PackageError(problems)
    return names, sorted(by_arch, key=_number), next(iter(versions.values()))


def _number(arch: str) -> tuple[int, str]:
    digits = re.sub(r"\D", "", arch)
    return int(digits or 0), arch
