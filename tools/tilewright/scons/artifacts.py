"""What the pseudo-builders return: nodes by architecture."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from SCons.Node.FS import File

from tilewright.scons import run_mode
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly

METAL = "metal"
"""The backend, and its folder below the build folder."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The nodes of one library for one architecture; `library` is `<lib>.tilelib.skipped` when it was skipped.

    `device` is the LTOIR itself where no other device code is kept, as of a crate that `cargo oxide` compiles.
    """

    exports: File
    device: File
    ltoir: File
    interface: File
    implementation: File
    text: File
    library: File

    def nodes(self) -> list[File]:
        """All of them."""
        return [getattr(self, kind) for kind in _KINDS]


_KINDS = tuple(field.name for field in fields(Artifacts))


class TileLibrary(list[File]):
    """The libraries' nodes, one an architecture, to be passed to `Default`, `Install` or any builder.

    `parts` has everything by architecture (`relu["sm_120"].ltoir`); `relu.ltoir` lists one kind for all of them.
    Where no architecture is given, one stand-in takes every place.
    """

    def __init__(self, name: str, parts: dict[str, Artifacts], stand_in: File | None = None) -> None:
        super().__init__([artifacts.library for artifacts in parts.values()] or ([stand_in] if stand_in else []))
        self.name = name
        self.parts = parts

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if not self.parts:
            return Artifacts(**dict.fromkeys(_KINDS, self[0]))
        with reading_stops_cleanly():
            if key not in self.parts:
                what = f"the library `{self.name}` is not built for `{key}`"
                raise BuildScriptError.of(what, f"this run builds it for {', '.join(self.parts)}")
            return self.parts[key]

    def __getattr__(self, kind: str) -> list[File]:
        if kind not in _KINDS:
            raise AttributeError(f"a tile library has no `{kind}`; it has {', '.join(_KINDS)}, name, parts")
        return [getattr(artifacts, kind) for artifacts in self.parts.values()] or list(self)


class PerArchitecture(list[File]):
    """The nodes of one target for every architecture, to be passed on like any list.

    `nodes["sm_120"]` is the list of those of one, `parts` has them all.  Where no architecture is given, `stand_in`
    takes every place.
    """

    def __init__(self, name: str, parts: dict[str, list[File]], stand_in: list[File]) -> None:
        super().__init__([node for nodes in parts.values() for node in nodes] or stand_in)
        self.name = name
        self.parts = parts

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        with reading_stops_cleanly():
            if run_mode.cleaning():
                return self.parts.get(key, [])
            if self.parts and key not in self.parts:
                what = f"`{self.name}` is not built for `{key}`"
                raise BuildScriptError.of(what, f"this run builds it for {', '.join(self.parts)}")
            return self.parts.get(key, list(self))


class TileShader(PerArchitecture):
    """The nodes of a shader: `parts` by architecture, or by the folder of a backend that has none; `text` its TileIR.

    Where an architecture is missing, `stand_in` takes the place of all that needs one, beside the other parts.
    """

    def __init__(self, name: str, parts: dict[str, list[File]], text: list[File], stand_in: list[File]) -> None:
        super().__init__(name, parts, [])
        self.extend(stand_in)
        self.text = text or stand_in
        self.stand_in = stand_in

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key not in self.parts and self.stand_in:
            return list(self.stand_in)
        return super().__getitem__(key)


@dataclass(frozen=True, slots=True)
class Msl:
    """What a shader's `.metal` was made from, the value of its tag `MSL`: `options` are JSON, `description` its own."""

    shader: str
    text: File
    options: str
    description: File


MSL = "tilelib_msl"


class MetalLibrary(PerArchitecture):
    """The nodes of a library of MSL, which `parts` has under `metal`: `library` the `.metallib`, `record` its JSON.

    Where it is skipped there is the record alone, and `library` is empty. `airs` are the compiled sources.
    """

    def __init__(self, name: str, library: list[File], record: list[File], airs: list[File]) -> None:
        made = [*library, *record]
        super().__init__(name, {METAL: made} if made else {}, [])
        self.library, self.record, self.airs = library, record, airs
