"""`TileShader`: a kernel of a Python file, captured once, then compiled by each backend for every architecture."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File
from SCons.Scanner import Scanner, ScannerBase

from tilewright.problem import Place, Problem
from tilewright.scons import architectures, guard, metal_check, missing_arch, run_mode
from tilewright.scons.artifacts import TileShader
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.placement import Placement
from tilewright.scons.pool import workers
from tilewright.scons.progress import say
from tilewright.scons.scanner import logical, made_or_there
from tilewright.scons.session import message, original, session_of, top_of
from tilewright.scons.signatures import sign
from tilewright.scons.variables import Settings, overridden
from tilewright.shaders.backends import BACKENDS, Backend, backends_named, check_options, options_for
from tilewright.shaders.request import TIME_LIMIT, Request, make_request

SENTENCE = (
    "Captures a kernel of a Python file for the shapes in `specialisations=`, in a process of its own, and compiles it "
    "with every backend of `backends=`, else of the build variable: `cuda` for every architecture, `metal` for none. "
    "`kernel=` names the kernel where the file has several, `options=` are those of `tile.compile`, "
    "`time_limit=` is in seconds."
)
FOLDER = "tileir"
TEXT = ".tileir"
METAL = "metal"
REQUEST, LIMIT = "TILELIB_SHADER_REQUEST", "TILELIB_SHADER_TIME_LIMIT"
BACKEND, OPTIONS, ARCH = "TILELIB_SHADER_BACKEND", "TILELIB_SHADER_OPTIONS", "TILELIB_SHADER_ARCH"
CAPTURED = ("TILELIB_CAPTURE_SIG", REQUEST)


def compiled_with(backend: str) -> tuple[str, ...]:
    """What the compilation of a backend signs."""
    return (f"TILELIB_SHADER_{backend.upper()}_SIG", BACKEND, OPTIONS, ARCH)


def tile_shader(
    env: Env,
    name: str = "",
    source: Any = (),
    backends: Any = None,
    specialisations: Any = None,
    kernel: str = "",
    options: Any = None,
    time_limit: Any = TIME_LIMIT,
    **given: Any,
) -> TileShader:
    """The method of the environment. `given` may set `arch`."""
    with reading_stops_cleanly():
        session = session_of(env)
        settings = overridden(session.settings, "TileShader", given, ("arch",))
        request = make_request(name, kernel, {} if specialisations is None else specialisations)
        rows = backends_named(_backends(settings) if backends is None else backends)
        chosen = check_options({} if options is None else options)
        place = Placement(env, name, suffix=_main_suffix(rows[0]))
        origin = _only_source(env, name, source)
        if run_mode.helping():
            return TileShader(name, {}, [], [place.bare()])
        needed = not all(row.folder for row in rows)
        archs = architectures.chosen(settings, session, place) if needed else ()
        if needed and not archs:
            stand_in = place.bare()
            if not run_mode.cleaning():
                stand_in = missing_arch.placeholder(env, place.root, stand_in, session.toolkit)
            return TileShader(name, {}, [], [stand_in])
        text = place.folder(FOLDER).File(name + TEXT)
        _refuse_second(text, name)
        sign(env, *CAPTURED)
        texts = capture_builder()(env, text, origin, **{REQUEST: request.to_json(), LIMIT: _seconds(time_limit)})
        parts: dict[str, list[File]] = {}
        for row in rows:
            sign(env, *compiled_with(row.name))
            for arch in (row.folder,) if row.folder else archs:
                folder = place.folder(arch)
                targets = [folder.File(name + suffix) for suffix in row.suffixes]
                variables = {BACKEND: row.name, OPTIONS: _options(row, chosen), ARCH: "" if row.folder else arch}
                parts[arch] = list(compile_builder(row.name)(env, targets, texts, **variables))
                if row.name == METAL:
                    metal_check.declare(env, name, texts[0], parts[arch], variables[OPTIONS])
        return TileShader(name, parts, texts, [])


def _backends(settings: Settings) -> list[str]:
    """Those of the build variable; a run that checks MSL makes what it checks."""
    words = [word.strip() for word in settings.backends.split(",") if word.strip()]
    if metal_check.asked() and METAL not in words:
        return [*words, METAL] if settings.arch else [METAL]
    return words


def _options(row: Backend, chosen: dict[str, Any]) -> str:
    return json.dumps(options_for(chosen, row.name))


def _main_suffix(row: Backend) -> str:
    return row.suffixes[-2]


def _seconds(limit: Any) -> float:
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        raise BuildScriptError.of(f"`time_limit={limit!r}` is no number of seconds", "time_limit=60")
    return float(limit)


def _only_source(env: Env, name: str, source: Any) -> File:
    sources = env.arg2nodes(source, env.File)
    if len(sources) != 1:
        hint = f'env.TileShader("{name}", "{name}.py"): import the other files from the one that holds the kernel'
        raise BuildScriptError.of(f"the shader `{name}` has {len(sources)} sources, and is captured from one", hint)
    if not sources[0].name.endswith(".py"):
        raise BuildScriptError.of(f"`{sources[0]}` is no kernel file", "kernels are written in Python: a .py file")
    return sources[0]


def _refuse_second(text: File, name: str) -> None:
    if text.is_derived():
        hint = "each shader of a folder has a name of its own; kernel=... names the kernel in the file"
        raise BuildScriptError.of(f"there are two shaders `{name}` in one folder", hint)


def capture_kernel(target: list[File], source: list[File], env: Env) -> None:
    """Action: runs the kernel file in a process of its own."""
    from tilewright.library.publish import publish
    from tilewright.shaders.capture import capture
    from tilewright.shaders.imports import shown

    with one_clean_error(target[0]):
        top = top_of(env)
        request = Request.from_json(env[REQUEST])
        found = capture(Path(source[0].get_abspath()), request, root=top, time_limit=env[LIMIT])
        if found.said:
            say(f"{logical(source[0], env)} printed:\n{found.said}")
        made: Any = target[0]
        known = {os.path.abspath(path) for node in made.children() for path in _paths_of(node)}
        if hidden := [shown(path, top) for path in found.read if str(path) not in known]:
            what = f"it read {', '.join(f'`{name}`' for name in hidden)}, of which the build knows nothing"
            hint = f'a module: `import` it by name\nanother file: env.Depends(shader.text, "{hidden[0]}")'
            place = Place(logical(source[0], env))
            raise BuildScriptError([Problem(what, place, hint, "hidden-dependency")])
        publish({Path(target[0].abspath): found.text.encode()})


def _paths_of(node: Any) -> list[str]:
    """Of a file in a variant folder, that of the user's own, too."""
    return [node.get_abspath(), node.srcnode().get_abspath()] if isinstance(node, File) else []


def compile_kernel(target: list[File], source: list[File], env: Env) -> None:
    """Action: lowers and compiles in a worker, as a compiler may crash."""
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        (row,) = (each for each in BACKENDS if each.name == env[BACKEND])
        compiler = str(session_of(env).toolkit.require(row.component).path) if row.component else ""
        text = Path(source[0].abspath).read_text(encoding="utf-8")
        made = workers().run(row.make, text, str(source[0]), json.loads(env[OPTIONS]), env[ARCH], compiler)
        publish({Path(node.abspath): made[suffix] for node, suffix in zip(target, row.suffixes, strict=True)})


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the user's own source is read, never a variant folder's copy."""
    with reading_stops_cleanly():
        guard.distrust(target)
        guard.keep_until_replaced(target)
        return target, [original(source[0])]


def import_scanner() -> ScannerBase:
    """The scanner of kernel files."""
    return Scanner(function=modules_of, name="tilelib imports", skeys=[".py"])


def modules_of(node: File, env: Env, path: Any = ()) -> list[File]:
    """The Python files of the project that the kernel file imports, directly or not."""
    from tilewright.shaders.imports import imported_files

    found = imported_files(Path(node.get_abspath()), top_of(env), lambda name: made_or_there(name, env))
    return [env.fs.File(os.fspath(file)) for file in found]


def capture_builder() -> BuilderBase:
    """The builder of the `.tileir`."""
    action = Action(capture_kernel, message("Capturing {target}"), varlist=CAPTURED)
    return Builder(action=action, emitter=declare_outputs, source_scanner=import_scanner(), suffix=TEXT)


def compile_builder(backend: str) -> BuilderBase:
    """The builder of what a backend makes."""
    action = Action(compile_kernel, message("Compiling tile shader {target}"), varlist=compiled_with(backend))
    return Builder(action=action, emitter=declare_outputs)
