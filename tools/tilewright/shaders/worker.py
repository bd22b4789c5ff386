"""The process of one kernel file: its own part of `capture`. It imports the DSL, and nothing of the build."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tilewright.problem import Place, Problem, ProblemError
from tilewright.shaders.errors import KernelFileError
from tilewright.shaders.imports import shown
from tilewright.shaders.installation import PACKAGE
from tilewright.shaders.request import Request, Spelling
from tilewright.shaders.selection import chosen_kernel
from tilewright.shaders.watch import Watch
from tilewright.tile.errors import CaptureError

LARGEST_FILE = 64 << 20
"""Bytes of any one file that the process may write, its output among them."""
MODULE = "kernel_file"
"""The name of the kernel file as a module."""


def main(parent: str) -> None:
    """Reads `../order.json`, writes `../reply.json`; `parent` is the number of a pipe that ends with the parent."""
    work = Path.cwd()
    scratch = work.parent
    order = json.loads((scratch / "order.json").read_bytes())
    threading.Thread(target=_leave_with_parent, args=(int(parent),), daemon=True).start()
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.pycache_prefix = str(scratch / "bytecode")
    sys.dont_write_bytecode = True
    file, root = Path(order["file"]), Path(order["root"])
    watch = Watch((file.parent, root), root, scratch)
    sys.path[:0] = order["path"]
    stuck = (scratch / "stuck.txt").open("w")
    faulthandler.dump_traceback_later(order["time_limit"], exit=True, file=stuck)
    text, problems = "", []
    try:
        text = _text_of(file, Request.from_json(order["request"]), Spelling(**order["spelling"]), watch)
    except ProblemError as error:
        problems = [*error.problems]
    except BaseException as error:
        problems = [_raised(error, watch, shown(file, root))]
    watch.is_on = False
    faulthandler.cancel_dump_traceback_later()
    problems = watch.problems or problems
    read = sorted((watch.read | _modules(watch)) - {file})
    reply = {
        "text": text,
        "read": [str(path) for path in read],
        "problems": [_record(problem, root) for problem in problems],
    }
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    (scratch / "reply.part").write_text(json.dumps(reply), encoding="utf-8")
    (scratch / "reply.part").rename(scratch / "reply.json")
    os._exit(0)  # what the file registered for the end, and its threads, are of no use


def _text_of(file: Path, request: Request, spelling: Spelling, watch: Watch) -> str:
    source = _read(file, shown(file, watch.root))
    code = _compiled(source, file, shown(file, watch.root))
    module = ModuleType(MODULE)
    module.__file__ = str(file)
    sys.modules[MODULE] = module
    watch.is_on = True
    exec(code, module.__dict__)
    definition, shapes = chosen_kernel(module, source, request, shown(file, watch.root), spelling)
    try:
        kernel = definition.capture(**shapes)
    except CaptureError as error:
        raise CaptureError(_placed(problem, definition.where) for problem in error.problems) from None
    watch.is_on = False
    return kernel.text()


def _placed(problem: Problem, kernel: Place) -> Problem:
    """A fault that no line of the user's was running at belongs to the kernel."""
    ours = problem.where is not None and problem.where.file.startswith(PACKAGE + os.sep)
    return replace(problem, where=kernel) if ours else problem


def _read(file: Path, name: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        what = f"cannot read `{name}`: {error.strerror}"
        raise KernelFileError([Problem(what, Place(name), "name a Python file with kernels")]) from None


def _compiled(source: bytes, file: Path, name: str) -> CodeType:
    try:
        return compile(source, str(file), "exec", dont_inherit=True)
    except SyntaxError as error:
        where = Place(name, error.lineno or 0, error.offset or 0)
        raise KernelFileError([Problem(f"not Python: {error.msg}", where, rule="kernel-file-syntax")]) from None
    except (ValueError, RecursionError) as error:
        raise KernelFileError([Problem(f"not Python: {error}", Place(name), rule="kernel-file-syntax")]) from None


def _raised(error: BaseException, watch: Watch, name: str) -> Problem:
    """An exception of the user's code, placed at the innermost line of it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if watch.owns(frame.filename)]
    if isinstance(error, SyntaxError) and error.filename and watch.owns(error.filename):
        where = Place(shown(Path(error.filename), watch.root), error.lineno or 0, error.offset or 0)
        return Problem(f"not Python: {error.msg}", where, rule="kernel-file-syntax")
    where = Place(shown(Path(own[-1].filename), watch.root), own[-1].lineno or 0) if own else Place(name)
    if isinstance(error, SystemExit):
        hint = "a kernel file is read like a module: end it by its last line"
        return Problem(f"the kernel file ends the program: exit status {error.code}", where, hint, "kernel-file-raised")
    path = [f"called from {shown(Path(frame.filename), watch.root)}:{frame.lineno}" for frame in reversed(own[:-1])]
    said = "".join(traceback.format_exception_only(error)).strip()
    first, _, rest = said.partition("\n")
    detail = "\n".join([*filter(None, [rest]), *path[:20]])
    what = f"the kernel file raised {first}"
    return Problem(what, where, _path_advice(error), rule="kernel-file-raised", detail=detail)


def _path_advice(error: BaseException) -> str:
    """For a file that was looked for in the working folder."""
    if not isinstance(error, FileNotFoundError):
        return ""
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else "..."
    if os.path.isabs(name):
        return ""
    return (
        f'a kernel file runs in an empty folder; one beside it: Path(__file__).parent / "{name}"\n'
        f'in an SConstruct, declare it: env.Depends(shader.text, "{name}")'
    )


def _modules(watch: Watch) -> set[Path]:
    """The files of the user's modules that were imported."""
    files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
    return {Path(file) for file in files if isinstance(file, str) and watch.owns(file)}


def _record(problem: Problem, root: Path) -> dict[str, Any]:
    place = problem.where
    return {
        "what": problem.what,
        "file": shown(Path(place.file), root) if place else "",
        "line": place.line if place else 0,
        "column": place.column if place else 0,
        "hint": problem.hint,
        "rule": problem.rule,
        "detail": problem.detail,
    }


def _leave_with_parent(pipe: int) -> None:
    os.read(pipe, 1)
    os._exit(1)
