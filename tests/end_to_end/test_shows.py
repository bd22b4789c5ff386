"""What the example is to show: a checkout anywhere builds it, twice, with the specified artifacts and text."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bytecode.test_golden import SPECIFIED_TEXT
from end_to_end.sandbox import Run, Sandbox
from needed_tools import needs

ROOT = Path(__file__).parents[2]
CHECKOUT = ("SConstruct", "examples", "rust", "site_scons", "tools")
OUT = "build/sm_120/examples/tilelib_relu"
ALL = [OUT.replace("sm_120", arch) for arch in ("sm_90", "sm_100", "sm_120")]
STEM = f"{OUT}/tilelib_relu"
ARTIFACTS = (".iface.tilebc", ".impl.tilebc", ".ltoir", ".tileexports.json", ".tilelib", ".tilelib.mlir")


def checkout(folder: Path) -> Sandbox:
    """A copy of what the example needs, which uses its own tools."""
    made = Sandbox(folder)
    for name in CHECKOUT:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".scons*", "target"))
        else:
            shutil.copy(source, target)
    made.environ["PYTHONPATH"] = str(folder / "tools")
    made.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return made


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sandbox, Run, set[str]]:
    """A checkout, its first build with one job and the text shown, and what was there before."""
    one = checkout(tmp_path_factory.mktemp("one") / "checkout")
    before = set(one.listing())
    return one, one.scons("arch=sm_120", OUT, "print=1", "-j1"), before


def test_a_fresh_checkout_builds_the_six_artifacts(first: tuple[Sandbox, Run, set[str]]) -> None:
    one, run, before = first
    assert run.code == 0, run
    folders = {"build/", "build/sm_120/", "build/sm_120/examples/", f"{OUT}/"}
    new = set(one.listing()) - before
    assert new == folders | {STEM + suffix for suffix in (*ARTIFACTS, ".device.cu")}
    assert all(one.read(STEM + suffix) for suffix in ARTIFACTS)
    lines = run.out.splitlines()
    assert f"Tile library written to {STEM}.tilelib" in lines
    assert "✓ Tile library descriptions written: 3 export(s), Tile IR 13.5 with the preview tag" in lines


def test_the_printed_text_is_the_specifications_letter_for_letter(first: tuple[Sandbox, Run, set[str]]) -> None:
    one, run, _ = first
    assert one.read(f"{STEM}.tilelib.mlir").decode() == SPECIFIED_TEXT
    assert run.out.endswith(f"scons: done building targets.\n{SPECIFIED_TEXT}")
    again = one.scons("arch=sm_120", OUT, "print=1")
    assert again.up_to_date()
    assert again.out.endswith(f"scons: done building targets.\n{SPECIFIED_TEXT}")
    shown = one.tilewright("build", "examples/tilelib_relu/tilelib_relu.cu", "--arch", "sm_120", "-o", "x/y", "--print")
    assert shown.code == 0
    assert shown.out.startswith(SPECIFIED_TEXT)


def test_two_checkouts_and_any_number_of_jobs_give_the_same_bytes(
    first: tuple[Sandbox, Run, set[str]], tmp_path: Path
) -> None:
    one, _, _ = first
    other = checkout(tmp_path / "a much longer name than that of the other" / "checkout")
    assert other.scons("arch=sm_90,sm_100,sm_120", "-j8", *ALL).code == 0
    assert other.tree("build", "sm_120") == one.tree("build", "sm_120")
    built = other.tree("build")
    assert sum(name.endswith(".tilelib") for name in built) == 3
    places = (str(tmp_path).encode(), str(one.folder).encode(), b"longer name")
    assert not [name for name, data in built.items() if any(place in data for place in places)]
    everything = other.tilewright("inspect", f"{STEM}.tilelib")
    assert everything.code == 0


@needs("g++")
def test_every_example_builds_for_two_architectures_and_is_then_up_to_date(
    first: tuple[Sandbox, Run, set[str]],
) -> None:
    one, _, _ = first
    run = one.scons("arch=sm_90,sm_120", "-j2")
    assert run.code == 0, run
    for arch in ("sm_90", "sm_120"):
        made = one.tree("build", arch, "examples")
        assert {"tile_caller/tile_caller", "tile_caller/tile_caller.cubin"} <= made.keys()
        assert {"fused_gelu_bias/fused_gelu_bias.cubin", "fused_gelu_bias/activation_tile.h"} <= made.keys()
    assert one.scons("arch=sm_90,sm_120").up_to_date()
    program = one.folder / "build" / "sm_90" / "examples" / "tile_caller" / "tile_caller"
    done = subprocess.run([program], env={"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, check=False)
    assert "skipping: no CUDA device was found" in done.stdout
