"""The clang of the MSL check, and its programs built once a session."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from needed_tools import REQUIRE_ALL
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.check.clang import Clang, find_clang
from tilewright.lowering.metal.check.comparison import Case
from tilewright.lowering.metal.check.programs import Program, Variant, build
from tilewright.lowering.metal.check.units import Msl

Built = Callable[[str, Sequence[Case], Variant], tuple[Program, Path]]


@pytest.fixture(scope="session")
def clang() -> Clang:
    """A clang that can read MSL; without one these tests skip, in CI they fail."""
    try:
        return find_clang(os.environ)
    except LoweringError as error:
        if os.environ.get(REQUIRE_ALL):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def built(clang: Clang, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The program of a family of cases in a variant, and the folder to run it in."""
    programs: dict[tuple[str, Variant], tuple[Program, Path]] = {}

    def make(family: str, cases: Sequence[Case], variant: Variant) -> tuple[Program, Path]:
        if (family, variant) not in programs:
            folder = tmp_path_factory.mktemp(f"{family}-{variant.value}")
            texts = [Msl.of(case.artifact, f"{case.name}.metal") for case in cases]
            programs[family, variant] = build(clang, texts, folder, variant), folder
        return programs[family, variant]

    return make
