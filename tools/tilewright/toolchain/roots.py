"""Candidate roots in the order in which they are looked at. Spec: The tileiras requirement."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.toolchain.answers import programs_named_by, script_text
from tilewright.toolchain.parts import PART, PARTS, find

STANDARD_PARENTS = (Path("/usr/local"), Path("/opt"))
WHEELS = "NVIDIA wheels"
_ASSEMBLER_PARTS = ("assembler", "disassembler")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A root, how it was found ("PATH", "CUDA_HOME", ...), and its `tileiras`.

    `wished` when the user named it; `by_tool` when it was concluded from the place of a `tileiras`.
    """

    root: Path
    origin: str
    assembler: Path | None
    wished: bool = False
    by_tool: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether it is no toolkit: a `tileiras` in some `bin` folder, with nothing else of a toolkit around it."""
        return self.by_tool and not any(find(part, self.root) for part in PARTS if part.name not in _ASSEMBLER_PARTS)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a toolkit is there."""
        return self.assembler is None and not any(find(part, self.root) for part in PARTS)


def candidates(
    environ: Mapping[str, str],
    *,
    standard: Sequence[Path] = STANDARD_PARENTS,
    wheels: Sequence[Path] | None = None,
) -> tuple[Candidate, ...]:
    """Every root there is, each once: PATH, CUDA_HOME, CUDA_PATH, the standard locations, the wheels.

    `standard` are the folders that hold `cuda` and `cuda-13.5`; `wheels` the roots of the wheels, None for those of
    the running environment.
    """
    unique: dict[str, Candidate] = {}
    for candidate in _in_order(environ, standard, wheel_roots() if wheels is None else wheels):
        unique.setdefault(os.path.realpath(candidate.root), candidate)
    return tuple(unique.values())


def _in_order(environ: Mapping[str, str], standard: Sequence[Path], wheels: Sequence[Path]) -> Iterator[Candidate]:
    yield from _on_path(environ.get("PATH", ""))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if value := environ.get(variable):
            yield in_root(Path(os.path.abspath(value)), variable, wished=True)
    for root in standard_roots(standard):
        yield in_root(root, "standard location")
    for root in wheels:
        yield in_root(root, WHEELS)


def in_root(root: Path, origin: str, *, wished: bool = False) -> Candidate:
    """The candidate that a folder is."""
    return Candidate(root, origin, find(PART["assembler"], root), wished)


def _on_path(path: str) -> Iterator[Candidate]:
    folders = [Path(os.path.abspath(folder)) for folder in path.split(os.pathsep) if folder]
    assemblers = [folder / "tileiras" for folder in folders if _is_program(folder / "tileiras")]
    for assembler in assemblers:
        yield Candidate(root_of_tool(assembler), "PATH", assembler, wished=True, by_tool=True)
    if not assemblers:
        for folder in folders:
            if _is_program(folder / "nvcc"):
                yield in_root(root_of_tool(folder / "nvcc"), "PATH", wished=True)


def _is_program(file: Path) -> bool:
    return file.is_file() and os.access(file, os.X_OK)


def root_of_tool(tool: Path) -> Path:
    """The root that a tool on PATH belongs to: links to the file and wrapper scripts are followed.

    Links between folders are kept: `/usr/local/cuda/bin/nvcc` belongs to `/usr/local/cuda`.
    """
    name = tool.name
    for _ in range(8):
        if tool.is_symlink():
            tool = Path(os.path.normpath(tool.parent / os.readlink(tool)))
            continue
        wrapped = [file for file in programs_named_by(script_text(tool)) if file.name == name and file != tool]
        if not wrapped:
            break
        tool = wrapped[0]
    return tool.parent.parent


def standard_roots(parents: Sequence[Path]) -> tuple[Path, ...]:
    """`cuda` and `cuda-*` below each parent, the newest release first, `cuda` before a folder that it points to."""
    found: dict[str, Path] = {}
    for parent in parents:
        for root in sorted(parent.glob("cuda*")):
            if re.fullmatch(r"cuda(-[\d.]+)?", root.name) and root.is_dir():
                found.setdefault(os.path.realpath(root), root)
    return tuple(sorted(found.values(), key=_release, reverse=True))


def _release(root: Path) -> tuple[int, ...]:
    numbers = re.search(r"cuda-(\d+(?:\.\d+)*)$", os.path.realpath(root))
    return tuple(int(number) for number in numbers[1].split(".")) if numbers else (1 << 30,)


def wheel_roots() -> tuple[Path, ...]:
    """The folders `nvidia/cu13` (and later ones, newest first) of the running environment; nothing is imported."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError, AttributeError):
        return ()
    places = spec.submodule_search_locations if spec else None
    found = [root for place in places or () for root in Path(place).glob("cu[0-9]*") if root.is_dir()]
    return tuple(sorted(found, key=lambda root: int("0" + re.sub(r"\D", "", root.name)), reverse=True))
