"""Does to a description exactly what the hint of a problem says, so that tests can see whether that helps."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

from tilewright.problem import Problem

PROSE = {"doc-control-character", "empty-library"}
"""Rules whose hint is advice and names nothing to paste."""


def after(document: dict[str, Any], problem: Problem) -> dict[str, Any]:
    """The description after pasting every backticked fragment of the hint where the problem is, or reordering.

    A parameter record replaces its namesake, or the last parameter, or nothing.
    """
    assert problem.where is not None
    document = deepcopy(document)
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"[a-z_]+|[0-9]+", problem.where.path)]
    export: Any = document["exports"][steps[1]] if steps[0] == "exports" else document
    owner = export if "parameters" not in steps[:-1] else export["parameters"][steps[3]]

    for line in problem.hint.splitlines():
        for fragment in re.findall(r"`(\{[^`]*\}|\"[^`]*)`", line):
            if fragment.startswith("{"):
                paste_record(export["parameters"], json.loads(fragment))
            else:
                target = export["parameters"][-1] if "return slot" in line else owner
                target |= json.loads("{" + fragment + "}")
    if order := re.fullmatch(r"write (?:the inputs first|it last): (.*)", problem.hint):
        records = {record["name"]: record for record in export["parameters"]}
        export["parameters"] = [records[name] for name in order[1].split(", ")]
    return document


def paste_record(parameters: list[dict[str, Any]], record: dict[str, Any]) -> None:
    names = [parameter["name"] for parameter in parameters]
    at = names.index(record["name"]) if record["name"] in names else max(len(names) - 1, 0)
    parameters[at : at + 1] = [record]
