"""Any sequence of edits, accidents and builds ends in the tree that a clean build makes."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from end_to_end.sandbox import DESCRIPTION, Sandbox

SOURCE = "plain.tileexports.json"
SOURCES = (DESCRIPTION, DESCRIPTION.replace("128", "64"), DESCRIPTION.replace('"doc": ""', '"doc": "Words."'))
BROKEN = DESCRIPTION.replace('"in"', '"sideways"')
RECORDS = ".sconsign.dblite"


def accidents(plain: Sandbox, chance: random.Random) -> dict[str, Callable[[], object]]:
    """What can happen to a tree between two builds."""
    out = plain.folder / "out"
    victim = chance.choice(["plain.iface.tilebc", "plain.impl.tilebc", "plain.tilelib.mlir"])
    old = plain.read(RECORDS) if (plain.folder / RECORDS).exists() else b""

    def killed_run() -> None:
        plain.write({SOURCE: chance.choice(SOURCES)})
        plain.scons()
        (plain.folder / RECORDS).write_bytes(old)

    def failed_run() -> None:
        plain.write({SOURCE: BROKEN})
        assert plain.scons().code == 2

    return {
        "edit by hand": lambda: plain.write({f"out/{victim}": "mine"}),
        "deletion": lambda: (out / victim).unlink(missing_ok=True),
        "lost records": lambda: (plain.folder / RECORDS).unlink(missing_ok=True),
        "cleaning": lambda: plain.scons("-c"),
        "failed run": failed_run,
        "killed run": killed_run if old else lambda: None,
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_every_sequence_ends_in_the_tree_of_a_clean_build(
    plain: Sandbox, project: Callable[..., Sandbox], seed: int
) -> None:
    chance = random.Random(seed)
    clean = {}
    for number, source in enumerate(SOURCES):
        fresh = project(f"fresh{number}", {"SConstruct": plain.read("SConstruct").decode(), SOURCE: source})
        assert fresh.scons().code == 0
        clean[source] = fresh.tree("out")
    story = []
    for _ in range(7):
        name, happens = chance.choice(list(accidents(plain, chance).items()))
        source = chance.choice(SOURCES)
        story.append((name, SOURCES.index(source)))
        happens()
        plain.write({SOURCE: source})
        assert plain.scons().code == 0, story
        assert plain.tree("out") == clean[source], story
    assert plain.scons().up_to_date()
