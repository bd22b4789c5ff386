"""What a `MetalLibrary` is made of: the MSL of shaders, and `.metal` files written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons.artifacts import METAL, MSL, Msl, TileShader
from tilewright.scons.calls import files_given
from tilewright.scons.errors import BuildScriptError
from tilewright.scons.session import original

SUFFIX = ".metal"
OLDEST = "3.0"


@dataclass(frozen=True, slots=True)
class MetalSource:
    """One source and its language version; `description` is the JSON beside it, None for one written by hand."""

    file: File
    description: File | None
    language: str

    @property
    def stem(self) -> str:
        return self.file.name.removesuffix(SUFFIX)

    @property
    def files(self) -> list[File]:
        return [self.file] if self.description is None else [self.file, self.description]


def sources_of(env: Env, library: str, given: Any, language: str) -> list[MetalSource]:
    """The sources, of one language version, each with a name of its own; none where this run writes no MSL.

    `language` is that of sources written by hand, "" = that of the others. BuildScriptError for what is no MSL.
    """
    from tilewright.lowering.metal.offline import by_hand

    files, without = _files(env, given)
    if without and not any(node.GetTag(MSL) for node in files):
        return []
    if without:
        what = f"`{library}` is given `{without[0]}`, of which this run writes no MSL"
        raise BuildScriptError.of(what, 'backends=["cuda", "metal"] in its TileShader, or take it out of the library')
    if not files:
        hint = f'env.MetalLibrary("{library}", [shader, "own.metal"])'
        raise BuildScriptError.of(f"the Metal library `{library}` has no sources", hint)
    known = [source for node in files if (source := _described(node)) is not None]
    written = language or (known[0].language if known else OLDEST)
    by_hand(written)
    told = {source.file: source for source in known}
    sources = [told.get(node) or MetalSource(node, None, written) for node in files]
    _refuse_equal_names(library, sources)
    _refuse_mixture(library, sources)
    return sources


def _files(env: Env, given: Any) -> tuple[list[File], list[str]]:
    """The `.metal` files, and the names of shaders that have none. The JSON beside one may be given, too."""
    files: list[File] = []
    others: list[File] = []
    without: list[str] = []
    for each in _flat(given):
        if isinstance(each, TileShader):
            part = each.parts.get(METAL, [])
            files += part[:1]
            without += [] if part else [each.name]
        else:
            for node in files_given(env, each):
                (files if node.name.endswith(SUFFIX) else others).append(original(node))
    beside = [told.description for node in files if (told := _msl(node)) is not None]
    if strangers := [node for node in others if node not in beside]:
        what = f"`{strangers[0]}` is no MSL"
        raise BuildScriptError.of(what, "give the shader itself, or .metal files")
    return files, without


def _flat(given: Any) -> Iterator[Any]:
    if isinstance(given, (list, tuple)) and not isinstance(given, TileShader):
        for each in given:
            yield from _flat(each)
    else:
        yield given


def _msl(node: File) -> Msl | None:
    told: Msl | None = node.GetTag(MSL)
    return told


def _described(node: File) -> MetalSource | None:
    """That of a source which a lowering wrote: in this build, or earlier, with its JSON still beside it."""
    from tilewright.lowering.metal.offline import described, planned_language

    if (told := _msl(node)) is not None:
        return MetalSource(node, told.description, planned_language(json.loads(told.options)))
    beside = original(node.dir.File(node.name.removesuffix(SUFFIX) + ".json"))
    path = Path(beside.get_abspath())
    how = described(path.read_bytes()) if path.is_file() and not beside.is_derived() else None
    return None if how is None else MetalSource(node, beside, how.language)


def _refuse_equal_names(library: str, sources: list[MetalSource]) -> None:
    seen: dict[str, File] = {}
    for source in sources:
        if source.stem in seen:
            what = f"`{library}` is given two sources `{source.file.name}`: {seen[source.stem]} and {source.file}"
            raise BuildScriptError.of(what, "each source of a library has a name of its own")
        seen[source.stem] = source.file


def _refuse_mixture(library: str, sources: list[MetalSource]) -> None:
    versions = sorted({source.language for source in sources})
    if len(versions) > 1:
        listing = " and ".join(
            f"MSL {version} ({', '.join(source.file.name for source in sources if source.language == version)})"
            for version in versions
        )
        what = f"`{library}` would mix {listing}, and no system older than the newest of them could load it"
        raise BuildScriptError.of(what, "make a MetalLibrary of each version")
