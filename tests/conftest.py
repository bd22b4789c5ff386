"""Fixtures shared by all rooms, the resolved toolkit and the real disassembler; and Ctrl-C, which tests send."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.toolchain.toolkit import Toolkit, resolve

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell started the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    """The toolkit of this environment; every test that needs an assembler needs one that can pack."""
    found = resolve(os.environ)
    assert found.assembler is not None, f"the tests need the toolkit extra; found only {found.root}"
    assert found.assembler.can_pack
    return found


@pytest.fixture(scope="session")
def disassemble(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], str]:
    """What `tileirdisasm --preview=simt` prints for a module; fails the test with the tool's text when it refuses."""
    folder: Path = tmp_path_factory.mktemp("disassembly")
    disassembler = toolkit.require("disassembler").path

    def run(data: bytes) -> str:
        file = folder / "module.tilebc"
        file.write_bytes(data)
        done = subprocess.run([disassembler, "--preview=simt", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
