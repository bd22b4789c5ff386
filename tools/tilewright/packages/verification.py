"""`tilewright verify-package`: paths, digests, manifest and metadata of a package, and whether its contents load."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import BytesParser

from tilewright.packages.contents import bytecode_versions, content_problems, libraries_in
from tilewright.packages.error import PackageError
from tilewright.packages.manifest import FILE, Manifest, differences, read_manifest
from tilewright.packages.naming import PackageSpec, check_spec
from tilewright.packages.reading import read_archive
from tilewright.packages.wheel import digest_of, dist_info
from tilewright.problem import Place, Problem


@dataclass(frozen=True, slots=True)
class Package:
    """A package that holds what its manifest says: its files by path below its root, the manifest left out."""

    manifest: Manifest
    root: str
    files: Mapping[str, bytes]

    def line(self) -> str:
        """What it is, in a line."""
        made = self.manifest
        return (
            f"{made.name} {made.version}: {', '.join(made.libraries)} for {', '.join(made.architectures)}, "
            f"Tile IR {made.bytecode_version}, {len(self.files)} files"
        )


def verify_package(data: bytes, file: str) -> Package:
    """The package in the bytes of an archive; PackageError with everything that is wrong with it."""
    archive = read_archive(data, file)
    package, metadata = _taken_apart(archive, file)
    problems = differences(package.manifest, package.files, file)
    problems += _spec_problems(package, file)
    if metadata or file.endswith(".whl"):
        problems += _wheel_problems(package, archive, metadata, file)
    if not problems:
        problems += _content_problems(package, file)
    if problems:
        raise PackageError(problems)
    return package


def _taken_apart(archive: Mapping[str, bytes], file: str) -> tuple[Package, dict[str, bytes]]:
    """The package, and the metadata of a wheel by file name."""
    roots = [path.partition("/")[0] for path in archive if path.count("/") == 1 and path.endswith(f"/{FILE}")]
    if len(roots) != 1:
        raise PackageError([Problem(f"this is no package of tile libraries: it has {len(roots)} {FILE}", Place(file))])
    root = roots[0]
    own = {path.removeprefix(f"{root}/"): data for path, data in archive.items() if path.startswith(f"{root}/")}
    manifest = read_manifest(own.pop(FILE), f"{file}:{root}/{FILE}")
    rest = {path: data for path, data in archive.items() if not path.startswith(f"{root}/")}
    metadata = {path: data for path, data in rest.items() if path.partition("/")[0].endswith(".dist-info")}
    if strays := [path for path in rest if path not in metadata]:
        raise PackageError(
            Problem("a file is there that the manifest does not list", Place(file, path=path)) for path in strays
        )
    return Package(manifest, root, own), metadata


def _spec_problems(package: Package, file: str) -> list[Problem]:
    made = package.manifest
    place = Place(file, path=FILE)
    try:
        check_spec(PackageSpec(made.name, made.version, licence=made.licence))
    except PackageError as error:
        return [Problem(problem.what, place) for problem in error.problems]
    spec = PackageSpec(made.name, made.version)
    if package.root not in (spec.root, spec.identifier):
        return [Problem(f"the package unpacks to `{package.root}`, and its manifest names {spec.root}", place)]
    return []


def _wheel_problems(
    package: Package, archive: Mapping[str, bytes], metadata: Mapping[str, bytes], file: str
) -> Iterator[Problem]:
    try:
        info = dist_info(PackageSpec(package.manifest.name, package.manifest.version))
    except ValueError:
        yield Problem(f"`{package.manifest.version}` is no version of PEP 440", Place(file, path=FILE))
        return
    if strays := sorted({path.partition("/")[0] for path in metadata} - {info}):
        yield Problem(f"the wheel has metadata under {', '.join(strays)}, and its manifest wants {info}", Place(file))
    record, described = metadata.get(f"{info}/RECORD"), metadata.get(f"{info}/METADATA")
    if record is None or described is None or f"{info}/WHEEL" not in metadata:
        yield Problem(f"the wheel lacks RECORD, METADATA or WHEEL under {info}", Place(file))
        return
    headers = BytesParser().parsebytes(described)
    name, version = str(headers["Name"]).replace("-", "_"), str(headers["Version"])
    if (name, f"{name}-{version}.dist-info") != (package.manifest.name, info):
        yield Problem(f"the metadata are of {name} {version}", Place(file, path=f"{info}/METADATA"))
    try:
        listed = {tuple(row) for row in csv.reader(io.StringIO(record.decode("utf-8", "replace")))}
    except csv.Error as error:
        yield Problem(f"RECORD is broken: {error}", Place(file, path=f"{info}/RECORD"))
        return
    expected = {(path, digest_of(data), str(len(data))) for path, data in archive.items() if path != f"{info}/RECORD"}
    for row in sorted(listed ^ (expected | {(f"{info}/RECORD", "", "")})):
        yield Problem("RECORD does not list the file as it is", Place(file, path=row[0] if row else "RECORD"))


def _content_problems(package: Package, file: str) -> Iterator[Problem]:
    made, files = package.manifest, package.files
    if made.sbom not in files:
        yield Problem(
            f"the manifest names `{made.sbom}` as bill of materials, which is not there", Place(file, path=FILE)
        )
    found = list(libraries_in(files))
    wanted = {(name, arch) for name in made.libraries for arch in made.architectures}
    if wanted != {(name, arch) for _, name, arch in found}:
        listing = ", ".join(f"{name} for {arch}" for _, name, arch in found) or "none"
        yield Problem(f"the manifest names other libraries than are there: {listing}", Place(file, path=FILE))
    for path, problem in content_problems(files):
        yield Problem(problem.what, Place(file, path=path))
    for path, version in bytecode_versions(files).items():
        if version != made.bytecode_version:
            what = f"the library is of bytecode version {version}, the manifest says {made.bytecode_version}"
            yield Problem(what, Place(file, path=path))
