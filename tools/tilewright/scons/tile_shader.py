"""`TileShader`: a kernel of a Python file, captured once, then compiled by each backend for every architecture."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File
from SCons.Scanner import Scanner, ScannerBase

from tilewright.scons import architectures, guard, metal_check, missing_arch, run_mode
from tilewright.scons.artifacts import METAL, MSL, Msl, TileShader
from tilewright.scons.calls import files_given
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly
from tilewright.scons.installed_packages import releases_behind
from tilewright.scons.placement import Placement
from tilewright.scons.progress import say
from tilewright.scons.scanner import made_or_there
from tilewright.scons.session import message, original, session_of, top_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, step_of
from tilewright.scons.variables import Settings, named_on_command_line, overridden
from tilewright.scons.watched_reads import hidden_dependency, hidden_reads
from tilewright.shaders.backends import BACKENDS, Backend, backends_named, check_options, options_for
from tilewright.shaders.request import TIME_LIMIT, Request, make_request

SENTENCE = (
    "Captures a kernel of a Python file for the shapes in `specialisations=`, in a process of its own, and compiles it "
    "with every backend of `backends=`, else of the build variable: `cuda` for every architecture, `metal` for none. "
    "`kernel=` names the kernel where the file has several, `options=` are those of `tile.compile`, "
    "`time_limit=` is in seconds."
)
GIVEN = ("arch",)
"""The variables that one shader may set for itself."""

FOLDER = "tileir"
TEXT = ".tileir"
REQUEST, LIMIT = "TILELIB_SHADER_REQUEST", "TILELIB_SHADER_TIME_LIMIT"
BACKEND, OPTIONS, ARCH = "TILELIB_SHADER_BACKEND", "TILELIB_SHADER_OPTIONS", "TILELIB_SHADER_ARCH"
RELEASES = "TILELIB_IMPORTED_RELEASES"
"""Of the installed packages that the user's Python files among the sources import; signed as any other input is."""

ADVICE = 'a module in its folder or the top one: `import` it by name\nanother file: env.Depends(shader.text, "{}")'

CAPTURED = ("TILELIB_CAPTURE_SIG", REQUEST, RELEASES)


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
    """The method of the environment. `given` may set the variables in `GIVEN`."""
    with reading_stops_cleanly():
        session = session_of(env)
        settings = overridden(session.settings, given)
        request = make_request(name, kernel, {} if specialisations is None else specialisations)
        rows = backends_named(_backends(settings) if backends is None else backends)
        chosen = check_options({} if options is None else options)
        place = Placement(env, name, suffix=_main_suffix(rows))
        origin = _only_source(env, name, source)
        if run_mode.helping():
            return TileShader(name, {}, [], [place.bare()])
        needed = not all(row.folder for row in rows)
        archs = architectures.chosen(settings, session, place) if needed else ()
        stand_in = []
        if needed and not archs and not run_mode.cleaning():
            stand_in = [missing_arch.placeholder(env, place.root, place.bare(), session)]
            rows = tuple(row for row in rows if row.folder)
        if not rows:
            return TileShader(name, {}, [], stand_in)
        text = place.folder(FOLDER).File(name + TEXT)
        _refuse_second(text, name)
        sign(env, *CAPTURED)
        variables = {REQUEST: request.to_json(), LIMIT: _seconds(time_limit), RELEASES: releases_imported}
        texts = capture_builder()(env, text, origin, **variables)
        parts: dict[str, list[File]] = {}
        for row in rows:
            sign(env, *compiled_with(row.name))
            for arch in (row.folder,) if row.folder else archs:
                folder = place.folder(arch)
                targets = [folder.File(name + suffix) for suffix in row.suffixes]
                how = {BACKEND: row.name, OPTIONS: _options(row, chosen), ARCH: "" if row.folder else arch}
                parts[arch] = list(compile_builder(row.name)(env, targets, texts, **how))
                if row.name == METAL:
                    parts[arch][0].Tag(MSL, Msl(name, texts[0], how[OPTIONS], description=parts[arch][-1]))
                    metal_check.declare(env, parts[arch][0])
        return TileShader(name, parts, texts, stand_in)


def _backends(settings: Settings) -> list[str]:
    """Those of the build variable; a run that checks MSL makes what it checks.

    A run that cleans without naming any takes all: what another run made for one of them goes, too.
    """
    words = [word.strip() for word in settings.backends.split(",") if word.strip()]
    if run_mode.cleaning() and not named_on_command_line("backends"):
        return [row.name for row in BACKENDS]
    if metal_check.asked() and METAL not in words:
        return [*words, METAL]
    return words


def _options(row: Backend, chosen: dict[str, Any]) -> str:
    return json.dumps(options_for(chosen, row.name))


def _main_suffix(rows: Sequence[Backend]) -> str:
    """Of what an architecture is missing for, where one is needed."""
    return min(rows, key=lambda row: bool(row.folder)).suffixes[-2]


def _seconds(limit: Any) -> float:
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        raise BuildScriptError.of(f"`time_limit={limit!r}` is no number of seconds", "time_limit=60")
    return float(limit)


def _only_source(env: Env, name: str, source: Any) -> File:
    sources = files_given(env, source)
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
    carry_out(_capture(target, source, env), target, env)


def _capture(target: list[File], source: list[File], env: Env) -> Step:
    options = {"request": env[REQUEST], "time_limit": env[LIMIT]}
    return step_of("capture", target, source, env, signed=CAPTURED, options=options)


def make_text(step: Step, here: Surroundings) -> Made:
    """The TileIR of the kernel that is asked for, as text."""
    from tilewright.shaders.capture import capture

    (source,) = step.sources
    options = step.options
    request = Request.from_json(options["request"])
    found = capture(here.path(source), request, root=here.root, time_limit=options["time_limit"])
    if found.said:
        say(f"{source} printed:\n{found.said}")
    if hidden := hidden_reads(found.read, here.paths(step.inputs)):
        raise hidden_dependency(hidden, here.root, source, ADVICE)
    return Made((found.text.encode(),))


def compile_kernel(target: list[File], source: list[File], env: Env) -> None:
    """Action: lowers and compiles in a worker, as a compiler may crash."""
    carry_out(_compilation(target, source, env), target, env)


def _compilation(target: list[File], source: list[File], env: Env) -> Step:
    """Where no compiler takes part, it is no work for a process of its own."""
    row = _row(env[BACKEND])
    options = {"backend": row.name, "options": json.loads(env[OPTIONS]), "arch": env[ARCH]}
    signed = compiled_with(row.name)
    return step_of("shader", target, source, env, signed=signed, options=options, light=not row.component)


def make_compiled(step: Step, here: Surroundings) -> Made:
    """What a backend makes of TileIR."""
    row = _row(step.options["backend"])
    (source,) = step.sources
    compiler = str(here.toolkit.require(row.component).path) if row.component else ""
    text = here.path(source).read_text(encoding="utf-8")
    made = here.workers.run(row.make, text, source, step.options["options"], step.options["arch"], compiler)
    return Made(tuple(made[suffix] for suffix in row.suffixes))


def _row(name: str) -> Backend:
    (row,) = (each for each in BACKENDS if each.name == name)
    return row


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
    return [env.fs.File(os.fspath(file)) for file in _imported_files(node, env)]


def _imported_files(node: File, env: Env) -> tuple[Path, ...]:
    from tilewright.shaders.imports import imported_files

    return imported_files(Path(node.get_abspath()), top_of(env), lambda name: made_or_there(name, env))


def releases_imported(target: Any, source: Any, env: Env, for_signature: bool) -> str:
    """The value of `RELEASES`, asked for when the step is looked at: the user's Python files may be made before it."""
    files = [node.get() for node in source if node.name.endswith(".py")]
    modules = [os.fspath(module) for file in files for module in _imported_files(file, env)]
    return ", ".join(releases_behind([*(file.get_abspath() for file in files), *modules]))


def capture_builder() -> BuilderBase:
    """The builder of the `.tileir`."""
    action = Action(capture_kernel, message("Capturing {target}", step=_capture), varlist=CAPTURED)
    return Builder(action=action, emitter=declare_outputs, source_scanner=import_scanner(), suffix=TEXT)


def compile_builder(backend: str) -> BuilderBase:
    """The builder of what a backend makes."""
    line = message("Compiling tile shader {target}", step=_compilation)
    action = Action(compile_kernel, line, varlist=compiled_with(backend))
    return Builder(action=action, emitter=declare_outputs)
