"""The `cuda_device` crate and its macro, built once for a compiler and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.device.retarget.flags import RUSTC_FLAGS
from tilewright.problem import Problem
from tilewright.sources.rust.rustc import Rustc, compile_rust
from tilewright.sources.source import SourceError

CRATES = Path(__file__).parent / "crates"
DEVICE_CFG = "tilewright_device"
CODE_FLAGS = tuple(flag for flag in RUSTC_FLAGS if not flag.startswith("--emit"))
_EDITION = "2021"
_MACROS, _DEVICE = "cuda_device_macros", "cuda_device"


@dataclass(frozen=True, slots=True)
class BuiltCrates:
    """Where the built crates lie; `arguments` make `use cuda_device::...` work in a crate compiled with them."""

    folder: Path

    @property
    def arguments(self) -> tuple[str, ...]:
        library = self.folder / f"lib{_DEVICE}.rlib"
        return (f"--cfg={DEVICE_CFG}", f"--extern={_DEVICE}={library}", f"-Ldependency={self.folder}")


def built_crates(rustc: Rustc, *, environ: Mapping[str, str], cache: Path | None = None) -> BuiltCrates:
    """Builds both crates unless this compiler already has; safe when several builds start at once.

    `cache` is the folder to keep them in, by default the user's.  SourceError when they cannot be built or kept.
    """
    base = (cache or _cache_folder(environ)) / "rust"
    folder = base / _key(rustc)
    if not _is_complete(folder):
        try:
            base.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=base, prefix="building-", ignore_cleanup_errors=True) as scratch:
                _build(rustc, Path(scratch, "made"), environ)
                _appear(Path(scratch, "made"), folder)
        except OSError as failure:
            what = f"cannot keep the built cuda_device crate in `{base}`: {failure.strerror}"
            raise SourceError([Problem(what, hint="set TILEWRIGHT_CACHE to a folder that can be written")]) from failure
    return BuiltCrates(folder)


def _build(rustc: Rustc, folder: Path, environ: Mapping[str, str]) -> None:
    folder.mkdir()
    roots = {name: CRATES / name / "src" / "lib.rs" for name in (_MACROS, _DEVICE)}
    into = f"--out-dir={folder}"
    macros = ("--crate-type=proc-macro", f"--crate-name={_MACROS}", "--extern=proc_macro", "-Cdebuginfo=0")
    device = (
        *("--crate-type=rlib", f"--crate-name={_DEVICE}", f"--cfg={DEVICE_CFG}", *CODE_FLAGS),
        f"--extern={_MACROS}={folder / _shared_library()}",
    )
    try:
        for name, arguments in ((_MACROS, macros), (_DEVICE, device)):
            edition = f"--edition={_EDITION}"
            command = (edition, *arguments, into, str(roots[name]))
            compile_rust(rustc, command, folder=folder, environ=environ)
    except SourceError as error:
        what = f"the cuda_device crate cannot be built with {rustc.path}"
        hint = "its macro is a program of this machine, so rustc needs a C linker: install cc"
        details = "\n".join(str(problem) for problem in error.problems)
        raise SourceError([Problem(what, detail=details, hint=hint)]) from error


def _shared_library() -> str:
    return f"lib{_MACROS}.so"


def _is_complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in (_shared_library(), f"lib{_DEVICE}.rlib"))


def _appear(made: Path, folder: Path) -> None:
    """Renames the finished folder to its place; a complete one that another build put there meanwhile is as good."""
    if folder.is_dir() and not _is_complete(folder):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        os.rename(made, folder)
    except OSError:
        if not _is_complete(folder):
            raise


def crates_digest() -> str:
    """SHA-256 over the sources of both crates and the flags they are built with."""
    digest = hashlib.sha256("\n".join(CODE_FLAGS).encode())
    for name in (_MACROS, _DEVICE):
        for file in sorted((CRATES / name / "src").rglob("*.rs")):
            data = file.read_bytes()
            digest.update(f"{file.relative_to(CRATES).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _key(rustc: Rustc) -> str:
    return hashlib.sha256(f"{rustc.path}\n{rustc.identity}\n{crates_digest()}".encode()).hexdigest()[:32]


def _cache_folder(environ: Mapping[str, str]) -> Path:
    """The same folder that answers of tools are kept in."""
    if chosen := environ.get("TILEWRIGHT_CACHE"):
        return Path(os.path.abspath(chosen))
    base, home = environ.get("XDG_CACHE_HOME", ""), environ.get("HOME", "")
    if os.path.isabs(base):
        return Path(base, "tilewright")
    if os.path.isabs(home):
        return Path(home, ".cache", "tilewright")
    return Path(tempfile.gettempdir(), f"tilewright-{os.getuid()}")
