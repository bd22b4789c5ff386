"""A private toolkit of symbolic links, for a toolkit whose assembler would not find its libraries.

`tileiras -l` loads `libnvJitLink.so`, without a version, from `lib64` or `lib` of the toolkit it runs in; the NVIDIA
wheels have only `libnvJitLink.so.13`.  nvcc looks for everything beside itself, so one folder with the layout of a
toolkit, made of links, serves both.  It lies in the user's cache folder and is named after all its links.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tilewright.problem import Problem
from tilewright.toolchain.answers import private_temporary_folder
from tilewright.toolchain.error import ToolchainError
from tilewright.toolchain.parts import PART
from tilewright.toolchain.toolkit import NOWHERE, Toolkit

_FOLDERS = ("bin", "lib64")
_PROGRAMS = ("assembler", "nvcc", "disassembler", "ptxas", "nvdisasm")
_LIBRARIES = {"nvjitlink": "libnvJitLink.so", "nvvm": "libnvvm.so"}
_ROOT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")


def shadow_root(toolkit: Toolkit) -> Path:
    """The root to run nvcc and tileiras in: the toolkit's own, or a folder of links where its own does not do.

    Several processes may call this at once. Raises ToolchainError when no folder of links can be made.
    """
    if _is_complete(toolkit):
        return toolkit.root
    links = _links(toolkit)
    text = "\0".join(f"{name}\0{target}" for name, target in sorted(links.items()))
    name = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    fault: OSError | None = None
    for cache in (toolkit.cache, private_temporary_folder()):
        root = cache / "toolkits" / name
        try:
            if not root.is_dir():
                _make(root, links)
            _repair(root, links)
        except OSError as error:
            fault = fault or error
        else:
            return root
    reason = fault.strerror if fault else ""
    what = f"cannot make a folder of links to the CUDA toolkit in {toolkit.cache}: {reason}"
    raise ToolchainError([Problem(what, hint="set TILEWRIGHT_CACHE to a folder that can be written to")])


def nvcc_of(toolkit: Toolkit) -> Path:
    """The nvcc to run, in the toolkit in which the assembler finds its libraries. ToolchainError without nvcc."""
    toolkit.require("nvcc")
    return shadow_root(toolkit) / "bin" / "nvcc"


def tool_environment(toolkit: Toolkit, base: Mapping[str, str]) -> dict[str, str]:
    """The environment for running nvcc and tileiras: `base`, its toolkit variables and PATH led to `shadow_root`."""
    root = shadow_root(toolkit)
    environment = dict(base)
    for variable in _ROOT_VARIABLES:
        environment[variable] = str(root)
    environment["PATH"] = os.pathsep.join(part for part in (str(root / "bin"), base.get("PATH", os.defpath)) if part)
    return environment


def _is_complete(toolkit: Toolkit) -> bool:
    if toolkit.root == NOWHERE:
        return toolkit.assembler is None
    own = os.path.realpath(toolkit.root) + os.sep
    components = [toolkit.component(name) for name in (*_PROGRAMS, *_LIBRARIES)]
    foreign = any(one and not os.path.realpath(one.path).startswith(own) for one in components)
    linker = any((toolkit.root / folder / "libnvJitLink.so").exists() for folder in ("lib64", "lib"))
    return not foreign and (linker or toolkit.nvjitlink is None)


def _links(toolkit: Toolkit) -> dict[str, Path]:
    """Every link by its name below the shadow ("bin/nvcc"); `bin` and `lib64` are folders of links of their own."""
    links: dict[str, Path] = {}
    for entry in _entries(toolkit.root):
        if entry.name not in (*_FOLDERS, "lib"):
            links[entry.name] = entry
    libraries = toolkit.root / ("lib64" if (toolkit.root / "lib64").is_dir() else "lib")
    for folder, source in (("bin", toolkit.root / "bin"), ("lib64", libraries)):
        links |= {f"{folder}/{entry.name}": entry for entry in _entries(source)}
    for name in _PROGRAMS:
        if component := toolkit.component(name):
            links[f"bin/{PART[name].places[0].rpartition('/')[2]}"] = component.path
    for name, unversioned in _LIBRARIES.items():
        if component := toolkit.component(name):
            links[f"lib64/{component.path.name}"] = component.path
            links[f"lib64/{unversioned}"] = component.path
    resolved = {name: Path(os.path.realpath(target)) for name, target in links.items()}
    return {**resolved, "lib": Path("lib64")}


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(folder.iterdir())


def _make(root: Path, links: Mapping[str, Path]) -> None:
    """Make the folder under another name, then rename it; another process may be faster with the same content."""
    import shutil
    import tempfile

    root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _refuse_foreign(root.parent)
    stage = Path(tempfile.mkdtemp(dir=root.parent, prefix=".making-"))
    try:
        for folder in _FOLDERS:
            (stage / folder).mkdir()
        for name, target in links.items():
            (stage / name).symlink_to(target)
        try:
            stage.rename(root)
        except OSError:
            if not root.is_dir():
                raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _repair(root: Path, links: Mapping[str, Path]) -> None:
    """Put back every link that is not as it should be; each appears whole, so users of the others are not disturbed."""
    _refuse_foreign(root)
    for name, target in links.items():
        link = root / name
        try:
            intact = os.readlink(link) == str(target)
        except OSError:
            intact = False
        if not intact:
            link.parent.mkdir(exist_ok=True)
            fresh = link.with_name(f".{link.name}-{os.getpid()}")
            fresh.unlink(missing_ok=True)
            fresh.symlink_to(target)
            fresh.replace(link)


def _refuse_foreign(folder: Path) -> None:
    """A folder that belongs to someone else could lead us to their compiler."""
    if folder.stat().st_uid not in (os.getuid(), 0):
        raise PermissionError(1, "the folder belongs to another user", str(folder))
