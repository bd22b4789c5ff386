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
CODE_FLAGS = tuple(flag for flag in RUSTC_FLAGS if not flag.startswith("--emit"))
_EDITION = "2021"
_MACROS, _DEVICE = "cuda_device_macros", "cuda_device"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What the crates are built for: the condition that they and user code see, the macro crate, how code is made.

    `root` is the macro crate's root file below the folder of the crates; `f16` needs features that are not stable.
    """

    cfg: str
    macros: str
    root: str
    flags: tuple[str, ...]
    f16: bool = False

    @property
    def shared_library(self) -> str:
        """The file of the macro crate."""
        return f"lib{self.macros}.so"


FOR_DEVICE = Purpose("tilewright_device", _MACROS, f"{_MACROS}/src/lib.rs", CODE_FLAGS)
"""The implementations on the native ABI, for a GPU."""


@dataclass(frozen=True, slots=True)
class BuiltCrates:
    """Where the built crates lie; `arguments` make `use cuda_device::...` work in a crate compiled with them."""

    folder: Path
    purpose: Purpose = FOR_DEVICE

    @property
    def arguments(self) -> tuple[str, ...]:
        library = self.folder / f"lib{_DEVICE}.rlib"
        return (f"--cfg={self.purpose.cfg}", f"--extern={_DEVICE}={library}", f"-Ldependency={self.folder}")


def built_crates(
    rustc: Rustc, *, environ: Mapping[str, str], cache: Path | None = None, purpose: Purpose = FOR_DEVICE
) -> BuiltCrates:
    """Builds both crates unless this compiler already has; safe when several builds start at once.

    `cache` is the folder to keep them in, by default the user's.  SourceError when they cannot be built or kept.
    """
    base = (cache or _cache_folder(environ)) / "rust"
    folder = base / _key(rustc, purpose)
    if not _is_complete(folder, purpose):
        try:
            base.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=base, prefix="building-", ignore_cleanup_errors=True) as scratch:
                _build(rustc, Path(scratch, "made"), environ, purpose)
                _appear(Path(scratch, "made"), folder, purpose)
        except OSError as failure:
            what = f"cannot keep the built cuda_device crate in `{base}`: {failure.strerror}"
            raise SourceError([Problem(what, hint="set TILEWRIGHT_CACHE to a folder that can be written")]) from failure
    return BuiltCrates(folder, purpose)


def _build(rustc: Rustc, folder: Path, environ: Mapping[str, str], purpose: Purpose) -> None:
    folder.mkdir()
    into = f"--out-dir={folder}"
    macros = ("--crate-type=proc-macro", f"--crate-name={purpose.macros}", "--extern=proc_macro", "-Cdebuginfo=0")
    device = (
        *("--crate-type=rlib", f"--crate-name={_DEVICE}", f"--cfg={purpose.cfg}", *purpose.flags),
        *(["--cfg=tilewright_f16"] if purpose.f16 else []),
        f"--extern={purpose.macros}={folder / purpose.shared_library}",
    )
    try:
        for root, arguments in ((purpose.root, macros), (f"{_DEVICE}/src/lib.rs", device)):
            edition = f"--edition={_EDITION}"
            command = (edition, *arguments, into, str(CRATES / root))
            compile_rust(rustc, command, folder=folder, environ=environ, bootstrap=purpose.f16)
    except SourceError as error:
        what = f"the cuda_device crate cannot be built with {rustc.path}"
        hint = "its macro is a program of this machine, so rustc needs a C linker: install cc"
        details = "\n".join(str(problem) for problem in error.problems)
        raise SourceError([Problem(what, detail=details, hint=hint)]) from error


def _is_complete(folder: Path, purpose: Purpose) -> bool:
    return all((folder / name).is_file() for name in (purpose.shared_library, f"lib{_DEVICE}.rlib"))


def _appear(made: Path, folder: Path, purpose: Purpose) -> None:
    """Renames the finished folder to its place; a complete one that another build put there meanwhile is as good."""
    if folder.is_dir() and not _is_complete(folder, purpose):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        os.rename(made, folder)
    except OSError:
        if not _is_complete(folder, purpose):
            raise


def crates_digest() -> str:
    """SHA-256 over the sources of both crates and the flags they are built with."""
    digest = hashlib.sha256("\n".join(CODE_FLAGS).encode())
    for name in (_MACROS, _DEVICE):
        for file in sorted((CRATES / name / "src").rglob("*.rs")):
            data = file.read_bytes()
            digest.update(f"{file.relative_to(CRATES).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def _key(rustc: Rustc, purpose: Purpose) -> str:
    return hashlib.sha256(f"{rustc.path}\n{rustc.identity}\n{crates_digest()}\n{purpose}".encode()).hexdigest()[:32]


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
