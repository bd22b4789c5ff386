"""An assembler that cannot pack: what is still made, what is said, and what happens when a real one is back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import LIMIT, RELU, Sandbox

DESCRIPTIONS = {
    f"{name}{suffix}"
    for name in ("one", "two")
    for suffix in (
        ".device.cu",
        ".iface.tilebc",
        ".impl.tilebc",
        ".ltoir",
        ".tileexports.json",
        ".tilelib.mlir",
    )
}
SCONSTRUCT = """\
import tilewright.scons

env = Environment(tools=["default", tilewright.scons.generate])
libraries = [env.TileLibrary(name, "relu.cu") for name in ("one", "two")]
Default(libraries)
"""


@pytest.fixture
def two(project: Callable[..., Sandbox]) -> Sandbox:
    return project("two", {"SConstruct": SCONSTRUCT, "relu.cu": RELU, "limit.cuh": LIMIT})


def test_every_description_is_written_although_no_library_can_be(two: Sandbox, old_assembler: Path) -> None:
    old = {"CUTILE_TILEIRAS_PATH": str(old_assembler)}
    run = two.scons("arch=sm_120", **old)
    assert run.code == 2
    assert two.tree("build", "sm_120").keys() == DESCRIPTIONS
    assert run.steps.count("skip") == 2
    assert (
        f"Tile library skipped: {old_assembler} lists bytecode versions 13.1, 13.2, 13.3, 13.4; "
        "the descriptions need 13.5 or newer\n" in run.out
    )
    assert "  tileiras --preview-create-tile-lib --preview-interface=build/sm_120/one.iface.tilebc" in run.out
    assert "Traceback" not in run.err
    assert [error.splitlines()[0] for error in run.errors] == [
        f"[build/sm_120/{name}.tilelib] {name}.tilelib was skipped, as told above; with library_optional=1 that is no "
        "failure"
        for name in ("one", "two")
    ]
    assert two.scons("arch=sm_120", **old).code == 2, "it fails again"

    optional = two.scons("arch=sm_120", "library_optional=1", **old)
    assert optional.rebuilt("skip")
    skipped = "build/sm_120/one.tilelib.skipped"
    assert two.read(skipped).decode().startswith("Tile library skipped: ")
    assert two.scons("arch=sm_120", "library_optional=1", **old).up_to_date()

    packed = two.scons("arch=sm_120")
    assert packed.rebuilt("library"), "the descriptions and the device code stay as they are"
    assert packed.out.count("Tile library written to ") == 2
    assert two.tree("build", "sm_120").keys() == DESCRIPTIONS | {"one.tilelib", "two.tilelib"}

    assert two.scons("arch=sm_120", "library_optional=1", **old).rebuilt("skip")
    assert "one.tilelib" not in two.tree("build", "sm_120"), "a library of another build must not be taken for this one"
    assert two.scons("-c").code == 0
    assert two.tree("build") == {}


def test_whoever_needs_a_skipped_library_gets_the_reason_as_an_error(two: Sandbox, old_assembler: Path) -> None:
    two.edit("SConstruct", "Default(libraries)", 'Default(libraries)\nuser = env.Install("installed", libraries[0])')
    arguments = ("arch=sm_120", "library_optional=1")
    old = {"CUTILE_TILEIRAS_PATH": str(old_assembler)}
    assert two.scons(*arguments, **old).code == 0
    for _ in range(2):
        consumer = two.scons(*arguments, "installed", **old)
        assert consumer.code == 2
        assert "needs one.tilelib, which was skipped:\nTile library skipped: " in consumer.errors[0]
        assert not (two.folder / "installed").exists()
    dry = two.scons(*arguments, "-n", "installed", **old)
    assert dry.code == 2
    assert two.scons("arch=sm_120", "installed").code == 0
    assert two.read("installed/one.tilelib") == two.read("build/sm_120/one.tilelib")


def test_without_any_assembler_the_skip_says_what_to_install(two: Sandbox) -> None:
    two.edit(
        "SConstruct",
        "import tilewright.scons\n",
        "import dataclasses\nimport tilewright.scons\nimport tilewright.toolchain.toolkit as toolkit\n\n"
        "resolve = toolkit.resolve\n"
        "toolkit.resolve = lambda environ: dataclasses.replace(resolve(environ), assembler=None)\n",
    )
    run = two.scons("arch=sm_120", "build/sm_120/one.tilelib")
    assert run.code == 2
    assert "Tile library skipped: no tileiras was found" in run.out
    assert "pip install" in run.out
