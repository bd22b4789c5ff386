"""The root file of a crate, its edition and its features: a lone `.rs` file, or a folder with `Cargo.toml`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.sources.languages import MANIFEST, is_crate
from tilewright.sources.source import SourceError
from tilewright.sources.text import read_text

EDITION = "2021"
_EDITIONS = ("2015", "2018", "2021", "2024")
_OURS = "cuda_device"


@dataclass(frozen=True, slots=True)
class CrateRoot:
    """What rustc is called with. `manifest` is None for a lone file; `name` is the root file's, from the project."""

    file: Path
    name: str
    edition: str = EDITION
    features: tuple[str, ...] = ()
    manifest: Path | None = None


def crate_root(path: Path, *, name: str, root: Path) -> CrateRoot:
    """The crate at `path`, called `name` in messages. SourceError for a manifest that needs cargo to be understood."""
    if not is_crate(path):
        return CrateRoot(path, Path(os.path.relpath(path, root)).as_posix())
    manifest = path if path.name == MANIFEST else path / MANIFEST
    label = name if path.name == MANIFEST else f"{name}/{MANIFEST}"
    text = read_text(manifest, label)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"line (\d+), column (\d+)", str(error))
        where = Place(label, int(position[1]), int(position[2])) if position else Place(label)
        what = str(error).partition(" (at")[0]
        raise SourceError([Problem(f"the manifest is not TOML: {what}", where)]) from None
    if problems := list(_problems(document, manifest, label)):
        raise SourceError(problems)
    file = manifest.parent / _table(document, "lib").get("path", "src/lib.rs")
    shown = Path(os.path.relpath(file, root)).as_posix()
    if not file.is_file():
        what = f"the crate has no library: there is no file `{shown}`"
        raise SourceError([Problem(what, Place(label), hint="put the exports in src/lib.rs")])
    edition = _table(document, "package").get("edition", "2015")
    return CrateRoot(file, shown, edition, _default_features(document), manifest)


def _problems(document: Mapping[str, Any], manifest: Path, label: str) -> Iterator[Problem]:
    where = Place(label)
    package = _table(document, "package")
    if not package:
        yield Problem("the manifest describes no package", where, hint="name the folder of one crate of the workspace")
        return
    edition = package.get("edition", "2015")
    if edition not in _EDITIONS:
        hint = f'edition = "{EDITION}"'
        if isinstance(edition, Mapping):
            yield Problem("the edition is inherited from a workspace", where, hint=f"write it here: {hint}")
        else:
            yield Problem(f"`{edition}` is no edition of Rust that is known here", where, hint=hint)
    path = _table(document, "lib").get("path", "")
    if not isinstance(path, str):
        yield Problem("the path of the library is not a string", where, hint='path = "src/lib.rs"')
    if package.get("build") or (manifest.parent / "build.rs").is_file():
        yield Problem("the crate has a build script, and no cargo runs here", where, hint="do without it")
    tables = [document, *(_table(document, "target")[key] for key in _table(document, "target"))]
    for table in tables:
        for name in _table(table, "dependencies") if isinstance(table, Mapping) else ():
            if name.replace("-", "_") != _OURS:
                what = f"the crate depends on `{name}`, and device code is compiled without cargo"
                yield Problem(what, where, hint="copy what you need into a module; only cuda_device is there")


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    table = document.get(key)
    return table if isinstance(table, Mapping) else {}


def _default_features(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The features that `default` switches on, directly or not."""
    features = _table(document, "features")
    found: dict[str, None] = {}
    waiting = ["default"]
    while waiting:
        name = waiting.pop(0)
        if name in features and name not in found:
            found[name] = None
            others = features[name] if isinstance(features[name], list) else []
            waiting += (other for other in others if isinstance(other, str))
    return tuple(sorted(found))
