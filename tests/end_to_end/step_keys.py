"""The cache keys of every step of a project, under one change after the other, without running a step.

`measure` is called by an SConstruct.  Each change is made in a process of its own, forked before anything is declared,
so that neither SCons nor our memories know of the others, and no import is paid for twice.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from end_to_end.every_artifact import FILES, GRAPH


@dataclass
class Project:
    """What a change may change: files, settings (as on the command line), arguments of calls, variables of the env."""

    settings: dict[str, str] = field(default_factory=lambda: {"arch": "sm_120"})
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, name: str, text: str) -> None:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = Path(name).read_text(encoding="utf-8")
        assert old in text, (name, old)
        self.write(name, text.replace(old, new))

    def give(self, call: str, **arguments: Any) -> None:
        self.given.setdefault(call, {}).update(arguments)


Change = Callable[[Project], object]
LateChange = Callable[[pytest.MonkeyPatch], object]
"""Of what no declaration depends on: made when all is declared, so that it costs no process."""


def measure(changes: Mapping[str, Change], late: Mapping[str, LateChange], names: Mapping[str, Any]) -> None:
    """Writes keys.json: of each change the keys, and the values of the variables that are signed, by step."""
    _warm()
    found: dict[str, Any] = {}
    for name, change in changes.items():
        _restore()
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            try:
                record = json.dumps(_measured(change, {} if found else late, names))
            except BaseException:
                record = json.dumps({name: {"error": traceback.format_exc()}})
            with os.fdopen(writing, "w") as pipe:
                pipe.write(record)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            record = json.load(pipe)
        os.waitpid(child, 0)
        found |= {each or name: value for each, value in record.items()}
    _restore()
    Path("keys.json").write_text(json.dumps(found))
    sys.exit(0)


def _warm() -> None:
    """What every process would do again: the toolkit is looked for, all is imported, every tool asked."""
    from tilewright.scons import signatures
    from tilewright.scons.session import Session
    from tilewright.scons.variables import Settings

    toolkit = Session(Settings()).toolkit
    for module in (
        "scons.tool",
        "lowering.metal.offline",
        "packages.naming",
        "packages.tools",
        "toolchain.architectures",
    ):
        importlib.import_module(f"tilewright.{module}")
    for identity in signatures.IDENTITIES.values():
        identity(toolkit)


def _restore() -> None:
    for path in sorted(Path().rglob("*")):
        if path.is_file() and str(path) not in FILES and not path.name.startswith((".", "SConstruct", "keys")):
            path.unlink()
    for name, text in {**FILES, "GRAPH": GRAPH}.items():
        path = Path(name)
        if name != "SConstruct" and (not path.is_file() or path.read_text(encoding="utf-8") != text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def _measured(change: Change, late: Mapping[str, LateChange], names: Mapping[str, Any]) -> dict[str, Any]:
    """By name of the late changes, "" for the change itself."""
    project = Project()
    change(project)
    import tilewright.scons
    from tilewright.scons import caching, guard

    declared: list[Any] = []
    keep = guard.keep_until_replaced

    def noted(targets: list[Any]) -> None:
        keep(targets)
        declared.append(next(iter(targets)))

    guard.keep_until_replaced = noted
    digest = caching._digest
    caching._digest = lambda child: "made" if child.is_derived() else digest(child)
    for name, value in project.options.items():
        names["SetOption"](name, value)
    names["ARGUMENTS"].update(project.settings)
    env = names["Environment"](tools=[tilewright.scons.generate], **project.variables)
    scope = {"env": env, "given": lambda call: project.given.get(call, {})}
    exec(Path("GRAPH").read_text(encoding="utf-8"), scope)
    found = {"": _keys(declared)}
    for name, other in late.items():
        with pytest.MonkeyPatch.context() as patch:
            caching._surroundings.cache_clear()
            other(patch)
            found[name] = _keys(declared)
    return found


def _keys(declared: list[Any]) -> dict[str, Any]:
    from tilewright.scons import caching

    keys, signed = {}, {}
    for node in declared:
        executor = node.get_executor()
        targets, env = executor.get_all_targets(), executor.get_build_env()
        if node is not targets[0] or any(target.nocache for target in targets):
            continue
        assert node.name not in keys, node
        keys[node.name] = caching.key_of(targets)
        (action,) = executor.get_action_list()
        sources = executor.get_all_sources()
        variables = action.get_varlist(targets, sources, env)
        signed[node.name] = {name: env.subst(f"${{{name}}}", target=targets, source=sources) for name in variables}
    return {"keys": keys, "signed": signed}
