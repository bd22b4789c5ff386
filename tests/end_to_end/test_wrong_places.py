"""Scripts that ask for what cannot be: a folder for a file, one target twice, no toolkit. One clear error each."""

from __future__ import annotations

import pytest

from end_to_end.sandbox import Sandbox

NO_TOOLKIT = "import tilewright.toolchain.toolkit as toolkit\ntoolkit.candidates = lambda environ: ()\n"


@pytest.mark.parametrize("folder", ["build/sm_120/relu.tilelib", "build/sm_120/relu.device.cu"])
def test_a_folder_where_an_artifact_should_be_is_one_clear_error(sandbox: Sandbox, folder: str) -> None:
    sandbox.write({f"{folder}/mine": "mine"})
    run = sandbox.scons("arch=sm_120")
    assert run.code == 2
    assert run.errors == [
        f"SConstruct:5: error: `{folder}` is a folder, and a file is needed there\n"
        "  hint: move it away, or give the other one another name\n"
        "  Stop."
    ]
    assert "Traceback" not in run.err
    assert sandbox.read(f"{folder}/mine") == b"mine"


def test_a_folder_as_source_is_one_clear_error(sandbox: Sandbox) -> None:
    sandbox.write({"folder.cu/x": ""})
    sandbox.edit("SConstruct", '"relu.cu"', '"folder.cu"')
    (error,) = sandbox.scons("arch=sm_120").errors
    assert error.startswith("SConstruct:5: error: `folder.cu` is a folder, and a file is needed there\n")


def test_one_library_made_twice_is_placed_at_the_line_of_the_script(sandbox: Sandbox) -> None:
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + 'env.TileLibrary("relu", "other.cu")\n'})
    (error,) = sandbox.scons("arch=sm_120").errors
    assert error.startswith("SConstruct:6: error: there are two libraries `relu` in one folder\n")


def test_a_library_of_too_few_files_is_one_clear_error(sandbox: Sandbox) -> None:
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + 'env.Tilelib("x", "x.iface.tilebc")\n'})
    run = sandbox.scons("arch=sm_120")
    assert run.errors == [
        "SConstruct:6: error: `Tilelib` makes `x.tilelib` of three files, and it is given 1\n"
        "  hint: x.iface.tilebc, x.impl.tilebc and x.ltoir, in this order\n"
        "  Stop."
    ]
    assert "Traceback" not in run.err


def test_without_any_toolkit_only_a_library_is_refused(sandbox: Sandbox) -> None:
    sandbox.edit("SConstruct", "import tilewright.scons\n", f"import tilewright.scons\n{NO_TOOLKIT}")
    sandbox.write({"SConstruct": sandbox.read("SConstruct").decode() + 'Textfile("other", "x")\n'})
    sandbox.edit("SConstruct", 'tools=["default",', 'tools=["textfile",')
    sandbox.edit("SConstruct", "Textfile(", "env.Textfile(")
    assert sandbox.scons("other.txt").code == 0
    for run in (sandbox.scons(), sandbox.scons("arch=sm_120")):
        assert run.code == 2
        assert "error: NVRTC is missing: no part of a CUDA toolkit was found" in run.errors[0]
        assert "pip install 'scons-tilelib[toolkit]'" in run.errors[0]
        assert "Traceback" not in run.err
