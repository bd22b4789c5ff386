"""The files that a kernel file imports, found without running it."""

from __future__ import annotations

import pytest

from shaders.conftest import Project
from tilewright.shaders.imports import imported_files

FILES = {
    "kernels/main.py": "",
    "kernels/beside.py": "import deeper.inner.last\nimport main\n",
    "kernels/deeper/__init__.py": "",
    "kernels/deeper/inner/__init__.py": "from . import sibling\nfrom .. import upper\n",
    "kernels/deeper/inner/sibling.py": "",
    "kernels/deeper/inner/last.py": "",
    "kernels/deeper/upper.py": "",
    "kernels/spaced/name.py": "",
    "top.py": "",
    "beside.py": "import json\n",
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import top\n", {"top.py"}),
        ("import json, os.path, tilewright.tile\nfrom tilewright import tile\n", set()),
        (
            "def f():\n    import beside as b\n",
            {name for name in FILES if name.startswith(("kernels/beside", "kernels/deeper"))},
        ),
        ("from deeper import upper, no_module\n", {"kernels/deeper/__init__.py", "kernels/deeper/upper.py"}),
        ("from spaced import name\n", {"kernels/spaced/name.py"}),
        ("if False:\n    from top import *\n", {"top.py"}),
        ("import (\n", set()),
        ("import none_such\n", set()),
    ],
)
def test_imports_are_found_beside_the_file_before_the_top_folder(project: Project, text: str, found: set[str]) -> None:
    for name, content in FILES.items():
        project.write(name, content)
    main = project.write("kernels/main.py", text)
    files = imported_files(main, project.folder)
    assert {path.relative_to(project.folder).as_posix() for path in files} == found
    assert list(files) == sorted(files)


def test_a_module_that_a_step_will_make_counts(project: Project) -> None:
    main = project.write("main.py", "import made\n")
    wanted = project.folder / "made.py"
    assert imported_files(main, project.folder) == ()
    assert imported_files(main, project.folder, lambda path: path == str(wanted)) == (wanted,)
