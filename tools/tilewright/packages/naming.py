"""What a package may be called, and which paths it may hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.version import InvalidVersion, Version

from tilewright.packages.error import PackageError
from tilewright.problem import Problem

PREFIX = "tilelib_"
FORMATS = {"zip": ".zip", "tar.gz": ".tar.gz", "wheel": "-py3-none-any.whl"}
"""Every format with the end of its file name."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
_IN_A_FILE_NAME = re.compile(r"[0-9A-Za-z.+_-]+")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_PATH_LIMIT = 240


@dataclass(frozen=True, slots=True)
class PackageSpec:
    """What a package is called and how it is delivered; `licence` is an SPDX expression, empty when undeclared."""

    name: str
    version: str
    formats: tuple[str, ...] = ("zip",)
    licence: str = ""

    @property
    def identifier(self) -> str:
        """What CMake, pkg-config and Python know it by: `relu` and `tilelib_relu` are both `tilelib_relu`."""
        return self.name if self.name.startswith(PREFIX) else PREFIX + self.name

    @property
    def wheel_version(self) -> str:
        """The version as PEP 440 writes it."""
        return str(Version(self.version))

    @property
    def root(self) -> str:
        """The folder that a zip or a tar.gz unpacks to."""
        return f"{self.identifier}-{self.version}"

    def file_name(self, format: str) -> str:
        """The name of the archive of a format."""
        version = self.wheel_version if format == "wheel" else self.version
        return f"{self.identifier}-{version}{FORMATS[format]}"


def check_spec(spec: PackageSpec) -> None:
    """PackageError with everything that is wrong with name, version, formats and licence."""
    if problems := list(_spec_problems(spec)):
        raise PackageError(problems)


def _spec_problems(spec: PackageSpec) -> Iterator[Problem]:
    if not _NAME.fullmatch(spec.name):
        example = "_".join(re.findall(r"[A-Za-z0-9]+", spec.name)).lstrip("0123456789_") or "relu"
        what = f"`{spec.name}` cannot name a package: it becomes the name of a CMake package and of a Python module"
        yield Problem(what, hint=f"letters, digits and single underscores, such as {example}")
    yield from _version_problems(spec)
    if not spec.formats:
        yield Problem(f"the package `{spec.name}` has no formats", hint=f"choose from {', '.join(FORMATS)}")
    for format in spec.formats:
        if format not in FORMATS:
            close = get_close_matches(format, list(FORMATS), n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"choose from {', '.join(FORMATS)}"
            yield Problem(f"`{format}` is no format of a package", hint=hint)
    if len(set(spec.formats)) != len(spec.formats):
        yield Problem(f"the package `{spec.name}` is to be made in one format twice: {', '.join(spec.formats)}")
    if spec.licence:
        yield from _licence_problems(spec.licence)


def _licence_problems(licence: str) -> Iterator[Problem]:
    """The expression must be one of SPDX, in the spelling of its list: PEP 639 and SPDX readers compare the text."""
    try:
        canonical = canonicalize_license_expression(licence)
    except InvalidLicenseExpression:
        what = f"`{licence}` is no SPDX licence expression"
        yield Problem(what, hint="such as Apache-2.0, MIT OR Apache-2.0, or LicenseRef-Proprietary")
        return
    if canonical != licence:
        yield Problem(f"SPDX does not spell the licence `{licence}` so", hint=canonical)


def _version_problems(spec: PackageSpec) -> Iterator[Problem]:
    try:
        python = bool(Version(spec.version))
    except InvalidVersion:
        python = False
    hint = "such as 1.0, 1.2.3 or 1.2.3rc1"
    if not python and not _SEMVER.fullmatch(spec.version):
        yield Problem(f"`{spec.version}` is no version, neither of PEP 440 nor a semantic one", hint=hint)
    elif not python and "wheel" in spec.formats:
        what = f"`{spec.version}` is a semantic version, and a wheel needs one of PEP 440"
        yield Problem(what, hint=f"{hint}; or leave the format `wheel` out")
    elif not _IN_A_FILE_NAME.fullmatch(spec.version):
        yield Problem(f"the version `{spec.version}` cannot be part of a file name", hint=hint)


def path_problems(paths: Iterable[str]) -> Iterator[str]:
    """What is wrong with the paths of an archive, in words: one sentence for each path at fault.

    Sound paths are relative, stay below where they are unpacked, mean the same file on every system, and differ.
    """
    seen: dict[str, str] = {}
    for path in paths:
        if fault := _path_fault(path):
            yield f"the path {path!r} {fault}"
            continue
        if (folded := unicodedata.normalize("NFC", path.casefold())) in seen:
            first = seen[folded]
            same = f"{first!a} and {path!a} are one file where neither case nor composition counts"
            yield f"the path {path!r} is there twice" if first == path else same
        seen.setdefault(folded, path)
    folders = {"/".join(parts[:end]) for parts in (path.split("/") for path in seen) for end in range(1, len(parts))}
    yield from (f"{seen[path]!r} is a file and a folder" for path in sorted(folders & seen.keys()))


def _path_fault(path: str) -> str:
    parts = path.split("/")
    if not path or len(path) > _PATH_LIMIT:
        return f"is empty or longer than {_PATH_LIMIT} characters"
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "is absolute"
    if ".." in parts:
        return "leads out of the package"
    if "\\" in path or any(not character.isprintable() for character in path):
        return "holds a backslash or a control character"
    if any(part in ("", ".") for part in parts):
        return "holds an empty part"
    if any(part.endswith((".", " ")) or ":" in part or _DEVICES.fullmatch(part) for part in parts):
        return "means another file on some systems"
    return ""
