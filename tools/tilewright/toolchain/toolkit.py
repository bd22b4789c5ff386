"""One consistent CUDA toolkit, resolved once. Spec: The tileiras requirement."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.problem import Problem
from tilewright.toolchain.answers import cache_folder
from tilewright.toolchain.assembler import FIRST_PACKING_VERSION, Assembler, ask_assembler
from tilewright.toolchain.error import ToolchainError
from tilewright.toolchain.parts import (
    PART,
    PARTS,
    Part,
    RootVersions,
    find,
    include_folders,
    read_root_versions,
    version_of,
)
from tilewright.toolchain.roots import WHEELS, Candidate, candidates, in_root, root_of_tool

__all__ = ["NOWHERE", "Assembler", "Component", "ToolchainError", "Toolkit", "resolve"]

NOWHERE = Path(os.devnull)
"""The root of a toolkit that was not found: nothing can lie below it."""

ASSEMBLER_VARIABLE = "CUTILE_TILEIRAS_PATH"
INSTALL = (
    "pip install 'scons-tilelib[toolkit]'\n"
    "or install CUDA 13.5 or newer and put its bin folder on PATH (or set CUDA_HOME to it)"
)


@dataclass(frozen=True, slots=True)
class Component:
    """One part of the toolkit: name ("nvrtc"), file, version ("13.5.37") and how it was found ("PATH")."""

    name: str
    path: Path
    version: str
    origin: str


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The toolkit that everything uses: the assembler, and the components of one root.

    A part that is not there is None; `require` turns that into an error. `notes` are lines for the user, each one
    printed once. `cache` is the user's cache folder.
    """

    root: Path
    origin: str
    assembler: Assembler | None
    nvcc: Component | None
    disassembler: Component | None
    nvrtc: Component | None
    nvvm: Component | None
    libdevice: Component | None
    nvjitlink: Component | None
    ptxas: Component | None
    nvdisasm: Component | None
    cccl: Component | None
    runtime: Component | None
    crt: Component | None
    include: tuple[Path, ...]
    notes: tuple[str, ...]
    cache: Path

    def bytecode_version(self) -> tuple[int, int]:
        """The version to write: the newest that the assembler lists, (13, 5) when it cannot read previews."""
        listed = self.assembler.bytecode_versions if self.assembler else ()
        return max((FIRST_PACKING_VERSION, *listed))

    def architectures(self) -> tuple[str, ...]:
        """The names to choose from ("sm_80", ...): the assembler's, else NVRTC's; empty when there is neither."""
        if self.assembler and self.assembler.architectures:
            return self.assembler.architectures
        from tilewright.toolchain.architectures import nvrtc_architectures

        return tuple(f"sm_{number}" for number in nvrtc_architectures(self)) if self.nvrtc else ()

    def components(self) -> tuple[Component, ...]:
        """What there is, in the order of the table of parts."""
        return tuple(component for part in PARTS if (component := self.component(part.name)))

    def component(self, name: str) -> Component | None:
        """A component by name ("assembler" included), None when it is not there."""
        if name == "assembler":
            found = self.assembler
            return Component(name, found.path, found.version, found.origin) if found else None
        component: Component | None = getattr(self, PART[name].name)
        return component

    def require(self, name: str) -> Component:
        """A component that is needed. Raises ToolchainError: what is missing, what there is, how to install it."""
        component = self.component(name)
        if component is None:
            raise ToolchainError([missing(self, name)])
        return component

    def identity(self, name: str) -> str:
        """What a component is, without its path: "nvrtc 13.5.37"; for the assembler the text of its build."""
        if name == "assembler" and self.assembler:
            return f"tileiras {self.assembler.build}"
        component = self.require(name)
        return f"{name} {component.version}"


def missing(toolkit: Toolkit, *names: str) -> Problem:
    """The problem that one or more components are not there; the remedy is that for the first."""
    titles = [PART[name].title for name in names]
    these = f"{', '.join(titles[:-1])} and {titles[-1]} are" if titles[1:] else f"{titles[0]} is"
    there = toolkit.components()
    if not there:
        what = f"{these} missing: no part of a CUDA toolkit was found"
    else:
        have = ", ".join(_titled(component) for component in there)
        where = f"{toolkit.root} (found through {toolkit.origin})" if toolkit.root != NOWHERE else "what was found"
        what = f"{these} missing: {where} has {have}"
    return Problem(what, hint=how_to_install(toolkit, PART[names[0]].wheel))


def _titled(component: Component) -> str:
    title = PART[component.name].title
    return f"{title} {component.version}" if release_of(component.version) else title


def how_to_install(toolkit: Toolkit, wheel: str) -> str:
    """A command to paste: one wheel of the same release beside the wheels in use, else a whole toolkit."""
    if toolkit.origin != WHEELS:
        return INSTALL
    if wheel == PART["cccl"].wheel:
        return f"pip install '{wheel}>=13.3,<14'"
    releases = (release_of(one.version) for one in toolkit.components() if one.name != "cccl")
    release = next((release for release in releases if release), "13.5")
    return f"pip install '{wheel}~={release}.0'"


def release_of(version: str) -> str:
    """The release a version belongs to: "13.5" of "13.5.37", empty when the version is not known."""
    numbers = version.split(".")
    return ".".join(numbers[:2]) if len(numbers) > 1 and numbers[0].isdigit() else ""


def resolve(
    environ: Mapping[str, str],
    *,
    overrides: Mapping[str, Path] | None = None,
    among: Sequence[Candidate] | None = None,
) -> Toolkit:
    """Find the toolkit: the first root whose assembler can pack supplies every component.

    `CUTILE_TILEIRAS_PATH` names the assembler alone and is final. `overrides` names components by hand; the name
    "root" names the only root to look at. `among` replaces the candidate roots. Raises ToolchainError only for
    something that was named and is wrong, never for absence.
    """
    named = dict(overrides or {})
    _check_names(named)
    cache = cache_folder(environ)
    root = named.pop("root", None)
    roots = tuple(among) if among is not None else candidates(environ)
    if root is not None:
        roots = (in_root(Path(os.path.abspath(root)), "override", wished=True),)

    variable = environ.get(ASSEMBLER_VARIABLE, "")
    assembler: Assembler | None = None
    if by_hand := named.pop("assembler", None):
        assembler = _named_assembler(by_hand, "override", cache, environ)
    elif variable:
        assembler = _named_assembler(Path(variable), ASSEMBLER_VARIABLE, cache, environ)
        roots = (*roots, Candidate(root_of_tool(assembler.path), ASSEMBLER_VARIABLE, assembler.path, by_tool=True))

    chosen, own, notes = _choose(roots, cache, environ)
    assembler = assembler or own
    if chosen is None:
        nothing = {part.name: None for part in PARTS if part.name != "assembler"}
        toolkit = Toolkit(NOWHERE, "nowhere", assembler, **nothing, include=(), notes=tuple(notes), cache=cache)
    else:
        toolkit = _components(chosen, assembler, notes, cache, environ)
    for name, path in named.items():
        toolkit = _with(toolkit, _named_component(name, path, cache, environ))
    if mixed := mixed_releases(toolkit):
        toolkit = replace(toolkit, notes=(*toolkit.notes, mixed))
    return _borrow(toolkit, roots, environ)


def _check_names(overrides: Mapping[str, Path]) -> None:
    names = ("root", *PART)
    unknown = [name for name in overrides if name not in names]
    if unknown:
        choices = ", ".join(names)
        raise ToolchainError(Problem(f"no component is called `{name}`", hint=f"one of {choices}") for name in unknown)


def _named_file(path: Path, source: str, title: str) -> Path:
    path = Path(os.path.abspath(path))
    inner = path / title
    if path.is_dir() and inner.is_file():
        raise ToolchainError([Problem(f"{source} names a folder: {path}", hint=f"name the file: {inner}")])
    if not path.exists():
        hint = f"name an existing {title}, or drop {source}"
        raise ToolchainError([Problem(f"{source} names {path}, which does not exist", hint=hint)])
    return path


def _named_assembler(path: Path, source: str, cache: Path, environ: Mapping[str, str]) -> Assembler:
    file = _named_file(path, source, "tileiras")
    try:
        return ask_assembler(file, source, cache=cache, environ=environ)
    except ToolchainError as error:
        hint = f"{source} must name a working tileiras; without it the assembler is looked for"
        raise ToolchainError(replace(problem, hint=hint) for problem in error.problems) from error


def _named_component(name: str, path: Path, cache: Path, environ: Mapping[str, str]) -> Component:
    part = PART[name]
    file = _named_file(path, f"the override of {name}", part.title)
    version = version_of(part, file, RootVersions({}, {}), cache=cache, environ=environ)
    return Component(name, file, version, "override")


def _choose(
    roots: Sequence[Candidate], cache: Path, environ: Mapping[str, str]
) -> tuple[Candidate | None, Assembler | None, list[str]]:
    """The root, its assembler, and a line for each candidate that was passed over."""
    lines: dict[Candidate, str] = {}
    old: list[tuple[Candidate, Assembler]] = []
    packing: tuple[Candidate, Assembler] | None = None
    for candidate in roots:
        if candidate.assembler is None:
            continue
        try:
            assembler = ask_assembler(candidate.assembler, candidate.origin, cache=cache, environ=environ)
        except ToolchainError as error:
            lines[candidate] = f"passed over {candidate.assembler} ({error.problems[0].what})"
            continue
        if assembler.can_pack:
            packing = (candidate, assembler)
            break
        old.append((candidate, assembler))
    if packing:
        lines |= {one: f"passed over {tool.path} ({tool.listed}; packing needs 13.5 or newer)" for one, tool in old}
    chosen, assembler_found = packing or (old[0] if old else (_without_assembler(roots), None))
    before = roots[: roots.index(chosen)] if chosen else roots
    for candidate in before[:1]:
        if candidate.wished and candidate.assembler is None:
            lines[candidate] = (
                f"passed over {candidate.root} (found through {candidate.origin}; {_what_lacks(candidate)})"
            )
    notes = [lines[candidate] for candidate in roots if candidate in lines]
    if chosen and chosen.is_bare:
        others = [candidate for candidate in roots if not candidate.is_bare]
        chosen, _, more = _choose(others, cache, environ)
        notes = list(dict.fromkeys((*notes, *more)))
    return chosen, assembler_found, notes


def _without_assembler(roots: Sequence[Candidate]) -> Candidate | None:
    with_compiler = (candidate for candidate in roots if find(PART["nvrtc"], candidate.root))
    return next(with_compiler, None) or next((candidate for candidate in roots if not candidate.is_empty), None)


def _what_lacks(candidate: Candidate) -> str:
    return "it has no tileiras" if candidate.root.is_dir() else "no such folder"


def _components(
    chosen: Candidate, assembler: Assembler | None, notes: Sequence[str], cache: Path, environ: Mapping[str, str]
) -> Toolkit:
    known = read_root_versions(chosen.root)
    rest = (part for part in PARTS if part.name != "assembler")
    found = {part.name: _component_of(part, chosen, known, cache, environ) for part in rest}
    return Toolkit(
        root=chosen.root,
        origin=chosen.origin,
        assembler=assembler,
        **found,
        include=include_folders(chosen.root),
        notes=tuple(notes),
        cache=cache,
    )


def _component_of(
    part: Part, candidate: Candidate, known: RootVersions, cache: Path, environ: Mapping[str, str]
) -> Component | None:
    path = find(part, candidate.root)
    if path is None:
        return None
    version = version_of(part, path, known, cache=cache, environ=environ)
    return Component(part.name, path, version, candidate.origin)


def mixed_releases(toolkit: Toolkit) -> str:
    """One line when components are of different CUDA releases, else empty. CCCL has its own numbering."""
    releases: dict[str, list[str]] = {}
    for component in toolkit.components():
        release = release_of(component.version)
        if release and component.name != "cccl":
            releases.setdefault(release, []).append(PART[component.name].title)
    if len(releases) < 2:
        return ""
    groups = "; ".join(f"{release}: {', '.join(names)}" for release, names in releases.items())
    return f"the components are of different CUDA releases ({groups})"


def _borrow(toolkit: Toolkit, roots: Sequence[Candidate], environ: Mapping[str, str]) -> Toolkit:
    """Take a missing disassembler from another root, with a note; an older one could not read our code and is left."""
    wanted = max((_numbers(release_of(one.version)) for one in toolkit.components() if one.name != "cccl"), default=())
    for part in PARTS:
        if not (part.borrowed and wanted and toolkit.component(part.name) is None):
            continue
        others = (
            _component_of(part, candidate, read_root_versions(candidate.root), toolkit.cache, environ)
            for candidate in roots
        )
        usable = [other for other in others if other and _numbers(release_of(other.version)) >= wanted]
        if usable:
            taken = min(usable, key=lambda other: _numbers(release_of(other.version)))
            note = f"{part.title} {taken.version} is taken from {taken.path}: {toolkit.root} has none"
            toolkit = replace(_with(toolkit, taken), notes=(*toolkit.notes, note))
    return toolkit


def _with(toolkit: Toolkit, component: Component) -> Toolkit:
    change: dict[str, Any] = {component.name: component}
    return replace(toolkit, **change)


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in release.split(".")) if release else ()
