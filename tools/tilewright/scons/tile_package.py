"""`TilePackage`: libraries, bindings and licence texts as archives that other builds install."""

from __future__ import annotations

import json
from collections import UserList
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node import Node
from SCons.Node.FS import File

from tilewright.packages.layout import needs_architecture, path_of
from tilewright.problem import Problem
from tilewright.scons import guard, run_mode, tilelib, unavailable
from tilewright.scons.artifacts import PerArchitecture, TileLibrary, TileShader
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.package_tools import tools_behind
from tilewright.scons.placement import Placement
from tilewright.scons.session import message
from tilewright.scons.signatures import sign

if TYPE_CHECKING:
    from tilewright.packages.naming import PackageSpec

SENTENCE = (
    "Packs libraries of every architecture, bindings, licence texts and other files into archives "
    "(`formats=`: `zip`, `tar.gz`, `wheel`; `license=` an SPDX expression) with a manifest, a bill of materials and "
    "what CMake and pkg-config read. Made for the alias `package`, or when asked for."
)
ALIAS = "package"
FOLDER = "packages"
SPEC = "TILELIB_PACKAGE"
SIGNED = ("TILELIB_PACKAGE_SIG", SPEC)


def tile_package(
    env: Env, name: str = "", nodes: Any = (), version: str = "", formats: Any = ("zip",), license: str = ""
) -> list[File]:
    """The method of the environment. `nodes` are `TileLibrary`s, what `TileBindings` returns, and files."""
    from tilewright.packages.naming import PackageSpec, check_spec

    with reading_stops_cleanly():
        listed = formats.split(",") if isinstance(formats, str) else _flat(formats)
        spec = PackageSpec(str(name), str(version), tuple(map(str, listed)), str(license))
        check_spec(spec)
        place = Placement(env, spec.identifier, suffix="")
        given = _flat(nodes)
        libraries = [each for each in given if isinstance(each, TileLibrary)]
        stand_ins = [node for each in given if isinstance(each, TileShader) for node in each.stand_in]
        if run_mode.helping() or stand_ins or any(not library.parts for library in libraries):
            stand_ins += [node for library in libraries for node in library]
            if not run_mode.cleaning():
                env.Alias(ALIAS, stand_ins)
                return stand_ins
        if not given:
            raise BuildScriptError.of(f"the package `{spec.name}` is given nothing to hold", "give it a TileLibrary")
        members = _members(env, spec, given)
        sources = [node for _, node in members]
        folder = place.folder(FOLDER)
        targets = [folder.File(spec.file_name(format)) for format in spec.formats]
        sign(env, "TILELIB_PACKAGE_SIG")
        tools = {} if run_mode.cleaning() else tools_behind(env, sources)
        made = builder()(env, targets, sources, **{SPEC: _described(spec, [path for path, _ in members], tools)})
        env.Alias(ALIAS, made)
        if not run_mode.cleaning():
            for node in made:
                env.Ignore(node.dir, node)
            if why := _obstacle(sources):
                unavailable.leave_out(env, made, f"the package {spec.name}", why)
        return made


def _flat(given: Any) -> list[Any]:
    """What is given, lists within lists laid out; what our methods return is one thing each."""
    is_list = type(given) in (list, tuple) or isinstance(given, UserList)  # the latter is what builders return
    return [one for each in given for one in _flat(each)] if is_list else [given]


def _members(env: Env, spec: PackageSpec, given: list[Any]) -> list[tuple[str, File]]:
    """Path in the package and node of everything that goes into it."""
    members: list[tuple[str, File]] = []
    for each in given:
        if isinstance(each, TileLibrary):
            for arch, artifacts in each.parts.items():
                nodes = (artifacts.library, artifacts.exports, artifacts.interface)
                members += [(_path(spec, node, arch), node) for node in nodes]
        elif isinstance(each, PerArchitecture):
            members += [(_path(spec, node, arch), node) for arch, nodes in each.parts.items() for node in nodes]
        else:
            for node in _files(env, spec, each):
                if needs_architecture(node.name):
                    what = f"`{node}` is given to the package `{spec.name}` as a file, which tells no architecture"
                    raise BuildScriptError.of(what, "give it what TileLibrary and TileBindings return")
                members.append((_path(spec, node, ""), node))
    return members


def _files(env: Env, spec: PackageSpec, given: Any) -> list[File]:
    nodes: list[Any] = env.arg2nodes(given, env.File) if isinstance(given, (str, Node)) else []
    files = [node.disambiguate() for node in nodes]
    if not files or not all(isinstance(node, File) for node in files):
        what = f"`{given}` is given to the package `{spec.name}`, and is no file"
        raise BuildScriptError.of(what, "give it a TileLibrary, what TileBindings returns, and files by name")
    return files


def _path(spec: PackageSpec, node: File, arch: str) -> str:
    return path_of(node.name.removesuffix(".skipped"), arch, identifier=spec.identifier)


def _described(spec: PackageSpec, paths: list[str], tools: dict[str, str]) -> str:
    """All that a package is besides the contents of its sources, as one text to sign."""
    record = {
        "name": spec.name,
        "version": spec.version,
        "formats": spec.formats,
        "licence": spec.licence,
        "paths": paths,
        "tools": tools,
    }
    return json.dumps(record)


def _obstacle(sources: list[File]) -> Problem | None:
    for node in sources:
        if why := unavailable.reason_of(node):
            return Problem(f"it needs {node.name}: {why.what}", hint=why.hint, detail=why.detail)
        if reason := node.GetTag(tilelib.REASON):
            return Problem(f"it needs {node.name.removesuffix('.skipped')}, which was skipped", detail=reason)
    return None


def write_archives(target: list[File], source: list[File], env: Env) -> None:
    """Action: all formats at once, from bytes that are read once."""
    from tilewright.library.publish import publish
    from tilewright.packages.assembly import Artifact, write_package
    from tilewright.packages.naming import PackageSpec

    with one_clean_error(target[0]):
        record = json.loads(env[SPEC])
        spec = PackageSpec(record["name"], record["version"], tuple(record["formats"]), record["licence"])
        artifacts = [
            Artifact(path, Path(node.abspath).read_bytes(), str(node))
            for path, node in zip(record["paths"], source, strict=True)
        ]
        files = write_package(spec, artifacts, record["tools"])
        publish({Path(node.abspath): files[node.name] for node in target})


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter."""
    with reading_stops_cleanly():
        guard.distrust(target)
        guard.keep_until_replaced(target)
        return target, source


def builder() -> BuilderBase:
    """The builder behind the method."""
    action = Action(write_archives, message("Packing {target}"), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs)
