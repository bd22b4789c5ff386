"""What is stated twice in the repository agrees."""

from __future__ import annotations

import ast
from pathlib import Path

from checks import ROOT
from tilewright import __version__

PACKAGE = ROOT / "tools" / "tilewright"
SETUP = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))


def stated(word: str) -> ast.expr:
    """What setup.py gives for a keyword of `setup`."""
    calls = (call for call in ast.walk(SETUP) if isinstance(call, ast.Call))
    (value,) = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == word]
    return value


def patterns(name: str) -> list[str]:
    """A list of patterns in setup.py."""
    named = {
        target.id: line.value
        for line in SETUP.body
        if isinstance(line, ast.Assign)
        for target in line.targets
        if isinstance(target, ast.Name)
    }
    return list(ast.literal_eval(named[name]))


def test_the_distribution_has_the_version_of_the_package() -> None:
    assert ast.unparse(stated("version")) == "stated_version()"
    (function,) = [node for node in SETUP.body if isinstance(node, ast.FunctionDef) and node.name == "stated_version"]
    names = {"Path": Path, "__file__": str(ROOT / "setup.py")}
    exec(compile(ast.Module([function], []), "setup.py", "exec"), names)
    assert names["stated_version"]() == __version__


def test_the_distribution_has_every_template_and_header_of_the_package() -> None:
    packed = {file for pattern in patterns("DATA") for file in PACKAGE.glob(pattern)}
    files = [file for file in PACKAGE.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")]
    assert len(files) > 5
    assert [file for file in files if file not in packed] == []


def test_the_distribution_has_every_source_of_the_rust_crates() -> None:
    room = PACKAGE / "sources" / "rust"
    packed = {file for pattern in patterns("CRATES") for file in room.glob(pattern)}
    sources = set(Path(room / "crates").glob("*/src/**/*.rs"))
    assert len(sources) > 3
    assert sources <= packed
