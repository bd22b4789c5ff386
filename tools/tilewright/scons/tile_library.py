"""`TileLibrary`: a whole library from one source, once an architecture. Spec: Building the library.

A pseudo-builder over the four builders, about four steps and seven files an architecture.  Every architecture has its
own folder with all artifacts, so that each is complete; what does not depend on the architecture is milliseconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from SCons.Environment import Base as Env
from SCons.Node.FS import Dir, File

from tilewright.scons import architectures, dump, guard, missing_arch, oxide, provider_library, run_mode, tilelib
from tilewright.scons.artifacts import Artifacts, TileLibrary
from tilewright.scons.calls import files_given
from tilewright.scons.errors import BuildScriptError, declared_once, reading_stops_cleanly
from tilewright.scons.ltoir import ARCH
from tilewright.scons.ltoir import SUFFIX as LTOIR
from tilewright.scons.placement import Placement
from tilewright.scons.session import Session, session_of
from tilewright.scons.signatures import STEPS, sign
from tilewright.scons.tile_bytecode import OUTPUTS, PROVIDER
from tilewright.scons.tile_exports import DESCRIPTION, NIGHTLY_F16, TILE_SHAPES, tile_shapes
from tilewright.scons.variables import Settings, overridden
from tilewright.sources.languages import MANIFEST, RUST, is_crate, language_of

SENTENCE = "Builds a library for every architecture of `arch=`; returns a `TileLibrary` list."
GIVEN = (
    "arch",
    "ltoir_arch",
    "library_optional",
    "tile_shapes",
    "nightly_f16",
    "rust_backend",
    "provider",
    "provider_abi",
)
"""The variables that one library may set for itself."""


def tile_library(env: Env, name: str = "", source: Any = (), **given: Any) -> TileLibrary:
    """The method of the environment. `given` may set the variables in `GIVEN` for this library."""
    with reading_stops_cleanly():
        _check_name(name)
        session = session_of(env)
        settings = overridden(session.settings, given)
        origin = _only_source(env, name, source)
        place = Placement(env, name)
        if run_mode.helping():
            return TileLibrary(name, {}, place.bare())
        if settings.provider and not run_mode.cleaning():
            provider_library.check_abi(settings.provider_abi)
        archs = architectures.chosen(settings, session, place)
        if not archs:
            return _without_architecture(env, place, session)
        language = language_of(Path(origin.srcnode().abspath), str(origin))
        by_oxide = language is RUST and settings.rust_backend == oxide.BACKEND
        if by_oxide:
            oxide.check(origin, settings)
        sign(env, *STEPS[oxide.BACKEND if by_oxide else language.device])
        parts = {}
        for arch in archs:
            with declared_once(place.folder(arch).File(name + DESCRIPTION), "libraries", name):
                parts[arch] = _declare(env, place, arch, origin, settings, session)
        if settings.print:
            for artifacts in parts.values():
                dump.show_after_build(artifacts.text)
        return TileLibrary(name, parts)


def _without_architecture(env: Env, place: Placement, session: Session) -> TileLibrary:
    if run_mode.cleaning():
        return TileLibrary(place.name, {}, place.bare())
    stand_in = missing_arch.placeholder(env, place.root, place.bare(), session)
    return TileLibrary(place.name, {}, stand_in)


def _declare(env: Env, place: Placement, arch: str, origin: File, settings: Settings, session: Session) -> Artifacts:
    folder = place.folder(arch)
    description, code = folder.File(place.name + DESCRIPTION), folder.File(place.name + LTOIR)
    code_arch = {ARCH: _ltoir_arch(settings, arch, session)}
    if settings.rust_backend == oxide.BACKEND and origin.name == MANIFEST:
        guard.discard(folder, place.name + RUST.device_suffix)
        exports, ltoir = oxide.builder()(env, [description, code], origin, **code_arch)
        device = ltoir
    else:
        reading = {TILE_SHAPES: tile_shapes(settings.tile_shapes), NIGHTLY_F16: "1" if settings.nightly_f16 else ""}
        exports, device = env.TileExports(description, origin, **reading)
        (ltoir,) = env.Ltoir(code, [device, exports], **code_arch)
    form = {PROVIDER: "1" if settings.provider else ""}
    interface, implementation, text = env.TileBytecode(folder.File(place.name + OUTPUTS[0]), exports, **form)
    if settings.provider:
        inputs = [device, exports, ltoir, interface]
        pack = partial(provider_library.builder(), env, **code_arch)
    else:
        inputs = [interface, implementation, ltoir]
        pack = partial(env.Tilelib)
    library = _declare_library(env, place, folder, inputs, pack, settings, session)
    return Artifacts(exports, device, ltoir, interface, implementation, text, library)


def _ltoir_arch(settings: Settings, arch: str, session: Session) -> str:
    if not settings.ltoir_arch or run_mode.cleaning():
        return arch
    from tilewright.toolchain.architectures import parse_ltoir_architecture

    return parse_ltoir_architecture(settings.ltoir_arch, session.toolkit, archs=(arch,))


def _declare_library(
    env: Env,
    place: Placement,
    folder: Dir,
    inputs: list[File],
    pack: Callable[[File, list[File]], list[File]],
    settings: Settings,
    session: Session,
) -> File:
    packed, skipped = place.name + tilelib.SUFFIX, place.name + tilelib.SKIPPED
    if run_mode.cleaning():
        (library,) = pack(folder.File(packed), inputs)
        env.Clean(library, folder.File(skipped))
        return library
    assembler = session.toolkit.assembler
    if assembler is not None and assembler.can_pack:
        guard.discard(folder, skipped)
        (library,) = pack(folder.File(packed), inputs)
        return library
    reason = {tilelib.REASON: _reason(session, folder, packed, inputs, settings)}
    if settings.library_optional:
        guard.discard(folder, packed)
        (library,) = tilelib.skipped()(env, folder.File(skipped), inputs, **reason)
        library.Decider(tilelib.refuse_consumer)  # only now: becoming a target resets it
        return library
    guard.discard(folder, skipped)
    run_mode.keep_going()
    (library,) = tilelib.refused()(env, folder.File(packed), inputs, **reason)
    return library


def _reason(session: Session, folder: Dir, packed: str, inputs: list[File], settings: Settings) -> str:
    from tilewright.library.messages import skipped, skipped_provider

    if settings.provider:
        return skipped_provider(session.toolkit)
    interface, implementation, ltoir = (Path(node.get_internal_path()) for node in inputs)
    return skipped(
        session.toolkit,
        interface=interface,
        implementation=implementation,
        ltoir=ltoir,
        library=Path(folder.get_internal_path()) / packed,
    )


def _only_source(env: Env, name: str, source: Any) -> File:
    """The source's node; a Rust crate, given by its folder, is named by its manifest."""
    if isinstance(source, str) and is_crate(Path(env.Dir(".").srcnode().abspath, source)):
        source = source if source.endswith(MANIFEST) else os.path.join(source, MANIFEST)
    sources = files_given(env, source)
    if len(sources) != 1:
        raise BuildScriptError.of(
            f"the library `{name}` has {len(sources)} sources, and a tile library is made from one",
            "include the other files from the one that holds the exports",
        )
    return sources[0]


def _check_name(name: Any) -> None:
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise BuildScriptError.of(
            f"`{name}` cannot name a tile library: it becomes the name of a Tile IR module",
            "letters, digits and underscores, such as tilelib_relu",
        )
