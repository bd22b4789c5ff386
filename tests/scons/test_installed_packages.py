"""The releases of installed packages that the user's Python files import."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from tilewright.scons import installed_packages
from tilewright.scons.installed_packages import releases_behind


def written(folder: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return [str(folder / f"{name}.py") for name in texts]


def test_packages_are_named_by_distribution_once_and_nothing_else_is(tmp_path: Path) -> None:
    files = written(
        tmp_path,
        kernel="import os, sizes\nimport tilewright.tile\nfrom . import pluggy\ndef f():\n    import _pytest.mark\n",
        sizes="import numpy as np\nfrom numpy.linalg import norm\n",
    )
    assert releases_behind(files) == [f"numpy {version('numpy')}", f"pytest {version('pytest')}"]


def test_a_file_that_is_not_there_yet_or_is_no_python_imports_nothing(tmp_path: Path) -> None:
    assert releases_behind([*written(tmp_path, broken="import numpy\n("), str(tmp_path / "absent.py")]) == []


def test_numpy_alone_is_not_looked_for_among_all_packages(tmp_path: Path) -> None:
    installed_packages._distributions.cache_clear()
    assert releases_behind(written(tmp_path, kernel="import numpy\n")) == [f"numpy {version('numpy')}"]
    assert installed_packages._distributions.cache_info().misses == 0
