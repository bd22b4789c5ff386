"""The cache of our steps, behind SCons's own hook for one.

An entry is a whole step with all its outputs.  Its key is made of the bytes of what the step reads, of its action with
what that signs, of our tools and of the names that get into outputs; not of the folder of the target, so that variant
folders and checkouts share.  SCons makes one cache object for every environment and clone, so the state is here.
Targets of other builders are left to the cache that their environment has.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Action
import SCons.CacheDir
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons.errors import one_clean_error
from tilewright.scons.guard import WHOLE
from tilewright.scons.progress import say
from tilewright.scons.run_mode import writing
from tilewright.scons.scanner import ORIGIN, logical
from tilewright.scons.session import session_of, top_of
from tilewright.scons.signatures import READ_BY_COMPILERS

if TYPE_CHECKING:
    from tilewright.cache.tiers import Cache

FORMAT = "tilewright 1"
CLASS = "CACHEDIR_CLASS"

ENVIRONMENT = (
    *READ_BY_COMPILERS,
    *("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"),
    *("RUSTUP_TOOLCHAIN", "RUSTC_BOOTSTRAP"),
)
"""Variables that compilers read: in the key of every step, also where the action signs them."""

DISTRIBUTIONS = (
    *("Jinja2", "llvmlite", "msgspec", "numpy", "packaging", "tree-sitter", "tree-sitter-cuda", "tree-sitter-rust"),
)
"""Packages that shape outputs."""

_KEY, _STARTED, _RESTORED, _DIGEST = "tilelib_key", "tilelib_started", "tilelib_restored", "tilelib_digest"


def use_in(env: Env) -> None:
    """Sets the cache up in an environment, and in what is cloned of it; CacheError when `cache=` names none."""
    cache_of(env)
    base = env.get(CLASS, SCons.CacheDir.CacheDir)
    if not issubclass(base, WholeSteps):
        env[CLASS] = _derived(base)


def cache_of(env: Env) -> Cache | None:
    """The cache of an environment; those with the same settings have the same one."""
    settings = session_of(env).settings
    if not settings.cache:
        return None
    return _opened(settings.cache, settings.cache_write, settings.cache_size, top_of(env))


@functools.cache
def _opened(places: str, write: bool, size: str, top: Path) -> Cache:
    from tilewright.cache.tiers import open_cache

    cache = open_cache(places, top=top, tell=say, write_remote=write, size=size)
    if writing():
        atexit.register(_close, cache)
    return cache


def _close(cache: Cache) -> None:
    cache.close()
    if cache.statistics.hits or cache.statistics.misses:
        say(cache.statistics.line())


@functools.cache
def _derived(base: type) -> type:
    return type(f"WholeSteps{base.__name__}", (WholeSteps, base), {})


class WholeSteps(SCons.CacheDir.CacheDir):
    """SCons's hook: our steps go to our cache, all other targets to the class that this one is derived with.

    Its methods run in the threads of the steps.
    """

    def retrieve(self, node: Any) -> bool:
        """Whether the output is restored: all outputs of the step are, when SCons asks for the first of them."""
        cache = _cache_for(node)
        if cache is None:
            return super().retrieve(node)
        targets = _targets(node)
        first = targets[0]
        if not SCons.CacheDir.cache_enabled:
            return False
        if node is first:
            first.Tag(_KEY, key_of(targets))
            first.Tag(_RESTORED, _restore(cache, first.GetTag(_KEY), targets))
            first.Tag(_STARTED, time.monotonic())
        return bool(first.GetTag(_RESTORED))

    def push(self, node: Any) -> Any:
        """After a step: adds all its outputs, when SCons comes with the first of them."""
        cache = _cache_for(node)
        if cache is None:
            return super().push(node)
        targets = _targets(node)
        if node is targets[0] and SCons.CacheDir.cache_enabled and not SCons.CacheDir.cache_readonly:
            _store(cache, targets)
        return None

    def push_if_forced(self, node: Any) -> Any:
        """`--cache-force`: adds what is up to date as well. SCons calls this for every target, in every run.

        It forgets the action of a target right after; that of the first one is all that counts.
        """
        if not SCons.CacheDir.cache_force:
            return None
        cache = _cache_for(node)
        if cache is None:
            return super().push_if_forced(node)
        targets = _targets(node)
        if node is targets[0] and node.GetTag(_STARTED) is None and not cache.has(key_of(targets)):
            self.push(node)
        return None


def _cache_for(node: Any) -> Cache | None:
    """Our cache, for an output of ours in a step whose every output may be cached."""
    if not node.GetTag(WHOLE) or any(target.nocache for target in _targets(node)):
        return None
    return cache_of(node.get_build_env())


def _targets(node: Any) -> list[Any]:
    return list(node.get_executor().get_all_targets())


def _restore(cache: Cache, key: str, targets: list[Any]) -> bool:
    names = [target.name for target in targets]
    if not SCons.Action.execute_actions:
        return _would_restore(cache, key, targets)
    found = cache.restore(key, names)
    if found is None:
        return False
    from tilewright.library.publish import publish

    with one_clean_error(targets[0]):
        paths = [Path(target.get_abspath()) for target in targets]
        executable = [path for path, (output, _) in zip(paths, found, strict=True) if output.executable]
        publish({path: data for path, (_, data) in zip(paths, found, strict=True)}, executable)
    say(f"Retrieved `{targets[0]}' from cache")
    return True


def _would_restore(cache: Cache, key: str, targets: list[Any]) -> bool:
    """Under `-n`, what a folder would give; the steps after this one learn the digests of files that are not there."""
    entry = cache.local.entry(key) if cache.local else None
    if entry is None or [output.name for output in entry.outputs] != [target.name for target in targets]:
        return False
    for target, output in zip(targets, entry.outputs, strict=True):
        target.Tag(_DIGEST, output.sha256)
    say(f"Retrieved `{targets[0]}' from cache")
    return True


def _store(cache: Cache, targets: list[Any]) -> None:
    """Adds the outputs, unless an input was changed while the step ran: then they may be of the one or the other."""
    key = key_of(targets)
    if targets[0].GetTag(_KEY) not in (None, key):
        return
    started = targets[0].GetTag(_STARTED)
    paths = [Path(target.get_abspath()) for target in targets]
    try:
        files = [(path.name, path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in paths]
    except OSError:
        return
    cache.store(key, files, 0.0 if started is None else time.monotonic() - started)


def key_of(targets: list[Any]) -> str:
    """The key of a step, by all its targets: a SHA-256 over everything that can change their bytes."""
    first = targets[0]
    env = first.get_build_env()
    sources = set(first.sources)
    digest = hashlib.sha256()
    parts = [FORMAT, *_surroundings(), *(f"target {target.name}" for target in targets)]
    parts += [f"variable {name}={os.environ[name]}" for name in ENVIRONMENT if os.environ.get(name)]
    parts += [_input(child, child in sources, env) for child in first.children()]
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode("utf-8", "surrogateescape"))
    digest.update(first.get_executor().get_contents())
    return digest.hexdigest()


def _input(child: Any, is_source: bool, env: Env) -> str:
    """One input: its kind, the name by which it can get into outputs, and the digest of its bytes."""
    if not isinstance(child, File):
        return f"value {child.get_csig()}"
    name = child.name
    if not child.GetTag(WHOLE):
        name = logical(child, env)
        name = child.name if name.startswith("..") else name
    origin = child.GetTag(ORIGIN)
    made_from = logical(origin, env) if origin is not None else ""
    return f"{'source' if is_source else 'needed'} {name} {made_from} {_digest(child)}"


def _digest(child: Any) -> str:
    if (known := child.GetTag(_DIGEST)) is not None and not SCons.Action.execute_actions:
        return str(known)
    try:
        with open(child.rfile().get_abspath(), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "absent"


@functools.cache
def _surroundings() -> tuple[str, ...]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = [f"{platform.system()} {platform.machine()}", ".".join(platform.python_version_tuple()[:2])]
    for name in DISTRIBUTIONS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return tuple(found)
