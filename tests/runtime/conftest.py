"""Fixtures of the Metal runtime: a stand-in for a Mac that runs MSL on the CPU. Evidence: "MSL, CPU-emulated"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lowering.metal.conftest import clang as clang  # a fixture
from runtime.standin_machine import Mac
from runtime.standin_metal import installed
from runtime.standin_msl import Builder
from tilewright.lowering.metal.check.clang import Clang


@pytest.fixture(scope="session")
def builder(clang: Clang, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Compiles MSL for all stand-ins, each text once."""
    return Builder(clang, tmp_path_factory.mktemp("msl"))


@pytest.fixture
def mac_of(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Mac]]:
    """A stand-in Mac with these properties, in place of PyObjC until the test ends."""
    with ExitStack() as stack:

        def make(**properties: Any) -> Mac:
            folder: Path = tmp_path_factory.mktemp("mac")
            return stack.enter_context(installed(Mac(builder, folder, **properties)))

        yield make


@pytest.fixture
def mac(mac_of: Callable[..., Mac]) -> Mac:
    return mac_of()
