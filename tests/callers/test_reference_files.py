"""A file of references: what it may import, in whatever way Python was started, and what of it an error shows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tilewright.callers.error import CallerError
from tilewright.callers.oracle.reference import load_references

REFERENCE = """\
import numpy as np
from early import ONE


def relu(x):
    from late import TWO
    return x * np.float32(ONE * TWO)
"""
LATER = "def relu(x):\n    import late\n    return late.of(x)\n"


@pytest.mark.parametrize(("early", "late"), [("references", ""), ("", "references")])
def test_modules_of_its_folder_and_of_the_top_one_are_found_early_and_late(
    tmp_path: Path, early: str, late: str
) -> None:
    (tmp_path / "references").mkdir()
    (tmp_path / "references/expected.py").write_text(REFERENCE)
    (tmp_path / early / "early.py").write_text("ONE = 1\n")
    (tmp_path / late / "late.py").write_text("TWO = 2\n")
    path, modules = list(sys.path), set(sys.modules)
    relu = load_references(tmp_path / "references/expected.py", tmp_path)["relu"]
    assert relu(np.float32(3)) == 6
    assert sys.path == path
    assert {"early", "late"}.isdisjoint(sys.modules.keys() - modules)
    assert not list(tmp_path.rglob("__pycache__"))


def test_its_folder_comes_before_the_top_one_for_each_file(tmp_path: Path) -> None:
    for folder in ("", "one", "two"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "expected.py").write_text(LATER)
        (tmp_path / folder / "late.py").write_text(f"def of(x):\n    return {folder!r}\n")
    found = [load_references(tmp_path / folder / "expected.py", tmp_path)["relu"](0) for folder in ("", "one", "two")]
    assert found == ["", "one", "two"]


def test_an_error_while_it_is_read_shows_its_own_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "expected.py").write_text("import absent_everywhere\n")
    with pytest.raises(CallerError) as caught:
        load_references(tmp_path / "expected.py", tmp_path)
    (problem,) = caught.value.problems
    assert "ModuleNotFoundError: No module named 'absent_everywhere'" in problem.what
    assert problem.detail.splitlines() == [
        f'  File "{tmp_path}/expected.py", line 1, in <module>',
        "    import absent_everywhere",
    ]
