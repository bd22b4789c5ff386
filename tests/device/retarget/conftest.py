"""The real rustc, the functions of `functions.rs` as device IR and as a native library."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from device.retarget.differential import host_math, native_library
from needed_tools import needed
from tilewright.device.retarget.driver import retarget
from tilewright.device.retarget.flags import RUSTC_FLAGS

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def rustc() -> Path:
    """The compiler; the tests that need it are skipped where there is none, and fail in CI."""
    return needed("rustc")


def compile_rust(rustc: Path, source: Path, output: Path, *flags: str) -> None:
    """One run of the compiler; its messages in the AssertionError when it fails."""
    command = [rustc, "--edition", "2021", "-Awarnings", *flags, source, "-o", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@dataclass(frozen=True)
class Functions:
    """`functions.rs`: rustc's IR, its exports, the optimised NVVM IR of all of them, and the native libraries."""

    ir: str
    exports: tuple[str, ...]
    text: str
    library: Path
    math: Path


@pytest.fixture(scope="session")
def functions(rustc: Path, tmp_path_factory: pytest.TempPathFactory) -> Functions:
    folder = tmp_path_factory.mktemp("functions")
    source = HERE / "functions.rs"
    compile_rust(rustc, source, folder / "functions.ll", "--crate-type=lib", *RUSTC_FLAGS)
    library = native_library(rustc, source, folder / "libfunctions.so", "--cfg=native")
    ir = (folder / "functions.ll").read_text()
    exports = tuple(dict.fromkeys(re.findall(r"^define void @(\w+_impl)\(", ir, re.MULTILINE)))
    return Functions(ir, exports, retarget(ir, exports, name="functions.rs"), library, host_math(rustc, folder))


@pytest.fixture
def device_ir(rustc: Path, tmp_path: Path) -> Callable[..., str]:
    """Rust source -> the IR that rustc gives for it under our flags, or under others."""

    def compiled(source: str, flags: Sequence[str] = RUSTC_FLAGS) -> str:
        (tmp_path / "a.rs").write_text(source)
        compile_rust(rustc, tmp_path / "a.rs", tmp_path / "a.ll", "--crate-type=lib", "--crate-name=a", *flags)
        return (tmp_path / "a.ll").read_text()

    return compiled
