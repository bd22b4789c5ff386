"""`rust_backend=oxide`, against a stand-in for `cargo oxide` that copies prepared files: a description, real LTOIR."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from end_to_end.sandbox import DESCRIPTION, Sandbox
from tilewright.device import nvrtc
from tilewright.device.module import DeviceModule
from tilewright.toolchain.toolkit import Toolkit

SCRIPT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("relu", "{source}")
"""
FILES = {
    "SConstruct": SCRIPT.format(source="crate"),
    "crate/Cargo.toml": '[package]\nname = "relu-crate"\n\n[dependencies]\ncuda-host = "0.1"\n',
    "crate/src/lib.rs": "// no compiler reads this\n",
}
CARGO = """\
#!/bin/sh
[ "$1" = oxide ] || exit 101
if [ "$2" = --version ]; then echo "cargo-oxide 0.0 (stand-in)"; exit 0; fi
echo "$PWD: $*" >> {log}
echo "$CARGO_TARGET_DIR" >> {log}
mkdir -p "$CARGO_TARGET_DIR/device/release" && cp -r {prepared}/. "$CARGO_TARGET_DIR/device/release"
"""
NO_OXIDE = "#!/bin/sh\necho 'error: no such command: `oxide`' >&2\nexit 101\n"
RELU = 'extern "C" __device__ void {symbol}(float x, float *out) {{ *out = x > 0.0f ? x : 0.0f; }}\n'


class StandIn:
    """A folder for PATH with a `cargo`, the files that it copies, and what it was asked."""

    def __init__(self, folder: Path, toolkit: Toolkit) -> None:
        self.prepared, self.log, self.bin = folder / "prepared", folder / "log", folder / "bin"
        self.toolkit = toolkit
        self.prepared.mkdir(parents=True)
        self.bin.mkdir()
        self.log.touch()
        self.describe()
        self.compile()
        self.program(CARGO.format(log=shlex.quote(str(self.log)), prepared=shlex.quote(str(self.prepared))))

    @property
    def path(self) -> str:
        """PATH with the stand-in first."""
        return os.pathsep.join([str(self.bin), os.environ["PATH"]])

    def program(self, text: str) -> None:
        cargo = self.bin / "cargo"
        cargo.write_text(text, encoding="utf-8")
        cargo.chmod(0o755)

    def describe(self, **changed: Any) -> None:
        description = {**json.loads(DESCRIPTION), "library": "relu_crate"}
        for key, value in changed.items():
            (description if key in description else description["exports"][0])[key] = value
        (self.prepared / "relu_crate.tileexports.json").write_text(json.dumps(description), encoding="utf-8")

    def compile(self, symbol: str = "relu_impl", arch: str = "compute_90") -> None:
        module = DeviceModule("cuda", RELU.format(symbol=symbol), "relu.cu")
        compiler = str(self.toolkit.require("nvrtc").path)
        made = nvrtc.compile_cuda(module, arch, compiler, self.toolkit.include)
        (self.prepared / "relu_crate.ltoir").write_bytes(made.ltoir)


@pytest.fixture
def oxide(tmp_path: Path, toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    monkeypatch.chdir("/")  # the device compiler runs in this process
    return StandIn(tmp_path / "oxide", toolkit)


@pytest.fixture
def build(project: Callable[..., Sandbox], oxide: StandIn) -> Callable[..., Any]:
    """A build of the crate for sm_90; keywords are environment variables."""
    sandbox = project("crates", FILES)
    return lambda *more, **environ: sandbox.scons(
        "arch=sm_90", "rust_backend=oxide", *more, **{"PATH": oxide.path, **environ}
    )


def test_its_files_become_the_same_targets_and_the_next_run_is_idle(
    project: Callable[..., Sandbox], oxide: StandIn
) -> None:
    sandbox = project("crates", FILES)

    def build() -> Any:
        return sandbox.scons("arch=sm_90", "rust_backend=oxide", PATH=oxide.path)

    assert build().rebuilt("oxide", "bytecode", "library")
    asked, target = oxide.log.read_text(encoding="utf-8").splitlines()
    assert asked.startswith(f"{sandbox.folder / 'crate'}: oxide tilelib --arch sm_90")
    assert not Path(target).exists()
    assert set(sandbox.tree("crate")) == {"Cargo.toml", "src/lib.rs"}
    assert json.loads(sandbox.read("build/sm_90/relu.tileexports.json")) == {
        **json.loads(DESCRIPTION),
        "library": "relu",
    }
    assert sandbox.read("build/sm_90/relu.ltoir") == (oxide.prepared / "relu_crate.ltoir").read_bytes()
    assert b"cuda_tile.module @relu " in sandbox.read("build/sm_90/relu.tilelib.mlir")
    assert sandbox.read("build/sm_90/relu.tilelib")
    assert build().up_to_date()
    sandbox.edit("crate/src/lib.rs", "no compiler", "still no compiler")
    assert build().rebuilt("oxide")
    oxide.program((oxide.bin / "cargo").read_text(encoding="utf-8").replace("oxide 0.0", "oxide 0.1"))
    assert build().rebuilt("oxide"), "its version is signed"
    sandbox.write({"crate/Cargo.lock": "version = 4\n"})
    assert build().rebuilt("oxide")
    assert build().up_to_date()
    assert sandbox.scons("-c", "arch=sm_90", "rust_backend=oxide").code == 0
    assert not sandbox.tree("build")


def test_no_cache_keeps_its_files(project: Callable[..., Sandbox], oxide: StandIn, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        sandbox = project(folder, FILES)
        run = sandbox.scons("arch=sm_90", "rust_backend=oxide", f"cache={tmp_path / 'cache'}", PATH=oxide.path)
        assert run.code == 0
        assert "oxide" in run.steps
    assert "bytecode" not in run.steps, "the others do come from the cache"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tile_shape": 100}, "power of two"),
        ({"schema": 2}, "schema"),
        ({"arch": ["sm_75"]}, "sm_75"),
    ],
)
def test_a_description_is_checked_by_the_same_rules(
    changed: dict[str, Any], words: str, oxide: StandIn, build: Callable[..., Any]
) -> None:
    oxide.describe(**changed)
    run = build()
    assert run.code == 2
    assert run.steps == ["oxide"]
    (error,) = run.errors[:1]
    assert "relu_crate.tileexports.json" in error
    assert words in error


def test_device_code_without_a_symbol_or_for_another_architecture_is_refused(
    oxide: StandIn, build: Callable[..., Any]
) -> None:
    oxide.compile(symbol="other_impl")
    assert "`relu`: the device code does not define `relu_impl`" in build().errors[0]
    oxide.compile(arch="compute_120")
    assert "this is LTOIR for architecture 120, and 90 was asked for" in build().errors[0]
    (oxide.prepared / "relu_crate.ltoir").write_bytes(b"BC")
    assert "not LTOIR" in build().errors[0]


def test_one_file_of_each_kind_is_needed(oxide: StandIn, build: Callable[..., Any]) -> None:
    (oxide.prepared / "deps").mkdir()
    ltoir = oxide.prepared / "relu_crate.ltoir"
    (oxide.prepared / "deps" / ltoir.name).write_bytes(ltoir.read_bytes())
    (oxide.prepared / "relu_crate.tileexports.json").rename(oxide.prepared / "else.tileexports.json")
    (error,) = build().errors
    assert "left no files `relu_crate.tileexports.json`, and one is needed" in error
    assert "left 2 files `relu_crate.ltoir`, and one is needed" in error
    assert "device/release/deps/relu_crate.ltoir" in error
    assert "device/release/else.tileexports.json" in error


def test_a_missing_command_is_told_by_the_step_with_what_to_do_instead(
    oxide: StandIn, build: Callable[..., Any]
) -> None:
    oxide.program(NO_OXIDE)
    run = build()
    assert run.code == 2
    assert "rust_backend=oxide needs `cargo oxide`, and `" in run.errors[0]
    assert "error: no such command: `oxide`" in run.errors[0]
    assert "hint: rust_backend=stable" in run.errors[0]
    empty = oxide.bin.parent / "empty"
    empty.mkdir()
    run = build(PATH=str(empty))
    assert run.code == 2
    assert "there is no `cargo` on PATH" in run.errors[0]
    assert "hint: rust_backend=stable" in run.errors[0]


def test_a_failure_is_passed_on_in_its_own_words(oxide: StandIn, build: Callable[..., Any]) -> None:
    text = (oxide.bin / "cargo").read_text(encoding="utf-8")
    oxide.program(text + "echo 'error[E0425]: cannot find value' >&2; exit 3\n")
    (error,) = build().errors
    assert "crate/Cargo.toml: error: `cargo oxide tilelib` failed with exit code 3" in error
    assert "error[E0425]: cannot find value" in error


def test_what_it_cannot_be_asked_for_is_refused_while_the_script_is_read(
    project: Callable[..., Sandbox], oxide: StandIn, build: Callable[..., Any]
) -> None:
    assert "`tile_shapes` needs NVVM IR" in build("tile_shapes=64").err
    assert "`provider` needs NVVM IR" in build("provider=1", "provider_abi=observed").err
    lone = project("lone", {"SConstruct": SCRIPT.format(source="relu.rs"), "relu.rs": ""})
    assert (
        "`cargo oxide` builds crates, and `relu.rs` is a lone file"
        in lone.scons("arch=sm_90", "rust_backend=oxide").err
    )
    wrong = lone.scons("arch=sm_90", "rust_backend=nightly").err
    assert "`rust_backend=nightly` is not known" in wrong
    assert "`stable` or `oxide`" in wrong
    verified = project("verified", {**FILES, "SConstruct": FILES["SConstruct"] + "env.TileMockCaller(relu)\n"})
    refused = verified.scons("arch=sm_90", "rust_backend=oxide", PATH=oxide.path)
    assert "SConstruct:6: error: `relu` cannot be verified" in refused.err
    assert not oxide.log.read_text(encoding="utf-8")


def test_one_library_may_ask_for_it_while_others_stay_with_the_default(
    project: Callable[..., Sandbox], oxide: StandIn
) -> None:
    script = SCRIPT.format(source="crate").replace('"crate")', '"crate", rust_backend="oxide")')
    sandbox = project("mixed", {**FILES, "SConstruct": script})
    assert sandbox.scons("arch=sm_90", PATH=oxide.path).rebuilt("oxide", "bytecode", "library")
