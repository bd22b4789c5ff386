"""A crate as `cargo oxide` builds it: run, its two files found, its description read. Spec: Building the library."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.exports.description import parse_description
from tilewright.exports.model import ExportSet
from tilewright.problem import Place, Problem
from tilewright.sources.languages import MANIFEST
from tilewright.sources.rust.rustc import start
from tilewright.sources.source import SourceError
from tilewright.sources.text import read_text

OTHER_BACKEND = "rust_backend=stable compiles crates with a stable rustc"
_OUTPUTS = ".tileexports.json", ".ltoir"
_TARGET = "target"
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Adopted:
    """What `cargo oxide` made of a crate: `exports` under the crate's own library name, and `ltoir`, not yet checked.

    `name` is the LTOIR's file, for messages.
    """

    name: str

    exports: ExportSet
    ltoir: bytes


def adopt(manifest: Path, *, name: str, arch: str, environ: Mapping[str, str]) -> Adopted:
    """Runs `cargo oxide tilelib` on the crate of a manifest, called `name` in messages, for `arch` (`sm_120`).

    Its files go to a folder that is removed.  SourceError when it is missing, fails, or leaves other than one file of
    each kind; ExportError for a description that breaks a rule.
    """
    folder = Path(os.path.abspath(manifest)).parent
    crate = crate_name(manifest, name)
    cargo, _ = find_oxide(environ.get("PATH", ""), folder)
    with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as scratch:
        # The library itself is packed here: without the option a toolkit that cannot pack one would be a failure.
        command = [cargo, "oxide", "tilelib", "--arch", arch, "--library-optional"]
        done = start(command, {**environ, "CARGO_TARGET_DIR": scratch}, folder)
        if done.returncode:
            what = f"`cargo oxide tilelib` failed with exit code {done.returncode}"
            raise SourceError([Problem(what, Place(name), detail=(done.stdout + done.stderr).strip())])
        description, ltoir = _contents(Path(scratch), crate, name)
    return Adopted(crate + _OUTPUTS[1], parse_description(description, crate + _OUTPUTS[0]), ltoir)


def crate_name(manifest: Path, name: str) -> str:
    """The name of a crate's artifacts: that of its library, else of its package. SourceError when there is none."""
    try:
        document = tomllib.loads(read_text(manifest, name))
    except tomllib.TOMLDecodeError as error:
        raise SourceError([Problem(f"the manifest is not TOML: {error}", Place(name))]) from None
    for table in (document.get("lib"), document.get("package")):
        if isinstance(table, dict) and isinstance(found := table.get("name"), str):
            return found.replace("-", "_")
    what = "the manifest describes no package"
    raise SourceError([Problem(what, Place(name), hint="name the folder of one crate of the workspace")])


def crate_files(manifest: Path) -> tuple[Path, ...]:
    """The files of a crate that a build may read, for a build system's scanner: Rust, manifests and locks; sorted.

    Neither what is below hidden folders and `target`, nor other crates that it depends on.
    """
    found: list[Path] = []
    for folder, below, files in os.walk(manifest.parent):
        below[:] = [one for one in below if not one.startswith(".") and one != _TARGET]
        wanted = (one for one in files if one.endswith(".rs") or one in (MANIFEST, "Cargo.lock"))
        found += (Path(folder, one) for one in wanted)
    return tuple(sorted(one for one in found if one != manifest))


def oxide_identity(path: str, folder: Path) -> str:
    """What `cargo oxide --version` says, or that there is none, for build signatures."""
    try:
        return find_oxide(path, folder)[1]
    except SourceError as error:
        return f"missing: {error}"


@functools.cache
def find_oxide(path: str, folder: Path) -> tuple[str, str]:
    """The cargo of a search path and what `cargo oxide --version` says in a folder, asked once a process.

    SourceError when there is no cargo, or it has no command `oxide`.
    """
    cargo = shutil.which("cargo", path=path)
    if cargo is None:
        what = "rust_backend=oxide needs `cargo oxide`, and there is no `cargo` on PATH"
        raise SourceError([Problem(what, hint=OTHER_BACKEND)])
    done = start([cargo, "oxide", "--version"], {**os.environ, "PATH": path}, folder)
    if done.returncode:
        what = f"rust_backend=oxide needs `cargo oxide`, and `{cargo} oxide --version` failed"
        raise SourceError([Problem(what, hint=OTHER_BACKEND, detail=(done.stdout + done.stderr).strip())])
    return cargo, done.stdout.strip()


def _contents(folder: Path, crate: str, name: str) -> tuple[bytes, ...]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    shown = [path.relative_to(folder).as_posix() for path in files]
    contents: list[bytes] = []
    problems: list[Problem] = []
    for suffix in _OUTPUTS:
        made = [path for path in files if path.name == crate + suffix]
        if len(made) == 1:
            contents.append(made[0].read_bytes())
            continue
        related = [one for one in shown if one.endswith(_OUTPUTS)] or shown
        what = f"`cargo oxide tilelib` left {len(made) or 'no'} files `{crate}{suffix}`, and one is needed"
        problems.append(Problem(what, Place(name), detail=_listing(related)))
    if problems:
        raise SourceError(problems)
    return tuple(contents)


def _listing(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return "\n".join(["it left:", *names[:_SHOWN], *more]) if names else "it left no file at all"
