"""What the room promises, what importing it costs, and what its tables hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import tilewright.scons
from tilewright.scons.signatures import IDENTITIES, PACKAGE, ROOMS, source_digest
from tilewright.scons.tool import BUILDERS, METHODS, builders_reference

TOOLS = Path(__file__).parents[2] / "tools"


def modules_after(statement: str) -> set[str]:
    code = f"import sys, json; before = set(sys.modules); {statement}; print(json.dumps([*set(sys.modules) - before]))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(TOOLS)}
    )
    return set(json.loads(done.stdout))


def test_importing_the_face_loads_no_room_and_not_scons() -> None:
    loaded = modules_after("import tilewright.scons")
    assert {name for name in loaded if name.startswith("tilewright.")} == {"tilewright.scons"}
    assert not {name.partition(".")[0] for name in loaded} & {"SCons", "msgspec", "tree_sitter", "cuda", "jinja2"}


def test_loading_the_tool_loads_no_compiler_and_no_parser() -> None:
    loaded = modules_after("import tilewright.scons.tool")
    heavy = {"msgspec", "tree_sitter", "tree_sitter_cuda", "cuda", "jinja2", "multiprocessing", "filelock", "llvmlite"}
    assert not {name.partition(".")[0] for name in loaded} & heavy
    assert not {
        name for name in loaded if name.startswith(("tilewright.bytecode", "tilewright.library", "tilewright.device"))
    }


def test_the_face_has_what_it_lists() -> None:
    assert all(callable(getattr(tilewright.scons, name)) for name in tilewright.scons.__all__)


def test_every_builder_has_its_line_in_the_reference() -> None:
    reference = builders_reference()
    assert [row.name for row in BUILDERS] == ["TileExports", "Ltoir", "TileBytecode", "Tilelib", "NvJitLink"]
    for row in BUILDERS:
        assert f"| `{row.name}` | {row.source} | {row.targets} | {row.sentence} |\n" in reference
    for method in METHODS:
        assert f"| `{method.name}` | {method.takes} | {method.targets} | {method.sentence} |\n" in reference


def test_every_identity_has_rooms_that_exist_and_its_own_digest() -> None:
    assert len(ROOMS) == len({source_digest(kind) for kind in ROOMS})
    assert len(IDENTITIES) == len(set(IDENTITIES.values()))
    for parts in ROOMS.values():
        assert [part for part in parts if not (PACKAGE / part).exists()] == []
