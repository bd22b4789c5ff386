"""The bootstrap script, driven as a user does, on a tiny checkout whose only requirement is a wheel made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCONSW = Path(__file__).resolve().parents[1] / "sconsw"
SPEAKER = "import sys\nprint('SCons got', sys.argv[1:])\n"


def make_wheel(folder: Path, version: str) -> Path:
    """A wheel of one module, `SCons`, that prints its arguments: enough to see what sconsw passes on."""
    wheel = folder / f"speaker-{version}-py3-none-any.whl"
    info = f"speaker-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("SCons/__init__.py", f"version = {version!r}\n")
        archive.writestr("SCons/__main__.py", SPEAKER)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: speaker\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


class Checkout:
    """A folder with sconsw and a setup.py that names one local wheel."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = folder / ".venv"
        shutil.copy(SCONSW, folder / "sconsw")
        (folder / "tools").mkdir()
        self.require("1.0")

    def require(self, version: str) -> None:
        wheel = make_wheel(self.folder, version)
        base = [f"speaker @ {wheel.as_uri()}"]
        text = f'HERE = __file__\nBASE = {base!r}\nEXTRAS = {{"toolkit": {base!r}, "dev": {base!r}}}\n'
        (self.folder / "setup.py").write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(self.folder / "sconsw"), *arguments],
            cwd=self.folder,
            env={**os.environ, "SCONSW_VENV": str(self.environment)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_first_call_makes_the_environment_and_the_second_installs_nothing(checkout: Checkout) -> None:
    first = checkout.run("arch=sm_120", "-j8", "a target")
    assert first.returncode == 0, first.stderr
    assert first.stdout == "SCons got ['arch=sm_120', '-j8', 'a target']\n"
    assert "sconsw: making" in first.stderr
    record = (checkout.environment / "sconsw.json").stat().st_mtime_ns
    second = checkout.run()
    assert second.stdout == "SCons got []\n"
    assert second.stderr == ""
    assert (checkout.environment / "sconsw.json").stat().st_mtime_ns == record


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_asking_the_checks_for_help_starts_and_installs_nothing(checkout: Checkout, option: str) -> None:
    done = checkout.run("test", option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ./sconsw test [pytest arguments]\n")
    assert not checkout.environment.exists()


def test_a_changed_requirement_is_installed_by_the_next_call(checkout: Checkout) -> None:
    checkout.run()
    checkout.require("2.0")
    assert checkout.run().returncode == 0
    query = [checkout.environment / "bin" / "python", "-c", "import SCons; print(SCons.version)"]
    assert subprocess.run(query, capture_output=True, text=True, check=True).stdout == "2.0\n"


def test_an_interrupted_set_up_is_repaired_by_the_next_call(checkout: Checkout) -> None:
    checkout.run()
    (checkout.environment / "sconsw.json").unlink()
    shutil.rmtree(checkout.environment / "lib")
    assert checkout.run("x").stdout == "SCons got ['x']\n"


def test_a_removal_that_is_interrupted_is_repaired_by_the_next_call(checkout: Checkout) -> None:
    checkout.run()
    (checkout.environment / "sconsw.json").unlink()
    code = (
        "import runpy, shutil, sys\n"
        "from pathlib import Path\n"
        "def removed_in_part(path):\n"
        "    for mark in Path(path).rglob('sconsw.made'): mark.unlink()\n"
        "    raise KeyboardInterrupt\n"
        "shutil.rmtree = removed_in_part\n"
        "runpy.run_path(sys.argv[1], run_name='__main__')\n"
    )
    stopped = subprocess.run(
        [sys.executable, "-c", code, str(checkout.folder / "sconsw")],
        env={**os.environ, "SCONSW_VENV": str(checkout.environment)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert stopped.stderr.endswith("sconsw: error: interrupted; the next call starts the set-up over\n")
    assert checkout.run("x").stdout == "SCons got ['x']\n"


def test_a_file_where_the_environment_should_be_is_one_clear_error(checkout: Checkout) -> None:
    checkout.environment.write_text("mine")
    done = checkout.run()
    assert (done.returncode, done.stdout, checkout.environment.read_text()) == (1, "", "mine")
    assert done.stderr.splitlines()[-1].startswith(f"sconsw: error: {checkout.environment} was not made by sconsw;")
    checkout.environment = checkout.environment / "below"
    done = checkout.run()
    assert done.stderr.startswith(f"sconsw: error: cannot set up {checkout.environment}: ")
    assert "Traceback" not in done.stderr


def test_a_folder_that_sconsw_did_not_make_is_left_alone(checkout: Checkout) -> None:
    checkout.environment.mkdir()
    keep = checkout.environment / "mine"
    keep.write_text("mine")
    done = checkout.run()
    assert done.returncode == 1
    assert "was not made by sconsw; remove it, or set SCONSW_VENV" in done.stderr
    assert keep.read_text() == "mine"


def test_a_failed_installation_says_so_and_is_not_recorded(checkout: Checkout) -> None:
    (checkout.folder / "speaker-1.0-py3-none-any.whl").write_bytes(b"not a wheel")
    done = checkout.run()
    assert done.returncode == 1
    assert "pip ended with status" in done.stderr
    assert "Traceback" not in done.stderr.replace("pip", "")
    assert not (checkout.environment / "sconsw.json").exists()


def test_the_environment_imports_the_package_from_the_checkout(checkout: Checkout) -> None:
    package = checkout.folder / "tools" / "tilewright"
    package.mkdir()
    (package / "__init__.py").write_text("where = __file__\n", encoding="utf-8")
    checkout.run()
    query = [checkout.environment / "bin" / "python", "-c", "import tilewright; print(tilewright.where)"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    shown = subprocess.run(query, capture_output=True, text=True, check=True, cwd="/", env=environment).stdout
    assert Path(shown.strip()) == package / "__init__.py"
