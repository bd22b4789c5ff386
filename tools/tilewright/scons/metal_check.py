"""`check-metal`: the MSL of a build, compiled and run on the CPU, against the FP64 interpreter."""

from __future__ import annotations

import functools
import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, run_mode
from tilewright.scons.errors import BuildScriptError, one_clean_error
from tilewright.scons.missing_arch import targets_on_command_line
from tilewright.scons.progress import say
from tilewright.scons.session import message
from tilewright.scons.signatures import sign

if TYPE_CHECKING:
    from tilewright.lowering.metal.check.clang import Clang

ALIAS = "check-metal"
REPORT = ".check.json"
OPTIONS = "TILELIB_METAL_CHECK_OPTIONS"
SIGNED = ("TILELIB_METAL_CHECK_SIG", OPTIONS)
TOLERANCE = 1e-4
"""|got - want| <= TOLERANCE * (1 + |want|), the result wanted being that of the FP64 interpreter."""


def asked() -> bool:
    """Whether the command line names the check."""
    return ALIAS in targets_on_command_line()


def declare(env: Env, name: str, text: File, metal: list[File], options: str) -> None:
    """The check of one shader, whose report is up to date as long as MSL, clang and the check are the same.

    `options` is the JSON that the MSL was made with. Nothing is declared in a run that does not ask for the check.
    """
    report = metal[0].dir.File(name + REPORT)
    env.Clean(metal, report)
    if not asked() or run_mode.cleaning():
        return
    reason = _skipped()
    if not reason:
        run_mode.keep_going()  # every shader is checked, although one fails
        sign(env, *SIGNED)
        env.NoCache(builder()(env, report, [metal[0], text, *metal[1:]], **{OPTIONS: options}))
    env.Alias(ALIAS, [] if reason else [report])


@functools.cache
def _skipped() -> str:
    """Why nothing is checked here, which is said once; "" where clang is found."""
    from tilewright.lowering.errors import LoweringError

    try:
        _clang()
    except LoweringError as error:
        (problem,) = error.problems
        say(f"skipping: {ALIAS}: {problem.what}; {problem.hint}")
        return problem.what
    return ""


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
            report = check([Case(name, function, artifact, TOLERANCE)], _clang(), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        say(report.text().rstrip("\n"))
        if not report.passed:
            faults = [fault for each in report.evidence for fault in each.faults]
            raise BuildScriptError.of(f"the MSL of `{source[0]}` is wrong: {faults[0]}")
        publish({Path(target[0].abspath): report.to_json()})


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
