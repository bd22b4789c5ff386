"""Where the artifacts of a library or a program go."""

from __future__ import annotations

import os
from collections.abc import Iterator

from SCons.Environment import Base as Env
from SCons.Node.FS import Dir, File

from tilewright.scons import missing_arch, tilelib
from tilewright.scons.errors import BuildScriptError
from tilewright.scons.session import BUILD_FOLDER


class Placement:
    """Where artifacts go: `build/<arch>/<folder of the script>/`, or `<variant folder>/<arch>/`.

    Whoever names the folder of the script, or one above it, as a target gets the artifacts, too.
    """

    def __init__(self, env: Env, name: str, suffix: str = tilelib.SUFFIX) -> None:
        self.env = env
        self.name = name
        self.suffix = suffix
        here = env.Dir(".")
        in_variant = here.srcnode() is not here
        self.root: Dir = here if in_variant else _folder(env, str(env[BUILD_FOLDER]))
        self.below = "." if in_variant else here.get_internal_path()
        if os.path.isabs(self.below) or self.below.startswith(".."):
            raise BuildScriptError.of(
                f"the script of `{name}` lies outside the folder of the SConstruct, so its artifacts have no place",
                "read it with a variant_dir inside the project: SConscript(script, variant_dir='build/out')",
            )

    def folder(self, arch: str = "") -> Dir:
        """The folder of an architecture; without one, where the library itself would be if it needed none."""
        path = os.path.normpath(os.path.join(arch, self.below))
        blocked = _file_in_the_way(os.path.join(self.root.get_abspath(), path))
        if blocked:
            raise BuildScriptError.of(
                f"`{os.path.relpath(blocked)}` is a file, and a folder is needed there for `{self.name}`",
                "move the file away",
            )
        made = self.root if path == "." else self.root.Dir(path)
        self._build_with_script_folder(made)
        return made

    def _build_with_script_folder(self, made: Dir) -> None:
        script = self.env.Dir(".").srcnode().get_abspath()
        for target, path in missing_arch.targets_on_command_line().items():
            if _within(script, path) and not _within(made.get_abspath(), path):
                alias = self.env.Alias(target, self.env.Value(target))
                self.env.Depends(alias, [self.env.Dir(path), made])  # as sources, all that is in them would count

    def bare(self) -> File:
        """The target without an architecture: nothing makes it in a run that only cleans or shows help."""
        return self.folder().File(self.name + self.suffix)

    def built(self) -> tuple[str, ...]:
        """The architectures that have a folder now."""
        try:
            names = sorted(os.listdir(self.root.get_abspath()))
        except OSError:
            return ()
        return tuple(name for name in names if missing_arch.is_architecture(name))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _folder(env: Env, path: str) -> Dir:
    """A folder by name, where `#` is the top; BuildScriptError when a file stands there."""
    if blocked := _file_in_the_way(path.replace("#", env.Dir("#").abspath + os.sep, 1)):
        raise BuildScriptError.of(
            f"`{os.path.relpath(blocked)}` is a file, and the build folder is needed there", "move the file away"
        )
    return env.Dir(path)


def _file_in_the_way(path: str) -> str:
    """The file that stands where `path` needs a folder, empty when none does."""
    return next((each for each in _upwards(path) if os.path.lexists(each) and not os.path.isdir(each)), "")


def _upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path or os.path.isdir(parent):
            return
        path = parent
