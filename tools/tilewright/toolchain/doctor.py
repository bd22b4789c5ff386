"""What `tilewright doctor` says: every part of the toolkit, where it comes from, and what is wrong with it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.problem import Problem, render
from tilewright.toolchain.answers import ask
from tilewright.toolchain.architectures import nvrtc_architectures
from tilewright.toolchain.error import ToolchainError
from tilewright.toolchain.parts import PART, PARTS
from tilewright.toolchain.shadow import shadow_root
from tilewright.toolchain.toolkit import INSTALL, NOWHERE, Toolkit, how_to_install, missing

SCHEMA = 1

NEEDED_BY_NVCC = {"runtime": "cuda_runtime.h", "crt": "crt/host_config.h"}
"""Parts without which nvcc does not work, and the header that stands for each."""

_GCC_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report; `path` None means that it was not found, and `remark` says what it would be for."""

    name: str
    title: str
    version: str
    origin: str
    path: Path | None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All that the doctor found. `architectures` are those a library can be built for; `others` are programs that are
    in no toolkit, and that only some sources or targets need.

    `shadow` is the folder whose `bin/nvcc` and `bin/tileiras` work: the root, or the folder of links made for it.
    """

    root: Path | None
    shadow: Path | None
    origin: str
    rows: tuple[Row, ...]
    host_compiler: Row
    others: tuple[Row, ...]
    architectures: tuple[str, ...]
    ltoir_architectures: tuple[str, ...]
    bytecode_versions: tuple[str, ...]
    writes_bytecode: str
    can_pack: bool
    cache: Path
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]

    def text(self) -> str:
        """The report for people, aligned; ends in a newline."""
        lines = [f"CUDA toolkit: {self.root} ({self.origin})" if self.root else "CUDA toolkit: none found", ""]
        lines += _table((*self.rows, self.host_compiler, *self.others))
        packs = "libraries can be packed" if self.can_pack else "libraries cannot be packed"
        facts = {
            "architectures": ", ".join(self.architectures) or "none",
            "LTOIR for": ", ".join(self.ltoir_architectures) or "none",
            "bytecode": f"{', '.join(self.bytecode_versions) or 'none'}; writes {self.writes_bytecode}, {packs}",
            "cache": str(self.cache),
        }
        if self.shadow != self.root:
            facts["run nvcc in"] = str(self.shadow)
        lines += ["", *(f"{name + ':':<15} {value}" for name, value in facts.items())]
        if self.notes:
            lines += ["", *(f"note: {note}" for note in self.notes)]
        lines += ["", render(self.problems) if self.problems else "No problems found."]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """The report for programs: the same facts under keys that stay; ends in a newline."""
        record = {
            "schema": SCHEMA,
            "root": _text(self.root),
            "shadow": _text(self.shadow),
            "origin": self.origin,
            "components": [_record(row) for row in self.rows],
            "host_compiler": _record(self.host_compiler),
            "others": [_record(row) for row in self.others],
            "architectures": self.architectures,
            "ltoir_architectures": self.ltoir_architectures,
            "bytecode_versions": self.bytecode_versions,
            "writes_bytecode": self.writes_bytecode,
            "can_pack": self.can_pack,
            "cache": str(self.cache),
            "notes": self.notes,
            "problems": [{"what": one.what, "hint": one.hint, "detail": one.detail} for one in self.problems],
        }
        return json.dumps(record, indent=2) + "\n"


def report(toolkit: Toolkit, environ: Mapping[str, str] | None = None, others: tuple[Row, ...] = ()) -> Report:
    """Examine a toolkit; `environ` (that of the process by default) is where a host compiler is looked for.

    `others` are rows for programs outside of the toolkit, shown as they are.
    """
    environ = os.environ if environ is None else environ
    rows = tuple(_rows(toolkit))
    host, host_problems = _host_compiler(toolkit, environ)
    ltoir, ltoir_problems = _ltoir_architectures(toolkit)
    shadow, shadow_problems = _shadow(toolkit)
    assembler = toolkit.assembler
    versions = assembler.bytecode_versions if assembler else ()
    return Report(
        root=None if toolkit.root == NOWHERE else toolkit.root,
        shadow=shadow,
        origin=toolkit.origin,
        rows=rows,
        host_compiler=host,
        others=others,
        architectures=_choices(toolkit),
        ltoir_architectures=ltoir,
        bytecode_versions=tuple(f"{major}.{minor}" for major, minor in versions),
        writes_bytecode="{}.{}".format(*toolkit.bytecode_version()),
        can_pack=bool(assembler and assembler.can_pack),
        cache=toolkit.cache,
        notes=toolkit.notes,
        problems=(*_problems(toolkit), *shadow_problems, *ltoir_problems, *host_problems),
    )


def _rows(toolkit: Toolkit) -> Iterator[Row]:
    for part in PARTS:
        found = toolkit.component(part.name)
        if found:
            yield Row(part.name, part.title, found.version, found.origin, found.path)
        else:
            yield Row(part.name, part.title, "", "", None, part.purpose)


def _problems(toolkit: Toolkit) -> Iterator[Problem]:
    if not toolkit.components():
        yield Problem("no part of a CUDA toolkit was found", hint=INSTALL)
        return
    absent = [part for part in PARTS if part.needed and toolkit.component(part.name) is None]
    remedies = dict.fromkeys(how_to_install(toolkit, part.wheel) for part in absent)
    for remedy in remedies:
        yield missing(toolkit, *(part.name for part in absent if how_to_install(toolkit, part.wheel) == remedy))
    assembler = toolkit.assembler
    if assembler and not assembler.can_pack:
        what = f"{assembler.path} cannot create tile libraries: it {assembler.listed}; packing needs 13.5 or newer"
        yield Problem(what, hint=INSTALL)
    if toolkit.nvcc:
        for name, header in NEEDED_BY_NVCC.items():
            if toolkit.component(name) is None:
                what = f"nvcc will not work: {toolkit.root} has no {header}"
                yield Problem(what, hint=how_to_install(toolkit, PART[name].wheel))
        if not (toolkit.root / "nvvm" / "bin" / "cicc").exists():
            yield Problem(
                f"nvcc will not work: {toolkit.root} has no nvvm/bin/cicc", hint=how_to_install(toolkit, "nvidia-nvvm")
            )


def _shadow(toolkit: Toolkit) -> tuple[Path | None, tuple[Problem, ...]]:
    if not toolkit.components():
        return None, ()
    try:
        return shadow_root(toolkit), ()
    except ToolchainError as error:
        return None, error.problems


def _choices(toolkit: Toolkit) -> tuple[str, ...]:
    try:
        return toolkit.architectures()
    except ToolchainError:
        return ()


def _ltoir_architectures(toolkit: Toolkit) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    if toolkit.nvrtc is None:
        return (), ()
    try:
        return tuple(f"compute_{number}" for number in nvrtc_architectures(toolkit)), ()
    except ToolchainError as error:
        return (), error.problems


def _host_compiler(toolkit: Toolkit, environ: Mapping[str, str]) -> tuple[Row, tuple[Problem, ...]]:
    """The compiler that nvcc will call: `NVCC_CCBIN`, else gcc on PATH; clang is found but has to be named."""
    search = environ.get("PATH", os.defpath)
    named = environ.get("NVCC_CCBIN", "")
    for name, origin in ((named, "NVCC_CCBIN"), ("gcc", "PATH")):
        found = shutil.which(name, path=search) if name else None
        if found:
            path = Path(found)
            return Row("host_compiler", path.name, _host_version(path, toolkit, environ), origin, path), ()
        if name and name == named:
            what = f"NVCC_CCBIN names `{named}`, which is not a program"
            hint = "unset NVCC_CCBIN, or name a gcc or clang"
            return _no_host_compiler(), (Problem(what, hint=hint),)
    if toolkit.nvcc is None:
        return _no_host_compiler(), ()
    clang = shutil.which("clang", path=search)
    hint = f"export NVCC_CCBIN={clang}" if clang else "install gcc and g++, for example: apt-get install g++"
    what = "nvcc has no host compiler: there is no gcc on PATH (libraries need none, callers compiled by nvcc do)"
    return _no_host_compiler(), (Problem(what, hint=hint),)


def _no_host_compiler() -> Row:
    return Row("host_compiler", "host compiler", "", "", None, "compiles the host half of a caller for nvcc")


def _host_version(path: Path, toolkit: Toolkit, environ: Mapping[str, str]) -> str:
    try:
        first = ask(path, "--version", toolkit.cache, environ).partition("\n")[0]
    except ToolchainError:
        return "unknown"
    numbers = _GCC_VERSION.findall(first)
    return numbers[-1] if numbers else "unknown"


def _table(rows: tuple[Row, ...]) -> Iterator[str]:
    titles = max(len(row.title) for row in rows)
    versions = max((len(row.version) for row in rows if row.path), default=0)
    origins = max((len(row.origin) for row in rows if row.path), default=0)
    for row in rows:
        if row.path:
            yield f"{row.title:<{titles}}  {row.version:<{versions}}  {row.origin:<{origins}}  {row.path}"
        else:
            yield f"{row.title:<{titles}}  not found ({row.remark})"


def _record(row: Row) -> dict[str, str | bool | None]:
    return {
        "name": row.name,
        "title": row.title,
        "found": row.path is not None,
        "version": row.version or None,
        "origin": row.origin or None,
        "path": _text(row.path),
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
