"""The libraries a program is compiled against, read and checked before any compiler runs."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from pathlib import Path

from tilewright.bytecode.records import Declaration
from tilewright.callers.error import CallerError
from tilewright.library.archive import LibraryContents, PayloadKind, read_library
from tilewright.library.errors import LibraryError
from tilewright.problem import Place, Problem
from tilewright.toolchain.architectures import ltoir_fits
from tilewright.toolchain.toolkit import Toolkit

SUFFIX = ".tilelib"
_MACHINES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}


def slashed(path: Path) -> str:
    """The path as the assembler has to be given it: a provider is loaded by its path, which needs a slash for that."""
    text = str(path)
    return text if "/" in text else f"./{text}"


def read_libraries(paths: Sequence[Path]) -> tuple[LibraryContents, ...]:
    """Every library, taken apart. CallerError with a problem for each that is missing, skipped or no library."""
    problems: list[Problem] = []
    contents: list[LibraryContents] = []
    seen: set[Path] = set()
    for path in paths:
        if (real := path.resolve()) in seen:
            problems.append(Problem(f"the library `{path}` is given twice", hint="give it once"))
            continue
        seen.add(real)
        try:
            contents.append(read_library(path.read_bytes(), str(path)))
        except OSError as failure:
            problems.append(_unreadable(path, failure))
        except LibraryError as error:
            problems += error.problems
    if problems:
        raise CallerError(problems)
    return tuple(contents)


def check_libraries(libraries: Sequence[LibraryContents], arch: str, toolkit: Toolkit) -> list[Problem]:
    """What the assembler would refuse for `arch`, most of it with no reason given, and what links and misbehaves."""
    problems = list(_declared_twice(libraries))
    for library in libraries:
        problems += _unusable(library, arch, toolkit)
    return problems


def declarations(libraries: Sequence[LibraryContents]) -> dict[str, tuple[LibraryContents, Declaration]]:
    """Every declaration by name, with its library."""
    return {each.name: (library, each) for library in libraries for each in library.interface.declarations}


def symbols(libraries: Sequence[LibraryContents]) -> tuple[str, ...]:
    """The implementation symbols of all libraries; a provider names none."""
    catalogs = [library.catalog for library in libraries if library.catalog]
    return tuple(each.name for catalog in catalogs for each in catalog.implementations)


def _unreadable(path: Path, failure: OSError) -> Problem:
    if path.is_dir():
        beside = path / f"{path.name}{SUFFIX}"
        hint = f"name the file: {beside}" if beside.is_file() else f"name the {SUFFIX} file in it"
        return Problem(f"the library `{path}` is a folder", hint=hint)
    skipped = path.with_name(f"{path.name}.skipped")
    if skipped.is_file():
        reason = skipped.read_text(encoding="utf-8", errors="replace").rstrip("\n")
        return Problem(f"the library `{path}` was skipped when it was built", detail=reason)
    if not path.exists():
        nearest = path.with_name(f"{path.name}{SUFFIX}")
        if path.suffix != SUFFIX and nearest.is_file():
            hint = f"write its whole path: {slashed(nearest)}"
        else:
            hint = f"build it first, or correct the path; a library is named by its file, such as ./{path.stem}{SUFFIX}"
        return Problem(f"the library `{path}` does not exist", hint=hint)
    return Problem(f"cannot read the library `{path}`: {failure.strerror}")


def _declared_twice(libraries: Sequence[LibraryContents]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for library in libraries:
        for declaration in library.interface.declarations:
            first = owners.setdefault(declaration.name, library.file)
            if first != library.file:
                what = f"`{declaration.name}` is declared by two libraries, {first} and {library.file}"
                yield Problem(what, hint='give one of them another declaration name: name = "..."')


def _unusable(library: LibraryContents, arch: str, toolkit: Toolkit) -> Iterator[Problem]:
    place = Place(library.file)
    version, ours = library.interface.version, toolkit.bytecode_version()
    if version != ours:
        relation = "newer" if version > ours else "older"
        what = (
            f"the library is of bytecode version {_dotted(version)}, {relation} than {_dotted(ours)}: "
            "an assembler reads preview content of its own version only"
        )
        hint = "use the toolkit that built the library" if relation == "newer" else "build the library again"
        yield Problem(what, place, hint)
    yield from library.mismatches()
    header = library.payload.ltoir
    if header and not ltoir_fits(f"compute_{header.arch}", arch):
        what = f"the library's device code is LTOIR for compute_{header.arch}, newer than {arch}"
        yield Problem(what, place, f"build the library for {arch}, or with an older ltoir_arch")
    host = _MACHINES.get(platform.machine().lower(), "")
    if host and library.machine != host and library.payload.kind is PayloadKind.PROVIDER:
        yield Problem(f"the provider is made for {library.machine} hosts, and this one is {host}", place)


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
