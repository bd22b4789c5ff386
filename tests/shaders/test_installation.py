"""Which files are of Python's installation or of the system, and which are a user's."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import tilewright
from tilewright.shaders.installation import installed, is_installed, is_of_system


@pytest.mark.parametrize(
    "file", [os.__file__, np.__file__, tilewright.__file__, sysconfig.get_path("data") + "/share/x"]
)
def test_the_library_of_python_and_packages_are_installed(file: str) -> None:
    assert is_installed(file)


def test_a_link_to_a_package_is_installed_and_a_file_beside_it_is_not(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(Path(np.__file__).parent)
    assert is_installed(str(tmp_path / "linked/__init__.py"))
    assert not is_installed(str(tmp_path / "linked.txt"))
    assert not is_installed(str(Path(tilewright.__file__).parents[1] / "own.py")), "beside an editable checkout"


def test_folders_of_packages_count_where_they_are_on_the_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = str(tmp_path / "site-packages/m.py")
    assert not is_installed(module)
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    monkeypatch.syspath_prepend(tmp_path / "other")
    installed.cache_clear()
    try:
        assert is_installed(module)
        assert not is_installed(str(tmp_path / "other/m.py"))
    finally:
        installed.cache_clear()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        *((each, True) for each in ("/proc/cpuinfo", "/etc/passwd", "/dev/null", "/usr/share/zoneinfo/UTC")),
        *((each, False) for each in ("/dev/shm/x", "/usr/src/app/x", "/usr/library/x", "/home/x", "/tmp/x", "/opt/x")),
    ],
)
def test_the_systems_own_folders_are_told_from_those_where_users_keep_files(file: str, expected: bool) -> None:
    assert is_of_system(file) is expected
