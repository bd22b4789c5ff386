"""What `generate` does: the settings, the lock of the tree, and the table of builders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from SCons.Builder import BuilderBase
from SCons.Environment import Base as Env

from tilewright.scons import (
    caching,
    launch,
    link,
    lock,
    ltoir,
    metal_check,
    metal_library,
    mock_caller,
    run_mode,
    tile_bindings,
    tile_bytecode,
    tile_exports,
    tile_library,
    tile_package,
    tile_program,
    tile_shader,
    tilelib,
    unavailable,
    undeclared_alias,
)
from tilewright.scons.calls import checked
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly
from tilewright.scons.session import BUILD_FOLDER, INCLUDE_PATH, SESSION, Session, top_of
from tilewright.scons.variables import PREFIX, VARIABLES, read_settings, unknown_variables


@dataclass(frozen=True, slots=True)
class BuilderRow:
    """One builder: its name in the environment, what makes it, and its line of the reference."""

    name: str
    make: Callable[[], BuilderBase]
    source: str
    targets: str
    sentence: str


BUILDERS = (
    BuilderRow(
        "TileExports",
        tile_exports.builder,
        "`x.cu`",
        "`x.tileexports.json`, `x.device.cu`",
        "Reads the tile exports of a source: their description, and the device code with the native wrappers.",
    ),
    BuilderRow(
        "Ltoir",
        ltoir.builder,
        "`x.device.cu` (and `x.tileexports.json` beside it)",
        "`x.ltoir`",
        "Compiles device code and checks that it defines every export with the ABI of its description.",
    ),
    BuilderRow(
        "TileBytecode",
        tile_bytecode.builder,
        "`x.tileexports.json`",
        "`x.iface.tilebc`, `x.impl.tilebc`, `x.tilelib.mlir`",
        "Writes both description modules and their readable form.",
    ),
    BuilderRow(
        "Tilelib",
        tilelib.builder,
        "`x.iface.tilebc`, `x.impl.tilebc`, `x.ltoir`",
        "`x.tilelib`",
        "Packs descriptions and device code into the library.",
    ),
    BuilderRow(
        "NvJitLink",
        link.builder,
        "LTOIR, PTX, cubins (and `TILELIB_LINK_ARCH=`, `TILELIB_LINK_OPTIONS=`)",
        "`x.cubin` or `x.ptx`",
        "Links device code for one architecture.",
    ),
)


@dataclass(frozen=True, slots=True)
class MethodRow:
    """One method of the environment that declares a target for every architecture, and its line of the reference.

    `variables` are the build variables that a call may set for what it declares.
    """

    name: str
    method: Callable[..., Any]
    takes: str
    targets: str
    sentence: str
    variables: tuple[str, ...] = ()


METHODS = (
    MethodRow(
        "TileLibrary",
        tile_library.tile_library,
        "a library name and `x.cu`",
        "all of the above, under `build/<arch>/<folder of the script>/`",
        tile_library.SENTENCE,
        tile_library.GIVEN,
    ),
    MethodRow(
        "TileBindings",
        tile_bindings.tile_bindings,
        "a `TileLibrary`, or `x.tileexports.json`",
        "`x_tile.h`, `x_tile.py`, `x_tile.rs` beside the description",
        tile_bindings.SENTENCE,
    ),
    MethodRow(
        "TileProgram",
        tile_program.tile_program,
        "a file name, `x.cu`, and `libraries=[...]`",
        "the program or cubin, under `build/<arch>/<folder of the script>/`",
        tile_program.SENTENCE,
        tile_program.GIVEN,
    ),
    MethodRow(
        "TileMockCaller",
        mock_caller.tile_mock_caller,
        "a `TileLibrary`",
        "`x.verify.zip`, `x.mock_caller.cu` beside the description",
        mock_caller.SENTENCE,
    ),
    MethodRow(
        "TilePackage",
        tile_package.tile_package,
        "a package name, a list of `TileLibrary`s, bindings and files, and `version=`",
        "`tilelib_<name>-<version>.zip`, `.tar.gz`, `-py3-none-any.whl` under `build/packages/<folder of the script>/`",
        tile_package.SENTENCE,
    ),
    MethodRow(
        "TileShader",
        tile_shader.tile_shader,
        "a shader's name and `x.py`",
        "`<name>.tileir` under `build/tileir/<folder of the script>/`; `<name>.cu`, `<name>.tile.ptx`, `<name>.json` "
        "under `build/<arch>/<folder of the script>/`; `<name>.metal`, `<name>.json` "
        "under `build/metal/<folder of the script>/`",
        tile_shader.SENTENCE,
        tile_shader.GIVEN,
    ),
    MethodRow(
        "TileShaderCheck",
        metal_check.tile_shader_check,
        "a `TileShader`",
        "`<name>.check.json` beside the MSL",
        metal_check.SENTENCE,
    ),
    MethodRow(
        "MetalLibrary",
        metal_library.metal_library,
        "a library name, and a list of `TileShader`s and `x.metal`",
        "`<name>.metallib`, `<name>.metallib.json` under `build/metal/<folder of the script>/`, `x.air` in "
        "`<name>.air/` there; the JSON alone where it is skipped",
        metal_library.SENTENCE,
        metal_library.GIVEN,
    ),
    MethodRow(
        "TileNeeds",
        unavailable.tile_needs,
        "targets and a program's name",
        "the same targets",
        unavailable.SENTENCE,
    ),
)


def add_to(env: Env, given: Mapping[str, Any]) -> None:
    """Adds everything to `env`; a second call replaces the settings."""
    from SCons.Script import ARGUMENTS

    with reading_stops_cleanly():
        if problems := unknown_variables(name for name in given):
            raise BuildScriptError(problems)
        inherited = {name: env[name] for row in VARIABLES if _is_set(env, name := PREFIX + row.name, row.default)}
        env[SESSION] = Session(read_settings(ARGUMENTS, given, inherited))
        if env[SESSION].settings.cache and not run_mode.cleaning():
            caching.use_in(env)
        if env[SESSION].settings.launcher and not (run_mode.cleaning() or run_mode.helping()):
            launch.check(env[SESSION].settings.launcher, top_of(env))
        if run_mode.writing():
            lock.hold(env.Dir("#").abspath)
        undeclared_alias.watch(env)
    for name, value in ((INCLUDE_PATH, []), (BUILD_FOLDER, "#build")):
        if name not in env:
            env[name] = value
    env.Append(BUILDERS={row.name: row.make() for row in BUILDERS})
    for method in METHODS:
        env.AddMethod(checked(method.method, method.name, method.variables), method.name)


def _is_set(env: Env, name: str, default: str) -> bool:
    """Whether `env` holds a value other than the default, which SCons puts there for every option of a tool."""
    return name in env and str(env[name]) != default


def builders_reference() -> str:
    """The builders as a Markdown table."""
    lines = ["| builder | source | targets | what it does |", "| --- | --- | --- | --- |"]
    for row in BUILDERS:
        lines.append(f"| `{row.name}` | {row.source} | {row.targets} | {row.sentence} |")
    for method in METHODS:
        lines.append(f"| `{method.name}` | {method.takes} | {method.targets} | {method.sentence} |")
    return "\n".join(lines) + "\n"
