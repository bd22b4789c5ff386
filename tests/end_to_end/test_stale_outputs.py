"""Outputs that are not what their build recorded: killed runs, failed steps, hand-edited files."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from end_to_end.sandbox import DESCRIPTION, Sandbox, finished

TEXT = "out/plain.tilelib.mlir"


def test_a_hand_edited_artifact_is_made_again(plain: Sandbox) -> None:
    assert plain.scons().rebuilt("bytecode")
    made = plain.tree("out")
    with (plain.folder / TEXT).open("ab") as file:
        file.write(b"x")
    again = plain.scons()
    assert again.rebuilt("bytecode")
    assert f"Removed {TEXT}: it is not what its build recorded" in again.out
    assert plain.tree("out") == made
    assert plain.scons().up_to_date()


def test_an_output_from_an_undone_edit_is_not_taken_for_the_old_one(plain: Sandbox) -> None:
    assert plain.scons().code == 0
    made = plain.tree("out")
    record = plain.read(".sconsign.dblite")
    plain.write({"plain.tileexports.json": DESCRIPTION.replace("128", "64")})
    assert plain.scons().rebuilt("bytecode")
    (plain.folder / ".sconsign.dblite").write_bytes(record)
    plain.write({"plain.tileexports.json": DESCRIPTION})
    assert plain.scons().rebuilt("bytecode"), "what a killed run leaves: new outputs, old records"
    assert plain.tree("out") == made


@pytest.mark.parametrize("option", ["-n", "-q", "-h", "-c"])
def test_runs_that_only_look_repair_nothing(plain: Sandbox, option: str) -> None:
    assert plain.scons().code == 0
    (plain.folder / TEXT).write_text("mine")
    before = plain.tree()
    run = plain.scons(option)
    assert "Removed out/plain.tilelib.mlir:" not in run.out
    assert plain.tree() == (before if option != "-c" else {k: v for k, v in before.items() if not k.startswith("out/")})


def test_a_file_that_no_build_made_is_not_removed_in_advance(plain: Sandbox) -> None:
    plain.write({TEXT: "mine", "plain.tileexports.json": "{}"})
    failed = plain.scons()
    assert failed.code == 2
    assert "Removed" not in failed.out


def test_a_failing_step_fails_again_and_leaves_the_last_good_outputs(plain: Sandbox) -> None:
    assert plain.scons().code == 0
    made = plain.tree("out")
    plain.write({"plain.tileexports.json": DESCRIPTION.replace('"in"', '"sideways"')})
    first, second = plain.scons(), plain.scons()
    for run in (first, second):
        assert run.code == 2
        assert len(run.errors) == 1
        assert "plain.tileexports.json:$.exports[0].parameters[0]" in run.errors[0]
        assert "Traceback" not in run.err
        assert plain.tree("out") == made
    plain.write({"plain.tileexports.json": DESCRIPTION})
    assert plain.scons().up_to_date()
    assert plain.tree("out") == made


@pytest.mark.parametrize("sconsign", ["SConsignFile(None)", 'SConsignFile("records")'])
def test_records_are_found_wherever_the_project_keeps_them(plain: Sandbox, sconsign: str) -> None:
    plain.edit("SConstruct", "import tilewright.scons", f"import tilewright.scons\n{sconsign}")
    assert plain.scons().rebuilt("bytecode")
    assert plain.scons().up_to_date()
    plain.write({TEXT: "mine"})
    assert plain.scons().rebuilt("bytecode")
    assert plain.scons().up_to_date()


def test_what_a_killed_run_had_staged_is_swept_away(plain: Sandbox) -> None:
    plain.write({"out/.tilewright-0123456789abcdef.stage": "half", "out/.tilewright-0000000000000000.stage": "new"})
    os.utime(plain.folder / "out/.tilewright-0123456789abcdef.stage", (0, 0))
    assert plain.scons().code == 0
    assert [name for name in plain.tree("out") if "stage" in name] == [".tilewright-0000000000000000.stage"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(plain: Sandbox) -> None:
    out = plain.folder / "out"
    out.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", out], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        (out / "filler").write_bytes(bytes(8192))
        run = plain.scons()
        assert run.code == 2
        assert "no space is left on the disk" in run.errors[0]
        assert "Traceback" not in run.err
        assert plain.tree("out").keys() == {"filler"}
    finally:
        subprocess.run(["umount", out], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_after_an_interrupt_the_next_run_equals_a_clean_build(sandbox: Sandbox, number: signal.Signals) -> None:
    running = sandbox.start("arch=sm_120")
    deadline = time.monotonic() + 60
    while not (sandbox.folder / "build/sm_120/relu.device.cu").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(running.pid, number)  # as a terminal does: to the workers too
    interrupted = finished(running)
    assert interrupted.code != 0
    assert "Traceback" not in interrupted.err
    assert not [name for name in sandbox.tree("build") if "stage" in name]
    assert sandbox.scons("arch=sm_120").code == 0
    finishing = sandbox.tree("build")
    assert sandbox.scons("arch=sm_120", "-c").code == 0
    assert sandbox.scons("arch=sm_120").code == 0
    assert sandbox.tree("build") == finishing
