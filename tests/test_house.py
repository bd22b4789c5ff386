"""What is stated twice in the repository agrees."""

from __future__ import annotations

import ast

from checks import ROOT
from tilewright import __version__


def test_the_distribution_has_the_version_of_the_package() -> None:
    calls = ast.walk(ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")))
    versions = [
        word.value for call in calls if isinstance(call, ast.Call) for word in call.keywords if word.arg == "version"
    ]
    assert [ast.literal_eval(version) for version in versions] == [__version__]
