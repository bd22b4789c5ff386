"""`TileShaderCheck` and `check-metal`: MSL of a build, compiled and run on the CPU, against the FP64 interpreter."""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.problem import Problem
from tilewright.scons import guard, run_mode, unavailable
from tilewright.scons.artifacts import METAL, MSL, Msl, TileShader
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.missing_arch import targets_on_command_line
from tilewright.scons.progress import say
from tilewright.scons.session import message
from tilewright.scons.signatures import sign

if TYPE_CHECKING:
    from tilewright.lowering.metal.check.clang import Clang

SENTENCE = (
    "The check of a shader's MSL on the CPU as a target, and part of `check-metal`. Every shader has it; the call sets "
    "its `tolerance=`: |got - want| <= tolerance * (1 + |want|). Made for the alias, or when asked for."
)
ALIAS = "check-metal"
REPORT = ".check.json"
OPTIONS = "TILELIB_METAL_CHECK_OPTIONS"
SIGNED = ("TILELIB_METAL_CHECK_SIG", OPTIONS)
TOLERANCE = 1e-4
"""|got - want| <= TOLERANCE * (1 + |want|), the result wanted being that of the FP64 interpreter."""

_LIMIT = "tilelib_tolerance"
"""The tag of a report whose script gives it a tolerance."""


def asked() -> bool:
    """Whether the command line names the check."""
    return ALIAS in targets_on_command_line()


def declare(env: Env, source: File) -> None:
    """The check of a shader's `.metal`, as part of `check-metal`.

    The report is up to date as long as MSL, clang and the check are the same. Nothing is declared in a run that does
    not ask for it.
    """
    msl: Msl = source.GetTag(MSL)
    env.Clean([source, msl.description], _report(source))
    if not asked():
        return
    if run_mode.cleaning():
        env.Alias(ALIAS, [source])
        return
    reports = []
    if _skipped() is None:
        run_mode.keep_going()  # every shader is checked, although one fails
        reports = _declared(env, source)
    env.Alias(ALIAS, reports)


def tile_shader_check(env: Env, shader: Any = None, tolerance: Any = TOLERANCE) -> list[File]:
    """The method of the environment: the report, none in a run that writes no MSL of the shader."""
    with reading_stops_cleanly():
        if not isinstance(shader, TileShader):
            hint = (
                'softmax = env.TileShader("softmax", "softmax.py", ...)\nenv.TileShaderCheck(softmax, tolerance=1e-3)'
            )
            raise BuildScriptError.of(f"`TileShaderCheck` is given {type(shader).__name__}, and checks a shader", hint)
        if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 < tolerance < 1:
            raise BuildScriptError.of(f"`tolerance={tolerance!r}` is no number between 0 and 1", "tolerance=1e-3")
        if METAL not in shader.parts or run_mode.cleaning():
            return []
        (report,) = made = _declared(env, shader.parts[METAL][0])
        if report.GetTag(_LIMIT) is not None:
            raise BuildScriptError.of(f"the check of `{shader.name}` is declared twice", "one TileShaderCheck a shader")
        report.Tag(_LIMIT, float(tolerance))
        env.Depends(report, env.Value(f"tolerance {float(tolerance)!r}"))
        if (why := _missing()) is not None:
            unavailable.leave_out(env, made, "", why)
        return made


def _report(source: File) -> File:
    return source.dir.File(source.GetTag(MSL).shader + REPORT)


def _declared(env: Env, source: File) -> list[File]:
    """The report's node, with the one step that makes it."""
    msl, report = source.GetTag(MSL), _report(source)
    if not report.has_builder():
        sign(env, *SIGNED)
        env.NoCache(builder()(env, report, [source, msl.text, msl.description], **{OPTIONS: msl.options}))
    return [report]


@functools.cache
def _skipped() -> Problem | None:
    """Why nothing is checked here, which is said once."""
    problem = _missing()
    if problem is not None:
        say(f"skipping: {ALIAS}: {problem.what}; {problem.hint}")
    return problem


def _missing() -> Problem | None:
    """Why there is no clang for it, None where there is one."""
    from tilewright.lowering.errors import LoweringError

    try:
        _clang()
    except LoweringError as error:
        return error.problems[0]
    return None


@functools.cache
def _clang() -> Clang:
    from tilewright.lowering.metal.check.clang import find_clang

    return find_clang(os.environ)


def check_msl(target: list[File], source: list[File], env: Env) -> None:
    """Action: prints the evidence, and fails where MSL and interpreter differ or a sanitizer speaks."""
    from tilewright.library.publish import publish
    from tilewright.lowering.metal.check.comparison import Case
    from tilewright.lowering.metal.check.report import check
    from tilewright.lowering.metal.lower import lower
    from tilewright.lowering.options import CompileOptions
    from tilewright.tileir.text.parser import parse_module

    with one_clean_error(target[0]):
        msl, text = (Path(node.abspath).read_text(encoding="utf-8") for node in source[:2])
        (function,) = parse_module(text, str(source[1])).functions
        artifact = replace(lower(function, CompileOptions(**json.loads(env[OPTIONS]))), source=msl)
        folder = Path(tempfile.mkdtemp(prefix="tilewright-check-"))
        try:
            name = source[0].name.removesuffix(".metal")
            tolerance = target[0].GetTag(_LIMIT) or TOLERANCE
            report = check([Case(name, function, artifact, tolerance)], _clang(), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        say(report.text().rstrip("\n") + f", tolerance {tolerance:g}" * (tolerance != TOLERANCE))
        if not report.passed:
            faults = [fault for each in report.evidence for fault in each.faults]
            raise BuildScriptError.of(f"the MSL of `{source[0]}` is wrong: {faults[0]}")
        record = {"tolerance": tolerance, **json.loads(report.to_json())}
        publish({Path(target[0].abspath): (json.dumps(record, indent=2) + "\n").encode()})


def declare_report(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: a report that was edited is made again, and the default targets are without it."""
    guard.distrust(target)
    for node in target:
        env.Ignore(node.dir, node)
    return target, source


def builder() -> BuilderBase:
    """The builder of a report."""
    action = Action(check_msl, message("Checking {source}"), varlist=SIGNED)
    return Builder(action=action, emitter=declare_report)
